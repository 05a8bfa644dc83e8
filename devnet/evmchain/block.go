package evmchain

import (
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// block is a block with all that is in it.
type block struct {
	header
	size    uint64 // bytes of its RLP form
	txs     []*tx
	atomic  []transfer
	extData []byte
	ledger  *ledger  // to look accounts up; not for its state
	settles []*block // of the new kind: the blocks whose results its header has
	// executed is the gas that was used, atomic transactions included.
	executed uint64
}

// transfer is an import of AVAX from another chain, or an export.
type transfer struct {
	account uint32
	export  bool
	nAVAX   uint64
	nonce   uint64 // of the account, for an export
}

// roots are the hashes over what is in a block, and the block's own.
type roots struct{ hash, root, txRoot, receipts evm.Hash }

// header is what a block's hash is made of, but for what is always the same.
type header struct {
	roots
	parent                  evm.Hash
	bloom                   bloom
	number                  uint64
	gasLimit, gasUsed       uint64
	timeMilli               uint64
	extDataHash             evm.Hash
	baseFee, extDataGasUsed uint64
	hasExtData              bool // of the C-Chain
	extra                   []byte
	minDelay                uint64 // excess of ACP-226: 0, as blocks may follow each other at once
	late                    *late  // nil for blocks that are executed before their acceptance
}

var (
	// emptyRoot is the root of an empty trie, and the hash of empty ext data.
	emptyRoot = evm.Keccak([]byte{0x80})
	// emptyUncles is the hash of an empty list.
	emptyUncles = evm.Keccak([]byte{0xc0})
	coinbaseAt  = evm.Address{1}
	warpAt      = evm.Address{0: 2, 19: 5}
)

// extraData is what chains with dynamic fees put into a header: fee state.
func (h *header) extraData(targetExponent uint64) []byte {
	if h.late != nil {
		return make([]byte, 6) // no results of predicates
	}
	b := make([]byte, 24)
	putUint64(b[8:], h.gasUsed)
	putUint64(b[16:], targetExponent)
	return b
}

// encode is the header's RLP.
func (h *header) encode() []byte {
	list := []any{
		h.parent[:], emptyUncles[:], coinbaseAt[:], h.root[:], h.txRoot[:], h.receipts[:], h.bloom[:], uint64(1), h.number,
		h.gasLimit, h.gasUsed, h.timeMilli / 1000, h.extra, zeroWord[:], zeroWord[:8], // mixHash, nonce
	}
	if h.hasExtData {
		list = append(list, h.extDataHash[:])
	}
	list = append(list, h.baseFee)
	if h.hasExtData {
		list = append(list, h.extDataGasUsed)
	}
	// No cost of gas, no blobs, no beacon.
	list = append(list, uint64(0), uint64(0), uint64(0), zeroWord[:], h.timeMilli, h.minDelay)
	if l := h.late; l != nil {
		list = append(list, l.target, l.least, l.settled, l.unix, l.part, l.excess)
	}
	return encode(list)
}

// gasLimitOf is enough for a busy block.
func (c *Config) gasLimitOf(n uint64) uint64 {
	if c.late(n) {
		return c.target * rateOfTarget * secondsPerBlock
	}
	return max(15_000_000, uint64(c.TxsPerBlock)*2_000_000) // not negative
}

// seal works out the header but for its parent and roots, and what goes over all
// transactions. txs have what build gave them.
func (b *block) seal(cfg *Config) {
	b.gasLimit, b.baseFee = cfg.gasLimitOf(b.number), baseFee(b.number)
	b.timeMilli, b.hasExtData = cfg.timeOf(b.number), cfg.Atomic
	logs, bodies, limits := 0, uint64(0), uint64(0)
	for i, t := range b.txs {
		b.gasUsed += t.gasUsed
		t.index, t.cumulative, t.firstLog = i, b.gasUsed, logs
		logs += len(t.logs)
		bodies += t.size
		limits += t.gasLimit
		b.bloom.merge(&t.bloom)
	}
	b.extDataHash = emptyRoot
	if cfg.Atomic {
		b.extData, b.extDataGasUsed = cfg.encodeAtomic(b)
		if len(b.extData) > 0 {
			b.extDataHash = evm.Keccak(encode(b.extData))
		}
	}
	if l := b.late; l != nil {
		b.executed, b.gasUsed, b.extDataGasUsed = b.gasUsed+b.extDataGasUsed, limits+b.extDataGasUsed, 0
		b.baseFee, b.bloom = l.headerFee, l.bloom
	}
	b.extra = b.extraData(cfg.targetExponent)
	n := uint64(len(b.header.encode())) + rlp.ListSize(bodies) + 1 // no uncles
	if cfg.Atomic {
		n += 1 + rlp.BytesSize(b.extData) // version 0
	}
	b.size = rlp.ListSize(n)
}

// append appends the block's RLP.
func (b *block) append(dst []byte) []byte {
	bodies := make([]any, len(b.txs))
	for i, t := range b.txs {
		if bodies[i] = t.raw; t.typ == 0 { // a list of itself
			bodies[i] = rlp.RawValue(t.raw)
		}
	}
	list := []any{rlp.RawValue(b.header.encode()), bodies, []any{}} // no uncles
	if b.hasExtData {
		list = append(list, uint64(0), b.extData) // version
	}
	return append(dst, encode(list)...)
}

// hashLists works out the roots of what a block that is sealed holds.
func (b *block) hashLists() {
	b.txRoot = listRoot(len(b.txs), func(i int) []byte { return b.txs[i].raw })
	txs := b.txs
	if b.late != nil {
		txs = nil
		for _, s := range b.settles {
			txs = append(txs, s.txs...)
		}
		b.settles = nil
	}
	b.receipts = listRoot(len(txs), func(i int) []byte { return txs[i].receipt() })
}

// hashHeader works out the block's hash, when its parent and all other roots are
// known. state is the root of the state after it; without one it is a hash over the rest.
// settled is that of the block that it settles, if it is of the new kind.
func (b *block) hashHeader(state *evm.Hash, settled evm.Hash) {
	after := evm.Keccak([]byte("state"), b.parent[:], b.txRoot[:], b.receipts[:], b.extDataHash[:])
	if state != nil {
		after = *state
	}
	b.root = after
	if b.late != nil {
		b.late.post, b.root = after, settled
	}
	b.hash = evm.Keccak(b.header.encode())
}

// receipt is the receipt in its consensus encoding.
func (t *tx) receipt() []byte {
	logs := make([]any, len(t.logs))
	for i := range t.logs {
		l := &t.logs[i]
		topics := make([]any, len(l.topics))
		for k := range topics {
			topics[k] = l.topics[k].hash[:]
		}
		logs[i] = []any{l.address.address[:], topics, l.data}
	}
	return t.envelope(encode([]any{t.status(), t.cumulative, t.bloom[:], logs}))
}

// flow is wei that change hands.
type flow struct {
	from, to uint32
	wei      *uint256.Int
}

// flows calls f for all wei that a transaction moves, in order. The fee comes
// first: the sender has it from the start.
func (t *tx) flows(f func(flow)) {
	f(flow{t.from, coinbase, t.fee()})
	for i := range t.calls {
		if c := &t.calls[i]; !c.undone && !c.value.IsZero() && !t.failed {
			f(flow{c.from, c.to, &c.value})
		}
	}
}

// nonces calls f for all nonces that a transaction changes: by is added.
func (t *tx) nonces(f func(account uint32, by uint32)) {
	f(t.from, 1)
	if t.failed {
		return
	}
	for i := range t.calls {
		c := &t.calls[i]
		if !c.typ.Creates() {
			continue
		}
		if c.depth > 0 {
			f(c.from, 1)
		}
		if !c.undone {
			f(c.to, 1) // contracts begin with 1
		}
	}
}

const nAVAX = 1_000_000_000 // wei

func (a *transfer) wei() *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(a.nAVAX), uint256.NewInt(nAVAX))
}
