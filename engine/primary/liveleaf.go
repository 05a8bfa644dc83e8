package primary

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Most changes of a live list leave all of its nodes but one leaf as they are: those are
// made in the bytes of that leaf. What follows for other nodes, where a leaf gets too
// large, too small or empty, is left to treeWriter.

// nodeHead is the length of a node's level and its u32.
const nodeHead = 1 + 4

// nodeRoom returns how many bytes to have for a node of some size, which may grow.
func nodeRoom(size int) int { return max(size, min(2*size, nodeMost+nodeHead)) }

// bytesAt reads bytes behind their number, and returns where they begin and end; ok is
// false if they do not fit.
func bytesAt(b []byte, at int) (from, to int, ok bool) {
	if at < len(b) && b[at] < 0x80 {
		from, to = at+1, at+1+int(b[at])
		return from, to, to <= len(b)
	}
	n, width := binary.Uvarint(b[min(at, len(b)):])
	if width <= 0 || n > uint64(len(b)) {
		return 0, 0, false
	}
	from, to = at+width, at+width+int(n)
	return from, to, to <= len(b)
}

// bytesLen returns how many bytes [Encoder.Bytes] appends.
func bytesLen(b []byte) int { return 1 + (bits.Len(uint(len(b))|1)-1)/7 + len(b) }

// rawLeaf is a leaf as it is encoded, and where a key is in it.
type rawLeaf struct {
	key   Key    // of its row
	b     []byte // the row's value; nil: the list is empty
	root  bool
	found bool
	// from and to are where the entry is, or would be, value where its value begins; size
	// is that of the node.
	from, value, to int
	size            int
}

var errNode = fmt.Errorf("%w: nodes of a list", ErrRow)

// leaf returns the leaf that has a key, or would have it. The key of its row is made in
// room.
func (o *Overlay) leaf(list Key, order []byte, room Key) (l rawLeaf, err error) {
	number, level := uint32(0), -1
	for {
		key := nodeKey(room[:0], list, number)
		b, found, err := o.Get(key)
		if err != nil || !found && level < 0 {
			return rawLeaf{key: key, root: true}, err
		}
		if !found {
			return l, fmt.Errorf("%w: a node of a list is missing", ErrRow)
		}
		if len(b) < nodeHead || level >= 0 && int(b[0]) != level-1 {
			return l, errNode
		}
		if b[0] == 0 {
			l = rawLeaf{key: key, b: b, root: level < 0}
			return l, l.find(order)
		}
		level = int(b[0])
		if number, err = rawChild(b, order); err != nil {
			return l, err
		}
	}
}

// rawChild returns the number of the child that has a key.
func rawChild(b, order []byte) (number uint32, err error) {
	for at := nodeHead; at < len(b); {
		from, to, ok := bytesAt(b, at)
		if !ok {
			return 0, errNode
		}
		value, end, ok := bytesAt(b, to)
		if !ok || end-value != 4 {
			return 0, errNode
		}
		if at > nodeHead && bytes.Compare(b[from:to], order) > 0 {
			return number, nil
		}
		number, at = binary.BigEndian.Uint32(b[value:]), end
	}
	if len(b) == nodeHead {
		return 0, errNode
	}
	return number, nil
}

// find looks for a key.
func (l *rawLeaf) find(order []byte) error {
	l.from = -1
	for at := nodeHead; at < len(l.b); {
		from, to, ok := bytesAt(l.b, at)
		if !ok {
			return errNode
		}
		value, end, ok := bytesAt(l.b, to)
		if !ok {
			return errNode
		}
		l.size += 2 + to - from + end - value
		if l.from < 0 {
			switch bytes.Compare(l.b[from:to], order) {
			case 0:
				l.from, l.value, l.to, l.found = at, value, end, true
			case 1:
				l.from, l.to = at, at
			}
		}
		at = end
	}
	if l.from < 0 {
		l.from, l.to = len(l.b), len(l.b)
	}
	return nil
}

// alone reports whether a change to a size leaves the other nodes as they are.
func (l *rawLeaf) alone(size int) bool {
	return size > 0 && size <= nodeMost && (l.root || size >= nodeLeast)
}

// putRaw writes a row of a live list, if that changes no node but a leaf.
func (o *Overlay) putRaw(l *rawLeaf, order, value []byte) bool {
	if l.b == nil {
		size := nodeHead + bytesLen(order) + bytesLen(value)
		e := Encoder{B: append(o.group.buffer(nodeRoom(size)), make([]byte, nodeHead)...)}
		e.Bytes(order)
		e.Bytes(value)
		o.putOwn(l.key, e.B)
		return true
	}
	size := l.size + 2 + len(order) + len(value)
	if l.found {
		size -= 2 + len(order) + l.to - l.value
	}
	if !l.alone(size) {
		return false
	}
	o.splice(l, bytesLen(order)+bytesLen(value), func(to []byte) {
		e := Encoder{B: to[:0]}
		e.Bytes(order)
		e.Bytes(value)
	})
	return true
}

// deleteRaw removes the row that was found, if that changes no node but a leaf.
func (o *Overlay) deleteRaw(l *rawLeaf, order []byte) bool {
	size := l.size - (2 + len(order) + l.to - l.value)
	if l.root && size == 0 {
		o.Delete(l.key)
		return true
	}
	if !l.alone(size) {
		return false
	}
	o.splice(l, 0, func([]byte) {})
	return true
}

// splice has other bytes, which fill writes, in the place of an entry.
func (o *Overlay) splice(l *rawLeaf, size int, fill func([]byte)) {
	r := o.edit(l.key, l.b)
	more := size - (l.to - l.from)
	b := r.value
	if length := len(b) + more; length > cap(b) {
		b = append(o.group.buffer(nodeRoom(length)), b...)
	}
	b = b[:len(b)+max(more, 0)]
	copy(b[l.to+more:], b[l.to:len(r.value)])
	fill(b[l.from : l.from+size])
	r.value = b[:len(r.value)+more]
	o.group.bytes += more
}
