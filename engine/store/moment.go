package store

import (
	"bytes"
	"sync"

	"github.com/dgraph-io/badger/v4"
)

// moment is the database as it was after a commit: a transaction that only
// reads. Badger lets any number of goroutines read with it at once. All
// snapshots between two commits share one, since a transaction of Badger's
// costs more than a small page, and waits for the commit that is under way.
type moment struct {
	txn   *badger.Txn
	users int // snapshots, and one more for DB.newest; guarded by DB.mu

	mu   sync.Mutex
	idle []iterator // for the next Rows
}

// iterator is one of Badger's. To make one costs more than to read ten rows.
type iterator struct {
	*badger.Iterator
	lead    []byte // the first bytes of all its keys, leadLen at most
	reverse bool
}

const (
	// leadLen is the length of what [TableKey] makes.
	leadLen = 1 + 4
	// maxIdle bounds the iterators that a moment keeps. They keep tables and blocks
	// in memory, until the next commit.
	maxIdle = 16
)

// iterator gives an iterator over at least all rows whose keys begin with prefix.
func (m *moment) iterator(prefix []byte, reverse bool) iterator {
	lead := prefix[:min(len(prefix), leadLen)]
	m.mu.Lock()
	for i, it := range m.idle {
		if it.reverse == reverse && bytes.Equal(it.lead, lead) {
			last := len(m.idle) - 1
			m.idle[i], m.idle[last] = m.idle[last], iterator{}
			m.idle = m.idle[:last]
			m.mu.Unlock()
			return it
		}
	}
	m.mu.Unlock()
	lead = bytes.Clone(lead)
	return iterator{m.txn.NewIterator(badger.IteratorOptions{Prefix: lead, Reverse: reverse}), lead, reverse}
}

// giveBack takes an iterator that is no longer used.
func (m *moment) giveBack(it iterator) {
	m.mu.Lock()
	if len(m.idle) < maxIdle {
		m.idle = append(m.idle, it)
		m.mu.Unlock()
		return
	}
	m.mu.Unlock()
	it.Close()
}

// end is called when the last user has left.
func (m *moment) end() {
	for _, it := range m.idle {
		it.Close()
	}
	m.txn.Discard()
}

// Snapshot opens a snapshot of all that is committed.
func (d *DB) Snapshot() (*Snapshot, error) {
	d.mu.Lock()
	if d.shut {
		d.mu.Unlock()
		return nil, ErrClosed
	}
	d.users++
	if m := d.newest; m != nil {
		m.users++
		d.mu.Unlock()
		return &Snapshot{d: d, at: m}, nil
	}
	db, commits := d.db, d.ended
	d.mu.Unlock()

	m := &moment{txn: db.NewTransaction(false), users: 1}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.newest == nil && d.ended == commits { // nothing was committed meanwhile that it may not see
		m.users++
		d.newest = m
	}
	return &Snapshot{d: d, at: m}, nil
}

// leave ends the use of a moment, and with it of the database.
func (d *DB) leave(m *moment) {
	d.mu.Lock()
	m.users--
	if m.users == 0 {
		d.mu.Unlock()
		m.end()
		d.mu.Lock()
	}
	if d.users--; d.users == 0 {
		d.idle.Broadcast()
	}
	d.mu.Unlock()
}

// committed makes snapshots from now on see what was committed. The caller uses
// the database. Before the first snapshot there is nothing to do.
func (d *DB) committed() {
	d.mu.Lock()
	d.ended++
	db, none := d.db, d.newest == nil
	d.mu.Unlock()
	if none {
		return
	}
	if old := d.renew(&moment{txn: db.NewTransaction(false), users: 1}); old != nil {
		old.end()
	}
}

// renew puts m in place of the newest moment, unless another commit has put one
// there that sees more. It gives the moment to end, if any.
func (d *DB) renew(m *moment) (over *moment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.newest
	if old.txn.ReadTs() > m.txn.ReadTs() {
		return m
	}
	d.newest = m
	if old.users--; old.users > 0 {
		return nil
	}
	return old
}
