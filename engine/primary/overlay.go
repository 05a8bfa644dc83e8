package primary

import (
	"bytes"
	"maps"
	"slices"

	store "quorate/engine/store/index"
)

// Overlay is a chain's rows as a machine sees and changes them: what the block at work
// has written, over what those before it in the commit have, over a snapshot. Nothing
// of it is on disk before its transaction. It is not safe for concurrent use.
type Overlay struct {
	Space
	snap *store.Snapshot
	// flying has the rows of the transaction that is being written, group those of the
	// blocks that go into the next one, block those of the one at work. A nil value is a
	// removed row.
	flying, group, block layer
	// flat: of rows of before there were trees, which live lists are rows of their own in.
	flat bool
}

// layer is a set of rows to write.
type layer struct {
	rows  map[string][]byte
	bytes int
}

func (l *layer) put(key string, value []byte) {
	if l.rows == nil {
		l.rows = make(map[string][]byte)
	}
	if old, ok := l.rows[key]; ok {
		l.bytes -= len(key) + len(old)
	}
	l.rows[key] = value
	l.bytes += len(key) + len(value)
}

// sorted returns the keys in their order.
func (l *layer) sorted() []string { return slices.Sorted(maps.Keys(l.rows)) }

// Put writes a row in the place of the one before. It keeps the value, which must not
// change, but not the key.
func (o *Overlay) Put(key Key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	o.block.put(string(key), value)
}

// Delete removes a row, if there is one.
func (o *Overlay) Delete(key Key) { o.block.put(string(key), nil) }

// Get returns the value of a row. It must not be changed.
func (o *Overlay) Get(key Key) (value []byte, found bool, err error) {
	if v, ok := o.block.rows[string(key)]; ok {
		return v, v != nil, nil
	}
	if v, ok := o.group.rows[string(key)]; ok {
		return v, v != nil, nil
	}
	if v, ok := o.flying.rows[string(key)]; ok {
		return v, v != nil, nil
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
	for _, l := range []*layer{&o.flying, &o.group, &o.block} {
		for k, v := range l.rows {
			if len(k) >= len(prefix) && k[:len(prefix)] == string(prefix) {
				written[k] = v
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
	if len(o.group.rows) == 0 {
		o.group, o.block = o.block, layer{}
		return
	}
	for k, v := range o.block.rows {
		o.group.put(k, v)
	}
	o.block = layer{}
}
