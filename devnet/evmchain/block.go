package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// block is a block with all that is in it.
type block struct {
	header
	size    int // bytes of its RLP form
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

// append appends the header's RLP.
func (h *header) append(dst []byte) []byte {
	list := make([]byte, 0, 700)
	list = appendBytes(list, h.parent[:])
	list = appendBytes(list, emptyUncles[:])
	list = appendBytes(list, coinbaseAt[:])
	list = appendBytes(list, h.root[:])
	list = appendBytes(list, h.txRoot[:])
	list = appendBytes(list, h.receipts[:])
	list = appendBytes(list, h.bloom[:])
	list = appendUint(list, 1) // difficulty
	list = appendUint(list, h.number)
	list = appendUint(list, h.gasLimit)
	list = appendUint(list, h.gasUsed)
	list = appendUint(list, h.timeMilli/1000)
	list = appendBytes(list, h.extra)
	list = appendBytes(list, make([]byte, 32)) // mixHash
	list = appendBytes(list, make([]byte, 8))  // nonce
	if h.hasExtData {
		list = appendBytes(list, h.extDataHash[:])
	}
	list = appendUint(list, h.baseFee)
	if h.hasExtData {
		list = appendUint(list, h.extDataGasUsed)
	}
	list = appendUint(list, 0)                 // blockGasCost
	list = appendUint(list, 0)                 // blobGasUsed
	list = appendUint(list, 0)                 // excessBlobGas
	list = appendBytes(list, make([]byte, 32)) // parentBeaconBlockRoot
	list = appendUint(list, h.timeMilli)
	list = appendUint(list, h.minDelay)
	if l := h.late; l != nil {
		for _, v := range [...]uint64{l.target, l.least, l.settled, l.unix, l.part, l.excess} {
			list = appendUint(list, v)
		}
	}
	return append(appendHead(dst, 0xc0, len(list)), list...)
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
	logs, bodies, limits := 0, 0, uint64(0)
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
			b.extDataHash = evm.Keccak(appendBytes(nil, b.extData))
		}
	}
	if l := b.late; l != nil {
		b.executed, b.gasUsed, b.extDataGasUsed = b.gasUsed+b.extDataGasUsed, limits+b.extDataGasUsed, 0
		b.baseFee, b.bloom = l.headerFee, l.bloom
	}
	b.extra = b.extraData(cfg.targetExponent)
	n := len(b.header.append(nil)) + headLen(bodies) + bodies + 1 // no uncles
	if cfg.Atomic {
		n += 1 + len(appendBytes(nil, b.extData)) // version 0
	}
	b.size = headLen(n) + n
}

// append appends the block's RLP.
func (b *block) append(dst []byte) []byte {
	bodies := make([]byte, 0, b.size)
	for _, t := range b.txs {
		if t.raw[0] >= 0xc0 { // a list of itself
			bodies = append(bodies, t.raw...)
		} else {
			bodies = appendBytes(bodies, t.raw)
		}
	}
	list := append(b.header.append(make([]byte, 0, b.size)), listOf(bodies)...)
	list = append(list, 0xc0) // no uncles
	if b.hasExtData {
		list = appendUint(list, 0) // version
		list = appendBytes(list, b.extData)
	}
	return append(dst, listOf(list)...)
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
	b.hash = evm.Keccak(b.header.append(nil))
}

// receipt is the receipt in its consensus encoding.
func (t *tx) receipt() []byte {
	n := 0
	for i := range t.logs {
		n += 64 + 33*len(t.logs[i].topics) + len(t.logs[i].data)
	}
	logs := make([]byte, 0, n)
	for i := range t.logs {
		logs = t.logs[i].append(logs)
	}
	body := make([]byte, 0, len(logs)+len(t.bloom)+32)
	body = appendUint(appendUint(body, t.status()), t.cumulative)
	body = appendBytes(body, t.bloom[:])
	body = append(appendHead(body, 0xc0, len(logs)), logs...)
	return t.envelope(body)
}

// append appends the log's RLP.
func (l *log) append(dst []byte) []byte {
	body := make([]byte, 0, 64+33*len(l.topics)+len(l.data))
	body = appendBytes(body, l.address.address[:])
	body = appendHead(body, 0xc0, 33*len(l.topics))
	for i := range l.topics {
		body = appendBytes(body, l.topics[i].hash[:])
	}
	body = appendBytes(body, l.data)
	return append(appendHead(dst, 0xc0, len(body)), body...)
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
