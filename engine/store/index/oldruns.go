package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/table"

	"quorate/engine/store"
)

// Former versions kept most rows of the primary network's history in sorted files beside the
// database, in runs, which readers merged with it. Nothing reads them now: rows of an edition
// that has some are made again, or copied: see [KeepRows]. The database names the runs, with
// one row for each, of edition 0 and no chain:
//
//	key:   0x04 | u32 edition and ordinal | u64 number of the run, higher the later
//	value: u8 1 | for each of its files, in the order of their keys: u64 number
const (
	runsKey     = 0x04
	runsVersion = 1
	runsKeyLen  = 1 + 4 + 8
	// runsDir is the folder of the files of runs, in that of the database.
	runsDir = "runs"
	// hidden marks a row that says that a run's row of its key is removed: there is none.
	hidden = 1
)

// ErrRuns is wrapped by the error of opening a database with rows that nothing reads.
var ErrRuns = errors.New("rows of the primary network lie in sorted files of an older version, in " + runsDir + ", which are not read any more")

// oldRun is what the database says of a run.
type oldRun struct {
	key     []byte // of its row
	ordinal uint32
	edition uint8
	files   []string
}

// beside reports whether both are of one edition of a chain.
func (r *oldRun) beside(other *oldRun) bool {
	return r.ordinal == other.ordinal && r.edition == other.edition
}

// oldRunsOf returns the runs of chains whose keys begin so, of each edition the oldest first.
func oldRunsOf(txn *badger.Txn, dir string, prefix []byte) (list []oldRun, err error) {
	it := txn.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		r := oldRun{key: it.Item().KeyCopy(nil)}
		if err := it.Item().Value(func(b []byte) error {
			if len(r.key) != runsKeyLen || len(b)%8 != 1 || b[0] != runsVersion {
				return fmt.Errorf("%w: run of rows", store.ErrFormat)
			}
			for b = b[1:]; len(b) > 0; b = b[8:] {
				r.files = append(r.files, filepath.Join(dir, runsDir, table.IDToFilename(binary.BigEndian.Uint64(b))))
			}
			return nil
		}); err != nil {
			return nil, err
		}
		s := binary.BigEndian.Uint32(r.key[1:])
		r.ordinal, r.edition = s&maxOrdinal, uint8(s>>24)
		list = append(list, r)
	}
	return list, nil
}

// checkRuns returns an error if rows lie in runs that cannot be made again. Where there are
// none it removes the folder, which may have files that no run has.
func checkRuns(db *badger.DB, o *Options) error {
	dir := db.Opts().Dir
	return db.View(func(txn *badger.Txn) error {
		runs, err := oldRunsOf(txn, dir, []byte{runsKey})
		switch {
		case err != nil:
			return err
		case len(runs) == 0:
			return os.RemoveAll(filepath.Join(dir, runsDir))
		case o.Remake == nil:
			return fmt.Errorf("%w: start the server, which makes the rows again from the archive", ErrRuns)
		}
		var errs []error
		err = eachChain(txn, func(id [32]byte, ordinal uint32) {
			for i, r := range runs {
				if r.ordinal == ordinal && (i == 0 || !r.beside(&runs[i-1])) {
					errs = append(errs, o.Remake(id, ordinal, r.edition, getter(txn)))
				}
			}
		})
		return errors.Join(append(errs, err)...)
	})
}

// getter returns what reads a row: nil of those that are not there.
func getter(txn *badger.Txn) func(key []byte) ([]byte, error) {
	return func(key []byte) ([]byte, error) {
		item, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return item.ValueCopy(nil)
	}
}

// InRuns reports whether rows of an edition of a chain lie in runs, so that those that are
// read are not all.
func (d *DB) InRuns(ordinal uint32, edition uint8) (in bool, err error) {
	err = d.withRuns(ordinal, edition, func(_ *badger.DB, runs []oldRun) error {
		in = len(runs) > 0
		return nil
	})
	return in, err
}

// DropRuns removes the runs of an edition of a chain. Rows that hide some of theirs stay.
func (d *DB) DropRuns(ordinal uint32, edition uint8) error {
	return d.withRuns(ordinal, edition, func(db *badger.DB, runs []oldRun) error {
		defer d.committed()
		return dropRuns(db, runs)
	})
}

func (d *DB) withRuns(ordinal uint32, edition uint8, do func(db *badger.DB, runs []oldRun) error) error {
	db, err := d.use()
	if err != nil {
		return err
	}
	defer d.unuse()
	runs, err := readRuns(db, TableKey(nil, runsKey, ordinal, edition))
	if err != nil {
		return fmt.Errorf("read which runs there are: %w", err)
	}
	return do(db, runs)
}

func readRuns(db *badger.DB, prefix []byte) (runs []oldRun, err error) {
	err = db.View(func(txn *badger.Txn) error {
		runs, err = oldRunsOf(txn, db.Opts().Dir, prefix)
		return err
	})
	return runs, err
}

// dropRuns removes runs, all at once: some of them without the others say something else.
func dropRuns(db *badger.DB, runs []oldRun) error {
	if err := db.Update(func(txn *badger.Txn) error {
		for _, r := range runs {
			if err := txn.Delete(r.key); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("drop rows: %w", err)
	}
	for _, r := range runs {
		for _, path := range r.files {
			_ = os.Remove(path) // one that stays is removed when the database is opened
		}
	}
	return nil
}
