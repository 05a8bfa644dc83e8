package index

import (
	"encoding/binary"
	"fmt"

	store "quorate/engine/store/index"
	"quorate/rollup"
)

// held are the metrics that hold after a rewind, until they are made again: those of
// buckets that end before the last block that was kept. The bucket of that block may
// have had others in it, and what comes after it may be of the same bucket.
type held struct {
	version uint16
	height  uint64 // of the last block that was kept
	state   rollup.State
}

// heldLen is the length of a stored held: u16 version of the metrics | u64 height |
// u64 time of that block, Unix seconds. It is empty if metrics are whole.
const heldLen = 2 + 8 + 8

// hold returns the row of what holds of the metrics once the chain goes back to a
// block; empty: nothing does.
func (c *Chain) hold(cur *cursor, to uint64) ([]byte, error) {
	version := cur.places.of[store.TableRollup].version
	switch h := cur.held; {
	case h != nil:
		version, to = h.version, min(to, h.height)
	case !cur.places.has(store.TableRollup):
		return nil, nil
	}
	var seconds uint64
	err := c.snapshot(func(s *store.Snapshot) error {
		last, err := cursorAt(s, cur, to)
		seconds = last.head.TimeMilli / 1000
		return err
	})
	return key(nil).u16(version).u64(to).u64(seconds), err
}

// loadHeld reads what holds of the metrics at places, nil for nothing, or all.
func loadHeld(s *store.Snapshot, at *places) (*held, error) {
	if at.has(store.TableRollup) {
		return nil, nil
	}
	var row []byte
	if _, err := s.Get(at.rowKey(rowHeld), func(b []byte) error {
		row = append(row, b...)
		return nil
	}); err != nil || len(row) == 0 {
		return nil, err
	}
	if len(row) != heldLen {
		return nil, fmt.Errorf("%w: metrics that hold", errCodec)
	}
	h := &held{version: binary.BigEndian.Uint16(row), height: binary.BigEndian.Uint64(row[2:])}
	if h.version&^incomplete < tables[store.TableRollup].reads {
		return nil, nil
	}
	found, err := s.Get(at.key(store.TableRollup), h.state.Decode)
	if h.state.Before = binary.BigEndian.Uint64(row[10:]); err != nil || !found || h.state.Before == 0 {
		return nil, err
	}
	return h, nil
}
