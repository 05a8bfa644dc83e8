package results

import (
	"encoding/binary"
	"fmt"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// Has reports whether a value is kept under any key that begins with prefix.
func (d *DB) Has(prefix []byte) (found bool, err error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.db == nil {
		return false, store.ErrClosed
	}
	txn := d.db.NewTransaction(false)
	defer txn.Discard()
	opts := badger.DefaultIteratorOptions
	opts.PrefetchValues = false
	opts.Prefix = append([]byte{prefixResult}, prefix...)
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Rewind(); it.Valid() && !found && err == nil; it.Next() {
		err = it.Item().Value(func(b []byte) error {
			if len(b) < expiryLen {
				return fmt.Errorf("%w: a result of %d bytes", store.ErrFormat, len(b))
			}
			end := binary.BigEndian.Uint64(b)
			found = end == 0 || uint64(d.now().Unix()) < end // after 1970
			return nil
		})
	}
	return found, err
}
