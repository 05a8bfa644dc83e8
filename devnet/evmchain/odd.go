package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

const (
	// factorOne is the factor of the rebasing token at first, when a share is a unit.
	factorOne = 1000
	maxFactor = 100 * factorOne
	taxOneIn  = 50
	revisions = 4
)

// worth is what shares of the rebasing token are worth. They move by multiples of
// a factor of one, so that nothing is rounded.
func worth(shares *uint256.Int, factor uint32) uint256.Int {
	v := new(uint256.Int).Mul(shares, uint256.NewInt(uint64(factor)))
	return *v.Div(v, uint256.NewInt(factorOne))
}

// The forms of opWrap, in op.count.
const (
	wrapDeposit  = iota // by the holder
	wrapWithdraw        // by the holder
	wrapForward         // through the router: Deposit, Transfer
	wrapTrade           // through the router: Deposit, Transfer, Withdrawal of the rest
	wrapForms
)

// revise lets contracts say other things of themselves at fixed points of the
// history, the one after the other.
func (p *planner) revise() {
	for i := range uint64(revisions) {
		if p.height != p.cfg.Blocks*(i+1)/(revisions+1) || p.cfg.Blocks <= revisions {
			continue
		}
		c := revised[i%uint64(len(revised))]
		p.add(&op{kind: opRevise, from: treasury, contract: c, id: uint32(i)/uint32(len(revised)) + 1}) // few
	}
}

func (p *planner) factor() uint32 {
	return numberAt(p.ledger.factors, uint32(p.height), factorOne) // bounded
}

// chooseOdd decides about the tokens that careless readers get wrong.
func (p *planner) chooseOdd(o *op) *op {
	switch o.kind {
	case opOddToken:
		o.kind, o.contract = opTokenTransfer, oddERC20s[p.rng.IntN(len(oddERC20s))]
		return p.chooseMove(o)
	case opPhantom:
		o.contract, o.count = cPhantom, uint8(2+p.rng.IntN(airdropLen-1)) // small
		o.a = p.group(int(o.count))
		p.amount(o, 18, 3)
	case opRebase:
		o.from = treasury
		o.id = min(p.factor()+1+p.rng.Uint32N(50), maxFactor)
		if p.rng.IntN(4) == 0 {
			o.id = max(p.factor()-p.rng.Uint32N(50), factorOne/2)
		}
	case opWrap:
		return p.chooseWrap(o)
	}
	return o
}

func (p *planner) chooseWrap(o *op) *op {
	o.contract, o.count, o.a = cWrapped, uint8(p.rng.IntN(wrapForms)), p.receiver() // small
	p.amount(o, 13, 4)
	if amount, have := o.amount(), p.token(tokenKey{contract: cWrapped, account: o.from}); o.count == wrapWithdraw && have.Lt(&amount) {
		o.count = wrapDeposit
	}
	return o
}

func (b *builder) odd(o *op) {
	at, t := contractAccount(int(o.contract)), b.tx
	switch o.kind {
	case opWrap:
		b.wrap(o)
	case opPhantom: // events, and nothing behind them
		amount := o.amount()
		b.open(at, nil, b.receivers(appendWord(appendSmall(calldata(selAirdrop, 3+int(o.count)), 2*wordLen), &amount), o))
		t.gasUsed = gasPlain + 3_000*uint64(o.count)
		from := b.account(zeroAccount)
		for i := range uint32(o.count) {
			to := b.account(o.a + i)
			b.emit(at, appendWord(nil, &amount), topicTransfer, from.topic(), to.topic())
			from = to
		}
	case opRebase:
		at = contractAccount(cRebase)
		b.open(at, nil, appendSmall(calldata(selRebase, 1), uint64(o.id)))
		t.gasUsed, t.factor = gasReverted, o.id
		b.emit(at, appendSmall(nil, uint64(o.id)), topicRebase)
		b.touch(at)
	case opRevise:
		b.open(at, nil, appendSmall(calldata(selRevise, 1), uint64(o.id)))
		t.gasUsed, t.revises = gasReverted, o.id
		if o.contract == cReveal && o.id == 1 { // the second time nobody is told
			b.emit(at, appendWord(appendSmall(nil, 0), new(uint256.Int).SetAllOne()), topicMetadata)
		}
		b.touch(at)
	}
}

// wrap wraps AVAX or unwraps it. Neither emits a transfer.
func (b *builder) wrap(o *op) {
	t, at, router, amount := b.tx, contractAccount(cWrapped), contractAccount(cRouter), o.amount()
	t.gasUsed = gasERC20
	switch o.count {
	case wrapDeposit:
		b.open(at, &amount, calldata(selDeposit, 0))
		b.deposited(o.from, &amount)
		return
	case wrapWithdraw:
		b.open(at, nil, appendWord(calldata(selWithdraw, 1), &amount))
		b.sub(1, evm.CallPlain, at, o.from, &amount, nil, 0)
		b.withdrawn(o.from, &amount)
		return
	}
	to, sent := b.address(o.a), amount
	input := calldata(selForward, 1)
	if o.count == wrapTrade {
		input = calldata(selTrade, 1)
		sent.Rsh(&amount, 1)
	}
	b.open(router, &amount, appendAddress(input, to))
	t.gasUsed += gasERC20
	b.sub(1, evm.CallPlain, router, at, &amount, calldata(selDeposit, 0), 28_000)
	b.deposited(router, &amount)
	b.sub(1, evm.CallPlain, router, at, nil, appendWord(appendAddress(calldata(selTransfer, 2), to), &sent), 31_000).output = appendSmall(nil, 1)
	b.transferred(cWrapped, router, o.a, &sent)
	if o.count == wrapTrade {
		rest := *new(uint256.Int).Sub(&amount, &sent)
		b.sub(1, evm.CallPlain, router, at, nil, appendWord(calldata(selWithdraw, 1), &rest), 17_000)
		b.sub(2, evm.CallPlain, at, router, &rest, nil, 55)
		b.withdrawn(router, &rest)
		b.sub(1, evm.CallPlain, router, o.from, &rest, nil, 0)
	}
}

// deposited logs and moves what was wrapped for an account, withdrawn what was unwrapped.
func (b *builder) deposited(to uint32, amount *uint256.Int) {
	holder := b.account(to)
	b.emit(contractAccount(cWrapped), appendWord(nil, amount), topicDeposit, holder.topic())
	b.tx.moves = append(b.tx.moves, move{contract: cWrapped, from: zeroAccount, to: to, amount: *amount})
	b.touch(contractAccount(cWrapped))
}

func (b *builder) withdrawn(from uint32, amount *uint256.Int) {
	holder := b.account(from)
	b.emit(contractAccount(cWrapped), appendWord(nil, amount), topicWithdrawal, holder.topic())
	b.tx.moves = append(b.tx.moves, move{contract: cWrapped, from: from, to: zeroAccount, amount: *amount})
	b.touch(contractAccount(cWrapped))
}
