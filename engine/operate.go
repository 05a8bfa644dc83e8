package engine

import (
	"errors"
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

// DiskUse looks at each file in the data folder.
func (e *Engine) DiskUse() (u DiskUse, err error) {
	if u.Free, u.Total, err = folder.Space(e.cfg.DataDir); err != nil {
		return u, err
	}
	u.Needed, u.Parts = folder.MinRoom, make(map[string]int64)
	if db := e.db.Load(); db != nil {
		u.Needed += uint64(max(db.Headroom(), 0))
	}
	entries, err := os.ReadDir(e.cfg.DataDir)
	if err != nil {
		return u, err
	}
	for _, entry := range entries {
		size, err := diskBytes(e.path(entry.Name()))
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
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return gone(err)
		}
		info, err := d.Info()
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

// diskMetrics adds what is left of the volume with the data.
func (e *Engine) diskMetrics() {
	e.cfg.Metrics.Gauges("quorate_disk_free_bytes", "Free space of the data folder's volume.", nil, func(emit func(float64, ...string)) {
		if free, _, err := folder.Space(e.cfg.DataDir); err == nil {
			emit(float64(free))
		}
	})
}
