package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"quorate/engine/archive"
	"quorate/engine/folder"
	"quorate/engine/metric"
)

// archives are those that are open.
type archives struct {
	mu   sync.Mutex // guards open
	open []*archive.Archive
}

// openArchive opens the archive in a folder of that name, until the disk is closed.
func (d *Disk) openArchive(kind archive.Kind, name string, log *slog.Logger, set *metric.Set) (*archive.Archive, error) {
	a, err := archive.Open(filepath.Join(d.path(folder.ArchiveDir), name), archive.Options{
		Kind: kind, Keep: d.cfg.ArchiveKeep, Logger: log, Metrics: set,
	})
	if err != nil {
		return nil, err
	}
	if first, _, ok := a.First(); ok && first > 0 && d.cfg.ArchiveKeep != (archive.Keep{}) {
		log.Warn("the archive does not begin with the first block: what lies below can only be made again from a node", "first", first)
	}
	d.archives.mu.Lock()
	defer d.archives.mu.Unlock()
	d.archives.open = append(d.archives.open, a)
	return a, nil
}

// close closes all archives. What was acknowledged is on disk already, so one that
// hangs is left behind after limit.
func (a *archives) close(limit time.Duration) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	errs := make(chan error, len(a.open))
	for _, one := range a.open {
		go func() { errs <- one.Close() }()
	}
	late := time.NewTimer(limit)
	defer late.Stop()
	var all error
	for range a.open {
		select {
		case err := <-errs:
			all = errors.Join(all, err)
		case <-late.C:
			return errors.Join(all, fmt.Errorf("an archive was not closed within %s", limit.Round(time.Millisecond)))
		}
	}
	return all
}
