package index

import (
	"slices"
	"sync"

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

	mu   sync.Mutex
	idle []scan // iterators that nobody uses, the one used last at the end
}

// scan is an iterator over a table of a chain in one direction. To make one, with
// the room that it has for rows, costs as much as a small page.
type scan struct {
	it      *badger.Iterator
	lead    [leadLen]byte
	reverse bool
}

const (
	// leadLen is how many bytes of a key say the table, its edition and the chain.
	leadLen = 1 + 4
	// maxIdle bounds the idle iterators of a moment, each of which keeps the tables
	// that it was made with, and some 20 KiB. All end with the moment: with the next
	// commit.
	maxIdle = 32
)

// scan returns an iterator over the table that prefix begins with, the lead of a
// table or more.
func (m *moment) scan(prefix []byte, reverse bool) scan {
	s := scan{lead: [leadLen]byte(prefix), reverse: reverse}
	m.mu.Lock()
	for i := len(m.idle) - 1; i >= 0; i-- {
		if found := m.idle[i]; found.lead == s.lead && found.reverse == reverse {
			m.idle = slices.Delete(m.idle, i, i+1)
			m.mu.Unlock()
			return found
		}
	}
	m.mu.Unlock()
	s.it = m.iterator(s.lead[:], reverse)
	return s
}

// release takes back an iterator.
func (m *moment) release(s scan) {
	m.mu.Lock()
	m.idle = append(m.idle, s)
	var over scan
	if len(m.idle) > maxIdle {
		over = m.idle[0]
		m.idle = slices.Delete(m.idle, 0, 1)
	}
	m.mu.Unlock()
	if over.it != nil {
		over.it.Close()
	}
}

// end ends the moment, which nobody uses any more.
func (m *moment) end() {
	for _, s := range m.idle {
		s.it.Close()
	}
	m.idle = nil
	m.txn.Discard()
}

// iterator returns an iterator over the rows whose keys begin with prefix.
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

	m := d.moment(db)
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
	if old := d.renew(d.moment(db)); old != nil {
		old.end()
	}
}

// moment returns the database as it is now, with one user.
func (d *DB) moment(db *badger.DB) *moment {
	return &moment{txn: db.NewTransaction(false), users: 1}
}

// renew puts m in place of the newest moment, unless another commit has put one
// there that sees more. It returns the moment to end, if any.
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
