package evmchain

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// block is a block with all that is in it.
type block struct {
	header
	hash    evm.Hash
	size    int // bytes of its RLP form
	txs     []*tx
	atomic  []transfer
	extData []byte
	ledger  *ledger // to look accounts up; not for its state
}

// transfer is an import of AVAX from another chain, or an export.
type transfer struct {
	account uint32
	export  bool
	nAVAX   uint64
	nonce   uint64 // of the account, for an export
}

// header is what a block's hash is made of, but for what is always the same.
type header struct {
	parent                  evm.Hash
	root, txRoot, receipts  evm.Hash
	bloom                   bloom
	number                  uint64
	gasLimit, gasUsed       uint64
	timeMilli               uint64
	extDataHash             evm.Hash
	baseFee, extDataGasUsed uint64
	hasExtData              bool // of the C-Chain
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
func (h *header) extraData() []byte {
	b := make([]byte, 24)
	putUint64(b[8:], h.gasUsed)
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
	list = appendBytes(list, h.extraData())
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
	list = appendUint(list, 0) // minDelayExcess: blocks may follow each other at once
	return append(appendHead(dst, 0xc0, len(list)), list...)
}

// gasLimitOf is enough for a busy block.
func (c *Config) gasLimitOf() uint64 { return max(15_000_000, uint64(c.TxsPerBlock)*2_000_000) } // not negative

// seal works out the header and what goes over all transactions. txs have
// what build gave them.
func (b *block) seal(cfg *Config, parent evm.Hash) {
	b.parent, b.gasLimit, b.baseFee = parent, cfg.gasLimitOf(), baseFee(b.number)
	b.timeMilli, b.hasExtData = cfg.timeOf(b.number), cfg.Atomic
	txs, receipts := make([]byte, 0, 32*len(b.txs)), make([]byte, 0, 64*len(b.txs))
	logs, bodies := 0, 0
	for i, t := range b.txs {
		b.gasUsed += t.gasUsed
		t.index, t.cumulative, t.firstLog = i, b.gasUsed, logs
		logs += len(t.logs)
		bodies += t.size
		b.bloom.merge(&t.bloom)
		txs = append(txs, t.hash[:]...)
		receipts = appendReceipt(receipts, t)
	}
	b.txRoot, b.receipts = emptyRoot, emptyRoot
	if len(b.txs) > 0 {
		b.txRoot, b.receipts = evm.Keccak(txs), evm.Keccak(receipts)
	}
	b.extDataHash = emptyRoot
	if cfg.Atomic {
		b.extData, b.extDataGasUsed = cfg.encodeAtomic(b)
		if len(b.extData) > 0 {
			b.extDataHash = evm.Keccak(appendBytes(nil, b.extData))
		}
	}
	b.root = evm.Keccak([]byte("state"), parent[:], b.txRoot[:], b.receipts[:], b.extDataHash[:])
	head := b.header.append(nil)
	b.hash = evm.Keccak(head)
	n := len(head) + headLen(bodies) + bodies + 1 // no uncles
	if cfg.Atomic {
		n += 1 + len(appendBytes(nil, b.extData)) // version 0
	}
	b.size = headLen(n) + n
}

// appendReceipt appends what receiptsRoot covers of a receipt: status, gas, logs.
func appendReceipt(dst []byte, t *tx) []byte {
	dst = appendUint(appendUint(dst, t.status()), t.cumulative)
	for i := range t.logs {
		l := &t.logs[i]
		dst = append(dst, l.address.address[:]...)
		for k := range l.topics {
			dst = append(dst, l.topics[k].hash[:]...)
		}
		dst = appendBytes(dst, l.data)
	}
	return dst
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
