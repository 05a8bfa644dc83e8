package pchain_test

import (
	"testing"

	"quorate/engine/chain"
	"quorate/engine/primary"
)

// TestShareOfEnded: what ended validators of a node have of the rewards of delegators is
// what was paid, also by the rules before Cortina, which paid it when a delegator left.
func TestShareOfEnded(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	v := view(t, c)
	shown, paid, open := map[chain.NodeID]uint64{}, map[chain.NodeID]uint64{}, map[chain.NodeID]bool{}
	old := false
	for _, s := range everyone(t, c, h) {
		switch {
		case s.Delegator:
		case s.Status == primary.Active:
			open[s.Node] = true
		default:
			shown[s.Node] += s.Share
			old = old || s.Share > 0 && s.Start < h.cfg.Upgrades.Cortina
		}
	}
	for node := range shown {
		f := &primary.RewardFilter{Nodes: []chain.NodeID{node}}
		if _, err := v.Rewards(f, primary.Page{Limit: 1 << 20}, func(r *primary.Reward) bool {
			if r.Kind == primary.ValidatorFee {
				paid[node] += r.Amount
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	checked := 0
	for node, sum := range shown {
		if open[node] {
			continue // what it was paid so far is among its rewards, too
		}
		if paid[node] > 0 {
			checked++
		}
		if sum != paid[node] {
			t.Errorf("%s: its validators have %d, and %d was paid", node, sum, paid[node])
		}
	}
	if !old || checked == 0 {
		t.Errorf("none from before Cortina: %t, %d nodes checked", !old, checked)
	}
}
