package evm

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
)

// receipts fills the transactions of a block from their receipts.
type receipts struct {
	fields
	block *evm.Block
	logs  []evm.Log  // set aside for the block
	tops  []evm.Hash // the same
	index uint32     // of the next log
	gas   uint64     // used up to here

	check   *checker
	filters []bloom
	blooms  []*bloom // as told, by transaction; nil for those that were not
	texts   [][]byte // what was read, for blocks that cannot be checked
}

func newReceipts(b *evm.Block, text []byte, check *checker) *receipts {
	r := &receipts{block: b, check: check, blooms: make([]*bloom, len(b.Txs))}
	r.chunk = min(len(text)/8, 1<<15)
	logs := min(len(text)/logText, firstTxs)
	r.logs, r.tops = make([]evm.Log, 0, logs), make([]evm.Hash, 0, 3*logs)
	return r
}

// decodeReceipts reads the receipts of all transactions of b, in order, and checks
// them against its hash, if check is not nil.
func decodeReceipts(b *evm.Block, text []byte, check *checker) error {
	r := newReceipts(b, text, check)
	r.texts = [][]byte{text}
	r.Reset(text)
	count := 0
	r.Elements(func(i int) {
		if i >= len(b.Txs) {
			r.Fail(fmt.Errorf("more than the block's %d receipts", len(b.Txs)))
			return
		}
		count++
		if err := r.receipt(&b.Txs[i]); err != nil {
			r.Fail(fmt.Errorf("receipt %d: %w", i, err))
		}
	})
	r.End()
	return r.close(count, r.Err())
}

// close checks what holds for all receipts together.
func (r *receipts) close(count int, err error) error {
	b := r.block
	switch {
	case err != nil:
	case count != len(b.Txs):
		err = fmt.Errorf("%d receipts of %d transactions", count, len(b.Txs))
	default:
		if b.Reserved == nil && r.gas != b.GasUsed {
			err = r.odd("the receipts use %d gas, the block %d", r.gas, b.GasUsed)
		}
		if b.GasUsed = r.gas; err == nil {
			err = r.check.receipts(b, r.blooms)
		}
		if err == nil {
			keepForeign(b, r.texts)
			return nil
		}
	}
	return fmt.Errorf("block %d: %w", b.Number, err)
}

