package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// call is one call of a transaction, reverted or not; the first is its own.
type call struct {
	typ           evm.CallType
	depth         uint16
	from, to      uint32 // to is noAccount for a creation that failed
	value         uint256.Int
	hasValue      bool // calls by DELEGATECALL and STATICCALL have none
	gas, gasUsed  uint64
	input, output []byte
	failed        string // the EVM's error, empty for none
	reason        string // the text of a revert
	undone        bool   // it failed, or one around it did
}

// tx is a transaction with all that came of it.
type tx struct {
	op               op
	typ              uint8
	from             uint32
	to               uint32 // noAccount for a creation
	made             uint32 // the contract of a creation, else noAccount
	value            uint256.Int
	gasLimit         uint64
	gasUsed          uint64
	price            uint64 // wei for each gas
	maxFee, tip      uint64 // of dynamic fee transactions
	input            []byte
	failed           bool
	calls            []call
	logs             []log
	moves            []move
	hash             evm.Hash
	size             int // bytes of the RLP form, its wrapping in a block included
	bloom            bloom
	index            int
	cumulative       uint64
	firstLog         int
	yParity          byte
	sigR, sigS       [32]byte
	touched, created []uint32 // contracts whose storage changed; contracts made
}

// baseFee gives the base fee of a block in wei.
func baseFee(n uint64) uint64 {
	if n == 0 {
		return 225_000_000_000 // as at a genesis
	}
	return 25_000_000_000 + mix(n)%10_000_000_000
}

// builder makes transactions of ops.
type builder struct {
	cfg      *Config
	accounts []account // all that the ops name
	height   uint64
	tx       *tx
}

// build works out a transaction.
func (b *builder) build(o *op) *tx {
	t := &tx{op: *o, from: o.from, to: noAccount, made: noAccount}
	b.tx = t
	b.expand(o)
	b.fees()
	if t.failed {
		for i := range t.calls {
			t.calls[i].undone = true
		}
		t.logs, t.moves, t.touched, t.created = nil, nil, nil, nil
	}
	own := &t.calls[0]
	own.gas, own.gasUsed = t.gasLimit, t.gasUsed
	b.sign()
	for i := range t.logs {
		t.logs[i].addTo(&t.bloom)
	}
	return t
}

// fees sets type, gas limit and prices.
func (b *builder) fees() {
	t := b.tx
	base := baseFee(b.height)
	t.tip = uint64(t.op.from*7+t.op.nonce) % 5 * 500_000_000
	t.price = base + t.tip
	switch (t.op.from + t.op.nonce) % 8 {
	case 0:
		t.typ = 0
	case 1:
		t.typ = 1
	default:
		t.typ = 2
		t.maxFee = 2*base + t.tip
	}
	if t.gasLimit == 0 {
		t.gasLimit = t.gasUsed + t.gasUsed/5
		if t.gasUsed == 21_000 {
			t.gasLimit = 21_000
		}
	}
}

// open starts the transaction's own call.
func (b *builder) open(to uint32, value *uint256.Int, input []byte) {
	t := b.tx
	t.to, t.input = to, input
	c := call{typ: evm.CallPlain, from: t.from, to: to, hasValue: true, input: input}
	if value != nil {
		t.value, c.value = *value, *value
	}
	t.calls = append(t.calls, c)
}

// sub adds a call below the last one at depth-1 and gives it. The pointer is
// good until the next one.
func (b *builder) sub(depth uint16, typ evm.CallType, from, to uint32, value *uint256.Int, input []byte, gasUsed uint64) *call {
	c := call{typ: typ, depth: depth, from: from, to: to, input: input, gas: gasUsed + gasUsed/4 + 2300, gasUsed: gasUsed}
	switch {
	case typ == evm.CallDelegate || typ == evm.CallStatic:
	case value != nil:
		c.value, c.hasValue = *value, true
	default:
		c.hasValue = true
	}
	b.tx.calls = append(b.tx.calls, c)
	return &b.tx.calls[len(b.tx.calls)-1]
}

// revert makes a call fail with a reason.
func (c *call) revert(reason string) {
	c.failed, c.undone = "execution reverted", true
	if reason != "" {
		c.output, c.reason = errorData(reason), reason
	}
}

// fail makes the transaction fail.
func (b *builder) fail(reason string) {
	b.tx.failed = true
	b.tx.calls[0].revert(reason)
}

func (b *builder) account(i uint32) account     { return b.accounts[i] }
func (b *builder) address(i uint32) evm.Address { return b.accounts[i].address }

// emit adds a log of an account.
func (b *builder) emit(from uint32, data []byte, topics ...topic) {
	b.tx.logs = append(b.tx.logs, log{address: b.account(from), topics: topics, data: data})
}

// numberTopic is a number as a topic.
func numberTopic(v uint64) topic { return topic{hash: uint256.NewInt(v).Bytes32()} }

// sign gives the transaction its signature, which nobody has made, and its hash.
func (b *builder) sign() {
	t := b.tx
	seed := mix(uint64(t.from)<<32 | uint64(t.op.nonce))
	for i := range 4 {
		putUint64(t.sigR[8*i:], mix(seed+uint64(i)))   // small
		putUint64(t.sigS[8*i:], mix(seed+uint64(i)+4)) // small
	}
	t.sigR[0] = t.sigR[0]&0x7f | 1
	t.sigS[0] = t.sigS[0]&0x3f | 1 // in the lower half of the group
	t.yParity = byte(seed & 1)
	body := b.body(make([]byte, 0, 256+len(t.input)))
	if t.typ == 0 {
		raw := listOf(body)
		t.hash, t.size = evm.Keccak(raw), len(raw)
		return
	}
	raw := append(append(make([]byte, 0, len(body)+8), t.typ), listOf(body)...)
	t.hash = evm.Keccak(raw)
	t.size = headLen(len(raw)) + len(raw) // a byte string in the block
}

// body is the RLP of the signed transaction's elements.
func (b *builder) body(dst []byte) []byte {
	t := b.tx
	if t.typ != 0 {
		dst = appendUint(dst, b.cfg.EVMChainID)
	}
	dst = appendUint(dst, uint64(t.op.nonce))
	if t.typ == 2 {
		dst = appendUint(dst, t.tip)
		dst = appendUint(dst, t.maxFee)
	} else {
		dst = appendUint(dst, t.price)
	}
	dst = appendUint(dst, t.gasLimit)
	if t.to == noAccount {
		dst = append(dst, 0x80)
	} else {
		to := b.address(t.to)
		dst = appendBytes(dst, to[:])
	}
	dst = appendWide(dst, &t.value)
	dst = appendBytes(dst, t.input)
	if t.typ != 0 {
		dst = append(dst, 0xc0) // no access list
	}
	dst = appendUint(dst, t.v(b.cfg.EVMChainID))
	r, s := new(uint256.Int).SetBytes32(t.sigR[:]), new(uint256.Int).SetBytes32(t.sigS[:])
	return appendWide(appendWide(dst, r), s)
}

// v is the signature's v: with the chain ID for a legacy transaction (EIP-155).
func (t *tx) v(chainID uint64) uint64 {
	if t.typ == 0 {
		return 35 + 2*chainID + uint64(t.yParity)
	}
	return uint64(t.yParity)
}

func putUint64(dst []byte, v uint64) {
	for i := range 8 {
		dst[i] = byte(v >> (56 - 8*i))
	}
}

// fee is what the sender pays for gas.
func (t *tx) fee() *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(t.gasUsed), uint256.NewInt(t.price))
}

// status is the receipt's.
func (t *tx) status() uint64 {
	if t.failed {
		return 0
	}
	return 1
}
