package evmchain

import (
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/devnet/secp"
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
	shown            uint64 // likewise, by the base fee in the header
	maxFee, tip      uint64 // of dynamic fee transactions
	input            []byte
	failed           bool
	calls            []call
	logs             []log
	moves            []move
	factor           uint32 // of the rebasing token from now on, if not 0
	revises          uint32 // the version of op.contract from now on, if not 0
	hash             evm.Hash
	size             uint64 // bytes of the RLP form, its wrapping in a block included
	bloom            bloom
	index            int
	cumulative       uint64
	firstLog         int
	unprotected      bool   // a legacy transaction signed for any chain
	access           uint32 // the account in the access list; noAccount for an empty one
	slots            int    // of it in the list
	sig              secp.Signature
	raw              []byte   // in its consensus encoding
	touched, created []uint32 // contracts whose storage changed; contracts made
}

// baseFee returns the base fee of a block in wei.
func baseFee(n uint64) uint64 {
	if n == 0 {
		return 225_000_000_000 // as at a genesis
	}
	return 25_000_000_000 + mix(n)%10_000_000_000
}

// builder makes transactions of ops.
type builder struct {
	cfg      *Config
	keys     *secp.Keyring
	accounts []account // all that the ops name
	height   uint64
	index    int   // of the transaction
	late     *late // of the block
	tx       *tx
}

// build works out a transaction.
func (b *builder) build(o *op) *tx {
	t := &tx{op: *o, from: o.from, to: noAccount, made: noAccount, access: noAccount}
	b.tx = t
	b.expand(o)
	b.form()
	b.fees()
	if t.failed {
		for i := range t.calls {
			t.calls[i].undone = true
		}
		t.logs, t.moves, t.touched, t.created = nil, nil, nil, nil // factor and revises are of none that fails
	}
	own := &t.calls[0]
	own.gas, own.gasUsed = t.gasLimit, t.gasUsed
	b.sign()
	for i := range t.logs {
		t.logs[i].addTo(&t.bloom)
	}
	return t
}

// form sets the type and what it brings with it: an access list, no chain ID.
func (b *builder) form() {
	t := b.tx
	switch k := (t.op.from + t.op.nonce) % 64; k % 8 {
	case 0:
		t.typ, t.unprotected = 0, k == 0
	case 1:
		t.typ, t.access, t.slots = 1, t.to, int(k/8%4) // small
	default:
		t.typ = 2
		if k == 2 {
			t.access, t.slots = t.to, 1
		}
	}
	if t.access != noAccount {
		t.gasUsed += gasAccess + gasSlot*uint64(t.slots) // not negative
		if t.gasLimit > 0 {
			t.gasLimit = t.gasUsed // out of gas
		}
	}
}

// fees sets gas limit and prices.
func (b *builder) fees() {
	t := b.tx
	base := baseFee(b.height)
	bound := base
	if b.late != nil {
		base, bound = b.late.baseFee, b.late.headerFee
	}
	t.tip = uint64(t.op.from*7+t.op.nonce) % 5 * 500_000_000
	t.price, t.shown = bound+t.tip, bound+t.tip
	if t.typ == 2 {
		t.maxFee, t.price = 2*bound+t.tip, base+t.tip
	}
	if t.gasLimit == 0 {
		t.gasLimit = t.gasUsed + t.gasUsed/5
		if t.gasUsed == 21_000 {
			t.gasLimit = 21_000
		}
		if b.late != nil {
			b.reserve()
		}
	}
}

// reserve has some transactions ask for more gas than they take: they are charged half
// of what they ask for. In a busy block all do.
func (b *builder) reserve() {
	t := b.tx
	if (t.op.from+t.op.nonce)%5 == 0 && t.gasLimit < 250_000 {
		t.gasLimit *= 4
	}
	t.gasLimit = max(t.gasLimit, b.late.leastLimit)
	t.gasUsed = max(t.gasUsed, (t.gasLimit+1)/2)
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

// sign sets the transaction's signature, its encoding and its hash.
func (b *builder) sign() {
	t := b.tx
	var unsigned [3]*uint256.Int
	if t.typ == 0 && !t.unprotected { // EIP-155
		unsigned = [3]*uint256.Int{uint256.NewInt(b.cfg.EVMChainID), new(uint256.Int), new(uint256.Int)}
	}
	key := b.keys.Key(t.from)
	// Twice the average is more than a block ever has.
	secret := b.height*uint64(2*b.cfg.TxsPerBlock) + uint64(b.index) // not negative
	t.sig = secp.Sign(&key, evm.Keccak(b.encode(unsigned)), secret)
	t.raw = b.encode([3]*uint256.Int{uint256.NewInt(t.v(b.cfg.EVMChainID)), &t.sig.R, &t.sig.S})
	t.hash, t.size = evm.Keccak(t.raw), uint64(len(t.raw))
	if t.typ != 0 {
		t.size = rlp.BytesSize(t.raw) // a byte string in the block
	}
}

// encode is the transaction in its envelope (EIP-2718), with what ends its list, if anything.
func (b *builder) encode(end [3]*uint256.Int) []byte {
	w, t := rlp.NewEncoderBuffer(nil), b.tx
	list := w.List()
	if t.typ != 0 {
		w.WriteUint64(b.cfg.EVMChainID)
	}
	w.WriteUint64(uint64(t.op.nonce))
	if t.typ == 2 {
		w.WriteUint64(t.tip)
		w.WriteUint64(t.maxFee)
	} else {
		w.WriteUint64(t.price)
	}
	var to []byte
	if t.to != noAccount {
		to = b.accounts[t.to].address[:]
	}
	w.WriteUint64(t.gasLimit)
	w.WriteBytes(to)
	w.WriteUint256(&t.value)
	w.WriteBytes(t.input)
	if t.typ != 0 {
		write(&w, b.accessList())
	}
	for _, v := range end {
		if v != nil {
			w.WriteUint256(v)
		}
	}
	w.ListEnd(list)
	return t.envelope(finish(&w))
}

// envelope puts the type's byte in front of a list, if there is one (EIP-2718).
func (t *tx) envelope(list []byte) []byte {
	if t.typ == 0 {
		return list
	}
	return append([]byte{t.typ}, list...)
}

func (b *builder) accessList() []any {
	t := b.tx
	if t.access == noAccount {
		return nil
	}
	slots := make([]any, t.slots)
	for i := range slots {
		slot := t.slot(i)
		slots[i] = slot[:]
	}
	return []any{[]any{b.accounts[t.access].address[:], slots}}
}

// slot is storage slot i of the access list.
func (t *tx) slot(i int) evm.Hash {
	return uint256.NewInt(mix(uint64(t.access)<<8 | uint64(i))).Bytes32() // not negative
}

// v is the signature's v: with the chain ID for a legacy transaction (EIP-155).
func (t *tx) v(chainID uint64) uint64 {
	switch {
	case t.unprotected:
		return 27 + uint64(t.sig.Parity)
	case t.typ == 0:
		return 35 + 2*chainID + uint64(t.sig.Parity)
	}
	return uint64(t.sig.Parity)
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
