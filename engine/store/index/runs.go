package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"

	"quorate/engine/store"
)

// space says whose rows a run has: the edition and the ordinal of a chain, as in keys.
type space uint32

// spaceOf returns the space of a key that begins as [TableKey] does.
func spaceOf(key []byte) (space, bool) {
	if len(key) < leadLen {
		return 0, false
	}
	return space(binary.BigEndian.Uint32(key[1:])), true
}

// runList is all runs that there are after a commit. It does not change.
type runList struct {
	of   map[space][]*run // the oldest first
	last space            // that changed last
	from uint64           // version of the database that has that change
	refs atomic.Int32
}

func newRunList(of map[space][]*run, from uint64) *runList {
	l := &runList{of: of, from: from}
	for _, list := range of {
		for _, r := range list {
			r.hold()
		}
	}
	l.refs.Store(1)
	return l
}

func (l *runList) hold() *runList {
	l.refs.Add(1)
	return l
}

func (l *runList) drop() {
	if l.refs.Add(-1) > 0 {
		return
	}
	for _, list := range l.of {
		for _, r := range list {
			r.drop()
		}
	}
}

// runs are the runs of a database.
type runs struct {
	dir  string
	size int64 // of a table
	bare bool  // files are not synced: see Options.NoSync
	pool *z.AllocatorPool
	room chan []byte   // for a whole file, which the next one takes
	file atomic.Uint64 // number of the last file

	// Guarded by DB.mu:
	list *runList
	// coming is a list with a run whose commit has begun: what reads a version that has it
	// sees it.
	coming  *runList
	merging bool // worker runs

	// worker merges runs; wake has a word for it when one has come.
	worker sync.WaitGroup
	wake   chan struct{}
}

// Which runs there are: one row for each, of edition 0 and no chain.
//
//	key:   0x04 | u32 edition and ordinal | u64 number of the run, higher the later
//	value: u8 1 | for each of its files, in the order of their keys: u64 number
const (
	runsKey     = 0x04
	runsVersion = 1
	runsKeyLen  = 1 + 4 + 8
)

func runKey(s space, seq uint64) []byte {
	b := binary.BigEndian.AppendUint32(append(make([]byte, 0, runsKeyLen), runsKey), uint32(s))
	return binary.BigEndian.AppendUint64(b, seq)
}

func runValue(files []uint64) []byte {
	b := []byte{runsVersion}
	for _, id := range files {
		b = binary.BigEndian.AppendUint64(b, id)
	}
	return b
}

// eachRun calls f with the runs that the database names, of each space the oldest first.
func eachRun(txn *badger.Txn, f func(s space, seq uint64, files []uint64) error) error {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: []byte{runsKey}})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		key := it.Item().Key()
		if err := it.Item().Value(func(b []byte) error {
			if len(key) != runsKeyLen || len(b)%8 != 1 || b[0] != runsVersion {
				return fmt.Errorf("%w: run of rows", store.ErrFormat)
			}
			var files []uint64
			for b = b[1:]; len(b) > 0; b = b[8:] {
				files = append(files, binary.BigEndian.Uint64(b))
			}
			return f(space(binary.BigEndian.Uint32(key[1:])), binary.BigEndian.Uint64(key[5:]), files)
		}); err != nil {
			return err
		}
	}
	return nil
}

// openRuns opens the runs that the database names, and removes files that no run has: of
// one that was not committed, or is part of another now.
func openRuns(db *badger.DB, size int64) (r *runs, err error) {
	r = &runs{dir: db.Opts().Dir, size: size, wake: make(chan struct{}, 1), room: make(chan []byte, 2)}
	if err := errors.Join(os.MkdirAll(filepath.Join(r.dir, runsDir), 0o700), z.SyncDir(r.dir)); err != nil {
		return nil, err
	}
	of := make(map[space][]*run)
	defer func() {
		if err != nil {
			for _, list := range of {
				for _, run := range list {
					run.drop()
				}
			}
		}
	}()
	named := make(map[string]bool)
	if err := db.View(func(txn *badger.Txn) error {
		return eachRun(txn, func(s space, seq uint64, files []uint64) error {
			one, err := openRun(r.dir, seq, files)
			if err != nil {
				return err
			}
			of[s] = append(of[s], one)
			for _, id := range files {
				named[table.IDToFilename(id)] = true
			}
			return nil
		})
	}); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(r.dir, runsDir))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), tableSuffix), 10, 32)
		if err != nil || e.Name() != table.IDToFilename(id) {
			continue // nothing of ours
		}
		r.file.Store(max(r.file.Load(), id))
		if !named[e.Name()] {
			if err := os.Remove(filepath.Join(r.dir, runsDir, e.Name())); err != nil {
				return nil, err
			}
		}
	}
	r.list = newRunList(of, 0)
	for _, list := range of {
		for _, run := range list {
			run.drop() // the list has it
		}
	}
	r.pool = z.NewAllocatorPool(2)
	return r, nil
}

