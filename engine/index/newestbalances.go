package index

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

const (
	// maxRun bounds the rows that are kept behind one position, some 110 bytes each:
	// somewhat more than a page of holders passes.
	maxRun = 128
	// runSlots is the number of positions that are kept of a chain, a power of two; full
	// they take about 1 MiB.
	runSlots = 64
)

// heldRun are the newest balances of a token behind a position, as a commit left them.
// Questions about the same holders differ in threshold and time: to read the rows again
// for each costs more than all the rest of a page. Runs do not change.
type heldRun struct {
	version uint64 // of the database
	begin   []byte // the first possible key
	rows    []holderRow
	whole   bool // the token has no further row
}

// holderRow is a row of the newest balances.
type holderRow struct {
	addr evm.Address
	heldRow
}

// heldRuns keeps runs. It is for use by any number of goroutines.
type heldRuns [runSlots]atomic.Pointer[heldRun]

func (h *heldRuns) slot(begin []byte) *atomic.Pointer[heldRun] {
	return &h[xxhash.Sum64(begin)%runSlots]
}

// heldRows iterates over the newest balances of a token: those of a run first, if one
// is kept, then those that must be read.
type heldRows struct {
	v      *View
	prefix key
	run    *heldRun
	at     int // rows that were yielded

	rows *store.Rows // nil while the run has rows
	own  heldRun     // what replaces the run
	over holderRow   // the row here once own has no more room
}

// heldRows returns an iterator over the rows from a key on.
func (v *View) heldRows(prefix, begin key) heldRows {
	h := heldRows{v: v, prefix: prefix, own: heldRun{version: v.s.Version(), begin: begin}}
	if h.run = v.c.runs.slot(begin).Load(); h.run == nil || h.run.version != h.own.version || !bytes.Equal(h.run.begin, begin) {
		h.run = &heldRun{}
	}
	return h
}

// next returns the next row, nil after the last one. It is good until the next call.
func (h *heldRows) next() (*holderRow, error) {
	h.at++
	switch {
	case h.at <= len(h.run.rows):
		return &h.run.rows[h.at-1], nil
	case h.run.whole:
		return nil, nil
	case h.rows != nil:
		h.rows.Next()
	default:
		if err := h.open(); err != nil {
			return nil, err
		}
	}
	if !h.rows.Valid() {
		h.own.whole = h.at-1 == len(h.own.rows)
		return nil, nil
	}
	return h.read()
}

// open goes to the first row behind the run.
func (h *heldRows) open() (err error) {
	if h.rows, err = h.v.s.Rows(h.prefix, false); err != nil {
		return err
	}
	begin := h.own.begin
	h.own.rows = append(make([]holderRow, 0, maxRun/2), h.run.rows...)
	if n := len(h.run.rows); n > 0 {
		begin = append(append(slices.Clone(h.prefix), h.run.rows[n-1].addr[:]...), 0)
	}
	h.rows.Seek(begin)
	return nil
}

func (h *heldRows) read() (*holderRow, error) {
	k, row := h.rows.Key(), &h.over
	if len(k) != len(h.prefix)+evm.AddressLen {
		return nil, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
	}
	if len(h.own.rows) < maxRun {
		h.own.rows = append(h.own.rows, holderRow{})
		row = &h.own.rows[len(h.own.rows)-1]
	}
	row.addr = evm.Address(k[len(h.prefix):])
	return row, h.rows.Value(row.decode)
}

// close ends the iteration, and keeps what was read.
func (h *heldRows) close(err error) {
	if h.rows == nil {
		return
	}
	h.rows.Close()
	if err == nil {
		run := h.own
		h.v.c.runs.slot(run.begin).Store(&run)
	}
}
