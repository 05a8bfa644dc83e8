package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// share is how often an op is chosen, of all shares' sum.
type share struct {
	kind opKind
	of   int
}

var shares = []share{
	{opTransfer, 260}, {opTokenTransfer, 220}, {opSwap, 60}, {opTokenMint, 30}, {opTokenBurn, 15}, {opTokenApprove, 25},
	{opTokenFail, 25}, {opAirdrop, 10}, {opNFTMint, 50}, {opNFTTransfer, 50}, {opNFTBurn, 8}, {opNFTFail, 10},
	{opItemMint, 30}, {opItemTransfer, 30}, {opItemBatch, 20}, {opItemMintBatch, 12}, {opItemBurn, 8},
	{opCreate, 15}, {opCreateFail, 4}, {opFactory, 10}, {opFactory2, 10}, {opFactoryNested, 8}, {opFactoryFail, 5},
	{opDisperse, 20}, {opDispersePart, 15}, {opDisperseFail, 10}, {opOutOfGas, 8}, {opWarp, 32},
	{opOddToken, 20}, {opWrap, 24}, {opPhantom, 4}, {opRebase, 3},
}

var allShares = func() (sum int) {
	for _, s := range shares {
		sum += s.of
	}
	return sum
}()

const (
	maxItemID   = 64
	groupLen    = 4
	airdropLen  = 6
	batchLen    = 3
	userFunding = 21 // exponent of what the treasury mints for somebody who has none
)

// choose decides what somebody does.
func (p *planner) choose(from uint32) *op {
	k := p.rng.IntN(allShares)
	i := 0
	for ; k >= shares[i].of; i++ {
		k -= shares[i].of
	}
	o := &op{kind: shares[i].kind, from: from}
	switch o.kind {
	case opTransfer:
		o.a = p.receiver()
		p.amount(o, 13, 4)
	case opTokenTransfer, opTokenMint, opTokenBurn, opTokenApprove, opTokenFail, opSwap, opAirdrop:
		return p.chooseToken(o)
	case opNFTMint, opNFTTransfer, opNFTBurn, opNFTFail:
		return p.chooseNFT(o)
	case opItemMint, opItemTransfer, opItemBatch, opItemMintBatch, opItemBurn:
		return p.chooseItem(o)
	case opCreate, opCreateFail, opFactory, opFactory2, opFactoryNested, opFactoryFail:
		return p.chooseCreation(o)
	case opDisperse, opDispersePart, opDisperseFail:
		o.count = uint8(2 + p.rng.IntN(groupLen-1)) // small
		o.a = p.group(int(o.count))
		p.amount(o, 13, 3)
	case opOutOfGas:
		o.contract, o.a = cSpam, p.receiver()
	case opOddToken, opWrap, opPhantom, opRebase:
		return p.chooseOdd(o)
	case opWarp:
		if p.cfg.FirstMessage+p.warps >= p.cfg.Messages {
			o.kind, o.a = opTransfer, p.receiver()
			p.amount(o, 13, 4)
			break
		}
		o.id = uint32(p.warps) // bounded by the number of transactions
		p.warps++
	}
	return o
}

func (p *planner) chooseToken(o *op) *op {
	o.contract = erc20s[p.rng.IntN(len(erc20s))]
	return p.chooseMove(o)
}

