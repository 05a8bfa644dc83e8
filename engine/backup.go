package engine

import (
	"errors"
	"io"

	"quorate/engine/chain"
)

// BackupResults writes all kept results to w; see [quorate/engine/store/results.Restore].
func (e *Engine) BackupResults(w io.Writer) error {
	kept := e.results.Load()
	if kept == nil {
		return errors.New("the results database is not open")
	}
	return kept.Backup(w)
}

// Signed reports whether a warp message is signed, by any validator set and quorum that
// it was asked for with.
func (e *Engine) Signed(id chain.ID) bool {
	kept := e.results.Load()
	if kept == nil {
		return false
	}
	found, err := kept.Has(id[:])
	return err == nil && found
}
