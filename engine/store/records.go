package store

import "context"

// Records is a part of the results database that keeps one record under each key, such as
// the exports or the webhooks: results.Operations implements it.
type Records interface {
	Put(ctx context.Context, key, value []byte) error
	Remove(ctx context.Context, key []byte) error
	Each(f func(key, value []byte)) error
}
