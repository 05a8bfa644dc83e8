package primary

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"quorate/engine/chain"
	store "quorate/engine/store/index"
)

// cursor is how far a chain is indexed. It does not change.
type cursor struct {
	head  chain.Head
	first uint64 // height of the first block
}

// The cursor codec, version 1: u8 1 | u64 height | ID | u64 time in Unix ms | u64 first height.
const (
	cursorVersion = 1
	cursorLen     = 1 + 8 + chain.IDLen + 8 + 8
)

func (c *cursor) encode() []byte {
	return Key(make([]byte, 0, cursorLen)).U8(cursorVersion).U64(c.head.Height).ID(c.head.ID).U64(c.head.TimeMilli).U64(c.first)
}

func decodeCursor(b []byte) (*cursor, error) {
	if len(b) != cursorLen || b[0] != cursorVersion {
		return nil, fmt.Errorf("%w: cursor", ErrRow)
	}
	c := &cursor{}
	c.head.Height = binary.BigEndian.Uint64(b[1:])
	copy(c.head.ID[:], b[9:])
	c.head.TimeMilli = binary.BigEndian.Uint64(b[9+chain.IDLen:])
	c.first = binary.BigEndian.Uint64(b[17+chain.IDLen:])
	return c, nil
}

// readCursor returns the cursor of a space, nil if there is none.
func readCursor(s *store.Snapshot, space Space) (cur *cursor, err error) {
	_, err = s.Get(space.Key(store.PrimaryCursor), func(b []byte) (err error) {
		cur, err = decodeCursor(b)
		return err
	})
	return cur, err
}

// Span returns the first and the last block of an edition of a chain, by what reads a row.
func Span(ordinal uint32, edition uint8, get func(key []byte) ([]byte, error)) (first, last uint64, any bool, err error) {
	b, err := get(Space{Ordinal: ordinal, Edition: edition}.Key(store.PrimaryCursor))
	if err != nil || b == nil {
		return 0, 0, false, err
	}
	cur, err := decodeCursor(b)
	if err != nil {
		return 0, 0, false, err
	}
	return cur.first, cur.head.Height, true, nil
}

// writer writes the rows of blocks in transactions that end with blocks. While one is
// being written the rows of the next one are made.
//
// A block that is larger than a transaction cannot be made visible by one. Its rows go
// to a journal first, in as many transactions as it takes, and a last one says that it
// is complete. From then on the block counts, and a crash has the rest done by the next
// start: rows are copied to their places, which can be done any number of times, and
// the cursor goes with the last. A crash before leaves rows in the journal alone, where
// nobody looks, and the next start removes them.
type writer struct {
	c        *Chain
	ctx      context.Context
	ready    func() error // nothing is written before it has returned nil
	at       position     // of what is committed
	rows     *Overlay     // nil: to be begun
	began    time.Time    // when the first of the group of rows was made
	launched int          // bytes of rows
	// done is the last block in rows.
	done *cursor
	// flight is the transaction that is being written, nil if none is.
	flight *flight
}

// flight is a transaction that is being written.
type flight struct {
	ended chan error
	rows  layer
	done  *cursor      // of its last block
	ready func() error // nothing is written before it has returned nil
	first bool         // nothing was written before
}

// begin opens the rows as they are after the last commit.
func (w *writer) begin() error {
	if w.rows != nil {
		return nil
	}
	snap, err := w.c.db.Snapshot()
	if err != nil {
		return err
	}
	w.rows = &Overlay{Space: w.at.space, snap: snap, flat: w.at.version < w.c.cfg.Live}
	cur, err := readCursor(snap, w.at.space)
	if err != nil {
		return err
	}
	if cur != nil && (w.at.cursor == nil || cur.head != w.at.cursor.head) {
		w.at.cursor = cur // the commit before did not say that it was done, but was
		w.c.machine = nil
	}
	w.done = w.at.cursor
	if w.c.machine != nil {
		return nil
	}
	m := w.c.cfg.Machine()
	if err := m.Load(w.rows); err != nil {
		return err
	}
	w.c.machine = m
	return nil
}

func (w *writer) close() {
	if w.flight != nil { // after a panic
		<-w.flight.ended
	}
	if w.rows != nil {
		w.rows.landed.free()
		w.rows.snap.Close()
		w.rows = nil
	}
}

