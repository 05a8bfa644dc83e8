package primary

import (
	"bytes"
	"slices"

	store "quorate/engine/store/index"
)

// Lists are rows that make one list: those under each of Prefixes, in the order of what
// follows in their keys, which is the same whichever prefix a row is under. A row that
// is under several counts once.
type Lists struct {
	Prefixes []Key
	// Live are prefixes of live lists, which have rows that come and go: see
	// [Overlay.PutLive].
	Live []Key
	// From and To bound what follows: From <= it < To. Nil leaves that side open.
	From, To []byte
	// Pass bounds how many rows are passed over in a page: with more, it ends early.
	// Zero is [maxPass].
	Pass int
}

// maxPass bounds how many rows a page passes over.
const maxPass = 10_000

// Result is what became of a row that a list offered.
type Result uint8

// The results.
const (
	Taken  Result = iota // it is on the page
	Passed               // it is not of the list
	Full                 // the page has no room for it
)

// List goes through lists from where the page before ended. It calls take with what
// follows the prefix in the key of each row, and its value, which are good until take
// returns.
func (v *View) List(l *Lists, p *Page, take func(order, value []byte) (Result, error)) (Position, error) {
	m, err := v.merge(l, p)
	if err != nil {
		return nil, err
	}
	defer m.close()
	last := append(Position(nil), p.After...)
	pass := l.Pass
	if pass == 0 {
		pass = maxPass
	}
	for taken := 0; ; {
		row := m.first()
		if row == nil {
			return nil, nil
		}
		if taken >= p.Limit || pass == 0 {
			return last, nil
		}
		v.read++
		res := Taken
		if err := row.value(func(b []byte) (err error) {
			res, err = take(row.order(), b)
			return err
		}); err != nil {
			return nil, err
		}
		switch res {
		case Full:
			return last, nil
		case Taken:
			taken++
		case Passed:
			pass--
		}
		last = append(last[:0], row.order()...)
		if err := m.next(last); err != nil {
			return nil, err
		}
	}
}

// merged goes through several lists as one.
type merged struct {
	asc   bool
	bound []byte // where the list ends: see Lists
	rows  []listRows
}

// listRows is one of the lists, in one of the two forms that they have.
type listRows interface {
	seek(order []byte) error // to the first row that is not before it, in the direction of the page
	next() error
	valid() bool
	order() []byte
	value(read func([]byte) error) error
	close()
}

// flatRows are rows that an iterator goes through.
type flatRows struct {
	it     *store.Rows
	prefix []byte
}

func (r *flatRows) seek(order []byte) error {
	r.it.Seek(append(append([]byte(nil), r.prefix...), order...))
	return nil
}

func (r *flatRows) next() error {
	r.it.Next()
	return nil
}

func (r *flatRows) valid() bool                         { return r.it.Valid() }
func (r *flatRows) order() []byte                       { return r.it.Key()[len(r.prefix):] }
func (r *flatRows) value(read func([]byte) error) error { return r.it.Value(read) }
func (r *flatRows) close()                              { r.it.Close() }

func (v *View) merge(l *Lists, p *Page) (*merged, error) {
	m := &merged{asc: p.Asc, bound: l.To}
	if !p.Asc {
		m.bound = l.From
	}
	flat := l.Prefixes
	if v.flat {
		flat = slices.Concat(l.Prefixes, l.Live)
	} else {
		for _, list := range l.Live {
			m.rows = append(m.rows, &treeRows{tree: tree{list, v.Get}, asc: p.Asc})
		}
	}
	for _, prefix := range flat {
		it, err := v.Rows(prefix, !p.Asc)
		if err != nil {
			m.close()
			return nil, err
		}
		m.rows = append(m.rows, &flatRows{it, prefix})
	}
	for _, r := range m.rows {
		if err := start(r, l, p); err != nil {
			m.close()
			return nil, err
		}
	}
	return m, nil
}

// start goes to the first row of a page. What it begins behind is no part of it: the
// last row of the page before, or an upper bound.
func start(r listRows, l *Lists, p *Page) error {
	at, behind := l.From, false
	if !p.Asc {
		if at, behind = l.To, true; at == nil {
			at = highest
		}
	}
	if len(p.After) > 0 && p.Asc == (bytes.Compare(p.After, at) >= 0) {
		at, behind = p.After, true
	}
	if err := r.seek(at); err != nil || !behind || !r.valid() || !bytes.Equal(r.order(), at) {
		return err
	}
	return r.next()
}

// highest is above whatever follows a prefix.
var highest = bytes.Repeat([]byte{0xff}, 80)

// first returns the list that has the next row, nil at the end.
func (m *merged) first() listRows {
	var best listRows
	for _, r := range m.rows {
		if !r.valid() {
			continue
		}
		if best == nil || m.before(r.order(), best.order()) {
			best = r
		}
	}
	if best == nil || m.bound != nil && m.past(best.order()) {
		return nil
	}
	return best
}

func (m *merged) before(a, b []byte) bool {
	if m.asc {
		return bytes.Compare(a, b) < 0
	}
	return bytes.Compare(a, b) > 0
}

// past reports whether a row lies behind the end.
func (m *merged) past(order []byte) bool {
	if m.asc {
		return bytes.Compare(order, m.bound) >= 0
	}
	return bytes.Compare(order, m.bound) < 0
}

// next passes over the row that stands there in the order, in all lists.
func (m *merged) next(order []byte) error {
	for _, r := range m.rows {
		if r.valid() && bytes.Equal(r.order(), order) {
			if err := r.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *merged) close() {
	for _, r := range m.rows {
		r.close()
	}
}
