package webhook

import (
	"fmt"
	"maps"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
)

// watch is what is known of the balances of active validators of L1s after a block. Rows
// have them as they are now; how they came there, past the end of one and the next
// payment, is followed block by block.
type watch struct {
	fees rules.L1Fees
	// limits are what may have accrued while each is active.
	limits map[chain.ID]uint64
}

// maxWatched bounds the validators whose balances a webhook watches: they are committed
// with its position.
const maxWatched = 1024

// bounded reports an error if there are too many.
func (w *watch) bounded() error {
	if len(w.limits) > maxWatched {
		return fmt.Errorf("%w: they are more than %d; choose nodes", ErrWatched, maxWatched)
	}
	return nil
}

func (w *watch) clone() *watch { return &watch{fees: w.fees, limits: maps.Clone(w.limits)} }

func (w *watch) ids() []chain.ID { return slices.SortedFunc(maps.Keys(w.limits), compareIDs) }

// fund adds to the balance of a validator, which activates it.
func (w *watch) fund(id chain.ID, balance uint64) {
	if balance == 0 {
		return
	}
	limit, ok := w.limits[id]
	if !ok {
		limit = w.fees.Accrued
	}
	w.limits[id] = limit + min(balance, ^uint64(0)-limit)
}

// The watch codec, version 1: u8 1 | active | excess | accrued | number | each ID | limit.
const watchVersion = 1

func (w *watch) encode() []byte {
	e := &primary.Encoder{}
	e.U8(watchVersion)
	for _, n := range []uint64{w.fees.Active, w.fees.Excess, w.fees.Accrued, uint64(len(w.limits))} {
		e.Uint(n)
	}
	for _, id := range w.ids() {
		e.ID(id)
		e.Uint(w.limits[id])
	}
	return e.B
}

func decodeWatch(b []byte) (*watch, error) {
	d := primary.NewDecoder(b)
	w := &watch{limits: map[chain.ID]uint64{}}
	if d.U8() != watchVersion {
		return nil, errPoint
	}
	w.fees = rules.L1Fees{Active: d.Uint(), Excess: d.Uint(), Accrued: d.Uint()}
	for range d.Count(chain.IDLen) {
		id := d.ID()
		w.limits[id] = d.Uint()
	}
	return w, d.End("watched validators")
}
