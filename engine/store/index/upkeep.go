package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// Run does what the database needs from time to time, until ctx ends or the
// database is closed.
func (d *DB) Run(ctx context.Context) error {
	tick := time.NewTicker(d.opts.GCEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.closing:
			return nil
		case <-tick.C:
			d.collectGarbage(ctx)
		}
	}
}

// collectGarbage rewrites value log files that are mostly garbage.
func (d *DB) collectGarbage(ctx context.Context) {
	for ctx.Err() == nil {
		db, err := d.use()
		if err != nil {
			return
		}
		err = db.RunValueLogGC(gcRatio)
		d.unuse()
		if errors.Is(err, badger.ErrNoRewrite) {
			return
		}
		if err != nil {
			d.log.Warn("the value log was not collected", "error", err)
			return
		}
	}
}

// Check commits a row of its own, reads it back and compares. It returns when
// ctx ends, also when the database hangs; until the hanging check has ended,
// later ones wait for it.
func (d *DB) Check(ctx context.Context) error {
	select {
	case d.probing <- struct{}{}:
	case <-d.closing:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("the last check of the database still hangs: %w", context.Cause(ctx))
	}
	done := make(chan error, 1)
	go func() { // Close waits for its end by the token
		defer func() { <-d.probing }()
		done <- d.probe()
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the database did not answer in time: %w", context.Cause(ctx))
	}
}

func (d *DB) probe() error {
	value := binary.BigEndian.AppendUint64(nil, rand.Uint64())
	value = binary.BigEndian.AppendUint64(value, rand.Uint64())
	b, err := d.Batch()
	if err != nil {
		return err
	}
	defer b.Discard()
	key := []byte{prefixProbe}
	if err := b.Set(key, value); err != nil {
		return err
	}
	if err := b.Commit(); err != nil {
		return err
	}
	s, err := d.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	var same bool
	found, err := s.Get(key, func(got []byte) error { same = bytes.Equal(got, value); return nil })
	switch {
	case err != nil:
		return fmt.Errorf("read the probe: %w", err)
	case !found:
		return fmt.Errorf("%w: the probe is missing", errProbe)
	case !same:
		return fmt.Errorf("%w: the probe has changed", errProbe)
	}
	return nil
}

// digestEvery is how often [DB.Digest] looks whether its context has ended, in rows.
const digestEvery = 1 << 12

// Digest hashes the rows of tables, each named by what [TableKey] returns: two
// databases with the same blocks have the same digest, however they came to them.
func (d *DB) Digest(ctx context.Context, leads ...[]byte) (sum [sha256.Size]byte, err error) {
	s, err := d.Snapshot()
	if err != nil {
		return sum, err
	}
	defer s.Close()
	h := sha256.New()
	for _, lead := range leads {
		if err := s.digest(ctx, h, lead); err != nil {
			return sum, err
		}
	}
	h.Sum(sum[:0])
	return sum, nil
}

func (s *Snapshot) digest(ctx context.Context, h hash.Hash, prefix []byte) error {
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	var head []byte
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		if n++; n%digestEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		key := rows.Key()[len(prefix):] // the ordinal depends on the order of chains, the edition on history
		err := rows.Value(func(value []byte) error {
			head = append(head[:0], prefix[0])
			head = binary.AppendUvarint(head, uint64(len(key)))
			head = append(head, key...)
			head = binary.AppendUvarint(head, uint64(len(value)))
			h.Write(head) // never fails
			h.Write(value)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read a row: %w", err)
		}
	}
	return nil
}

// Backup writes all that is committed to w, in a form that [Restore] reads.
// Indexing goes on meanwhile.
func (d *DB) Backup(w io.Writer) error {
	db, err := d.use()
	if err != nil {
		return err
	}
	defer d.unuse()
	if _, err := db.Backup(w, 0); err != nil {
		return fmt.Errorf("back up the index database: %w", err)
	}
	return nil
}

// restorePending bounds the transactions of a restore that wait for the disk.
const restorePending = 16

// Restore makes a database in dir, which must be empty or not be there, from
// what [DB.Backup] wrote. A restore that did not end leaves a database that
// must be thrown away.
func Restore(dir string, r io.Reader, opts Options) (err error) {
	if err := opts.fill(); err != nil {
		return err
	}
	db, _, err := open(indexBadger(dir, &opts), opts.Logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	empty := true
	if err := db.View(func(txn *badger.Txn) error {
		it := txn.NewIterator(badger.IteratorOptions{})
		defer it.Close()
		it.Rewind()
		empty = !it.Valid()
		return nil
	}); err != nil {
		return fmt.Errorf("restore to %s: %w", dir, err)
	}
	if !empty {
		return fmt.Errorf("restore to %s: there is a database already", dir)
	}
	if err := db.Load(r, restorePending); err != nil {
		return fmt.Errorf("restore to %s: %w", dir, err)
	}
	return checkFormat(db, indexName, indexOldest, indexVersion)
}
