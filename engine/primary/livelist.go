package primary

import "bytes"

// Live lists as a machine sees and changes them. List is what keys of rows in it begin
// with, and order what follows there. Rows of before there were trees have such keys.

func (o *Overlay) tree(list Key) *tree { return &tree{list: list, get: o.Get} }

// nodeKeyLen is room for the keys of nodes of most lists.
const nodeKeyLen = 96

// GetLive returns the value of a row of a live list.
func (o *Overlay) GetLive(list Key, order []byte) (value []byte, found bool, err error) {
	if o.flat {
		return o.Get(list.Clone().Bytes(order))
	}
	leaf, err := o.leaf(list, order, make(Key, 0, nodeKeyLen))
	if err != nil || !leaf.found {
		return nil, false, err
	}
	// The leaf itself changes with what is written.
	return append([]byte{}, leaf.b[leaf.value:leaf.to]...), true, nil
}

// SwapLive is PutLive, or DeleteLive if the value is nil, that returns the value before, nil
// if there was none.
func (o *Overlay) SwapLive(list Key, order, value []byte) (before []byte, err error) {
	if o.flat {
		was, found, err := o.GetLive(list, order)
		if err != nil {
			return nil, err
		}
		if found {
			before = append([]byte{}, was...)
		}
		if value == nil {
			return before, o.DeleteLive(list, order)
		}
		return before, o.PutLive(list, order, value)
	}
	leaf, err := o.leaf(list, order, make(Key, 0, nodeKeyLen))
	if err != nil {
		return nil, err
	}
	if leaf.found { // the leaf itself changes
		before = append([]byte{}, leaf.b[leaf.value:leaf.to]...)
	}
	if value == nil {
		return before, o.deleteFrom(&leaf, list, order)
	}
	return before, o.putInto(&leaf, list, order, value)
}

// PutLive writes a row of a live list in the place of the one before. It keeps no slice.
func (o *Overlay) PutLive(list Key, order, value []byte) error {
	if o.flat {
		o.Put(list.Clone().Bytes(order), value)
		return nil
	}
	leaf, err := o.leaf(list, order, make(Key, 0, nodeKeyLen))
	if err != nil {
		return err
	}
	return o.putInto(&leaf, list, order, value)
}

// putInto is PutLive of a row that belongs into a leaf.
func (o *Overlay) putInto(leaf *rawLeaf, list Key, order, value []byte) error {
	if o.putRaw(leaf, order, value) {
		return nil
	}
	return o.putTree(bytes.Clone(list), bytes.Clone(order), bytes.Clone(value))
}

// putTree is PutLive that may change any nodes.
func (o *Overlay) putTree(list Key, order, value []byte) error {
	w := &treeWriter{*o.tree(list), o}
	path, err := w.path(order)
	if err != nil {
		return err
	}
	if len(path) == 0 {
		path = []step{{node: &node{}}}
	}
	leaf := path[len(path)-1]
	if at, found := leaf.find(order); found {
		leaf.entries[at].value = value
	} else {
		leaf.insert(at, entry{order, value})
	}
	return w.write(path)
}

// DeleteLive removes a row of a live list, if it is there.
func (o *Overlay) DeleteLive(list Key, order []byte) error {
	if o.flat {
		o.Delete(list.Clone().Bytes(order))
		return nil
	}
	leaf, err := o.leaf(list, order, make(Key, 0, nodeKeyLen))
	if err != nil {
		return err
	}
	return o.deleteFrom(&leaf, list, order)
}

// deleteFrom is DeleteLive of a row that is in a leaf, if it is there.
func (o *Overlay) deleteFrom(leaf *rawLeaf, list Key, order []byte) error {
	if !leaf.found || o.deleteRaw(leaf, order) {
		return nil
	}
	return o.deleteTree(bytes.Clone(list), bytes.Clone(order))
}

// deleteTree is DeleteLive that may change any nodes.
func (o *Overlay) deleteTree(list Key, order []byte) error {
	w := &treeWriter{*o.tree(list), o}
	path, err := w.path(order)
	if err != nil || len(path) == 0 {
		return err
	}
	leaf := path[len(path)-1]
	at, found := leaf.find(order)
	if !found {
		return nil
	}
	leaf.remove(at)
	return w.write(path)
}

