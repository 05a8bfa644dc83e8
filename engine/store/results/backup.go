package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Backup writes all that is kept to w, while the database is in use.
func (r *Results) Backup(w io.Writer) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.db == nil {
		return ErrClosed
	}
	if _, err := r.db.Backup(w, 0); err != nil {
		return fmt.Errorf("back up the results: %w", err)
	}
	return nil
}

// loadPending bounds the writes that are under way while a backup is read.
const loadPending = 16

// RestoreResults makes a results database in an empty folder from what
// [Results.Backup] wrote.
func RestoreResults(dir string, from io.Reader) (err error) {
	db, _, err := open(resultsBadger(dir), slog.New(slog.DiscardHandler))
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
// no other process may use. results says that it is one of results, not an index.
func VerifyFiles(dir string, results bool) (err error) {
	settings := resultsBadger(dir)
	if !results {
		var o Options
		if err := o.fill(); err != nil {
			return err
		}
		settings = indexBadger(dir, &o)
	}
	db, _, err := open(settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.VerifyChecksum()
}