// chooseMove is chooseToken for a token.
func (p *planner) chooseMove(o *op) *op {
	if o.kind == opAirdrop {
		o.contract, o.count = cSpam, uint8(2+p.rng.IntN(airdropLen-1)) // small
		o.from, o.a = treasury, p.group(int(o.count))
		p.amount(o, 18, 2)
		return o
	}
	o.a = p.receiver()
	low := max(int(contracts[o.contract].decimals)%19-3, 0)
	if o.contract == cRebase {
		o.id = p.factor()
	}
	p.amount(o, low, 4)
	amount := o.amount()
	have := p.token(tokenKey{contract: o.contract, account: o.from})
	switch o.kind {
	case opTokenMint:
		o.from = treasury
	case opTokenFail:
		o.mantissa, o.exp = 9999, 33 // nobody has that
	case opSwap:
		if o.contract == cHostile {
			o.contract = cOld
			have = p.token(tokenKey{contract: o.contract, account: o.from})
		}
		out := [...]uint8{cTicket, cOld}[p.rng.IntN(2)]
		if o.contract == out {
			out = cToken
		}
		o.id = uint32(out)
		pool := p.token(tokenKey{contract: out, account: contractAccount(cPool)})
		if have.Lt(&amount) || pool.Lt(&amount) {
			// The pool has too little: fill it.
			return &op{kind: opTokenMint, from: treasury, contract: out, a: contractAccount(cPool), mantissa: o.mantissa, exp: userFunding}
		}
	case opTokenTransfer, opTokenBurn:
		if have.Lt(&amount) {
			o.kind, o.from, o.a = opTokenMint, treasury, o.from
			o.exp += 2
		}
	}
	return o
}

func (p *planner) token(key tokenKey) uint256.Int {
	return p.ledger.token(key, uint32(p.height)) // bounded
}

func (p *planner) chooseNFT(o *op) *op {
	o.contract = erc721s[p.rng.IntN(len(erc721s))]
	o.a = p.receiver()
	minted := p.ledger.minted[o.contract]
	if minted > 0 && o.kind != opNFTMint {
		o.id = 1 + p.rng.Uint32N(minted)
		owner := p.ledger.owner(nftKey{o.contract, o.id}, uint32(p.height)) // bounded
		switch {
		case owner == zeroAccount: // burnt
		case o.kind == opNFTFail && owner != o.from:
			return o
		case o.kind != opNFTFail:
			o.from = owner
			return o
		}
	}
	o.kind, o.id = opNFTMint, minted+1
	return o
}

func (p *planner) chooseItem(o *op) *op {
	o.contract, o.a = cItems, p.receiver()
	o.id = 1 + p.rng.Uint32N(maxItemID)
	o.mantissa = 1 + p.rng.Uint32N(9)
	if o.kind == opItemBatch || o.kind == opItemMintBatch {
		o.count = uint8(2 + p.rng.IntN(batchLen)) // small
	}
	amount := o.amount()
	enough := true
	for i := range max(uint32(o.count), 1) {
		have := p.token(tokenKey{contract: cItems, id: o.id + i, account: o.from})
		enough = enough && !have.Lt(&amount)
	}
	switch {
	case o.kind == opItemMint || o.kind == opItemMintBatch:
	case enough:
		return o
	case o.count > 0:
		o.kind, o.a = opItemMintBatch, o.from
	default:
		o.kind, o.a = opItemMint, o.from
	}
	o.from, o.mantissa = treasury, o.mantissa*5
	return o
}

// chooseCreation names the contracts that will be made.
func (p *planner) chooseCreation(o *op) *op {
	l, height := p.ledger, uint32(p.height) // bounded
	o.nonce = l.state(o.from, height).nonce
	factory := l.accounts[contractAccount(cFactory)].address
	nonce := uint64(l.state(contractAccount(cFactory), height).nonce)
	switch o.kind {
	case opCreate, opCreateFail:
		k := kindMade
		if o.kind == opCreateFail {
			k = kindGhost
		}
		o.a = p.made(evm.CreateAddress(l.accounts[o.from].address, uint64(o.nonce)), k)
	case opFactory:
		o.a = p.made(evm.CreateAddress(factory, nonce), kindMade)
	case opFactory2:
		o.a = p.made(create2Address(factory, o.salt(), initCode(kindMade, o.nonce)), kindMade)
	case opFactoryNested:
		child := evm.CreateAddress(factory, nonce)
		o.a = p.made(child, kindFactory)
		o.b = p.made(create2Address(child, o.salt(), initCode(kindMade, o.nonce)), kindMade)
	}
	return o
}

func (p *planner) made(addr evm.Address, k kind) uint32 {
	return p.ledger.addAccount(addr, k, uint32(p.height)) // bounded
}