// verifyRuns checks the checksums of all runs.
func verifyRuns(db *badger.DB) error {
	return db.View(func(txn *badger.Txn) error {
		return eachRun(txn, func(_ space, seq uint64, files []uint64) error {
			r, err := openRun(db.Opts().Dir, seq, files)
			if err != nil {
				return err
			}
			defer r.drop()
			return r.verify()
		})
	})
}

// close releases all runs. Nobody may read them any more.
func (r *runs) close() {
	r.list.drop()
	r.pool.Release()
}

// writer returns a writer of about so many bytes.
func (r *runs) writer(bytes int64) *tableWriter {
	size := r.size
	if bytes < size { // one table, with room for it
		size = bytes + bytes/8 + 1<<10
	}
	return &tableWriter{runs: r, opts: runOptions(size, r.pool)}
}

// sync makes the names of files durable.
func (r *runs) sync() error {
	if r.bare {
		return nil
	}
	return z.SyncDir(filepath.Join(r.dir, runsDir))
}

// begin begins a transaction that reads, with the runs that it sees.
func (d *DB) begin(db *badger.DB) (*badger.Txn, *runList) {
	for {
		txn := db.NewTransaction(false)
		d.mu.Lock()
		list, coming := d.runs.list.hold(), d.runs.coming
		if coming != nil && coming.from <= txn.ReadTs() {
			coming.hold()
		} else {
			coming = nil
		}
		d.mu.Unlock()
		switch {
		case coming != nil && coming.named(txn): // or its commit has failed
			list.drop()
			return txn, coming
		case coming != nil:
			coming.drop()
			return txn, list
		case list.from <= txn.ReadTs():
			return txn, list
		}
		list.drop()
		txn.Discard() // a run was committed since: the next one sees it
	}
}

// runsOf returns the runs of a space as they are now. They stay while their chain's only
// writer does not write.
func (d *DB) runsOf(s space) []*run {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runs.list.of[s]
}

// hides reports whether a key that is removed has to hide a row of a run.
func (d *DB) hides(key []byte) bool {
	s, ok := spaceOf(key)
	if !ok {
		return false
	}
	d.mu.Lock()
	list := d.runs.list.hold()
	d.mu.Unlock()
	defer list.drop()
	runs := list.of[s]
	if len(runs) == 0 {
		return false
	}
	sought, hash := newest(nil, key), hashOf(key)
	return slices.ContainsFunc(runs, func(r *run) bool { return r.has(hash, sought) })
}

// commitRun writes a run, and with its commit the rows of a transaction.
func (d *DB) commitRun(db *badger.DB, r *newRun, rest []change) error {
	now := db.NewTransaction(false)
	version := now.ReadTs() // all rows of the space are older, or as old and give way
	now.Discard()
	files, err := d.runs.write(r, version)
	if err != nil {
		return err
	}
	return d.add(db, r.space, files, rest, func(list []*run, one *run) ([]*run, error) {
		one.seq = 1
		if n := len(list); n > 0 {
			one.seq = list[n-1].seq + 1
		}
		return append(slices.Clone(list), one), nil
	})
}

// add opens a new run, and publishes what change makes of it and the runs that a space has.
// Its files go if it is not committed.
func (d *DB) add(db *badger.DB, s space, files []uint64, rows []change, change func(list []*run, one *run) ([]*run, error)) error {
	one, err := openRun(d.runs.dir, 0, files)
	if err != nil {
		d.runs.remove(files)
		return err
	}
	defer one.drop() // the list has it
	err = d.publish(db, s, rows, func(list []*run) ([]*run, error) { return change(list, one) })
	if err != nil && !errors.Is(err, errUnsettled) {
		one.gone.Store(true)
	}
	return err
}

