package world

import "quorate/engine/chain"

// maxSnapshots bounds how many heights' sets are kept worked out.
const maxSnapshots = 64

// Ledger is a P-Chain with blocks, from which the validator sets follow.
type Ledger interface {
	// Height returns the height of the last block.
	Height() uint64
	// Sets returns the validator sets at a height that was reached, in canonical order.
	Sets(height uint64) map[chain.ID][]Member
	// Grow accepts blocks until so many seconds later, and returns the height.
	Grow(seconds uint64) uint64
	// Convert accepts the block that makes a subnet an L1, and returns its height.
	Convert(l *L1) uint64
}

// Follow has the world take its heights and validator sets from a ledger from now on:
// it must come before everything else. Without one, heights begin at 0 with the sets
// that the parameters say, and move by what [World.Advance], [World.Shift] and
// [World.Convert] do.
func (w *World) Follow(l Ledger) { w.ledger, w.base = l, l.Height() }

// recorded is At with a ledger.
func (w *World) recorded(height uint64) (*Snapshot, error) {
	if height > w.ledger.Height() {
		return nil, ErrHeight
	}
	w.snapshotsMu.Lock()
	defer w.snapshotsMu.Unlock()
	if s := w.snapshots[height]; s != nil {
		return s, nil
	}
	if len(w.snapshots) >= maxSnapshots || w.snapshots == nil {
		w.snapshots = make(map[uint64]*Snapshot)
	}
	s := &Snapshot{Height: height, Sets: w.ledger.Sets(height)}
	w.snapshots[height] = s
	return s, nil
}
