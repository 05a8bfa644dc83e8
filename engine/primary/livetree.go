package primary

import (
	"bytes"
	"encoding/binary"
	"fmt"

	store "quorate/engine/store/index"
)

// Lists whose rows come, go or change, such as the unspent outputs of an address, are
// not rows that an iterator goes through: it passes over each that was removed and each
// former version until a compaction drops them, and the last hundreds of thousands wait
// for one at any time. Ten outputs behind 100,000 that were spent were seen to take
// 15 ms instead of 50 µs. A live list is a B-tree instead, whose nodes are rows that are
// read by their keys alone, which costs the same however often they were written.
//
// Nodes split above nodeMost bytes; one with less than nodeLeast is merged with its
// neighbor if both fill no more than nodeMerged; and an empty one goes. So the number of
// nodes to read follows from what is in the list.
const (
	nodeMost   = 1024
	nodeMerged = nodeMost * 3 / 4
	nodeLeast  = nodeMost / 4
)

// node is a node of a tree. The root has the number 0.
//
// The codec: u8 level | u32 | for each entry its key and its value behind their lengths.
// Level 0 has the rows of the list; above it, a value is the u32 number of a child, and
// the key, of which the first entry has none, the lower bound of the child's keys. The u32
// is, of the root, the highest number that a node was given.
type node struct {
	level   uint8
	last    uint32
	entries []entry
}

type entry struct{ key, value []byte }

func (n *node) encode() []byte {
	e := &Encoder{B: make([]byte, 0, n.size())}
	e.U8(n.level)
	e.B = binary.BigEndian.AppendUint32(e.B, n.last)
	for i := range n.entries {
		key := n.entries[i].key
		if n.level > 0 && i == 0 {
			key = nil // it may have been the second one, and is no bound any more
		}
		e.Bytes(key)
		e.Bytes(n.entries[i].value)
	}
	return e.B
}

// size returns about how many bytes the node takes.
func (n *node) size() (size int) {
	for i := range n.entries {
		size += n.entries[i].size()
	}
	return size
}

func (e *entry) size() int { return 2 + len(e.key) + len(e.value) }

func decodeNode(b []byte) (*node, error) {
	d := NewDecoder(b)
	n := &node{level: d.U8(), entries: make([]entry, 0, len(b)/32+1)}
	if last := d.Fixed(4); last != nil {
		n.last = binary.BigEndian.Uint32(last)
	}
	for d.Len() > 0 {
		n.entries = append(n.entries, entry{d.Bytes(), d.Bytes()})
	}
	if err := d.End("node of a list"); err != nil {
		return nil, err
	}
	for i := range n.entries {
		if n.level > 0 && len(n.entries[i].value) != 4 {
			return nil, fmt.Errorf("%w: child of a node", ErrRow)
		}
	}
	return n, nil
}

// find returns the first entry with a key that is not below a key, and whether it is
// that key.
func (n *node) find(key []byte) (at int, same bool) {
	low, high := 0, len(n.entries)
	for low < high {
		if mid := (low + high) / 2; bytes.Compare(n.entries[mid].key, key) < 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < len(n.entries) && bytes.Equal(n.entries[low].key, key)
}

// child returns which child has a key.
func (n *node) child(key []byte) int {
	at, same := n.find(key)
	if same {
		return at
	}
	return max(at-1, 0)
}

func (n *node) insert(at int, e entry) {
	n.entries = append(n.entries, entry{})
	copy(n.entries[at+1:], n.entries[at:])
	n.entries[at] = e
}

func (n *node) remove(at int) { n.entries = append(n.entries[:at], n.entries[at+1:]...) }

// number returns the number of a child.
func (n *node) number(at int) uint32 { return binary.BigEndian.Uint32(n.entries[at].value) }

// tree reads a live list. What keys of rows of such lists would begin with names it.
type tree struct {
	list Key
	get  func(key Key) ([]byte, bool, error)
}

// key returns the key of a node: see [store.PrimaryTrees].
func (t *tree) key(number uint32) Key { return nodeKey(make(Key, 0, len(t.list)+1+4), t.list, number) }

func nodeKey(k, list Key, number uint32) Key {
	return k.U8(store.PrimaryTrees).Bytes(list[1:LeadLen]).U8(list[0]).Bytes(list[LeadLen:]).U32(number)
}

// node reads a node; it is nil if there is none.
func (t *tree) node(number uint32) (*node, error) {
	b, found, err := t.get(t.key(number))
	if err != nil || !found {
		return nil, err
	}
	return decodeNode(b)
}

// must reads a node that another one names.
func (t *tree) must(number uint32) (*node, error) {
	n, err := t.node(number)
	if err == nil && n == nil {
		err = fmt.Errorf("%w: a node of a list is missing", ErrRow)
	}
	return n, err
}

// step is a node on the way from the root to an entry, and where it goes on there.
type step struct {
	*node
	number uint32
	at     int
}

// path returns the way to the leaf that has a key, which at is not set of; nil if the
// list is empty.
func (t *tree) path(key []byte) (path []step, err error) {
	number := uint32(0)
	n, err := t.node(number)
	for n != nil && err == nil {
		path = append(path, step{node: n, number: number})
		if n.level == 0 {
			return path, nil
		}
		if len(path) > 1 && n.level != path[len(path)-2].level-1 || len(n.entries) == 0 {
			return nil, fmt.Errorf("%w: nodes of a list", ErrRow)
		}
		at := n.child(key)
		path[len(path)-1].at = at
		number = n.number(at)
		n, err = t.must(number)
	}
	return nil, err
}

// treeRows goes through a live list, up or down.
type treeRows struct {
	tree
	asc  bool
	path []step // empty: at the end
}

func (r *treeRows) order() []byte { return r.here().key }

func (r *treeRows) here() *entry {
	leaf := &r.path[len(r.path)-1]
	return &leaf.entries[leaf.at]
}

func (r *treeRows) valid() bool { return len(r.path) > 0 }

func (r *treeRows) value(read func([]byte) error) error { return read(r.here().value) }

func (r *treeRows) close() {}

// seek goes to the first row that is not before a place in the order.
func (r *treeRows) seek(order []byte) (err error) {
	if r.path, err = r.tree.path(order); err != nil || len(r.path) == 0 {
		return err
	}
	leaf := &r.path[len(r.path)-1]
	at, same := leaf.find(order)
	if leaf.at = at; !r.asc && !same {
		leaf.at--
	}
	if leaf.at < 0 || leaf.at == len(leaf.entries) {
		leaf.at -= r.by() // from where next goes over the end
		return r.next()
	}
	return nil
}

func (r *treeRows) by() int {
	if r.asc {
		return 1
	}
	return -1
}

// next goes to the next row.
func (r *treeRows) next() error {
	for len(r.path) > 0 {
		s := &r.path[len(r.path)-1]
		if s.at += r.by(); s.at >= 0 && s.at < len(s.entries) {
			return r.down()
		}
		r.path = r.path[:len(r.path)-1]
	}
	return nil
}

// down goes to the first row below the node where the path ends.
func (r *treeRows) down() error {
	for {
		s := r.path[len(r.path)-1]
		if s.level == 0 {
			return nil
		}
		number := s.node.number(s.at)
		n, err := r.must(number)
		if err == nil && (n.level != s.level-1 || len(n.entries) == 0) {
			err = fmt.Errorf("%w: nodes of a list", ErrRow)
		}
		if err != nil {
			return err
		}
		at := 0
		if !r.asc {
			at = len(n.entries) - 1
		}
		r.path = append(r.path, step{n, number, at})
	}
}
