package evm

import (
	"fmt"
	"math"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/source/pull"
)

// Bounds of what a block may hold. A gas limit of 2^32 would allow no more.
const (
	maxTxs    = 1 << 18
	maxLogs   = 1 << 21
	maxTopics = 4
	maxTime   = math.MaxUint64 / 2000 // seconds
	// txText and logText are the usual lengths of a transaction and of a log with
	// its share of the receipt, rather too small.
	txText  = 900
	logText = 1200
	// firstTxs bounds what is set aside before any transaction was read.
	firstTxs = 1 << 12
)

// fields reads the values of a block's members: each method reads one and fails
// the parser with the member's name.
type fields struct {
	pull.Parser
	arena
}

func (f *fields) failAt(name string, err error) {
	if err != nil {
		f.Fail(fmt.Errorf("%s: %w", name, err))
	}
}

func (f *fields) uint(name string) uint64 {
	v, err := hexUint(f.Text())
	f.failAt(name, err)
	return v
}

func (f *fields) uint256(name string, v *uint256.Int) {
	f.failAt(name, hexUint256(v, f.Text()))
}

func (f *fields) hash(name string) evm.Hash {
	h, err := hexHash(f.Text())
	f.failAt(name, err)
	return h
}

func (f *fields) address(name string) evm.Address {
	a, err := hexAddress(f.Text())
	f.failAt(name, err)
	return a
}

func (f *fields) data(name string) []byte {
	b, err := f.hexBytes(f.Text())
	f.failAt(name, err)
	return b
}

// same reads a value that must be want.
func (f *fields) same(name string, want uint64) {
	if got := f.uint(name); got != want {
		f.failAt(name, fmt.Errorf("got %d, want %d", got, want))
	}
}

func (f *fields) sameHash(name string, want *evm.Hash) {
	if h := f.hash(name); h != *want {
		f.failAt(name, fmt.Errorf("got %s, want %s", h, want))
	}
}

// header is what a block has besides its parts.
type header struct {
	seen        uint16 // bits of the members that must be there
	time, milli uint64
	hasMilli    bool
	extra       []byte // blockExtraData as written
	txs         []byte // transactions as written
}

// Members that each block must have.
const (
	seenNumber = 1 << iota
	seenHash
	seenParent
	seenTime
	seenGasLimit
	seenGasUsed
	seenMiner
	seenTxs
	seenAll = 1<<iota - 1
)

// decodeHeader reads a block's own members. What is in its parts is left as text.
func decodeHeader(text []byte) (*evm.Block, *header, error) {
	b, h := &evm.Block{}, &header{}
	var f fields
	f.Reset(text)
	f.Members(func(name []byte) {
		switch string(name) {
		case "number":
			b.Number, h.seen = f.uint("number"), h.seen|seenNumber
		case "hash":
			b.Hash, h.seen = f.hash("hash"), h.seen|seenHash
		case "parentHash":
			b.Parent, h.seen = f.hash("parentHash"), h.seen|seenParent
		case "timestamp":
			h.time, h.seen = f.uint("timestamp"), h.seen|seenTime
		case "timestampMilliseconds":
			h.milli, h.hasMilli = f.uint("timestampMilliseconds"), true
		case "gasLimit":
			b.GasLimit, h.seen = f.uint("gasLimit"), h.seen|seenGasLimit
		case "gasUsed":
			b.GasUsed, h.seen = f.uint("gasUsed"), h.seen|seenGasUsed
		case "baseFeePerGas":
			if !f.Null() {
				b.BaseFee = new(uint256.Int)
				f.uint256("baseFeePerGas", b.BaseFee)
			}
		case "miner":
			b.Miner, h.seen = f.address("miner"), h.seen|seenMiner
		case "size":
			b.Size = f.uint("size")
		case "blockExtraData":
			if !f.Null() {
				h.extra = f.Text()
			}
		case "transactions":
			h.txs, h.seen = f.Raw(), h.seen|seenTxs
		default:
			f.Skip()
		}
	})
	if !f.End() {
		return nil, nil, fmt.Errorf("block: %w", f.Err())
	}
	if h.seen != seenAll {
		return nil, nil, fmt.Errorf("block without all of its members: %b", h.seen^seenAll)
	}
	if h.time > maxTime {
		return nil, nil, fmt.Errorf("block %d: time of %d s", b.Number, h.time)
	}
	b.TimeMilli = h.time * 1000
	if h.hasMilli {
		if h.milli/1000 != h.time {
			return nil, nil, fmt.Errorf("block %d: times of %d s and %d ms", b.Number, h.time, h.milli)
		}
		b.TimeMilli = h.milli
	}
	return b, h, nil
}

