package index

import (
	"fmt"
	"slices"

	"quorate/engine/chain"
	store "quorate/engine/store/index"
)

// Peek returns the tables, of any chain in the index database in dir, that were made by
// other rules than today's: a server would make them again. It changes nothing.
func Peek(dir string) (list []Table, err error) {
	err = store.Peek(dir, func(id [32]byte, ordinal uint32, get func(key []byte) ([]byte, error)) error {
		at := &places{ordinal: ordinal}
		cursor, err := get(at.key(store.TableCursor))
		if err != nil || cursor == nil {
			return err // of a chain without blocks, or of a primary network
		}
		row, err := get(at.rowKey(rowServing))
		if err == nil && row != nil {
			err = at.decode(row)
		} else if err == nil {
			at = firstPlaces(ordinal)
		}
		if err != nil {
			return fmt.Errorf("read the tables of chain %s: %w", chain.ID(id), err)
		}
		for _, t := range Tables() {
			if at.of[t].version != tables[t].version && !slices.Contains(list, t) {
				list = append(list, t)
			}
		}
		return nil
	})
	return list, err
}
