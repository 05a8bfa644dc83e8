package index

import (
	"bytes"
	"context"
)

// compareEvery is after how many rows [Snapshot.Compare] looks for the end of its
// context, restEvery after how many it calls rest.
const (
	compareEvery = 1 << 12
	restEvery    = 64
)

// Compare goes through two tables, each named by what [TableKey] returns, side by side
// and calls differs with each sort key under which one has no row, whose value is nil
// then, or another one. What it hands over is good until differs returns. It returns how
// many sort keys it has seen. rest, if not nil, is called now and then.
func (s *Snapshot) Compare(ctx context.Context, have, want []byte, rest func(), differs func(key, have, want []byte)) (n uint64, err error) {
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
			differs(a.key, a.value, nil)
		case order > 0:
			differs(b.key, nil, b.value)
		case !bytes.Equal(a.value, b.value):
			differs(a.key, a.value, b.value)
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
