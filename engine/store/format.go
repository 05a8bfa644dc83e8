package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// prefixMeta is the first byte of the keys that describe a database itself.
//
//	key:   0x00 "format"
//	value: u32 format version | name of the database
const prefixMeta = 0x00

// ProbeKey is the whole key of the entry that a check writes and reads back, with
// 16 random bytes as its value, others in each check.
const ProbeKey = 0x02

// formatKey holds the format version of a database.
var formatKey = []byte{prefixMeta, 'f', 'o', 'r', 'm', 'a', 't'}

// ErrFormat is wrapped by the errors of opening a database that this version
// of the program cannot read.
var ErrFormat = errors.New("unknown database format")

// CheckFormat reads the format key and, in an empty database or one of an older
// version that can still be read, writes it.
func CheckFormat(db *badger.DB, name string, oldest, version uint32) error {
	var found []byte
	empty := true
	err := db.View(func(txn *badger.Txn) error {
		item, err := txn.Get(formatKey)
		if err == nil {
			found, err = item.ValueCopy(nil)
			return err
		}
		if !errors.Is(err, badger.ErrKeyNotFound) {
			return err
		}
		it := txn.NewIterator(badger.IteratorOptions{})
		defer it.Close()
		it.Rewind()
		empty = !it.Valid()
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("read the format version: %w", err)
	case found == nil && empty:
		return writeFormat(db, name, version)
	case len(found) < 4:
		return fmt.Errorf("%w: this is no %s database of this program", ErrFormat, name)
	case string(found[4:]) != name:
		return fmt.Errorf("%w: this is a %.40q database, not %q", ErrFormat, found[4:], name)
	}
	switch v := binary.BigEndian.Uint32(found); {
	case v < version && v >= oldest:
		return writeFormat(db, name, version)
	case v != version:
		return fmt.Errorf("%w: %s version %d, this program reads version %d; "+
			"use the program that wrote it, or move the folder away to start afresh", ErrFormat, name, v, version)
	}
	return nil
}

func writeFormat(db *badger.DB, name string, version uint32) error {
	value := append(binary.BigEndian.AppendUint32(nil, version), name...)
	if err := db.Update(func(txn *badger.Txn) error { return txn.Set(formatKey, value) }); err != nil {
		return fmt.Errorf("write the format version: %w", err)
	}
	return nil
}
