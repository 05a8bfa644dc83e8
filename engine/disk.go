package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
	"quorate/engine/folder"
	store "quorate/engine/store/index"
	"quorate/engine/store/results"
)

// Disk is the data folder with the databases and archives in it.
type Disk struct {
	cfg      *Config
	budget   *Budget
	results  atomic.Pointer[results.DB] // nil while it is not open
	index    atomic.Pointer[store.DB]   // likewise
	archives archives
}

// path is a name in the data folder.
func (d *Disk) path(name string) string { return filepath.Join(d.cfg.DataDir, name) }

// openable reports why the databases must not be opened.
func (d *Disk) openable() error {
	free, _, err := folder.Space(d.cfg.DataDir)
	if err == nil && free < folder.MinOpen {
		err = fmt.Errorf("no space left for the data folder: %d bytes are free on its volume, at least %d are needed to start", free, folder.MinOpen)
	}
	return err
}

// room reports why nothing may be written to the data folder: the databases, the
// archives or their notes. Besides [folder.MinRoom] there must be space for what the index
// database will write by itself after what it was given.
func (d *Disk) room() error {
	need := uint64(folder.MinRoom)
	if db := d.index.Load(); db != nil {
		need += uint64(max(db.Headroom(), 0))
	}
	free, _, err := folder.Space(d.cfg.DataDir)
	if err == nil && free < need {
		err = fmt.Errorf("nothing is written: %d bytes are free on the data folder's volume, below %d", free, need)
	}
	return err
}

// open opens the databases, and leaves their close to the end.
func (d *Disk) open(end *ending) (*results.DB, error) {
	if err := d.openable(); err != nil {
		return nil, err
	}
	kept, err := results.Open(d.path(folder.ResultsDir), results.Options{
		TTL: d.cfg.KeepResults, MaxBytes: d.cfg.KeepResultsBytes, Logger: d.cfg.Log("store"), Metrics: d.cfg.Metrics,
	})
	if err != nil {
		return nil, err
	}
	d.results.Store(kept)
	end.later("the results database", 0, func(limit time.Duration) error {
		defer d.results.Store(nil)
		return kept.CloseWithin(limit)
	})
	if d.cfg.NoIndex {
		return kept, nil
	}
	if dir := d.path(folder.DepotDir); d.cfg.Depot != nil { // without what a killed process has left
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
			return nil, err
		}
	}
	db, err := store.Open(d.path(folder.IndexDir), store.Options{
		BlockCacheMB: int(d.budget.Blocks >> 20), MemTableMB: int(d.budget.Tables >> 20),
		CompactionMB: int(d.budget.Compactions >> 20), Uncompressed: d.cfg.Uncompressed, Room: d.room, Spare: d.cfg.Spare, Logger: d.cfg.Log("store"), Metrics: d.cfg.Metrics,
		Remake: folder.Remake(d.cfg.DataDir),
	})
	if err != nil {
		return nil, err
	}
	d.index.Store(db)
	end.later("the index database", 0, func(limit time.Duration) error {
		d.index.Store(nil)
		return db.CloseWithin(limit)
	})
	return kept, nil
}

// BackupResults writes all kept results to w; see [quorate/engine/store/results.Restore].
func (d *Disk) BackupResults(w io.Writer) error {
	kept := d.results.Load()
	if kept == nil {
		return errors.New("the results database is not open")
	}
	return kept.Backup(w)
}

// Signed reports whether a warp message is signed, by any validator set and quorum that
// it was asked for with.
func (d *Disk) Signed(id chain.ID) bool {
	kept := d.results.Load()
	if kept == nil {
		return false
	}
	found, err := kept.Has(id[:])
	return err == nil && found
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
