package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"quorate/engine/folder"
)

// DiskUse is what the data folder takes.
type DiskUse struct {
	// Free and Total are of the folder's volume, in bytes.
	Free, Total uint64
	// Needed is the free space below which nothing is written.
	Needed uint64
	// Parts are the folder's files and folders by name, in bytes on disk.
	Parts map[string]int64
}

// Use looks at each file in the data folder.
func (d *Disk) Use() (u DiskUse, err error) {
	if u.Free, u.Total, err = folder.Space(d.cfg.DataDir); err != nil {
		return u, err
	}
	u.Needed, u.Parts = folder.MinRoom, make(map[string]int64)
	if db := d.index.Load(); db != nil {
		u.Needed += uint64(max(db.Headroom(), 0))
	}
	entries, err := os.ReadDir(d.cfg.DataDir)
	if err != nil {
		return u, err
	}
	for _, entry := range entries {
		size, err := diskBytes(d.path(entry.Name()))
		if err != nil {
			return u, err
		}
		u.Parts[entry.Name()] = size
	}
	return u, nil
}

// diskBytes returns what a file, or all in a folder, takes on disk. Files that go
// meanwhile count nothing.
func diskBytes(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return gone(err)
		}
		info, err := f.Info()
		if err != nil {
			return gone(err)
		}
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			size += s.Blocks * 512 // of sparse files less than their length
		} else {
			size += info.Size()
		}
		return nil
	})
	return size, err
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// watch registers what is left of the volume with the data.
func (d *Disk) watch() {
	d.cfg.Metrics.Gauges("quorate_disk_free_bytes", "Free space of the data folder's volume.", nil, func(emit func(float64, ...string)) {
		if free, _, err := folder.Space(d.cfg.DataDir); err == nil {
			emit(float64(free))
		}
	})
}

// diskMessage is what the check of the volume says.
type diskMessage struct {
	Bytes   uint64 `json:"availableDiskBytes"`
	Percent uint64 `json:"availableDiskPercentage"`
}

// checkDatabase is the health of the databases.
func (d *Disk) checkDatabase(ctx context.Context) (any, error) {
	results := d.results.Load()
	if results == nil {
		return nil, errClosed
	}
	if err := d.room(); err != nil {
		return nil, err
	}
	err := results.Check(ctx)
	if db := d.index.Load(); db != nil {
		err = errors.Join(err, db.Check(ctx))
	}
	return nil, err
}

// checkSpace is the health of the volume.
func (d *Disk) checkSpace(context.Context) (any, error) {
	free, total, err := folder.Space(d.cfg.DataDir)
	if err != nil {
		return nil, err
	}
	msg := diskMessage{Bytes: free}
	share := 1.0
	if total > 0 {
		share = float64(free) / float64(total)
	}
	msg.Percent = uint64(100 * share)
	if share < folder.MinFreeShare || free < d.cfg.MinFreeBytes {
		return msg, fmt.Errorf("little space is left for the data folder: %d bytes, %.1f%%; at least %d bytes and %.0f%% are required",
			free, 100*share, d.cfg.MinFreeBytes, 100*folder.MinFreeShare)
	}
	return msg, nil
}
