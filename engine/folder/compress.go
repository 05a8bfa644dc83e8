package folder

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	store "quorate/engine/store/index"
)

// Compress compresses the index of a data folder. say is called first, with what it takes; if
// all of it is compressed, nothing is done.
func Compress(ctx context.Context, o Offline, say func(string)) (done bool, err error) {
	dir, free, err := o.alone()
	if err != nil {
		return false, err
	}
	p, err := store.Unpacked(dir)
	if err != nil {
		return false, err
	}
	if p.Plain == 0 {
		say("all tables of the index are compressed: " + Size(uint64(p.Compressed)))
		return false, nil
	}
	say(fmt.Sprintf("%s of tables are not compressed; that takes about %s, and %s of %s of free disk meanwhile; about %s of %s are left then",
		Size(uint64(p.Plain)), seconds(p.Time), Size(uint64(p.Room)), Size(free), Size(uint64(p.After)), Size(uint64(p.Plain+p.Compressed))))
	if err := fits(free, p.Room); err != nil {
		return false, err
	}
	return true, store.Compress(ctx, dir, o.Logger, o.progress(IndexDir), func() error { return roomIn(dir) })
}

// KeepRows copies rows that lie in sorted files of an older version into the index of a data
// folder, for who cannot have them made again. say is called first, with what it takes; if
// there are none, nothing is done.
func KeepRows(ctx context.Context, o Offline, say func(string)) (done bool, err error) {
	dir, free, err := o.alone()
	if err != nil {
		return false, err
	}
	progress := o.progress(IndexDir)
	return done, store.KeepRows(ctx, dir, store.Options{Uncompressed: o.Uncompressed, Logger: o.Logger}, func(k store.Kept) error {
		if done = k.Rows > 0; !done {
			say("all rows of the index are in its database")
			return nil
		}
		say(fmt.Sprintf("%d rows lie in sorted files of an older version, of %s; to copy them takes about %s, and up to as much again of %s of free disk until the files are removed",
			k.Rows, Size(uint64(k.Bytes)), seconds(k.Time), Size(free)))
		return fits(free, k.Bytes)
	}, func(done, of uint64) error {
		progress(done, of)
		return roomIn(dir)
	})
}

// alone returns the folder of the index, which nobody may use, and the bytes that are free.
func (o *Offline) alone() (dir string, free uint64, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if dir, err = o.indexDir(); err != nil {
		return "", 0, err
	}
	if err := CheckUnused(o.DataDir); err != nil {
		return "", 0, err
	}
	free, err = Free(dir)
	return dir, free, err
}

// fits returns an error if less is free than is needed meanwhile, which is not negative.
func fits(free uint64, needed int64) error {
	if n := uint64(needed) + MinRoom; free < n {
		return fmt.Errorf("%d bytes are free, %d are needed meanwhile", free, n)
	}
	return nil
}

// roomIn returns why nothing may be written to a folder now.
func roomIn(dir string) error {
	free, err := Free(dir)
	if err == nil && free < MinRoom {
		err = fmt.Errorf("%d bytes are free, nothing is written below %d", free, MinRoom)
	}
	return err
}

func seconds(d time.Duration) time.Duration { return max(d.Round(time.Second), time.Second) }

// Size returns a number of bytes as people read it.
func Size(n uint64) string {
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if one := uint64(1) << (40 - 10*i); n >= one {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(one), unit)
		}
	}
	return fmt.Sprintf("%d B", n)
}
