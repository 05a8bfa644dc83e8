package index

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"

	"quorate/engine/store"
)

// A run is many rows of one space that were committed at once, in tables of their own
// beside Badger's, in the order of their keys. A row costs a third there of what it costs
// in a transaction, which writes it to a log, to a table in memory and, when that is full,
// to a file. Its rows are as old as the version that they have: of the rows with a key in
// several runs and in the database the one of the highest version counts.
//
// The files of runs have Badger's format. They are made, written and read by its package
// table, and never change. Which runs there are the database says: see runsKey.
type run struct {
	seq   uint64 // of its row: see runsKey
	files []uint64
	// tables are in the order of their keys, and have none in common.
	tables  []*table.Table
	size    int64
	version uint64 // the highest of its rows

	refs atomic.Int32
	gone atomic.Bool // nothing needs the files any more when the last reference is gone
}

const (
	// runsDir is the folder of the files of runs, in that of the database.
	runsDir = "runs"
	// tableSuffix ends the names of Badger's tables, and of those of runs.
	tableSuffix = ".sst"
)

const (
	// bloomRate is how often a table is searched for a row that it does not have.
	bloomRate = 0.01
	// removed marks a row of a table, or of the database, that hides older ones.
	removed = 1
	// writeBytes is how much of a file is written at once: the kernel was seen to take up to
	// ten times as long for some MB.
	writeBytes = 256 << 10
)

// runOptions returns how tables of runs are written and read.
func runOptions(size int64, pool *z.AllocatorPool) table.Options {
	return table.Options{
		TableSize: uint64(size), BlockSize: blockSize, BloomFalsePositive: bloomRate,
		Compression: options.None, ChkMode: options.NoVerification, AllocPool: pool,
	}
}

// runPath returns the path of a file of a run in a database's folder.
func runPath(dir string, file uint64) string {
	return filepath.Join(dir, runsDir, table.IDToFilename(file))
}

// openRun opens the files of a run. The caller has its only reference.
func openRun(dir string, seq uint64, files []uint64) (*run, error) {
	r := &run{seq: seq, files: files}
	r.refs.Store(1)
	for _, id := range files {
		t, err := openTable(runPath(dir, id))
		if err != nil {
			r.drop()
			return nil, fmt.Errorf("%w: %s: %w", store.ErrDamaged, filepath.Join(runsDir, table.IDToFilename(id)), err)
		}
		r.tables = append(r.tables, t)
		r.size += t.Size()
		r.version = max(r.version, t.MaxVersion())
	}
	return r, nil
}

// openTable opens a file of a run. Badger believes the lengths at its end, so they are
// checked first, and its last block, which may end in a panic.
func openTable(path string) (t *table.Table, err error) {
	if err := store.CheckTable(path); err != nil {
		return nil, err
	}
	f, err := z.OpenMmapFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil {
			err = errors.New("its last block cannot be read")
		}
		if err != nil {
			_ = f.Close(-1) // Badger may have done so
		}
	}()
	return table.OpenTable(f, runOptions(0, nil))
}

// verify checks the checksums of all blocks of the run. Nothing else does: a block that is
// read is believed.
func (r *run) verify() error {
	for _, t := range r.tables {
		if err := verifyTable(t); err != nil {
			return fmt.Errorf("%w: %s: %w", store.ErrDamaged, filepath.Join(runsDir, filepath.Base(t.Fd.Name())), err)
		}
	}
	return nil
}

func verifyTable(t *table.Table) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a block cannot be read")
		}
	}()
	return t.VerifyChecksum()
}

func (r *run) hold() { r.refs.Add(1) }

// drop releases a reference.
func (r *run) drop() {
	if r.refs.Add(-1) > 0 {
		return
	}
	for _, t := range r.tables {
		name := t.Fd.Name()
		_ = t.MmapFile.Close(-1) // nothing was written
		if r.gone.Load() {
			_ = os.Remove(name) // a file that stays is removed when the database is opened
		}
	}
}

// get returns the row of a key with the highest version, if the run has one. sought is the
// key with the version that comes first.
func (r *run) get(hash uint32, sought []byte) (value y.ValueStruct, version uint64, found bool) {
	i := sort.Search(len(r.tables), func(i int) bool { return y.CompareKeys(r.tables[i].Biggest(), sought) >= 0 })
	if i == len(r.tables) || r.tables[i].DoesNotHave(hash) {
		return value, 0, false
	}
	it := r.tables[i].NewIterator(table.NOCACHE)
	defer closeTable(it)
	if it.Seek(sought); !it.Valid() || !y.SameKey(it.Key(), sought) {
		return value, 0, false
	}
	return it.Value(), y.ParseTs(it.Key()), true
}

// has reports whether the run has a row of a key, or hides one.
func (r *run) has(hash uint32, sought []byte) bool {
	_, _, found := r.get(hash, sought)
	return found
}

// closeTable ends an iterator. It releases a reference to its table, which is never the
// last: the run has that.
func closeTable(it *table.Iterator) { _ = it.Close() }

// newest returns the key of a table that comes before all versions of a key.
func newest(dst, key []byte) []byte { return appendVersion(append(dst, key...), math.MaxUint64) }

// hashOf returns the hash of a key that tables find it by.
func hashOf(key []byte) uint32 { return y.Hash(key) }

// appendVersion appends a version as keys of tables end: the highest comes first.
func appendVersion(key []byte, version uint64) []byte {
	v := math.MaxUint64 - version
	return append(key, byte(v>>56), byte(v>>48), byte(v>>40), byte(v>>32), byte(v>>24), byte(v>>16), byte(v>>8), byte(v))
}

