package operation

import (
	"fmt"

	"github.com/goccy/go-json"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// record is an operation as it is stored, as JSON under its ID: its state and how far
// its file is are one entry, and so change together. Version 1.
type record struct {
	Version int
	Operation
	Pins []pin
	At   position
	// Restarts counts how often a chain went back below it.
	Restarts int
}

const recordVersion = 1

// pin is a chain as it was when the export was accepted.
type pin struct {
	Chain  chain.ID
	Number string   // of the EVM chain, decimal
	Tip    uint64   // the last block
	Hash   evm.Hash // of that block
	// From and To are the heights of the blocks whose time is asked for; To is exclusive.
	From, To uint64
	// Last is the last transaction that is written, if Begun.
	Begun bool
	Last  place
}

// place is the place of a transaction in its chain.
type place struct {
	Number uint64
	Index  uint32
}

func (p place) before(q place) bool {
	return p.Number < q.Number || p.Number == q.Number && p.Index < q.Index
}

// position is where a file ends that can be continued.
type position struct {
	Offset int64  // bytes of the file
	Raw    int64  // bytes of rows, before compression
	Rows   int64  // without the head
	Sum    uint32 // CRC-32 of the rows, for gzip
	Time   uint64 // of the last block with a row, Unix ms
	Whole  bool   // nothing follows: the file needs its name only
	// Next is the time of the first block that is left out for its size, 0 for none.
	Next uint64
}

// restart forgets what is written.
func (r *record) restart() {
	r.At = position{}
	for i := range r.Pins {
		r.Pins[i].Begun, r.Pins[i].Last = false, place{}
	}
}

// progress returns the share of blocks that are done.
func (r *record) progress() float64 {
	var done, all float64
	for i := range r.Pins {
		p := &r.Pins[i]
		all += float64(p.To - min(p.From, p.To))
		if p.Begun {
			done += float64(p.Last.Number - p.From)
		}
	}
	if all == 0 {
		return 0
	}
	return done / all
}

func (r *record) encode() ([]byte, error) { return json.Marshal(r) }

func decodeRecord(b []byte) (*record, error) {
	r := &record{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("operation: a record cannot be read: %w", err)
	}
	if r.Version != recordVersion {
		return nil, fmt.Errorf("operation: a record is of version %d, this program knows %d", r.Version, recordVersion)
	}
	return r, nil
}

// clone returns a copy that shares nothing that changes.
func (r *record) clone() *record {
	c := *r
	c.Pins = append([]pin(nil), r.Pins...)
	return &c
}