// odd returns an error about a block that does not follow the rules that are known here,
// unless it may follow others.
func (r *receipts) odd(format string, args ...any) error {
	if r.block.Unverified != "" || r.check.foreign(r.block) {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// keepForeign keeps what the node answered of a block that cannot be checked.
func keepForeign(b *evm.Block, receipts [][]byte) {
	if b.Unverified == "" {
		b.Foreign = nil
		return
	}
	list := bytes.Join(receipts, []byte(","))
	if !bytes.HasPrefix(bytes.TrimLeft(list, " \t\r\n"), []byte("[")) {
		list = slices.Concat([]byte("["), list, []byte("]"))
	}
	b.Foreign = slices.Concat([]byte(`{"block":`), b.Foreign, []byte(`,"receipts":`), list, []byte("}"))
	if evm.Keccak(b.Header) != b.Hash {
		b.Header = nil
	}
}

// receipt reads one object.
func (r *receipts) receipt(t *evm.Tx) error {
	const hash, status, used, cumulative, logs, all, price = 1, 2, 4, 8, 16, 31, 32
	seen, total := 0, uint64(0)
	t.Logs = nil
	r.Members(func(name []byte) {
		switch string(name) {
		case "transactionHash":
			r.sameHash("transactionHash", &t.Hash)
			seen |= hash
		case "transactionIndex":
			r.same("transactionIndex", uint64(t.Index))
		case "blockHash":
			r.sameHash("blockHash", &r.block.Hash)
		case "blockNumber":
			r.same("blockNumber", r.block.Number)
		case "type":
			r.same("type", uint64(t.Type))
		case "from":
			if a := r.address("from"); a != t.From {
				r.failAt("from", fmt.Errorf("got %s, want %s", a, t.From))
			}
		case "to":
			r.receiver(t)
		case "contractAddress":
			if !r.Null() {
				if a := r.address("contractAddress"); a != t.Contract {
					r.failAt("contractAddress", fmt.Errorf("got %s, want %s", a, t.Contract))
				}
			}
		case "status":
			v := r.uint("status")
			if v > 1 {
				r.failAt("status", fmt.Errorf("got %d", v))
			}
			t.Failed = v == 0
			seen |= status
		case "gasUsed":
			t.GasUsed = r.uint("gasUsed")
			seen |= used
		case "cumulativeGasUsed":
			total = r.uint("cumulativeGasUsed")
			seen |= cumulative
		case "effectiveGasPrice":
			r.price(t)
			seen |= price
		case "logsBloom":
			if !r.Null() {
				if r.filters == nil {
					r.filters = make([]bloom, len(r.block.Txs))
				}
				r.blooms[t.Index] = &r.filters[t.Index]
				r.fixed("logsBloom", r.filters[t.Index][:])
			}
		case "logs":
			r.readLogs(t)
			seen |= logs
		default:
			r.Skip()
		}
	})
	r.gas += t.GasUsed
	switch {
	case r.Err() != nil:
		return r.Err()
	case seen&all != all, seen&price == 0 && r.block.Reserved != nil:
		return fmt.Errorf("not all of its members are there: %b", seen)
	case t.GasUsed > t.GasLimit:
		return r.odd("%d gas used of %d", t.GasUsed, t.GasLimit)
	case total != r.gas:
		return r.odd("cumulativeGasUsed is %d, the sum %d", total, r.gas)
	}
	return nil
}

// price reads effectiveGasPrice, which follows from the transaction if that could be
// encoded. Of a block that was accepted before it was executed only its bound does.
func (r *receipts) price(t *evm.Tx) {
	if r.Null() {
		return
	}
	var price uint256.Int
	r.uint256("effectiveGasPrice", &price)
	follows := price == t.GasPrice || r.block.Reserved != nil && price.Lt(&t.GasPrice)
	if t.Raw != nil && !follows {
		r.failAt("effectiveGasPrice", r.odd("got %s, computed %s", price.Dec(), t.GasPrice.Dec()))
	}
	t.GasPrice = price
}

func (r *receipts) receiver(t *evm.Tx) {
	if creation := r.Null(); creation != t.Creation {
		r.failAt("to", errors.New("not that of the transaction"))
		return
	}
	if t.Creation {
		return
	}
	if a := r.address("to"); a != t.To {
		r.failAt("to", fmt.Errorf("got %s, want %s", a, t.To))
	}
}

func (r *receipts) readLogs(t *evm.Tx) {
	start := len(r.logs)
	r.Elements(func(i int) {
		if r.index == maxLogs {
			r.Fail(fmt.Errorf("more than %d logs", maxLogs))
			return
		}
		if len(r.logs) == cap(r.logs) { // the hint was too low: what is filled stays where it is
			grown := make([]evm.Log, 0, max(32, 2*(len(r.logs)-start)))
			r.logs, start = append(grown, r.logs[start:]...), 0
		}
		r.logs = append(r.logs, evm.Log{})
		if err := r.log(t, &r.logs[len(r.logs)-1]); err != nil {
			r.Fail(fmt.Errorf("log %d: %w", i, err))
		}
	})
	if end := len(r.logs); end > start {
		t.Logs = r.logs[start:end:end]
	}
}

func (r *receipts) log(t *evm.Tx, l *evm.Log) error {
	const address, topics, data, index, all = 1, 2, 4, 8, 15
	seen := 0
	r.Members(func(name []byte) {
		switch string(name) {
		case "address":
			l.Address = r.address("address")
			seen |= address
		case "topics":
			l.Topics = r.topics()
			seen |= topics
		case "data":
			l.Data = r.data("data")
			seen |= data
		case "logIndex":
			r.same("logIndex", uint64(r.index))
			l.Index = r.index
			seen |= index
		case "transactionHash":
			r.sameHash("transactionHash", &t.Hash)
		case "blockHash":
			r.sameHash("blockHash", &r.block.Hash)
		case "transactionIndex":
			r.same("transactionIndex", uint64(t.Index))
		case "blockNumber":
			r.same("blockNumber", r.block.Number)
		case "removed":
			if r.Bool() {
				r.Fail(errors.New("removed"))
			}
		default:
			r.Skip()
		}
	})
	r.index++
	if r.Err() == nil && seen != all {
		return fmt.Errorf("not all of its members are there: %b", seen^all)
	}
	return r.Err()
}

func (r *receipts) topics() []evm.Hash {
	if cap(r.tops)-len(r.tops) < maxTopics {
		r.tops = make([]evm.Hash, 0, 32*maxTopics)
	}
	start := len(r.tops)
	r.Elements(func(i int) {
		if i == maxTopics {
			r.Fail(fmt.Errorf("more than %d topics", maxTopics))
			return
		}
		r.tops = append(r.tops, r.hash("topic"))
	})
	end := len(r.tops)
	return r.tops[start:end:end]
}