// runRows goes through the rows of a run, removed ones too.
type runRows struct {
	run     *run
	reverse bool
	at      int // table to read
	it      *table.Iterator
	of      int // table of it
	sought  []byte
}

// seek goes to the first row that is not before a key in the order of iteration.
func (w *runRows) seek(key []byte) {
	tables := w.run.tables
	w.sought = append(w.sought[:0], key...)
	if w.reverse {
		w.sought = appendVersion(w.sought, 0) // behind all versions of the key
		w.at = sort.Search(len(tables), func(i int) bool { return y.CompareKeys(tables[i].Smallest(), w.sought) > 0 }) - 1
	} else {
		w.sought = appendVersion(w.sought, math.MaxUint64)
		w.at = sort.Search(len(tables), func(i int) bool { return y.CompareKeys(tables[i].Biggest(), w.sought) >= 0 })
	}
	if w.open(); w.it != nil {
		w.it.Seek(w.sought)
	}
}

// open begins with the table at w.at, if there is one.
func (w *runRows) open() {
	if w.it != nil && w.of == w.at {
		return
	}
	w.close()
	if w.at < 0 || w.at >= len(w.run.tables) {
		return
	}
	mode := table.NOCACHE
	if w.reverse {
		mode |= table.REVERSED
	}
	w.it, w.of = w.run.tables[w.at].NewIterator(mode), w.at
}

func (w *runRows) next() {
	if w.it.Next(); w.it.Valid() {
		return
	}
	if w.at++; w.reverse {
		w.at -= 2
	}
	if w.open(); w.it != nil {
		w.it.Rewind()
	}
}

func (w *runRows) valid() bool { return w.it != nil && w.it.Valid() }

// key returns the key of the row, until the next step.
func (w *runRows) key() []byte     { return y.ParseKey(w.it.Key()) }
func (w *runRows) version() uint64 { return y.ParseTs(w.it.Key()) }

func (w *runRows) close() {
	if w.it != nil {
		closeTable(w.it)
		w.it = nil
	}
}

// tableWriter writes rows that come in the order of their keys to files of a run.
type tableWriter struct {
	runs   *runs
	opts   table.Options
	b      *table.Builder
	files  []uint64
	keyBuf []byte
}

// add writes a row. A nil value hides older ones.
func (w *tableWriter) add(key, value []byte, version uint64) error {
	if w.b == nil {
		w.b = table.NewTableBuilder(w.opts)
	}
	w.keyBuf = appendVersion(append(w.keyBuf[:0], key...), version)
	v := y.ValueStruct{Value: value}
	if value == nil {
		v.Meta = removed
	}
	if w.b.Add(w.keyBuf, v, 0); w.b.ReachedCapacity() {
		return w.flush()
	}
	return nil
}

// flush writes what was added to a file, and returns when it is durable but for its name.
// It does not map it, so that a volume without room is an error and not the end.
func (w *tableWriter) flush() (err error) {
	if w.b == nil {
		return nil
	}
	done := w.b.Done()
	var buf []byte
	select {
	case buf = <-w.runs.room:
	default:
	}
	if cap(buf) < done.Size {
		buf = make([]byte, done.Size)
	}
	buf = buf[:done.Size]
	done.Copy(buf)
	w.b.Close()
	w.b = nil
	id := w.runs.file.Add(1)
	f, err := os.OpenFile(runPath(w.runs.dir, id), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w.files = append(w.files, id)
	for part := range slices.Chunk(buf, writeBytes) {
		if _, err = f.Write(part); err != nil {
			break
		}
	}
	if err == nil && !w.runs.bare {
		err = f.Sync()
	}
	select {
	case w.runs.room <- buf:
	default:
	}
	return errors.Join(err, f.Close())
}

// close drops what was not flushed.
func (w *tableWriter) close() {
	if w.b != nil {
		w.b.Close()
		w.b = nil
	}
}

// merge hands over the rows of runs in the order of their keys, of each key that of the
// highest version, removed ones too.
func merge(runs []*run, each func(key []byte, value y.ValueStruct, version uint64) error) error {
	var m heads
	for _, r := range slices.Backward(runs) { // the newest first, whose rows count
		w := &runRows{run: r}
		w.seek(nil)
		defer w.close()
		m = append(m, w)
	}
	m = slices.DeleteFunc(m, func(w *runRows) bool { return !w.valid() })
	slices.SortStableFunc(m, func(a, b *runRows) int { return bytes.Compare(a.key(), b.key()) })
	for len(m) > 0 {
		first := m[0]
		if err := each(first.key(), first.it.Value(), first.version()); err != nil {
			return err
		}
		for len(m) > 1 && bytes.Equal(m[1].key(), first.key()) { // an older one
			m.next(1)
		}
		m.next(0)
	}
	return nil
}

// heads are runs in the order of the keys that they stand at, of equal ones the newer first.
type heads []*runRows

// next goes on in one of the runs. Often many rows of one run follow on each other.
func (m *heads) next(at int) {
	w, behind := (*m)[at], (*m)[at+1:]
	w.next()
	if !w.valid() {
		*m = slices.Delete(*m, at, at+1)
		return
	}
	n := 0
	if len(behind) > 0 && behind[0].before(w) {
		n = 1 + sort.Search(len(behind)-1, func(i int) bool { return !behind[i+1].before(w) })
	}
	copy((*m)[at:], behind[:n])
	(*m)[at+n] = w
}

// before reports whether w stands at a lower key than o, or at the same and is newer.
func (w *runRows) before(o *runRows) bool {
	order := bytes.Compare(w.key(), o.key())
	return order < 0 || order == 0 && w.run.seq > o.run.seq
}
