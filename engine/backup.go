package engine

import (
	"errors"
	"io"
)

// BackupResults writes all kept results to w; see [store.RestoreResults].
func (e *Engine) BackupResults(w io.Writer) error {
	results := e.results.Load()
	if results == nil {
		return errors.New("the results database is not open")
	}
	return results.Backup(w)
}

// FreeSpace returns the free bytes of the volume with a folder.
func FreeSpace(dir string) (uint64, error) {
	free, _, err := freeSpace(dir)
	return free, err
}
