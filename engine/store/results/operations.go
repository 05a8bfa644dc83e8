package results

import (
	"context"
	"fmt"
	"math"

	"github.com/dgraph-io/badger/v4"

	"quorate/engine/store"
)

// Operations is the part of the results database for operations that clients have
// started, or that for their webhooks, or that for the metadata of NFTs. Each is one entry, so that its state and how far
// it is change together.
type Operations struct {
	db     *DB
	prefix byte
}

// Operations returns the operations in the database.
func (d *DB) Operations() Operations { return Operations{d, prefixOperation} }

// Webhooks returns the webhooks in the database.
func (d *DB) Webhooks() Operations { return Operations{d, prefixWebhook} }

// Metadata returns what was fetched of NFTs in the database.
func (d *DB) Metadata() Operations { return Operations{d, prefixMetadata} }

// Get returns what is kept under key, and whether there is anything.
func (o Operations) Get(key []byte) ([]byte, bool, error) { return o.db.get(o.prefix, key, nil) }

// Put keeps value under key until it is removed, and returns when it is committed.
func (o Operations) Put(ctx context.Context, key, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return fmt.Errorf("%w: key of %d bytes, value of %d", ErrTooLarge, len(key), len(value))
	}
	return o.db.put(ctx, o.prefix, key, value, 0)
}

// Remove removes what is kept under key.
func (o Operations) Remove(ctx context.Context, key []byte) error {
	return o.db.put(ctx, o.prefix, key, nil, longAgo)
}

// longAgo is the end of validity of what is removed: readers pass over it, and Badger
// drops it.
const longAgo = 1

// Each calls f with every operation, in the order of the keys. key and value are valid
// during the call only.
func (o Operations) Each(f func(key, value []byte)) error { return o.db.each(o.prefix, nil, f) }

// Page calls f with some thousand of those whose key begins with prefix, in the order of
// the keys, starting at a key of that kind; with from nil at the first. It returns where
// the next page starts, nil behind the last. key and value are valid during the call only,
// and f must not use the database.
func (o Operations) Page(prefix, from []byte, f func(key, value []byte)) (next []byte, err error) {
	first := append([]byte{o.prefix}, prefix...)
	if from != nil {
		from = append([]byte{o.prefix}, from...)
	} else {
		from = first
	}
	next, err = o.db.scanChunk(first, from, func(item *badger.Item) error {
		return item.Value(func(b []byte) error {
			if len(b) < expiryLen {
				return fmt.Errorf("%w: an entry of %d bytes", store.ErrFormat, len(b))
			}
			f(item.Key()[1:], b[expiryLen:])
			return nil
		})
	})
	if next != nil {
		next = next[1:]
	}
	return next, err
}

// RemoveAll removes what is kept under the keys, and returns how many of them, from the
// first on, are done. It must not run beside a Put of one of them.
func (o Operations) RemoveAll(keys [][]byte) (n int, err error) {
	full := make([][]byte, len(keys))
	for i, k := range keys {
		full[i] = append([]byte{o.prefix}, k...)
	}
	return o.db.remove(full, math.MaxUint64)
}
