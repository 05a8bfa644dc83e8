package index

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
)

// compareEvery is after how many rows [Snapshot.Compare] looks for the end of its
// context, restEvery after how many it calls rest.
const (
	compareEvery = 1 << 12
	restEvery    = 64
)

// Difference is a row that one of two tables does not have, or has with another value.
type Difference struct {
	Key []byte // the sort key
	// Want and Have are the values; nil if there should be no row, or is none.
	Want, Have []byte
}

// Text names the row by its table, and what is wrong with it.
func (d Difference) Text(table string) string {
	name := table + ": row " + hex.EncodeToString(d.Key)
	switch {
	case d.Have == nil:
		return name + " is missing"
	case d.Want == nil:
		return name + " follows from no block"
	}
	return fmt.Sprintf("%s is %s, want %s", name, short(d.Have), short(d.Want))
}

// short writes a value, the first bytes of a long one.
func short(b []byte) string {
	if len(b) <= 64 {
		return "0x" + hex.EncodeToString(b)
	}
	return fmt.Sprintf("0x%s... of %d bytes", hex.EncodeToString(b[:64]), len(b))
}

// Compare goes through two tables, each named by what [TableKey] returns, side by side
// and calls differs with each difference. It returns how many sort keys it has seen.
// rest, if not nil, is called now and then.
func (s *Snapshot) Compare(ctx context.Context, have, want []byte, rest func(), differs func(Difference)) (n uint64, err error) {
	a, err := openSide(s, have)
	if err != nil {
		return 0, err
	}
	defer a.rows.Close()
	b, err := openSide(s, want)
	if err != nil {
		return 0, err
	}
	defer b.rows.Close()
	for a.key != nil || b.key != nil {
		if rest != nil && n%restEvery == 0 {
			rest()
		}
		if n++; n%compareEvery == 0 && ctx.Err() != nil {
			return n, context.Cause(ctx)
		}
		order := bytes.Compare(a.key, b.key)
		switch { // no key is behind all keys
		case a.key == nil:
			order = 1
		case b.key == nil:
			order = -1
		}
		switch {
		case order < 0:
			differs(Difference{Key: bytes.Clone(a.key), Have: bytes.Clone(a.value)})
		case order > 0:
			differs(Difference{Key: bytes.Clone(b.key), Want: bytes.Clone(b.value)})
		case !bytes.Equal(a.value, b.value):
			differs(Difference{bytes.Clone(a.key), bytes.Clone(b.value), bytes.Clone(a.value)})
		}
		if order <= 0 {
			err = a.next()
		}
		if order >= 0 && err == nil {
			err = b.next()
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// side is one of the tables. Its key is nil at the end.
type side struct {
	rows       *Rows
	lead       int
	key, value []byte
	keyRoom    []byte
}

func openSide(s *Snapshot, lead []byte) (*side, error) {
	rows, err := s.Rows(lead, false)
	if err != nil {
		return nil, err
	}
	rows.Seek(lead)
	d := &side{rows: rows, lead: len(lead), value: []byte{}}
	return d, d.read()
}

func (d *side) next() error {
	d.rows.Next()
	return d.read()
}

func (d *side) read() error {
	if !d.rows.Valid() {
		d.key = nil
		return nil
	}
	d.keyRoom = append(d.keyRoom[:0], d.rows.Key()[d.lead:]...)
	if d.key = d.keyRoom; d.key == nil {
		d.key = []byte{} // a table of one row
	}
	return d.rows.Value(func(b []byte) error {
		d.value = append(d.value[:0], b...)
		return nil
	})
}
