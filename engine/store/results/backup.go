package results

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
	"google.golang.org/protobuf/proto"

	"quorate/engine/store"
)

// Backup writes all that is kept to w, while the database is in use.
func (d *DB) Backup(w io.Writer) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return store.ErrClosed
	}
	err := d.db.View(func(txn *badger.Txn) error { return copyAll(txn, w) })
	if err != nil {
		return fmt.Errorf("back up the results: %w", err)
	}
	return nil
}

// backupBytes is the size from which on rows are written as one list.
const backupBytes = 256 << 10

// copyAll writes all rows in the form that Badger loads. Its own backup takes 32 MiB
// of memory for each of sixteen threads, whose collection keeps requests waiting.
func copyAll(txn *badger.Txn, w io.Writer) error {
	rows := txn.NewIterator(badger.DefaultIteratorOptions)
	defer rows.Close()
	var list pb.KVList
	size := 0
	flush := func() error {
		b, err := proto.Marshal(&list)
		if err == nil {
			err = binary.Write(w, binary.LittleEndian, uint64(len(b)))
		}
		if err == nil {
			_, err = w.Write(b)
		}
		list.Kv, size = nil, 0
		return err
	}
	for rows.Rewind(); rows.Valid(); rows.Next() {
		item := rows.Item()
		value, err := item.ValueCopy(nil)
		if err != nil {
			return err
		}
		list.Kv = append(list.Kv, &pb.KV{
			Key: item.KeyCopy(nil), Value: value, UserMeta: []byte{item.UserMeta()}, Meta: []byte{0},
			Version: item.Version(), ExpiresAt: item.ExpiresAt(),
		})
		if size += len(value); size >= backupBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(list.Kv) == 0 {
		return nil
	}
	return flush()
}

// loadPending bounds the writes that are under way while a backup is read.
const loadPending = 16

// Restore makes a results database in an empty folder from what
// [DB.Backup] wrote.
func Restore(dir string, from io.Reader) (err error) {
	db, _, err := store.Open(settings(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Load(from, loadPending); err != nil {
		return fmt.Errorf("read the backup of the results: %w", err)
	}
	return nil
}

// Disown removes what only one server may have from the results database in a folder, which
// no process uses: webhooks, which both would deliver, and operations. It returns how many
// there were.
func Disown(dir string) (webhooks, operations int, err error) {
	db, _, err := store.Open(settings(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	batch := db.NewWriteBatch()
	defer batch.Cancel()
	err = db.View(func(txn *badger.Txn) error {
		rows := txn.NewIterator(badger.IteratorOptions{})
		defer rows.Close()
		for rows.Seek([]byte{prefixOperation}); rows.Valid() && rows.Item().Key()[0] <= prefixWebhook; rows.Next() {
			switch key := rows.Item().KeyCopy(nil); {
			case key[0] == prefixOperation:
				operations++
			case !bytes.Contains(key, []byte("/")): // else it is a secret
				webhooks++
			}
			if err := batch.Delete(rows.Item().KeyCopy(nil)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = batch.Flush()
	}
	return webhooks, operations, err
}

// VerifyFiles checks the checksums of all tables of the database in a folder, which
// no other process may use.
func VerifyFiles(dir string) error {
	return store.Verify(settings(dir))
}