// block makes the rows of a block, and commits those before it if both do not fit.
func (w *writer) block(b *Block) error {
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if err := w.begin(); err != nil {
		return err
	}
	if len(w.rows.group.rows) == 0 {
		w.began = time.Now()
	}
	link := b.Link()
	if err := follows(w.done, &link); err != nil {
		return err
	}
	if err := w.c.machine.Apply(w.rows, b); err != nil {
		w.rows.drop()
		return fmt.Errorf("block %d (%s): %w", link.Height, link.ID, err)
	}
	next := &cursor{head: link.Head, first: link.Height}
	if w.done != nil {
		next.first = w.done.first
	}
	if !w.c.limit.fits(&w.rows.group) {
		block := w.rows.take()
		if err := w.launch(); err != nil {
			return err
		}
		w.rows.group = block
		if !w.c.limit.fits(&block) {
			if err := w.land(true); err != nil {
				return err
			}
			return w.large(next)
		}
	}
	w.rows.keep()
	w.done = next
	if w.rows.group.bytes >= w.many() && w.idle() {
		return w.launch()
	}
	return nil
}

// many is from how many bytes on rows are written while further blocks are at hand. The
// first ones are few, so that they are soon there.
func (w *writer) many() int { return max(min(w.launched, w.c.limit.launch), w.c.limit.launch/2) }

// refresh has the rows read what is on disk now.
func (w *writer) refresh() error {
	snap, err := w.c.db.Snapshot()
	if err != nil {
		return err
	}
	w.rows.snap.Close()
	w.rows.snap = snap
	return nil
}

// flush commits what is left.
func (w *writer) flush() error {
	if w.rows == nil {
		return nil
	}
	if err := w.launch(); err != nil {
		return err
	}
	return w.land(false)
}

// idle reports whether no transaction is being written, or the one that was has ended.
func (w *writer) idle() bool { return w.flight == nil || len(w.flight.ended) > 0 }

// launch begins to write the rows of the group with the cursor up to done, when what was
// launched before is written.
func (w *writer) launch() error {
	if err := w.land(true); err != nil || w.done == w.at.cursor {
		return err
	}
	f := &flight{
		ended: make(chan error, 1), rows: w.rows.group, done: w.done, ready: w.ready, first: w.at.cursor == nil,
	}
	w.flight = f
	w.launched += f.rows.bytes
	w.rows.flying, w.rows.group = f.rows, layer{}
	// Until it has ended neither its rows nor at change.
	go func() { f.ended <- w.commit(f) }()
	return nil
}

// land waits for the transaction that is being written; more says that further rows are
// made of what it has written.
func (w *writer) land(more bool) error {
	f := w.flight
	if f == nil {
		return nil
	}
	w.flight = nil
	if err := <-f.ended; err != nil {
		return w.failed(err)
	}
	w.committed(f.done)
	w.rows.land()
	if !more {
		return nil
	}
	return w.refresh()
}

// commit writes rows with the cursor.
func (w *writer) commit(f *flight) error {
	if err := f.ready(); err != nil {
		return err
	}
	return w.c.db.Update(func(b *store.Batch) error { return errors.Join(f.set(b), w.mark(b, f.done, f.first)) })
}

// set writes the rows, whose keys and values stay where they are.
func (f *flight) set(b *store.Batch) error {
	rows := f.rows.rows
	b.Grow(len(rows) + 3) // and what mark writes
	for i := range rows {
		var err error
		if r := &rows[i]; r.value == nil {
			err = b.Delete(r.key)
		} else {
			err = b.Set(r.key, r.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mark writes the cursor, and with the first one which edition has the rows.
func (w *writer) mark(b *store.Batch, cur *cursor, first bool) error {
	if err := b.Set(w.at.space.Key(store.PrimaryCursor), cur.encode()); err != nil || !first || w.c.build {
		return err
	}
	e := w.c.next
	e.version, e.serving = w.c.cfg.Version, w.at.space.Edition
	return errors.Join(b.Set(givenKey(w.at.space), w.c.cfg.Given.encode()), b.Set(w.c.editionsKey(), e.encode()))
}

// committed takes note of what is on disk.
func (w *writer) committed(cur *cursor) {
	if w.at.cursor == nil {
		w.at.version, w.at.given = w.c.cfg.Version, &w.c.cfg.Given
	}
	w.at.cursor = cur
	at := w.at
	w.c.setAt(&at)
}

// failed finds out what is on disk after a commit that did not end well. What was made
// since goes with it.
func (w *writer) failed(err error) error {
	w.c.machine = nil
	w.rows.forget()
	e := w.c.load()
	w.at = *w.c.at.Load()
	w.done = w.at.cursor
	if e != nil {
		return fmt.Errorf("%w; and then: %w", err, e)
	}
	return err
}
