package engine

import (
	"context"
	"fmt"
	"syscall"

	"quorate/engine/store/results"
)

// minRoom is the free space, in bytes, below which nothing is written to a
// database, besides what it needs for compactions: its log is mapped memory, and a
// page that the volume cannot give would end the process.
const minRoom = 256 << 20

// minOpen is the free space, in bytes, below which no database is opened: that
// writes a little, through mapped memory.
const minOpen = 16 << 20

// openable reports why the databases must not be opened.
func (e *Engine) openable() error {
	free, _, err := freeSpace(e.cfg.DataDir)
	if err == nil && free < minOpen {
		err = fmt.Errorf("no space left for the data folder: %d bytes are free on its volume, at least %d are needed to start", free, minOpen)
	}
	return err
}

// freeSpace returns the bytes of the volume with that folder, in all and free to us.
func freeSpace(dir string) (free, total uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("the space of the data folder's volume is not known: %w", err)
	}
	size := uint64(s.Bsize)
	return s.Bavail * size, s.Blocks * size, nil
}

// room reports why nothing may be written to the data folder: the databases, the
// archives or their notes. Besides minRoom there must be space for what the index
// database will write by itself after what it was given.
func (e *Engine) room() error {
	need := uint64(minRoom)
	if db := e.db.Load(); db != nil {
		need += uint64(max(db.Headroom(), 0))
	}
	free, _, err := freeSpace(e.cfg.DataDir)
	if err == nil && free < need {
		err = fmt.Errorf("nothing is written: %d bytes are free on the data folder's volume, below %d", free, need)
	}
	return err
}

// roomyResults refuses to keep a result when there is no room for it.
type roomyResults struct {
	*results.DB
	room func() error
}

func (r roomyResults) Put(ctx context.Context, key, value []byte) error {
	if err := r.room(); err != nil {
		return err
	}
	return r.DB.Put(ctx, key, value)
}

// roomyNotes does the same with notes.
type roomyNotes struct {
	results.Notes
	room func() error
}

func (n roomyNotes) Put(ctx context.Context, key, value []byte) error {
	if err := n.room(); err != nil {
		return err
	}
	return n.Notes.Put(ctx, key, value)
}