// decodeBlock reads a block with its transactions in full. Its receipts come
// later, see decodeReceipts.
func decodeBlock(text []byte, number uint64, assetID evm.Hash) (*evm.Block, error) {
	b, h, err := decodeHeader(text)
	if err != nil {
		return nil, err
	}
	if b.Number != number {
		return nil, fmt.Errorf("block %d in place of %d", b.Number, number)
	}
	if err := decodeTxs(b, h.txs); err != nil {
		return nil, fmt.Errorf("block %d: %w", number, err)
	}
	if len(h.extra) > len("0x") {
		if b.Atomic, err = decodeExtra(h.extra, assetID); err != nil {
			return nil, fmt.Errorf("block %d: blockExtraData: %w", number, err)
		}
	}
	return b, nil
}

func decodeTxs(b *evm.Block, text []byte) error {
	hint := min(len(text)/txText, firstTxs)
	b.Txs = make([]evm.Tx, 0, hint)
	var f fields
	f.chunk = min(len(text)/4, 1<<15)
	f.nums = make([]uint256.Int, 2*hint)
	f.Reset(text)
	f.Elements(func(i int) {
		if i == maxTxs {
			f.Fail(fmt.Errorf("more than %d transactions", maxTxs))
			return
		}
		b.Txs = append(b.Txs, evm.Tx{})
		if err := f.tx(b, &b.Txs[i], uint32(i)); err != nil {
			f.Fail(fmt.Errorf("transaction %d: %w", i, err))
		}
	})
	f.End()
	return f.Err()
}

// tx reads transaction number i of b.
func (f *fields) tx(b *evm.Block, t *evm.Tx, i uint32) error {
	const hash, from, to, nonce, value, gas, input, kind, index, all = 1, 2, 4, 8, 16, 32, 64, 128, 256, 511
	seen := 0
	t.Index = i
	f.Members(func(name []byte) {
		switch string(name) {
		case "hash":
			t.Hash = f.hash("hash")
			seen |= hash
		case "from":
			t.From = f.address("from")
			seen |= from
		case "to":
			if t.Creation = f.Null(); !t.Creation {
				t.To = f.address("to")
			}
			seen |= to
		case "nonce":
			t.Nonce = f.uint("nonce")
			seen |= nonce
		case "value":
			f.uint256("value", &t.Value)
			seen |= value
		case "gas":
			t.GasLimit = f.uint("gas")
			seen |= gas
		case "gasPrice":
			if !f.Null() {
				f.uint256("gasPrice", &t.GasPrice)
			}
		case "maxFeePerGas":
			t.MaxFee = f.optional("maxFeePerGas")
		case "maxPriorityFeePerGas":
			t.MaxPriorityFee = f.optional("maxPriorityFeePerGas")
		case "input":
			t.Input = f.data("input")
			seen |= input
		case "type":
			v := f.uint("type")
			if v > math.MaxUint8 {
				f.Fail(fmt.Errorf("type %d", v))
			}
			t.Type = uint8(v)
			seen |= kind
		case "blockHash":
			f.sameHash("blockHash", &b.Hash)
		case "blockNumber":
			f.same("blockNumber", b.Number)
		case "transactionIndex":
			f.same("transactionIndex", uint64(i))
			seen |= index
		default:
			f.Skip()
		}
	})
	if f.Err() == nil && seen != all {
		return fmt.Errorf("not all of its members are there: %b", seen^all)
	}
	if t.Creation {
		t.Contract = evm.CreateAddress(t.From, t.Nonce)
	}
	return f.Err()
}

func (f *fields) optional(name string) *uint256.Int {
	if f.Null() {
		return nil
	}
	v := f.num()
	f.uint256(name, v)
	return v
}