// remove removes files that no run has.
func (r *runs) remove(files []uint64) {
	for _, id := range files {
		_ = os.Remove(runPath(r.dir, id)) // a file that stays is removed when the database is opened
	}
}

var (
	// errOther is returned for runs that others have replaced meanwhile.
	errOther = errors.New("the runs are others now")
	// errUnsettled is wrapped by the error of a commit that may be there when the database
	// is opened again.
	errUnsettled = errors.New("the commit did not end well")
)

// publish commits rows together with which runs a space has: what change makes of those
// that it has. Snapshots that see the commit see the runs.
func (d *DB) publish(db *badger.DB, s space, rows []change, change func([]*run) ([]*run, error)) error {
	d.commit.Lock()
	defer d.commit.Unlock()
	old := d.runsOf(s)
	list, err := change(old)
	if err != nil {
		return err
	}
	txn := db.NewTransaction(true)
	defer txn.Discard()
	for _, r := range old {
		if !slices.Contains(list, r) {
			if err := txn.Delete(runKey(s, r.seq)); err != nil {
				return err
			}
		}
	}
	version := txn.ReadTs() + 1 // no other commit comes between
	for _, r := range list {
		if slices.Contains(old, r) {
			continue
		}
		if err := txn.Set(runKey(s, r.seq), runValue(r.files)); err != nil {
			return err
		}
	}
	if err := d.setRows(txn, rows); err != nil {
		return err
	}
	d.comes(s, list, version)
	if err := txn.Commit(); err != nil {
		d.settle(db, old, list)
		return fmt.Errorf("%w: %w", errUnsettled, err)
	}
	d.came(old, list)
	return nil
}

// comes has readers of a version see other runs of a space.
func (d *DB) comes(s space, list []*run, version uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := make(map[space][]*run, len(d.runs.list.of)+1)
	for other, runs := range d.runs.list.of {
		of[other] = runs
	}
	if of[s] = list; len(list) == 0 {
		delete(of, s)
	}
	d.runs.coming = newRunList(of, version)
	d.runs.coming.last = s
}

// came says that the commit of what comes has ended. Files of old runs that are not in the
// list go when nobody reads them any more.
func (d *DB) came(old, list []*run) {
	for _, r := range old {
		if !slices.Contains(list, r) {
			r.gone.Store(true)
		}
	}
	d.mu.Lock()
	last := d.runs.list
	d.runs.list, d.runs.coming = d.runs.coming, nil
	d.mu.Unlock()
	last.drop()
}

// named reports whether the database has named the runs of the space that changed last.
func (l *runList) named(txn *badger.Txn) bool {
	var seqs []uint64
	err := eachRun(txn, func(s space, seq uint64, _ []uint64) error {
		if s == l.last {
			seqs = append(seqs, seq)
		}
		return nil
	})
	return err == nil && slices.EqualFunc(seqs, l.of[l.last], func(seq uint64, r *run) bool { return seq == r.seq })
}

// settle finds out whether a commit that did not end well is there all the same.
func (d *DB) settle(db *badger.DB, old, list []*run) {
	txn := db.NewTransaction(false)
	defer txn.Discard()
	d.mu.Lock()
	coming := d.runs.coming
	d.mu.Unlock()
	if coming.named(txn) {
		d.came(old, list)
		return
	}
	d.mu.Lock()
	d.runs.coming = nil
	d.mu.Unlock()
	coming.drop() // its files stay until the database is opened, which finds out what it has
}

// DropRuns removes the runs of a space: of the edition of a chain. Rows that hide some of
// theirs stay.
func (d *DB) DropRuns(ordinal uint32, edition uint8) error {
	db, err := d.use()
	if err != nil {
		return err
	}
	defer d.unuse()
	s := space(uint32(edition)<<24 | ordinal)
	if len(d.runsOf(s)) == 0 {
		return nil
	}
	defer d.committed()
	if err := d.publish(db, s, nil, func([]*run) ([]*run, error) { return nil, nil }); err != nil {
		return fmt.Errorf("drop rows: %w", err)
	}
	return nil
}

// runFigures returns how many runs there are, and the bytes of their files.
func (d *DB) runFigures() (n int, bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return 0, 0
	}
	for _, list := range d.runs.list.of {
		for _, r := range list {
			n, bytes = n+1, bytes+r.size
		}
	}
	return n, bytes
}
