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
	return c.rollupOf(c.last.Load())
}

func (c *Chain) rollupOf(cur *cursor) (s rollup.State, edition uint32, err error) {
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

// Buckets yields the metrics of the buckets from newest down to oldest, the
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
	return readBuckets(s, at, i, newest, oldest, take)
}

func readBuckets(s *store.Snapshot, at *places, i rollup.Interval, newest, oldest uint32, take func(number uint32, r *rollup.Record)) error {
	prefix := append(at.key(store.TableBuckets), byte(i))
	rows, err := s.Rows(prefix, false)
	if err != nil {
		return err
	}
	defer rows.Close()
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

// Windows returns for each of some hours, the latest of them first, the figures of all
// blocks from its beginning on up to the last one, as if these were one bucket, all as
// of the same block. Distinct counts are 0 unless distinct is set; that is dearer. The
// error is that of [Chain.RollupState]; it wraps [ErrRollup] too while addresses are not
// counted by hours yet.
func (c *Chain) Windows(hours []uint32, distinct bool) (list []rollup.Record, err error) {
	s, at, err := c.rolledSnapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	state, err := loadRolled(s, at)
	if err != nil {
		return nil, err
	}
	for _, from := range hours {
		r, err := state.Window(from, func(i rollup.Interval, newest, oldest uint32, take func(*rollup.Record)) error {
			return readBuckets(s, at, i, newest, oldest, func(_ uint32, r *rollup.Record) { take(r) })
		})
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if !distinct {
		return list, nil
	}
	if !at.has(store.TableHours) {
		return nil, fmt.Errorf("%w: addresses are being counted by hours", ErrRollup)
	}
	first, _, _ := state.Bounds(rollup.Hour)
	return list, addSeen(s, at, first, hours, list)
}

// rolledSnapshot returns a snapshot with the places at which the metrics lie in it.
func (c *Chain) rolledSnapshot() (*store.Snapshot, *places, error) {
	for {
		cur := c.last.Load() // all of it from one: blocks may be given up meanwhile
		if _, _, err := c.rollupOf(cur); err != nil {
			return nil, nil, err
		}
		if cur.held != nil {
			return nil, nil, fmt.Errorf("%w: after blocks were removed they are computed again", ErrRollup)
		}
		at := cur.places
		s, err := c.db.Snapshot()
		if err != nil {
			return nil, nil, err
		}
		if c.last.Load().places == at { // rows are swept only afterwards
			return s, at, nil
		}
		s.Close()
	}
}

// addSeen adds the distinct counts to windows from some hours on, the latest first. All
// that was seen since the chain's first hour has a row of its own.
func addSeen(s *store.Snapshot, at *places, first uint32, hours []uint32, list []rollup.Record) error {
	set := func(i int, seen rollup.Seen) {
		list[i].Addresses, list[i].Senders, list[i].Deployers = seen.Active, seen.Senders, seen.Deployers
	}
	var sum, ever rollup.Seen
	next := 0
	older := func() bool { return next < len(hours) && hours[next] > first }
	if err := at.eachHour(s, func(stamp uint32, seen rollup.Seen) bool {
		for ; older() && stamp <= hours[next]; next++ { // stamps are hours + 1, and 0 is the last
			set(next, sum)
		}
		sum.Add(seen)
		return older()
	}); err != nil {
		return err
	}
	if _, err := s.Get(at.key(store.TableHours).u32(^uint32(rollup.Ever)), ever.Decode); err != nil {
		return err
	}
	for ; next < len(hours); next++ {
		set(next, ever)
	}
	return nil
}
