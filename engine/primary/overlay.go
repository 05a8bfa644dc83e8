package primary

import (
	"bytes"
	"maps"
	"slices"

	"quorate/engine/chain"
	store "quorate/engine/store/index"
)

// Overlay is a chain's rows as a machine sees and changes them: what the block at work
// has written, over what those before it in the commit have, over a snapshot. Nothing
// of it is on disk before its transaction. It is not safe for concurrent use.
type Overlay struct {
	Space
	snap *store.Snapshot
	// group has the rows of the blocks that go into the next transaction, that at work
	// included, flying those of the one that is being written. landed has those of the one
	// before: they are on disk, and read from here, which costs less: what was written
	// lately is what is read most.
	group, flying, landed layer
	// undo is what the block at work has changed in group, saved the bytes that it has of
	// what was edited. block counts the blocks.
	undo  []change
	saved []byte
	block uint32
	// scratch is room for a value that is being encoded, consumed for what a transaction
	// spends: see [Overlay.Spend], sought for a key that is looked for on disk.
	scratch, consumed, sought []byte
	// read is the output that was read last, touched the address that was last noted to have
	// part in a transaction: several outputs in a row often are of the same one. proposers
	// are the nodes of certificates.
	read      Output
	touched   addressTx
	proposers map[string]chain.NodeID
	// flat: of rows of before there were trees, which live lists are rows of their own in.
	flat bool
}

// Put writes a row in the place of the one before. It keeps neither slice.
func (o *Overlay) Put(key Key, value []byte) {
	if value == nil {
		value = []byte{}
	}
	o.undo = append(o.undo, o.group.put(key, value, o.block))
}

// putOwn is Put of a value that lies in the memory of the group.
func (o *Overlay) putOwn(key Key, value []byte) {
	o.undo = append(o.undo, o.group.keep(key, value, o.block))
}

// Delete removes a row, if there is one.
func (o *Overlay) Delete(key Key) { o.undo = append(o.undo, o.group.put(key, nil, o.block)) }

// Get returns the value of a row. It must not be changed, or kept beyond the block at work.
func (o *Overlay) Get(key Key) (value []byte, found bool, err error) {
	hash := hashKey(key)
	for _, l := range [...]*layer{&o.group, &o.flying, &o.landed} {
		if at := l.find(key, hash); at >= 0 {
			value = l.rows[at].value
			return value, value != nil, nil
		}
	}
	o.sought = append(o.sought[:0], key...) // so that those of callers need not be on the heap
	return o.onDisk(o.sought)
}

func (o *Overlay) onDisk(key []byte) (value []byte, found bool, err error) {
	found, err = o.snap.Get(key, func(b []byte) error {
		value = o.group.copy(b)
		return nil
	})
	return value, found, err
}

// Scan yields the rows whose keys begin with prefix in their order, until each
// returns false. Rows must not be written meanwhile. It costs as much as was written in
// the commit so far, and is for what is rare.
func (o *Overlay) Scan(prefix Key, each func(key, value []byte) (bool, error)) error {
	written := make(map[string][]byte)
	for _, l := range []*layer{&o.flying, &o.group} {
		for i := range l.rows {
			if r := &l.rows[i]; bytes.HasPrefix(r.key, prefix) {
				written[string(r.key)] = r.value
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

// edit returns the row of a node, whose value is about to be changed in place. It has
// value now.
func (o *Overlay) edit(key Key, value []byte) *row {
	at := o.group.find(key, hashKey(key))
	if at < 0 { // it is on disk, or on its way there
		c := o.group.keep(key, append(o.group.buffer(nodeRoom(len(value))), value...), o.block)
		o.undo = append(o.undo, c)
		return &o.group.rows[c.at]
	}
	r := &o.group.rows[at]
	if r.block != o.block { // the blocks before have left it so
		from := len(o.saved)
		o.saved = append(o.saved, r.value...)
		o.undo = append(o.undo, change{at: at, value: o.saved[from:], edited: true})
		r.block = o.block
	}
	return r
}

// keep makes the rows of the block at work part of the commit.
func (o *Overlay) keep() {
	clear(o.undo)
	o.undo, o.saved, o.touched = o.undo[:0], o.saved[:0], addressTx{}
	o.block++
}

// drop forgets the rows of the block at work.
func (o *Overlay) drop() {
	o.group.back(o.undo)
	o.keep()
}

// land says that the rows that were flying are on disk.
func (o *Overlay) land() {
	o.landed.free()
	o.landed, o.flying = o.flying, layer{}
}

// forget drops all rows that are not on disk, or may not be.
func (o *Overlay) forget() {
	o.group, o.flying, o.landed = layer{}, layer{}, layer{}
	o.keep()
}

// take returns the rows of the block at work, and leaves those of the ones before it.
func (o *Overlay) take() (block layer) {
	for i := range o.undo {
		r := &o.group.rows[o.undo[i].at]
		block.put(r.key, r.value, o.block)
	}
	o.drop()
	return block
}
