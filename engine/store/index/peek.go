package index

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// Peek opens the database in dir, which no other process may use, without a change to
// it, and calls f for each chain that has blocks with what reads its rows: nil of those
// that are not there. A database whose process was killed cannot be read like this.
func Peek(dir string, f func(id [32]byte, ordinal uint32, get func(key []byte) ([]byte, error)) error) (err error) {
	// The least that holds a table.
	opts := Options{MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8}
	if err := opts.fill(); err != nil {
		return err
	}
	o := settings(dir, &opts).WithReadOnly(true).WithLogger(nil)
	if err := store.CheckFiles(o); err != nil {
		return fmt.Errorf("open %s to be read: %w", dir, err)
	}
	db, err := badger.Open(o)
	if err != nil {
		return fmt.Errorf("open %s to be read: %w", dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.View(func(txn *badger.Txn) error {
		var errs []error
		err := eachChain(txn, func(id [32]byte, ordinal uint32) { errs = append(errs, f(id, ordinal, getter(txn))) })
		return errors.Join(append(errs, err)...)
	})
}
