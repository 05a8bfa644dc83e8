package primary

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"

	store "quorate/engine/store/index"
)

// journalHead is the number of the row of the journal that says how many others there
// are: it is written last, and removed first.
const journalHead = math.MaxUint32

// large commits the block at work, the only one of the group, which no transaction can
// hold: see [writer].
func (w *writer) large(cur *cursor) error {
	if err := w.ready(); err != nil {
		return w.failed(err)
	}
	w.rows.group.put(w.at.space.Key(store.PrimaryCursor), cur.encode(), w.rows.block)
	if w.at.cursor == nil && !w.c.build {
		e := w.c.next
		e.version, e.serving = w.c.cfg.Version, w.at.space.Edition
		w.rows.group.put(w.c.editionsKey(), e.encode(), w.rows.block)
		w.rows.group.put(givenKey(w.at.space), w.c.cfg.Given.encode(), w.rows.block)
	}
	if err := w.journal(); err != nil {
		return w.failed(err)
	}
	w.c.applying.Lock()
	err := w.c.redo(w.at.space)
	w.c.applying.Unlock()
	if err != nil {
		return w.failed(err)
	}
	w.rows.forget()
	w.done = cur
	w.committed(cur)
	return w.refresh()
}

// journal writes the rows of the block at work to the journal.
func (w *writer) journal() error {
	many := w.c.many()
	defer many.discard()
	n := uint32(0)
	for _, r := range w.rows.group.sorted() {
		k, v := r.key, r.value
		b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(k)+1+len(v)), uint32(len(k)))
		b = append(b, k...)
		if v == nil {
			b = append(b, 1)
		} else {
			b = append(append(b, 0), v...)
		}
		if err := many.set(w.at.space.Key(store.PrimaryJournal).U32(n), b); err != nil {
			return err
		}
		n++
	}
	if err := many.end(); err != nil { // before the head, so that a whole journal has it all
		return err
	}
	if err := many.set(w.at.space.Key(store.PrimaryJournal).U32(journalHead), Key(nil).U32(n)); err != nil {
		return err
	}
	return many.end()
}

// recover completes what the last commit began, and returns the cursor.
func (c *Chain) recover(space Space) (*cursor, error) {
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	whole, err := s.Get(space.Key(store.PrimaryJournal).U32(journalHead), func([]byte) error { return nil })
	any := false
	if err == nil {
		any, err = hasRows(s, space.Key(store.PrimaryJournal))
	}
	s.Close()
	switch {
	case err != nil:
		return nil, err
	case whole:
		err = c.redo(space)
	case any:
		err = c.drop(context.Background(), space.Key(store.PrimaryJournal))
	}
	if err != nil {
		return nil, err
	}
	if s, err = c.db.Snapshot(); err != nil {
		return nil, err
	}
	defer s.Close()
	return readCursor(s, space)
}

func hasRows(s *store.Snapshot, prefix []byte) (bool, error) {
	it, err := s.Rows(prefix, false)
	if err != nil {
		return false, err
	}
	defer it.Close()
	it.Seek(prefix)
	return it.Valid(), nil
}

// redo copies the rows of a whole journal to their places, and removes it.
func (c *Chain) redo(space Space) error {
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	lead := space.Key(store.PrimaryJournal)
	it, err := s.Rows(lead, false)
	if err != nil {
		return err
	}
	defer it.Close()
	many := c.many()
	defer many.discard()
	for it.Seek(lead); it.Valid(); it.Next() {
		if string(it.Key()[LeadLen:]) == string(Key(nil).U32(journalHead)) {
			break
		}
		if err := it.Value(func(b []byte) error { return many.copy(b) }); err != nil {
			return err
		}
	}
	if err := many.end(); err != nil { // all rows are there before the journal goes
		return err
	}
	return c.drop(context.Background(), lead)
}

// many writes rows in as many transactions as it takes.
type many struct {
	c           *Chain
	b           *store.Batch
	rows, bytes int
}

func (c *Chain) many() *many { return &many{c: c} }

// room makes sure that a row fits the open transaction.
func (m *many) room(bytes int) (err error) {
	if l := m.c.limit; m.b != nil && (m.rows+2 >= l.rows || m.bytes+bytes+(m.rows+2)*l.overhead >= l.bytes) {
		if err := m.end(); err != nil {
			return err
		}
	}
	if m.b == nil {
		m.b, err = m.c.db.Batch()
		m.rows, m.bytes = 0, 0
	}
	m.rows++
	m.bytes += bytes
	return err
}

func (m *many) set(key, value []byte) error {
	if err := m.room(len(key) + len(value)); err != nil {
		return err
	}
	return m.b.Set(key, value)
}

func (m *many) delete(key []byte) error {
	if err := m.room(len(key)); err != nil {
		return err
	}
	return m.b.Delete(key)
}

// copy writes the row that a row of the journal holds.
func (m *many) copy(b []byte) error {
	if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b))+1 {
		return fmt.Errorf("%w: journal", ErrRow)
	}
	n := binary.BigEndian.Uint32(b)
	b = append([]byte(nil), b[4:]...)
	key, value := b[:n:n], b[n+1:]
	if b[n] == 1 {
		return m.delete(key)
	}
	return m.set(key, value)
}

// end commits what is open.
func (m *many) end() error {
	if m.b == nil {
		return nil
	}
	b := m.b
	m.b = nil
	return b.Commit()
}

func (m *many) discard() {
	if m.b != nil {
		m.b.Discard()
		m.b = nil
	}
}

// drop removes the rows whose keys begin with prefix, the last first: so the head of a
// journal goes before the rest. Between two transactions it ends with ctx.
func (c *Chain) drop(ctx context.Context, prefix []byte) error {
	for from := lastOf(prefix); from != nil; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var err error
		if from, err = c.dropSome(prefix, from); err != nil {
			return err
		}
	}
	return nil
}

// lastOf returns a key that no key with this prefix comes after.
func lastOf(prefix []byte) []byte {
	return append(bytes.Clone(prefix), bytes.Repeat([]byte{0xff}, 33)...)
}

// dropRows is how many rows are removed in one transaction: others wait for it.
const dropRows = 2000

// dropSome removes rows from a key back, and returns the key to go on from, nil at the
// end. From the end again each call would pass over all that were removed before it.
func (c *Chain) dropSome(prefix, from []byte) (next []byte, err error) {
	s, err := c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	it, err := s.Rows(prefix, true)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if it.Seek(from); !it.Valid() {
		return nil, nil
	}
	b, err := c.db.Batch()
	if err != nil {
		return nil, err
	}
	defer b.Discard()
	for n := 0; it.Valid() && next == nil; it.Next() {
		key := bytes.Clone(it.Key())
		if n++; n > min(dropRows, c.limit.rows) {
			next = key
		} else if err := b.Delete(key); err != nil {
			return nil, err
		}
	}
	return next, b.Commit()
}
