package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// create is a creation by a transaction: o.a is the contract.
func (b *builder) create(o *op) {
	t := b.tx
	k := kindMade
	if o.kind == opDeploy {
		k = kindContract + kind(o.contract)
	}
	input := initCode(k, o.nonce)
	b.open(noAccount, nil, input)
	t.made, t.gasUsed = o.a, gasCreate
	own := &t.calls[0]
	own.typ = evm.CallCreate
	if o.kind == opCreateFail {
		t.gasUsed = gasCreate - 31_000
		b.fail("constructor: bad argument")
		return
	}
	own.to, own.output = o.a, runtimeCode(k)
	t.created = append(t.created, o.a)
}

// factory makes contracts from the factory: o.a, and o.b by o.a when nested.
func (b *builder) factory(o *op) {
	t, at := b.tx, contractAccount(cFactory)
	salt := o.salt()
	switch o.kind {
	case opFactory, opFactoryFail:
		b.open(at, nil, calldata(selDeploy, 0))
	case opFactory2:
		b.open(at, nil, append(calldata(selDeploy2, 1), salt[:]...))
	default:
		b.open(at, nil, append(calldata(selDeployNested, 1), salt[:]...))
	}
	t.gasUsed = gasPlain + gasCreate
	switch o.kind {
	case opFactory:
		b.make(1, evm.CallCreate, at, o.a, kindMade, o.nonce)
	case opFactory2:
		b.make(1, evm.CallCreate2, at, o.a, kindMade, o.nonce)
	case opFactoryFail:
		c := b.sub(1, evm.CallCreate, at, noAccount, nil, initCode(kindMade, o.nonce), 35_000)
		c.revert("constructor: bad argument")
		t.calls[0].output = make([]byte, wordLen)
		b.touch(at) // the failed creation still takes a nonce
		return
	case opFactoryNested:
		t.gasUsed += gasCreate
		b.make(1, evm.CallCreate, at, o.a, kindFactory, o.nonce)
		b.sub(1, evm.CallPlain, at, o.a, nil, append(calldata(selDeploy2, 1), salt[:]...), 60_000)
		b.make(2, evm.CallCreate2, o.a, o.b, kindMade, o.nonce)
	}
}

// make is a creation by a contract, which logs it.
func (b *builder) make(depth uint16, typ evm.CallType, from, made uint32, k kind, salt uint32) {
	c := b.sub(depth, typ, from, made, nil, initCode(k, salt), 52_000)
	c.output = runtimeCode(k)
	b.tx.created = append(b.tx.created, made)
	a := b.account(made)
	b.emit(from, nil, topicCreated, a.topic())
	b.touch(from)
}

// disperse pays o.count accounts from o.a on; the last payment may be refused.
func (b *builder) disperse(o *op) {
	t, at, amount := b.tx, contractAccount(cDisperser), o.amount()
	n := uint64(o.count)
	total := new(uint256.Int).Mul(&amount, uint256.NewInt(n))
	input := appendSmall(calldata(selDisperse, 4+2*int(n)), 2*wordLen)
	input = b.receivers(appendSmall(input, 3*wordLen+n*wordLen), o)
	input = appendSmall(input, n)
	for range n {
		input = appendWord(input, &amount)
	}
	b.open(at, total, input)
	t.gasUsed = gasPlain + 6_000 + gasPay*n
	for i := range uint32(o.count) {
		if i+1 < uint32(o.count) || o.kind == opDisperse {
			b.sub(1, evm.CallPlain, at, o.a+i, &amount, nil, 0)
			continue
		}
		// The token contract takes no AVAX.
		c := b.sub(1, evm.CallPlain, at, contractAccount(cToken), &amount, nil, 120)
		c.revert("")
		if o.kind == opDispersePart { // what was refused goes back to the sender
			b.sub(1, evm.CallPlain, at, o.from, &amount, nil, 0)
		} else {
			b.fail("payment refused")
		}
	}
}
