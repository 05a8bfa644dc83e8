package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"time"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
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
		err = db.RunValueLogGC(store.GCRatio)
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

// Check commits a row of its own, reads it back and compares. It returns when ctx
// ends, also when the database hangs.
func (d *DB) Check(ctx context.Context) error { return d.prober.Check(ctx, d.probe) }

func (d *DB) probe(value []byte) error {
	key := []byte{store.ProbeKey}
	if err := d.Update(func(b *Batch) error { return b.Set(key, value) }); err != nil {
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
		return fmt.Errorf("%w: the probe is missing", store.ErrProbe)
	case !same:
		return fmt.Errorf("%w: the probe has changed", store.ErrProbe)
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

// Versions counts the rows whose keys begin with prefix, together with their former versions
// and with those that were removed, as long as they are there: an iterator passes over them
// all.
func (s *Snapshot) Versions(prefix []byte) (n int, err error) {
	if s.at == nil {
		return 0, store.ErrClosed
	}
	it := s.at.txn.NewIterator(badger.IteratorOptions{Prefix: prefix, AllVersions: true})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		n++
	}
	return n, nil
}

// VerifyFiles checks the checksums of all tables of the database in a folder, which
// no other process may use.
func VerifyFiles(dir string) error {
	var o Options
	if err := o.fill(); err != nil {
		return err
	}
	return store.Verify(settings(dir, &o))
}
