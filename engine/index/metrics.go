package index

import (
	"encoding/binary"
	"fmt"

	store "quorate/engine/store/index"
	"quorate/rollup"
)

// RollupState reports how far the metrics of the chain are made, and their
// edition, which changes when they are made again. After a rewind those before the
// blocks that were given up hold. The error is [ErrEmpty] if the chain has no block
// yet, and wraps [ErrRollup] if the metrics are not made up to the last block: they
// are of no use until then.
func (c *Chain) RollupState() (s rollup.State, edition uint32, err error) {
	cur := c.last.Load()
	switch {
	case cur == nil:
		return s, 0, ErrEmpty
	case c.opts.NoRollup:
		return s, 0, fmt.Errorf("%w: none are made", ErrRollup)
	case cur.held != nil:
		return cur.held.state, uint32(cur.places.of[store.TableRollup].edition), nil
	case !cur.places.has(store.TableRollup):
		return s, 0, fmt.Errorf("%w: they are made up to block %d of %d", ErrRollup, c.rebuilt.Load(), cur.head.Number+1)
	}
	return cur.rolled, uint32(cur.places.of[store.TableRollup].edition), nil
}

// Held returns the last block before those that were given up if the metrics from its
// hour, day, week and month on have not been made again since.
func (c *Chain) Held() (height uint64, ok bool) {
	if cur := c.last.Load(); cur != nil && cur.held != nil {
		return cur.held.height, true
	}
	return 0, false
}

// Buckets hands over the metrics of the buckets from newest down to oldest, the
// newest first, also of those without blocks and of those after the chain's last
// one, but not before its first. What take gets is good until it returns.
func (c *Chain) Buckets(i rollup.Interval, newest, oldest uint32, take func(number uint32, r *rollup.Record)) error {
	if _, _, err := c.RollupState(); err != nil {
		return err
	}
	at := c.last.Load().places
	s, err := c.db.Snapshot()
	if err != nil {
		return err
	}
	defer s.Close()
	prefix := append(at.key(store.TableBuckets), byte(i))
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	rows.Seek(at.bucketKey(i, newest))
	b := &rollup.Bucket{Interval: i}
	return rollup.Fill(newest, oldest, func() (*rollup.Bucket, error) {
		if !rows.Valid() {
			return nil, nil
		}
		k := rows.Key()
		if len(k) != len(prefix)+4 {
			return nil, fmt.Errorf("%w: key of %d bytes", errCodec, len(k))
		}
		b.Number = ^binary.BigEndian.Uint32(k[len(prefix):])
		if err := rows.Value(b.Decode); err != nil {
			return nil, fmt.Errorf("metrics of %s %d: %w", i, b.Number, err)
		}
		rows.Next()
		return b, nil
	}, take)
}
