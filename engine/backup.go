package engine

import (
	"errors"
	"io"
)

// BackupResults writes all kept results to w; see [quorate/engine/store/results.Restore].
func (e *Engine) BackupResults(w io.Writer) error {
	kept := e.results.Load()
	if kept == nil {
		return errors.New("the results database is not open")
	}
	return kept.Backup(w)
}

// FreeSpace returns the free bytes of the volume with a folder.
func FreeSpace(dir string) (uint64, error) {
	free, _, err := freeSpace(dir)
	return free, err
}
