package results

import (
	"errors"
	"fmt"
	"io"
	"log/slog"

	"quorate/engine/store"
)

// Backup writes all that is kept to w, while the database is in use.
func (d *DB) Backup(w io.Writer) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return store.ErrClosed
	}
	if _, err := d.db.Backup(w, 0); err != nil {
		return fmt.Errorf("back up the results: %w", err)
	}
	return nil
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

// VerifyFiles checks the checksums of all tables of the database in a folder, which
// no other process may use.
func VerifyFiles(dir string) error { return store.Verify(settings(dir)) }
