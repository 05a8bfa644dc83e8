package primary

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"
)

// layer is a set of rows to write. A commit has tens of thousands, so that it keeps them
// in few pieces of memory: the bytes of keys and values one behind the other, and the rows
// in the order in which they came, found by a table of their hashes.
type layer struct {
	rows  []row
	table []slot // open addressing; its length is a power of two
	bytes int
	// pieces are for keys and values: so many are taken, and room is left of the last one,
	// which has no bytes but capacity.
	pieces [][]byte
	held   int // bytes of all pieces
	taken  int
	room   []byte
}

// row is a row to write; a nil value removes it. A value does not change before the layer
// is freed, but for that of a node: see [Overlay.edit].
type row struct {
	key, value []byte
	hash       uint32 // of the key
	// block is the block of the overlay that wrote it last.
	block uint32
}

// slot says where a row is: one above its index, or zero for none.
type slot struct{ hash, at uint32 }

// change is what a block has changed.
type change struct {
	at    int    // of the row
	value []byte // that it had before
	// isNew: there was no such row. edited: the value is a copy of what was changed in place.
	isNew, edited bool
}

// layerRoom is the memory of a large layer, which the next one takes: see [layer.free]. Its
// rows and its table are all zero.
type layerRoom struct {
	rows   []row
	table  []slot
	pieces [][]byte
	held   int
}

var layerRooms sync.Pool

const (
	leastSlots = 64
	// sharedSlots is how many slots the table of a large layer has at least.
	sharedSlots = 1024
	// leastPiece and mostPiece bound the pieces of memory for keys and values.
	leastPiece = 4 << 10
	mostPiece  = 256 << 10
	// mostShared bounds the bytes of the pieces that a layer leaves to others: it has those
	// of what was read on disk, too.
	mostShared = 8 << 20
)

var layerSeed = maphash.MakeSeed()

func hashKey(key []byte) uint32 { return uint32(maphash.Bytes(layerSeed, key)) }

// slot returns the slot of a key, or the one where it belongs.
func (l *layer) slot(key []byte, hash uint32) *slot {
	mask := uint32(len(l.table) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := &l.table[i]
		if s.at == 0 || s.hash == hash && bytes.Equal(l.rows[s.at-1].key, key) {
			return s
		}
	}
}

// find returns the index of the row of a key with a hash, -1 if there is none.
func (l *layer) find(key []byte, hash uint32) int {
	if len(l.rows) == 0 {
		return -1
	}
	return int(l.slot(key, hash).at) - 1
}

// grow makes room for one more in the table, less than two thirds of which are in use.
func (l *layer) grow() {
	if 3*(len(l.rows)+1) < 2*len(l.table) {
		return
	}
	if !l.share() {
		l.table = make([]slot, max(leastSlots, 2*len(l.table)))
		l.rows = slices.Grow(l.rows, 2*len(l.table)/3-len(l.rows))
	}
	mask := uint32(len(l.table) - 1)
	for at := range l.rows { // in their order: see back
		i := l.rows[at].hash & mask
		for l.table[i].at != 0 {
			i = (i + 1) & mask
		}
		l.table[i] = slot{l.rows[at].hash, uint32(at + 1)}
	}
}

// share takes over what another layer has left, if that is larger.
func (l *layer) share() bool {
	if 2*len(l.table) < sharedSlots {
		return false
	}
	room, ok := layerRooms.Get().(*layerRoom)
	if !ok || len(room.table) <= len(l.table) {
		return false
	}
	l.table, l.pieces, l.held, l.taken = room.table, room.pieces, room.held, 0 // its own pieces go with its rows
	if cap(room.rows) > cap(l.rows) {
		l.rows = append(room.rows, l.rows...)
	}
	return true
}

// free empties a layer. Nobody may have a row or a value of it any more.
func (l *layer) free() {
	if len(l.table) >= sharedSlots && l.held <= mostShared {
		clear(l.table)
		clear(l.rows[:cap(l.rows)]) // large values are apart
		layerRooms.Put(&layerRoom{l.rows[:0], l.table, l.pieces, l.held})
	}
	*l = layer{}
}

// buffer returns an empty slice with room for so many bytes.
func (l *layer) buffer(size int) []byte {
	if size > cap(l.room) {
		if size > mostPiece/4 {
			return make([]byte, 0, size)
		}
		l.room = l.piece(size)
	}
	b := l.room[:0:size]
	l.room = l.room[size:cap(l.room)][:0]
	return b
}

// piece takes a piece of memory with room for so many bytes.
func (l *layer) piece(size int) []byte {
	for l.taken < len(l.pieces) {
		if l.taken++; size <= cap(l.pieces[l.taken-1]) {
			return l.pieces[l.taken-1]
		}
	}
	b := make([]byte, 0, max(leastPiece, size, min(mostPiece, l.bytes/4)))
	l.pieces = append(l.pieces, b)
	l.held += cap(b)
	l.taken++
	return b
}

func (l *layer) copy(b []byte) []byte {
	switch {
	case b == nil:
		return nil
	case len(b) == 0: // which is not nil
		return []byte{}
	}
	return append(l.buffer(len(b)), b...)
}

// put writes a row, and returns how to undo that. It keeps neither slice.
func (l *layer) put(key, value []byte, block uint32) change { return l.keep(key, l.copy(value), block) }

// keep is put of a value that the layer may keep.
func (l *layer) keep(key, value []byte, block uint32) change {
	l.grow()
	hash := hashKey(key)
	s := l.slot(key, hash)
	if s.at != 0 {
		r := &l.rows[s.at-1]
		was := change{at: int(s.at - 1), value: r.value}
		l.bytes += len(value) - len(r.value)
		r.value, r.block = value, block
		return was
	}
	l.rows = append(l.rows, row{l.copy(key), value, hash, block})
	*s = slot{hash, uint32(len(l.rows))}
	l.bytes += len(key) + len(value)
	return change{at: len(l.rows) - 1, isNew: true}
}

// back undoes changes, the last first. A row that is taken away is the last that was
// added, so that the place of no other in the table depends on it.
func (l *layer) back(changes []change) {
	for _, c := range slices.Backward(changes) {
		r := &l.rows[c.at]
		l.bytes += len(c.value) - len(r.value)
		switch {
		case c.isNew:
			l.bytes -= len(r.key)
			*l.slot(r.key, r.hash) = slot{}
			l.rows = l.rows[:c.at]
		case c.edited:
			r.value = append(r.value[:0], c.value...)
		default:
			r.value = c.value
		}
	}
}

// sorted returns the rows in the order of their keys.
func (l *layer) sorted() []*row {
	list := make([]*row, len(l.rows))
	for i := range l.rows {
		list[i] = &l.rows[i]
	}
	slices.SortFunc(list, func(a, b *row) int { return bytes.Compare(a.key, b.key) })
	return list
}
