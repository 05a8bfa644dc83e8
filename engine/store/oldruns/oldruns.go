// Package oldruns reads rows of the index that former versions kept in sorted files beside
// the database, and copies them into it. It lives for one release.
package oldruns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/dgraph-io/ristretto/v2/z"

	"quorate/engine/store"
)

// Run is rows that were committed at once, or merged since, of one edition of a chain: tables
// of Badger's format in the order of their keys, which have none in common.
type Run struct{ tables []*table.Table }

// removed marks a row of a run that hides older ones.
const removed = 1

// Open opens the files of a run.
func Open(files []string) (r *Run, err error) {
	r = &Run{}
	for _, path := range files {
		t, err := open(path)
		if err != nil {
			r.Close()
			return nil, damaged(path, err)
		}
		r.tables = append(r.tables, t)
	}
	return r, nil
}

func damaged(path string, err error) error {
	return fmt.Errorf("%w: %s: %w", store.ErrDamaged, filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), err)
}

// open opens a table. Badger believes the lengths at its end, so they are checked first, and
// its last block, which may end in a panic.
func open(path string) (t *table.Table, err error) {
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
	return table.OpenTable(f, table.Options{Compression: options.None, ChkMode: options.NoVerification})
}

// Close lets the files go.
func (r *Run) Close() {
	for _, t := range r.tables {
		_ = t.MmapFile.Close(-1) // nothing was written
	}
}

// Rows returns how many rows the run has, and the bytes of its files.
func (r *Run) Rows() (n uint64, bytes int64) {
	for _, t := range r.tables {
		n, bytes = n+uint64(t.KeyCount()), bytes+t.Size()
	}
	return n, bytes
}

// Verify checks the checksums of all blocks: what is wrong must not get good ones.
func (r *Run) Verify() error {
	for _, t := range r.tables {
		if err := verify(t); err != nil {
			return damaged(t.Fd.Name(), err)
		}
	}
	return nil
}

func verify(t *table.Table) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("a block cannot be read")
		}
	}()
	return t.VerifyChecksum()
}

// lookEvery is after how many rows [Copy] looks for the end of its context.
const lookEvery = 1 << 14

// Copy writes the rows of the runs of one edition of a chain, the newest run first, to the
// database, each with the newest of its values, there or here. It can be ended at any time,
// and begun again: what is copied is newer than the runs then. step is called now and then
// with how many rows are done, and ends the copy with an error.
func Copy(ctx context.Context, db *badger.DB, runs []*Run, step func(done uint64) error) error {
	var its []y.Iterator
	for _, r := range runs {
		its = append(its, table.NewConcatIterator(r.tables, table.NOCACHE))
	}
	if len(its) == 0 {
		return nil
	}
	it := table.NewMergeIterator(its, false)
	defer func() { _ = it.Close() }() // only reads
	before := db.NewTransaction(false)
	defer before.Discard()
	w := db.NewWriteBatch()
	defer w.Cancel()
	var last []byte
	done := uint64(0)
	for it.Rewind(); it.Valid(); it.Next() {
		if done++; done%lookEvery == 0 {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := step(done); err != nil {
				return err
			}
		}
		key := y.ParseKey(it.Key())
		if last != nil && string(key) == string(last) {
			continue // an older one
		}
		last = append(last[:0], key...)
		if err := put(before, w, key, y.ParseTs(it.Key()), it.Value()); err != nil {
			return err
		}
	}
	return w.Flush()
}

// put writes a row if it is not older than what the database has under its key.
func put(before *badger.Txn, w *badger.WriteBatch, key []byte, version uint64, v y.ValueStruct) error {
	item, err := before.Get(key)
	there := err == nil
	switch {
	case err != nil && !errors.Is(err, badger.ErrKeyNotFound):
		return fmt.Errorf("read a row: %w", err)
	case there && item.Version() > version:
		return nil
	case v.Meta == removed && !there:
		return nil
	}
	key = append([]byte{}, key...)
	if v.Meta == removed {
		return w.Delete(key)
	}
	return w.Set(key, append([]byte{}, v.Value...))
}
