package valset

import (
	"testing"
	"time"

	"quorate/engine/chain"
)

// TestRunways: for each L1 in use it is known, as it is read, whose balance ends first at
// today's fee.
func TestRunways(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		set := func(fee uint64, balances map[chain.NodeID]uint64) {
			src.change(func(s *fakeSource) { s.fee, s.balances[l1] = fee, balances })
			pass(time.Minute)
		}
		set(0, map[chain.NodeID]uint64{node(100): 7200, node(101): 0, node(102): 3600})
		if got := k.Runways(); len(got) != 0 {
			t.Errorf("nobody has asked for the L1: %+v", got)
		}
		for _, id := range []chain.ID{l1, plain} {
			if _, err := k.At(t.Context(), id, 0); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		if r := k.Runways(); len(r) != 1 || r[0].Subnet != l1 || len(r[0].Validators) != 3 || r[0].Validators[0].Left != 0 {
			t.Errorf("%+v", r)
		} else if next, ok := r[0].Next(); ok {
			t.Errorf("the fee is not known, and %+v is the next", next)
		}
		next := func(id chain.NodeID, left time.Duration) {
			t.Helper()
			r := k.Runways()
			if v, ok := r[0].Next(); !ok || v.NodeID != id || v.Left != left {
				t.Errorf("%+v: %+v, want %v in %v", r, v, id, left)
			}
		}
		set(2, map[chain.NodeID]uint64{node(100): 7200, node(101): 0, node(102): 3600})
		next(node(102), 30*time.Minute)
		set(1, map[chain.NodeID]uint64{node(100): 7200, node(101): 0, node(102): 86400})
		next(node(100), 2*time.Hour)
		// What was known stays while the node is away.
		src.change(func(s *fakeSource) { s.err = errDown })
		pass(time.Minute)
		next(node(100), 2*time.Hour)
	})
}
