package engine

import (
	"context"
	"fmt"

	"quorate/engine/folder"
	"quorate/engine/store/results"
)

// openable reports why the databases must not be opened.
func (e *Engine) openable() error {
	free, _, err := folder.Space(e.cfg.DataDir)
	if err == nil && free < folder.MinOpen {
		err = fmt.Errorf("no space left for the data folder: %d bytes are free on its volume, at least %d are needed to start", free, folder.MinOpen)
	}
	return err
}

// room reports why nothing may be written to the data folder: the databases, the
// archives or their notes. Besides [folder.MinRoom] there must be space for what the index
// database will write by itself after what it was given.
func (e *Engine) room() error {
	need := uint64(folder.MinRoom)
	if db := e.db.Load(); db != nil {
		need += uint64(max(db.Headroom(), 0))
	}
	free, _, err := folder.Space(e.cfg.DataDir)
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
