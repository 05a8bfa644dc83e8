package pchain_test

import (
	"bytes"
	"cmp"
	"errors"
	"reflect"
	"slices"
	"testing"

	devnet "quorate/devnet/primary"
	"quorate/devnet/torture"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/primary/pchain"
	store "quorate/engine/store/index"
)

// setsOf returns validator sets as the other executor has them, in the order of nodes.
func setsOf(all map[chain.ID][]world.Member) map[chain.ID][]pchain.Member {
	out := map[chain.ID][]pchain.Member{}
	for subnet, members := range all {
		for _, m := range members {
			w := pchain.Member{Node: m.NodeID, Weight: m.Weight}
			if !m.NoKey {
				key := m.PublicKey
				w.Key = &key
			}
			out[subnet] = append(out[subnet], w)
		}
		slices.SortFunc(out[subnet], func(a, b pchain.Member) int {
			return cmp.Or(bytes.Compare(a.Node[:], b.Node[:]), cmp.Compare(a.Weight, b.Weight))
		})
	}
	return out
}

// A validator of a subnet from before it became an L1 that validates the L1 as well is one
// member, as nodes have it.
func TestNodeTwice(t *testing.T) {
	t.Parallel()
	h, err := makeHistory(300, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, twice := view(t, whole(t, h, openDB(t, t.TempDir()))), false
	for height := uint64(0); height <= h.made.Height(); height += 3 {
		want := setsOf(h.made.Sets(height))
		all, ok, err := v.AllValidatorsAt(height)
		if err != nil || !ok || !reflect.DeepEqual(all, want) {
			t.Fatalf("all at %d: %v, %v, %v; want %v", height, all, ok, err, want)
		}
		h.made.Read(func(s *devnet.State) {
			for _, x := range s.L1Validators {
				twice = twice || slices.ContainsFunc(want[x.Subnet], func(m pchain.Member) bool { return m.Node == x.NodeID && m.Weight > x.Weight && x.Weight > 0 })
			}
		})
	}
	if !twice {
		t.Error("none is one")
	}
}

// At each height, the validator sets of all subnets are those of the other executor, which
// the simulated node answers from: one by one, and all at once.
func TestValidatorsAt(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	v := view(t, c)
	var subnets []chain.ID
	h.made.Read(func(s *devnet.State) { subnets = append(slices.Clone(s.SubnetOrder), chain.PrimaryNetworkID) })
	inactive, without, empty := 0, 0, 0
	for height := uint64(0); height <= h.made.Height(); height++ {
		want := setsOf(h.made.Sets(height))
		all, ok, err := v.AllValidatorsAt(height)
		if err != nil || !ok || !reflect.DeepEqual(all, want) {
			t.Fatalf("all at %d: %v, %v, %v; want %v", height, all, ok, err, want)
		}
		for i, subnet := range subnets {
			if (int(height)+i)%torture.Pick(5, 1) != 0 { // in CI each subnet at some heights
				continue
			}
			got, ok, err := v.ValidatorsAt(subnet, height)
			if err != nil || !ok || !reflect.DeepEqual(got, want[subnet]) {
				t.Fatalf("%s at %d: %v, %v, %v; want %v", subnet, height, got, ok, err, want[subnet])
			}
			if len(got) == 0 {
				empty++
			}
			for _, m := range got {
				switch {
				case m.Node == (chain.NodeID{}):
					inactive++
				case m.Key == nil:
					without++
				}
			}
		}
	}
	if inactive == 0 || without == 0 || empty == 0 {
		t.Errorf("%d inactive, %d without a key, %d empty sets", inactive, without, empty)
	}
	if _, ok, err := v.ValidatorsAt(chain.PrimaryNetworkID, v.Tip().Height+1); ok || err != nil {
		t.Errorf("above the last block: %v, %v", ok, err)
	}
	if _, ok, err := v.AllValidatorsAt(v.Tip().Height + 1); ok || err != nil {
		t.Errorf("all above the last block: %v, %v", ok, err)
	}
}

// Rows of before there were points say nothing of sets, and not that there are none.
func TestSetsOfOldRows(t *testing.T) {
	t.Parallel()
	h := simulated(t)
	db := openDB(t, t.TempDir())
	c := open(t, db, h.cfg)
	commit(t, c, h.blocks[:20])
	b, err := db.Batch()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	if err := errors.Join(b.Delete(c.Space().Key(store.PlatformSetPoints).U8(0).ID(chain.PrimaryNetworkID)), b.Commit()); err != nil {
		t.Fatal(err)
	}
	v := view(t, c)
	if _, ok, err := v.ValidatorsAt(chain.PrimaryNetworkID, 10); ok || err != nil {
		t.Errorf("one: %v, %v", ok, err)
	}
	if _, ok, err := v.AllValidatorsAt(10); ok || err != nil {
		t.Errorf("all: %v, %v", ok, err)
	}
}
