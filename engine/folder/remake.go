package folder

import (
	"fmt"
	"path/filepath"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/chain"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// Remake returns what says why rows that lie in sorted files of an older version cannot be
// made again from the archives of a data folder; see [store.Options].
func Remake(dataDir string) func(id [32]byte, ordinal uint32, edition uint8, get func(key []byte) ([]byte, error)) error {
	return func(id [32]byte, ordinal uint32, edition uint8, get func(key []byte) ([]byte, error)) error {
		network, kind, ok := primary.IsRowsID(chain.ID(id))
		if !ok {
			return store.ErrRuns // no version made some of other chains
		}
		first, last, any, err := primary.Span(ordinal, edition, get)
		if err != nil || !any {
			return err
		}
		name := PrimaryName(network, kind)
		reaches, err := reaches(filepath.Join(dataDir, ArchiveDir, name), container.KindOf(kind), first, last)
		if err == nil && !reaches {
			err = fmt.Errorf("%w, and the archive of chain %s lacks some of the blocks %d to %d to make them again from: "+
				"copy the rows by quorate reindex --keep-rows, or move the folders %s and %s away to have them fetched again", store.ErrRuns, name, first, last, IndexDir, filepath.Join(ArchiveDir, name))
		}
		return err
	}
}

// reaches reports whether an archive has the blocks from one height to another.
func reaches(dir string, kind archive.Kind, from, to uint64) (ok bool, err error) {
	a, err := archive.Open(dir, archive.Options{Kind: kind, ReadOnly: true})
	if err != nil {
		return false, err
	}
	first, _, begun := a.First()
	last, _, _ := a.Last()
	return begun && first <= from && last >= to, a.Close()
}