// ScanLive yields the rows of a live list in their order. They must not be written
// meanwhile.
func (o *Overlay) ScanLive(list Key, each func(order, value []byte) error) error {
	if o.flat {
		return o.Scan(list, func(key, value []byte) (bool, error) { return true, each(key[len(list):], value) })
	}
	r := &treeRows{tree: *o.tree(list), asc: true}
	err := r.seek(nil)
	for ; err == nil && r.valid(); err = r.next() {
		if err := each(r.here().key, r.here().value); err != nil {
			return err
		}
	}
	return err
}

// treeWriter changes a live list.
type treeWriter struct {
	tree
	rows *Overlay
}

func (w *treeWriter) put(number uint32, n *node) { w.rows.Put(w.key(number), n.encode()) }

// write writes the last node of a path, which has changed, and those above it that
// change with it.
func (w *treeWriter) write(path []step) (err error) {
	root, changed := path[0].node, true
	last := root.last
	for i := len(path) - 1; i > 0 && changed; i-- {
		if changed, err = w.settle(root, &path[i-1], &path[i]); err != nil {
			return err
		}
	}
	if changed || root.last != last {
		return w.root(root)
	}
	return nil
}

// settle writes a node below the root, and reports whether that changes its parent.
func (w *treeWriter) settle(root *node, parent, n *step) (changed bool, err error) {
	switch size := n.size(); {
	case len(n.entries) == 0:
		w.rows.Delete(w.key(n.number))
		parent.remove(parent.at)
		return true, nil
	case size > nodeMost && len(n.entries) > 1:
		parent.insert(parent.at+1, w.add(root, n.split()))
		changed = true
	case size < nodeLeast:
		if merged, err := w.merge(parent, n); err != nil || merged {
			return merged, err
		}
	}
	w.put(n.number, n.node)
	return changed, nil
}

// add writes a node that is new, and returns what its parent has of it.
func (w *treeWriter) add(root, n *node) entry {
	root.last++
	w.put(root.last, n)
	return entry{n.entries[0].key, Key(nil).U32(root.last)}
}

// split takes about the second half of a node's bytes off it.
func (n *node) split() *node {
	half, at := n.size()/2, 1
	for size := n.entries[0].size(); at < len(n.entries)-1 && size < half; at++ {
		size += n.entries[at].size()
	}
	right := &node{level: n.level, entries: n.entries[at:]}
	n.entries = n.entries[:at:at]
	return right
}

// merge writes a node and one beside it as one, if both have room in it.
func (w *treeWriter) merge(parent, n *step) (bool, error) {
	for _, right := range []int{parent.at, parent.at + 1} { // the second one of the two
		if right == 0 || right == len(parent.entries) {
			continue
		}
		a, b, beside := n.node, n.node, right
		if right == parent.at {
			beside--
		}
		other, err := w.must(parent.node.number(beside))
		if err != nil {
			return false, err
		}
		if n.size()+other.size() > nodeMerged {
			continue
		}
		if beside == right {
			b = other
		} else {
			a = other
		}
		if b.level > 0 {
			b.entries[0].key = parent.entries[right].key // which as the first one was no bound
		}
		a.entries = append(a.entries, b.entries...)
		w.put(parent.node.number(right-1), a)
		w.rows.Delete(w.key(parent.node.number(right)))
		parent.remove(right)
		return true, nil
	}
	return false, nil
}

// root writes the root.
func (w *treeWriter) root(root *node) error {
	for root.level > 0 && len(root.entries) == 1 {
		child, err := w.must(root.number(0))
		if err != nil {
			return err
		}
		w.rows.Delete(w.key(root.number(0)))
		root.level, root.entries = child.level, child.entries
	}
	if len(root.entries) == 0 {
		w.rows.Delete(w.key(0))
		return nil
	}
	if root.size() > nodeMost && len(root.entries) > 1 {
		right := root.split()
		left := &node{level: root.level, entries: root.entries}
		root.entries = []entry{w.add(root, left), w.add(root, right)}
		root.level++
	}
	w.put(0, root)
	return nil
}
