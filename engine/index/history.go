package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	store "quorate/engine/store/index"
)

// history says which rows lie in a table of histories, whose keys are a lead, what each
// history is of, and ^height.
type history struct {
	lead   key
	sub    int    // bytes of what a history is of
	within []byte // what those begin with that count; nil takes all
}

// walk yields the newest row of each history that the view sees, in the order of
// keys, until take has said of Limit rows that they belong to the page and another one
// does too. It returns the position to go on from, which is what the history of the
// last row is of, nil at the end. A page may end early where many rows do not belong.
func (v *View) walk(h *history, p *Page, take func(at, value []byte) (belongs bool, err error)) ([]byte, error) {
	if p.After != nil && len(p.After) != h.sub {
		return nil, ErrPosition
	}
	if p.Limit < 1 {
		return nil, nil
	}
	prefix := slices.Clone(append(slices.Clip(h.lead), h.within...))
	rows, err := v.s.Rows(prefix, false)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	begin := prefix
	if p.After != nil {
		if begin = past(slices.Clone(h.lead), p.After); bytes.Compare(begin, prefix) < 0 {
			begin = prefix
		}
	}
	w := historyWalk{v: v, rows: rows, lead: len(h.lead), end: len(h.lead) + h.sub}
	taken := 0
	rows.Seek(begin)
	for passed := 0; rows.Valid(); passed++ {
		if passed == maxPassed {
			return w.last, nil
		}
		at, value, err := w.next()
		if err != nil {
			return nil, err
		}
		if value != nil {
			belongs, err := take(at, value)
			if err != nil {
				return nil, err
			}
			if belongs {
				if taken++; taken > p.Limit {
					return w.last, nil
				}
			}
		}
		w.last = append(w.last[:0], at...)
	}
	return nil, nil
}

// historyWalk goes from history to history.
type historyWalk struct {
	v         *View
	rows      *store.Rows
	lead, end int // of what a history is of, in keys
	at, value []byte
	last      []byte // the history before
}

// next reads the history that the iterator stands at, and goes to the one behind it.
// value is nil if the view sees no row of it.
func (w *historyWalk) next() (at, value []byte, err error) {
	k := w.rows.Key()
	if len(k) != w.end+heightLen {
		return nil, nil, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
	}
	w.at = append(w.at[:0], k[w.lead:w.end]...)
	for i := 0; w.rows.Valid() && bytes.Equal(w.rows.Key()[w.lead:w.end], w.at); i++ {
		if value != nil && i >= steps {
			w.rows.Seek(past(slices.Clone(w.rows.Key()[:w.lead]), w.at))
			break
		}
		height := ^binary.BigEndian.Uint64(w.rows.Key()[w.end:])
		switch {
		case value != nil:
		case height > w.v.tip.Number && i >= steps:
			k := key(slices.Clone(w.rows.Key()[:w.end]))
			w.rows.Seek(k.u64(^w.v.tip.Number))
			continue
		case height <= w.v.tip.Number && height >= w.v.First():
			if err := w.rows.Value(func(b []byte) error {
				w.value = append(w.value[:0], b...)
				return nil
			}); err != nil {
				return nil, nil, err
			}
			value = w.value
		}
		w.rows.Next()
	}
	return w.at, value, nil
}
