package index

import (
	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// moment is the database as it was after a commit: a transaction that only
// reads. Badger lets any number of goroutines read with it at once. All
// snapshots between two commits share one, since a transaction of Badger's
// costs more than a small page, and waits for the commit that is under way.
type moment struct {
	txn   *badger.Txn
	users int // snapshots, and one more for DB.newest; guarded by DB.mu
}

// iterator returns an iterator over the rows whose keys begin with prefix. Badger
// takes in the tables that may have such keys: with an address in the prefix those
// are a few, with a table alone thousands, and then making one costs more than a page.
func (m *moment) iterator(prefix []byte, reverse bool) *badger.Iterator {
	return m.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, Reverse: reverse})
}

// Snapshot opens a snapshot of all that is committed.
func (d *DB) Snapshot() (*Snapshot, error) {
	d.mu.Lock()
	if d.shut {
		d.mu.Unlock()
		return nil, store.ErrClosed
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
		m.txn.Discard()
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
		old.txn.Discard()
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
