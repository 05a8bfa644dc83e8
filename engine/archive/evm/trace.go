package evm

import (
	"errors"
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
)

// The types of notes. Values are stored: do not change them.
const (
	// NoteTrace holds the calls and balances of a block that was archived without its
	// trace: see [AppendTrace].
	NoteTrace archive.NoteType = 1
	// NoteToken holds the facts of a token contract as the node answered.
	NoteToken archive.NoteType = 2
	// NoteBalanceOf holds an account's balance of a token as the node answered.
	NoteBalanceOf archive.NoteType = 3
	// NoteTokenURI holds the URI of an NFT as the node answered.
	NoteTokenURI archive.NoteType = 4
	// NoteRepair names a block whose trace could not be had.
	NoteRepair archive.NoteType = 5
	// NoteBalance holds native balances that a node was asked for, at a start block.
	NoteBalance archive.NoteType = 6
	// NoteBlock holds a block that was archived with false calls or balances, as it is: the
	// form of [Append]. Earlier releases wrote it.
	NoteBlock archive.NoteType = 7
	// NoteCorrection holds a block of which something false was archived, as it is: the same
	// form. Those who have read the block before are notified.
	NoteCorrection archive.NoteType = 8
)

// A balance's change from before to after is written with its length in the low
// bits of a byte.
const (
	changeDown  = 0x40 // the balance fell by what follows
	changeWhole = 0x80 // what follows is the balance after the block
)

func (e *encoder) balances(balances []evm.Balance) {
	w := &e.w
	w.uint(uint64(len(balances)))
	for i := range balances {
		b := &balances[i]
		w.address(&b.Address)
		w.wide(&b.Before)
		flag := byte(0)
		var change uint256.Int
		if b.Wei.Lt(&b.Before) {
			flag = changeDown
			change.Sub(&b.Before, &b.Wei)
		} else {
			change.Sub(&b.Wei, &b.Before)
		}
		if change.ByteLen() > b.Wei.ByteLen() {
			flag, change = changeWhole, b.Wei
		}
		at := len(w.out)
		w.wide(&change)
		w.out[at] |= flag
	}
}

func (d *decoder) balances() []evm.Balance {
	r := &d.r
	balances := make([]evm.Balance, r.count(leastBalance))
	for i := range balances {
		b := &balances[i]
		b.Address = r.address()
		r.wide(&b.Before)
		if len(r.rest) == 0 || r.rest[0]&^(changeDown|changeWhole) > 32 {
			r.fail()
			return nil
		}
		flag := r.rest[0] & (changeDown | changeWhole)
		var change uint256.Int
		if raw := r.take(uint64(r.rest[0]&^flag) + 1); raw != nil {
			change.SetBytes(raw[1:])
		}
		switch flag {
		case 0:
			b.Wei.Add(&b.Before, &change)
		case changeDown:
			b.Wei.Sub(&b.Before, &change)
		case changeWhole:
			b.Wei = change
		default:
			r.fail()
		}
	}
	return balances
}

// AppendTrace appends the data of a [NoteTrace]: what a trace says of a block, since
// version 2 with the failures of its transactions.
func AppendTrace(dst []byte, b *evm.Block) []byte {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.w.reset(dst)
	w := &e.w
	w.out = append(append(w.out, version), b.Hash[:]...)
	calls := 0
	for i := range b.Txs {
		calls += len(b.Txs[i].Calls)
	}
	w.uint(uint64(len(b.Txs)))
	w.uint(uint64(calls))
	for i := range b.Txs {
		e.calls(b.Txs[i].Calls)
	}
	for i := range b.Txs {
		if f := b.Txs[i].Failure; f != nil {
			w.uint(uint64(i) + 1)
			e.failure(f)
		}
	}
	w.uint(0)
	if b.Balances == nil {
		w.uint(0)
	} else {
		w.uint(1)
		e.balances(b.Balances)
	}
	dst, e.w.out = w.out, nil
	return dst
}

// ErrOtherBlock is wrapped when a trace is of another block with the same number: that one
// was never accepted.
var ErrOtherBlock = errors.New("the trace is of another block")

// DecodeTrace reads the data of a [NoteTrace] into the block that it belongs to,
// which is traced then.
func DecodeTrace(data []byte, b *evm.Block) error {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	r := &d.r
	r.reset(data)
	if !d.known() {
		return fmt.Errorf("%w trace: of a version that is not known here", errForm)
	}
	if h := r.hash(); !r.bad && h != b.Hash {
		return fmt.Errorf("%w: %s, not %s", ErrOtherBlock, h, b.Hash)
	}
	txs, calls := r.count(1), r.count(leastCall)
	if !r.bad && txs != len(b.Txs) {
		return fmt.Errorf("%w trace: of %d transactions, not %d", errForm, txs, len(b.Txs))
	}
	d.calls = make([]evm.Call, calls)
	read := make([]evm.Tx, len(b.Txs))
	for i := range read {
		d.txCalls(&read[i])
	}
	if d.version > 1 {
		d.failures(read)
	}
	var balances []evm.Balance
	if r.uint() != 0 {
		balances = d.balances()
	}
	bad := r.bad || len(r.rest) > 0 || len(d.calls) > 0
	r.rest, d.calls = nil, nil
	if bad {
		return fmt.Errorf("%w trace of block %d", errForm, b.Number)
	}
	for i := range read {
		if b.Txs[i].Calls = read[i].Calls; len(read[i].Calls) == 0 {
			b.Txs[i].Calls = nil
		}
		b.Txs[i].Failure = read[i].Failure
	}
	b.Balances, b.Traced = balances, true
	return nil
}

// failures reads those of a trace, each behind the number of its transaction.
func (d *decoder) failures(txs []evm.Tx) {
	for last := uint64(0); ; {
		n := d.r.uint()
		switch {
		case n == 0:
			return
		case n <= last || n > uint64(len(txs)):
			d.r.fail()
			return
		}
		txs[n-1].Failure, last = d.failure(), n
	}
}
