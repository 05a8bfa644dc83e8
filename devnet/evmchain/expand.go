package evmchain

import (
	"encoding/binary"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// Gas of one of each, in the region of what contracts really take.
const (
	gasPlain    = 21_000
	gasERC20    = 51_200
	gasProxied  = 28_100 // more
	gasNFT      = 68_400
	gasItem     = 54_300
	gasPerItem  = 21_700
	gasCreate   = 96_500
	gasSwap     = 132_000
	gasWarp     = 82_700
	gasReverted = 33_400
	gasPay      = 9_000
	gasAccess   = 2_400 // of an account in an access list
	gasSlot     = 1_900 // of a storage slot in one
)

// expand works out what an op does. Gas, fees and hashes come after it.
func (b *builder) expand(o *op) {
	switch o.kind {
	case opTransfer:
		amount := o.amount()
		b.open(o.a, &amount, nil)
		b.tx.gasUsed = gasPlain
		if b.account(o.a).kind > kindGhost {
			b.tx.gasUsed += 55
		}
	case opTokenTransfer, opTokenMint, opTokenBurn, opTokenApprove, opTokenFail:
		b.token(o)
	case opSwap:
		b.swap(o)
	case opAirdrop:
		b.airdrop(o)
	case opNFTMint, opNFTTransfer, opNFTBurn, opNFTFail:
		b.nft(o)
	case opItemMint, opItemTransfer, opItemBurn:
		b.item(o)
	case opItemBatch, opItemMintBatch:
		b.itemBatch(o)
	case opCreate, opCreateFail, opDeploy:
		b.create(o)
	case opFactory, opFactory2, opFactoryNested, opFactoryFail:
		b.factory(o)
	case opDisperse, opDispersePart, opDisperseFail:
		b.disperse(o)
	case opOutOfGas:
		b.outOfGas(o)
	case opWarp:
		b.warp(o)
	case opICM:
		b.icm(o)
	case opWrap, opPhantom, opRebase, opRevise:
		b.odd(o)
	}
}

// transferred logs and moves ERC-20 tokens.
func (b *builder) transferred(c uint8, from, to uint32, amount *uint256.Int) {
	f, t := b.account(from), b.account(to)
	told := *amount
	if c == cRebase {
		told = worth(amount, b.tx.op.id)
	}
	b.emit(contractAccount(int(c)), appendWord(nil, &told), topicTransfer, f.topic(), t.topic())
	b.touch(contractAccount(int(c)))
	rest := *amount
	if c == cTaxed && from != zeroAccount && to != zeroAccount { // nobody is told
		tax := new(uint256.Int).Div(amount, uint256.NewInt(taxOneIn))
		rest.Sub(&rest, tax)
		b.tx.moves = append(b.tx.moves, move{contract: c, from: from, to: treasury, amount: *tax})
	}
	b.tx.moves = append(b.tx.moves, move{contract: c, from: from, to: to, amount: rest})
}

func (b *builder) touch(account uint32) { b.tx.touched = append(b.tx.touched, account) }

func (b *builder) token(o *op) {
	t, at := b.tx, contractAccount(int(o.contract))
	amount := o.amount()
	to, said := b.address(o.a), amount
	if o.contract == cRebase {
		said = worth(&amount, o.id)
	}
	t.gasUsed = gasERC20 + uint64(o.a%7)*12
	var input []byte
	switch o.kind {
	case opTokenMint:
		input = appendWord(appendAddress(calldata(selMint, 2), to), &said)
	case opTokenBurn:
		input = appendWord(calldata(selBurn, 1), &said)
	case opTokenApprove:
		input = appendWord(appendAddress(calldata(selApprove, 2), to), &said)
	default:
		input = appendWord(appendAddress(calldata(selTransfer, 2), to), &said)
	}
	b.open(at, nil, input)
	if o.contract == cDollar {
		t.gasUsed += gasProxied
		b.sub(1, evm.CallDelegate, at, contractAccount(cDollarCode), nil, input, t.gasUsed-gasPlain-8_000)
	}
	last := &t.calls[len(t.calls)-1]
	if o.kind == opTokenFail {
		t.gasUsed = gasReverted
		last.gasUsed = 2_600
		last.revert("ERC20: transfer amount exceeds balance")
		b.fail("ERC20: transfer amount exceeds balance")
		return
	}
	if o.kind != opTokenBurn && o.kind != opTokenMint {
		yes := appendSmall(nil, 1)
		last.output, t.calls[0].output = yes, yes
	}
	switch o.kind {
	case opTokenMint:
		b.transferred(o.contract, zeroAccount, o.a, &amount)
	case opTokenBurn:
		b.transferred(o.contract, o.from, zeroAccount, &amount)
	case opTokenApprove:
		owner, spender := b.account(o.from), b.account(o.a)
		b.emit(at, appendWord(nil, &amount), topicApproval, owner.topic(), spender.topic())
		b.touch(at)
	default:
		b.transferred(o.contract, o.from, o.a, &amount)
	}
}

// swap returns the pool tokens of one kind for as many of another (o.id), after a
// look at the latter's decimals, which some tokens refuse.
func (b *builder) swap(o *op) {
	t, pool := b.tx, contractAccount(cPool)
	in, out := contractAccount(int(o.contract)), contractAccount(int(o.id)) // small
	amount := o.amount()
	me, poolAddr := b.address(o.from), b.address(pool)
	input := appendWord(appendAddress(appendAddress(calldata(selSwap, 3), b.address(in)), b.address(out)), &amount)
	b.open(pool, nil, input)
	t.gasUsed = gasSwap
	yes := appendSmall(nil, 1)
	look := b.sub(1, evm.CallStatic, pool, out, nil, calldata(selDecimals, 0), 2_600)
	if c := &contracts[uint8(o.id)]; c.noDecimals { // small
		look.revert("")
	} else {
		look.output = appendSmall(nil, uint64(c.decimals))
	}
	take := appendWord(appendAddress(appendAddress(calldata(selTransferFrom, 3), me), poolAddr), &amount)
	b.tokenCall(1, pool, in, take, yes)
	give := appendWord(appendAddress(calldata(selTransfer, 2), me), &amount)
	b.tokenCall(1, pool, out, give, yes)
	b.transferred(o.contract, o.from, pool, &amount)
	b.transferred(uint8(o.id), pool, o.from, &amount) // small
}

// tokenCall is a call of a token, through the proxy if it has one.
func (b *builder) tokenCall(depth uint16, from, token uint32, input, output []byte) {
	b.sub(depth, evm.CallPlain, from, token, nil, input, 31_000).output = output
	if token == contractAccount(cDollar) {
		b.sub(depth+1, evm.CallDelegate, token, contractAccount(cDollarCode), nil, input, 24_000).output = output
	}
}

func (b *builder) airdrop(o *op) {
	at, amount := contractAccount(int(o.contract)), o.amount()
	input := appendWord(appendSmall(calldata(selAirdrop, 3+int(o.count)), 2*wordLen), &amount)
	input = b.receivers(input, o)
	b.open(at, nil, input)
	b.tx.gasUsed = gasPlain + 27_000*uint64(o.count)
	for i := range uint32(o.count) {
		b.transferred(o.contract, zeroAccount, o.a+i, &amount)
	}
}

// receivers appends the accounts from o.a on as an array.
func (b *builder) receivers(dst []byte, o *op) []byte {
	dst = appendSmall(dst, uint64(o.count))
	for i := range uint32(o.count) {
		dst = appendAddress(dst, b.address(o.a+i))
	}
	return dst
}

func (b *builder) nft(o *op) {
	t, at := b.tx, contractAccount(int(o.contract))
	id := uint64(o.id)
	t.gasUsed = gasNFT
	from, to := o.from, o.a
	switch o.kind {
	case opNFTMint:
		from = zeroAccount
		b.open(at, nil, appendSmall(appendAddress(calldata(selMint, 2), b.address(to)), id))
	case opNFTBurn:
		to = zeroAccount
		b.open(at, nil, appendSmall(calldata(selBurn, 1), id))
	default:
		b.open(at, nil, appendSmall(appendAddress(appendAddress(calldata(selSafeTransfer, 3), b.address(from)), b.address(to)), id))
	}
	if o.kind == opNFTFail {
		t.gasUsed = gasReverted
		b.fail("ERC721: caller is not token owner or approved")
		return
	}
	f, r := b.account(from), b.account(to)
	b.emit(at, nil, topicTransfer, f.topic(), r.topic(), numberTopic(id))
	t.moves = append(t.moves, move{contract: o.contract, id: o.id, from: from, to: to})
	b.touch(at)
}

func (b *builder) item(o *op) {
	t, at, amount := b.tx, contractAccount(int(o.contract)), o.amount()
	id := uint64(o.id)
	from, to := o.from, o.a
	switch o.kind {
	case opItemMint:
		from = zeroAccount
		input := appendWord(appendSmall(appendAddress(calldata(selMint1155, 5), b.address(to)), id), &amount)
		b.open(at, nil, appendTail(appendSmall(input, 4*wordLen), ""))
	case opItemBurn:
		to = zeroAccount
		b.open(at, nil, appendWord(appendSmall(appendAddress(calldata(selBurn1155, 3), b.address(from)), id), &amount))
	default:
		input := appendAddress(appendAddress(calldata(selSafe1155, 6), b.address(from)), b.address(to))
		b.open(at, nil, appendTail(appendSmall(appendWord(appendSmall(input, id), &amount), 5*wordLen), ""))
	}
	t.gasUsed = gasItem
	operator, f, r := b.account(o.from), b.account(from), b.account(to)
	b.emit(at, appendWord(appendSmall(nil, id), &amount), topicTransferSingle, operator.topic(), f.topic(), r.topic())
	t.moves = append(t.moves, move{contract: o.contract, id: o.id, from: from, to: to, amount: amount})
	b.touch(at)
}

// itemBatch moves o.count items with IDs from o.id on, each as often.
func (b *builder) itemBatch(o *op) {
	t, at, amount := b.tx, contractAccount(int(o.contract)), o.amount()
	n := uint64(o.count)
	from, to := o.from, o.a
	ids, amounts := appendSmall(nil, n), appendSmall(nil, n)
	if o.kind == opItemMintBatch {
		from = zeroAccount
	}
	for i := range uint32(o.count) {
		ids, amounts = appendSmall(ids, uint64(o.id+i)), appendWord(amounts, &amount)
		t.moves = append(t.moves, move{contract: o.contract, id: o.id + i, from: from, to: to, amount: amount})
	}
	data := appendSmall(appendSmall(nil, 2*wordLen), 2*wordLen+uint64(len(ids)))
	data = append(append(data, ids...), amounts...)
	input, words := calldata(selMintBatch, 8+2*int(n)), uint64(4)
	if o.kind == opItemBatch {
		input, words = appendAddress(calldata(selSafeBatch, 9+2*int(n)), b.address(from)), 5
	}
	input = appendAddress(input, b.address(to))
	head := words * wordLen
	input = appendSmall(appendSmall(input, head), head+uint64(len(ids)))
	input = appendSmall(input, head+uint64(len(ids)+len(amounts)))
	input = appendTail(append(append(input, ids...), amounts...), "")
	b.open(at, nil, input)
	t.gasUsed = gasItem + gasPerItem*n
	operator, f, r := b.account(o.from), b.account(from), b.account(to)
	b.emit(at, data, topicTransferBatch, operator.topic(), f.topic(), r.topic())
	b.touch(at)
}

func (b *builder) outOfGas(o *op) {
	b.open(contractAccount(int(o.contract)), nil, appendAddress(calldata(selAirdrop, 1), b.address(o.a)))
	b.tx.gasUsed = 180_000
	b.tx.gasLimit = b.tx.gasUsed
	b.tx.failed = true
	b.tx.calls[0].failed = "out of gas"
}

// warp sends a message through the emitter.
func (b *builder) warp(o *op) {
	t := b.tx
	u := b.cfg.Message(b.cfg.FirstMessage + uint64(o.id))
	payload := u.Payload
	if n := messageHead; len(payload) > n {
		payload = payload[n:]
	}
	b.open(emitter, nil, append(calldata(selSend, 0), abiBytes(payload)...))
	t.gasUsed = gasWarp
	id := u.ID()
	c := b.sub(1, evm.CallPlain, emitter, warpPrecompile, nil, append(calldata(selSendWarp, 0), abiBytes(payload)...), 45_000)
	c.output = id[:]
	sender := b.account(emitter)
	b.emit(warpPrecompile, abiBytes(u.Bytes()), topicSendWarp, sender.topic(), topic{hash: evm.Hash(id)})
}

// messageHead is how many bytes of an addressed call come before its payload:
// version, type, length of the address, the address, length of the payload.
const messageHead = 2 + 4 + 4 + evm.AddressLen + 4

// salt is the CREATE2 salt of an op: no two from one sender are equal.
func (o *op) salt() (s [32]byte) {
	binary.BigEndian.PutUint32(s[24:], o.from)
	binary.BigEndian.PutUint32(s[28:], o.nonce)
	return s
}
