package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/ristretto/v2/z"
	"golang.org/x/sys/unix"

	"quorate/engine/store"
)

// tablesOf returns how large the database's tables in a folder are that are compressed, and
// those that are not. Badger keeps of each which it is.
func tablesOf(dir string) (compressed, plain int64, err error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }()
	manifest, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir).WithLogger(nil))
	if err != nil {
		return 0, 0, err
	}
	for id, t := range manifest.Tables {
		info, err := os.Stat(filepath.Join(dir, table.IDToFilename(id)))
		switch {
		case err != nil:
			return 0, 0, err
		case t.Compression == options.None:
			plain += info.Size()
		default:
			compressed += info.Size()
		}
	}
	return compressed, plain, nil
}

// compressing ends the name of the folder that a compressed copy of the database is made in,
// beside its own.
const compressing = ".compressing"

// packed is about how large tables are once they are compressed, packedRate about how many
// bytes of them are compressed in a second on two cores, and packedRoom what they are given
// room for.
const (
	packed     = 0.65
	packedRoom = 0.75
	packedRate = 20 << 20
)

// Packing is what it takes to compress the tables of a database: see [Compress].
type Packing struct {
	Compressed, Plain int64 // bytes of tables
	Room              int64 // bytes of disk that are needed meanwhile
	After             int64 // bytes of tables then, about
	Time              time.Duration
}

// Unpacked returns what it takes to compress the tables of the database in a folder.
func Unpacked(dir string) (p Packing, err error) {
	p.Compressed, p.Plain, err = tablesOf(dir)
	p.Room = p.Compressed + int64(packedRoom*float64(p.Plain))
	p.After = p.Compressed + int64(packed*float64(p.Plain))
	p.Time = time.Duration(float64(p.Compressed+p.Plain) / packedRate * float64(time.Second))
	return p, err
}

// Compress copies the rows of the database in a folder, which no other process may use, into
// compressed tables, and puts the copy in its place: all at once, so that whatever ends the
// process leaves the one or the other, and a folder beside it that [Open] removes. progress
// is called with how many rows are copied; room returns why nothing more must be written.
func Compress(ctx context.Context, dir string, logger *slog.Logger, progress func(done, of uint64), room func() error) error {
	to := dir + compressing
	if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o700)); err != nil {
		return err
	}
	err := exchangeable(to)
	if err == nil {
		err = compressTo(ctx, dir, to, logger, progress, room)
	}
	if err == nil {
		err = exchange(dir, to)
	}
	return errors.Join(err, os.RemoveAll(to))
}

func compressTo(ctx context.Context, dir, to string, logger *slog.Logger, progress func(done, of uint64), room func() error) (err error) {
	var o Options
	if err := o.fill(); err != nil {
		return err
	}
	set := settings(dir, &o)
	from, _, err := store.Open(set, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := store.CheckFormat(from, name, oldest, version); err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	if err := checkRuns(from, &o); err != nil {
		return err
	}
	large := set.BaseTableSize // of all of it, as it is
	set = settings(to, &o)
	set.BaseTableSize = large
	copied, _, err := store.Open(set, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	return copyRows(ctx, from, copied, progress, room)
}

// copyRows copies the newest version of each row.
func copyRows(ctx context.Context, from, to *badger.DB, progress func(done, of uint64), room func() error) error {
	w := to.NewStreamWriter()
	if err := w.Prepare(); err != nil {
		w.Cancel()
		return err
	}
	var rows atomic.Uint64
	of := uint64(0)
	for _, t := range from.Tables() {
		of += uint64(t.KeyCount)
	}
	s := from.NewStream()
	s.NumGo = 2
	s.LogPrefix = "compress"
	s.ChooseKey = func(*badger.Item) bool { rows.Add(1); return true }
	var sent error // which the stream's own error hides
	s.Send = func(b *z.Buffer) error {
		n := rows.Load()
		progress(n, max(n, of))
		if sent = room(); sent == nil {
			sent = w.Write(b)
		}
		return sent
	}
	if err := s.Orchestrate(ctx); err != nil {
		w.Cancel()
		return cmp.Or(sent, err)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	n := rows.Load()
	progress(n, n)
	return nil
}

// exchangeable returns an error if the file system with a folder cannot exchange two of them.
func exchangeable(dir string) error {
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.Mkdir(a, 0o700), os.Mkdir(b, 0o700)); err != nil {
		return err
	}
	defer func() { _ = errors.Join(os.Remove(a), os.Remove(b)) }()
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		return fmt.Errorf("the file system cannot exchange two folders, which this needs: %w", err)
	}
	return nil
}

// exchange puts one database in the place of another, which nobody may have opened meanwhile.
func exchange(dir, by string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close() // lets go of the lock
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fmt.Errorf("%w: %w", store.ErrInUse, err)
	}
	if err := z.SyncDir(by); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, by, unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	return z.SyncDir(filepath.Dir(dir))
}
