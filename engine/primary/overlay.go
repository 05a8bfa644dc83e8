package primary

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	store "quorate/engine/store/index"
)

// Overlay is a chain's rows as a machine sees and changes them: what the block at work
// has written, over what those before it in the commit have, over a snapshot. Nothing
// of it is on disk before its transaction. It is not safe for concurrent use.
type Overlay struct {
	Space
	snap *store.Snapshot
	// flying has the rows of the transaction that is being written, group those of the
	// blocks that go into the next one, that at work included.
	flying, group layer
	// undo is what the block at work has changed in group.
	undo []change
	// flat: of rows of before there were trees, which live lists are rows of their own in.
	flat bool
}

// layer is a set of rows to write.
type layer struct {
	rows  map[string]*row
	bytes int
	room  []row // for rows: one allocation for many
}

// row is a row to write; a nil value removes it.
type row struct {
	key   string
	value []byte
}

// change is what a block has changed: the row was not there before if it is new.
type change struct {
	row   *row
	value []byte
	isNew bool
}

// roomRows is how many rows are allocated at once.
const roomRows = 128

// put writes a row, and returns how to undo that.
func (l *layer) put(key []byte, value []byte) change {
	if r, ok := l.rows[string(key)]; ok {
		was := change{row: r, value: r.value}
		l.bytes += len(value) - len(r.value)
		r.value = value
		return was
	}
	return l.add(string(key), value)
}

func (l *layer) add(key string, value []byte) change {
	if l.rows == nil {
		l.rows = make(map[string]*row)
	}
	if len(l.room) == 0 {
		l.room = make([]row, roomRows)
	}
	r := &l.room[0]
	l.room = l.room[1:]
	r.key, r.value = key, value
	l.rows[key] = r
	l.bytes += len(key) + len(value)
	return change{row: r, isNew: true}
}

// back undoes changes, the last first.
func (l *layer) back(changes []change) {
	for _, c := range slices.Backward(changes) {
		l.bytes += len(c.value) - len(c.row.value)
		c.row.value = c.value
		if c.isNew {
			l.bytes -= len(c.row.key)
			delete(l.rows, c.row.key)
		}
	}
}

func (l *layer) keyBytes() (bytes int) {
	for k := range l.rows {
		bytes += len(k)
	}
	return bytes
}

// sorted returns the rows in the order of their keys.
func (l *layer) sorted() []*row {
	return slices.SortedFunc(maps.Values(l.rows), func(a, b *row) int { return strings.Compare(a.key, b.key) })
}

// Put writes a row in the place of the one before. It keeps the value, which must not
// change, but not the key.
func (o *Overlay) Put(key Key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	o.undo = append(o.undo, o.group.put(key, value))
}

// Delete removes a row, if there is one.
func (o *Overlay) Delete(key Key) { o.undo = append(o.undo, o.group.put(key, nil)) }

// Get returns the value of a row. It must not be changed.
func (o *Overlay) Get(key Key) (value []byte, found bool, err error) {
	for _, l := range [...]*layer{&o.group, &o.flying} {
		if r, ok := l.rows[string(key)]; ok {
			return r.value, r.value != nil, nil
		}
	}
	found, err = o.snap.Get(key, func(b []byte) error {
		value = bytes.Clone(b)
		return nil
	})
	return value, found, err
}

// Scan hands over the rows whose keys begin with prefix in their order, until each
// returns false. Rows must not be written meanwhile. It costs as much as was written in
// the commit so far, and is for what is rare.
func (o *Overlay) Scan(prefix Key, each func(key, value []byte) (bool, error)) error {
	written := make(map[string][]byte)
	for _, l := range []*layer{&o.flying, &o.group} {
		for k, r := range l.rows {
			if strings.HasPrefix(k, string(prefix)) {
				written[k] = r.value
			}
		}
	}
	keys := slices.Sorted(maps.Keys(written))
	it, err := o.snap.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer it.Close()
	for it.Seek(prefix); it.Valid() || len(keys) > 0; {
		if len(keys) > 0 && (!it.Valid() || keys[0] <= string(it.Key())) {
			k := keys[0]
			keys = keys[1:]
			if it.Valid() && k == string(it.Key()) {
				it.Next()
			}
			if v := written[k]; v != nil {
				if more, err := each([]byte(k), v); err != nil || !more {
					return err
				}
			}
			continue
		}
		more := false
		err := it.Value(func(v []byte) (err error) {
			more, err = each(it.Key(), v)
			return err
		})
		if err != nil || !more {
			return err
		}
		it.Next()
	}
	return nil
}

// keep makes the rows of the block at work part of the commit.
func (o *Overlay) keep() {
	clear(o.undo)
	o.undo = o.undo[:0]
}

// drop forgets the rows of the block at work.
func (o *Overlay) drop() {
	o.group.back(o.undo)
	o.keep()
}

// take returns the rows of the block at work, and leaves those of the ones before it.
func (o *Overlay) take() (block layer) {
	for i := range o.undo {
		block.put([]byte(o.undo[i].row.key), o.undo[i].row.value)
	}
	o.drop()
	return block
}
