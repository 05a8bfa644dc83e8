package evm

import (
	"fmt"
	"math"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/internal/pull"
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

// decodeBlock reads a block with its transactions in full and checks them against
// its hash, if check is not nil. Its receipts come later, see decodeReceipts.
func decodeBlock(text []byte, number uint64, assetID evm.Hash, check *checker) (*evm.Block, error) {
	b, h, err := decodeHeader(text)
	if err != nil {
		return nil, err
	}
	if b.Number != number {
		return nil, fmt.Errorf("block %d in place of %d", b.Number, number)
	}
	if err := check.header(b, h); err != nil {
		return nil, err
	}
	if err := decodeTxs(b, h.txs); err != nil {
		return nil, fmt.Errorf("block %d: %w", number, err)
	}
	if len(h.extra) > len("0x") {
		if b.ExtData, b.Atomic, err = decodeExtra(h.extra, assetID); err != nil {
			return nil, fmt.Errorf("block %d: blockExtraData: %w", number, err)
		}
	}
	if err := check.body(b, h); err != nil {
		return nil, err
	}
	if b.Unverified != "" || check.unknown() != "" {
		b.Foreign = text // its receipts may tell that it cannot be checked
	}
	return b, nil
}

func decodeTxs(b *evm.Block, text []byte) error {
	hint := min(len(text)/txText, firstTxs)
	b.Txs = make([]evm.Tx, 0, hint)
	f := txFields{block: b}
	f.chunk = min(len(text)/4, 1<<15)
	f.nums = make([]uint256.Int, 2*hint)
	f.Reset(text)
	f.Elements(func(i int) {
		if i == maxTxs {
			f.Fail(fmt.Errorf("more than %d transactions", maxTxs))
			return
		}
		b.Txs = append(b.Txs, evm.Tx{})
		if err := f.tx(&b.Txs[i], uint32(i)); err != nil {
			f.Fail(fmt.Errorf("transaction %d: %w", i, err))
		}
	})
	f.End()
	return f.Err()
}
