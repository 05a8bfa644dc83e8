package pchain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	store "quorate/engine/store/index"
)

// inArchive are the blocks that rows are made again from, from height 1 on.
type inArchive []*primary.Block

func (a inArchive) Read(ctx context.Context, from, to uint64, f func(*primary.Block) error) error {
	for _, b := range a[from-1 : to] {
		if err := f(b); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// listedIn returns what all lists have whose rows come and go.
func listedIn(t *testing.T, c *pchain.Chain) (all []string) {
	t.Helper()
	v := view(t, c)
	owners := map[address.Address]bool{}
	add := func(what string, row any, err error) {
		b, e := json.Marshal(row)
		if err != nil || e != nil {
			t.Fatalf("%s: %v, %v", what, err, e)
		}
		all = append(all, what+": "+string(b))
	}
	if err := v.EachOutput(func(u *primary.Output) {
		for _, a := range u.Addresses {
			owners[a] = true
		}
	}); err != nil {
		t.Fatal(err)
	}
	long := primary.Page{Limit: 1 << 20}
	var nodes []chain.NodeID
	subnets := map[chain.ID]bool{}
	for status := primary.AnyStatus; status <= primary.Removed; status++ {
		for _, delegators := range []bool{false, true} {
			_, err := v.Stakers(&primary.StakerFilter{Status: status, Delegators: delegators}, long, func(s *primary.Staker) bool {
				add(fmt.Sprint("staker ", status), *s, nil)
				nodes = append(nodes, s.Node)
				subnets[s.Subnet] = true
				return true
			})
			add("stakers", "", err)
		}
		for id := range subnets {
			_, err := v.Stakers(&primary.StakerFilter{Status: status, Subnet: &id}, long, func(s *primary.Staker) bool {
				add(fmt.Sprint(id, " has staker ", status), *s, nil)
				return true
			})
			add("stakers of a subnet", id, err)
		}
	}
	for a := range owners {
		for state := primary.Unspent; state <= primary.Exported; state++ {
			_, err := v.Outputs([]address.Address{a}, []primary.OutputState{state}, long, func(u *primary.Output) (primary.Result, error) {
				add(fmt.Sprint("output of ", a), fmt.Sprint(u.Ref, u.State, u.Place, u.SpentBy), nil)
				return primary.Taken, nil
			})
			add("outputs", a, err)
		}
	}
	for _, inactive := range []bool{false, true} {
		_, err := v.L1Validators(&primary.L1Filter{Inactive: inactive}, long, func(l *primary.L1Validator) bool {
			add(fmt.Sprint("L1 ", inactive), *l, nil)
			return true
		})
		add("L1 validators", "", err)
	}
	_, err := v.PendingRewards(&primary.RewardFilter{Nodes: nodes}, long, func(r *primary.Reward) bool {
		add("reward", *r, nil)
		return true
	})
	add("rewards", "", err)
	for _, height := range []uint64{v.Tip().Height / 2, v.Tip().Height} {
		sets, known, err := v.AllValidatorsAt(height)
		for id, set := range sets {
			for _, m := range set {
				add(fmt.Sprint("set ", id, height), fmt.Sprint(m.Node, m.Weight, m.Key != nil), nil)
			}
		}
		add("sets", known, err)
	}
	locked, known, err := v.Locked(v.AVAX(), 0)
	add("locked", fmt.Sprint(locked, known), err)
	slices.Sort(all) // maps have no order
	return all
}

// Rows of before there were live lists are served, take blocks and are made again.
func TestOlderLists(t *testing.T) {
	t.Parallel()
	h := simulated(t)
	first, second := len(h.blocks)/2, len(h.blocks)-100
	now := open(t, openDB(t, t.TempDir()), h.cfg)
	db := openDB(t, t.TempDir())
	old, err := pchain.OpenVersion(db, h.cfg, 7)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, now, h.blocks[:first])
	commit(t, old, h.blocks[:first])
	c := open(t, db, h.cfg)
	if !c.Stale() || old.Stale() {
		t.Fatal("not stale")
	}
	same := func(when string) {
		t.Helper()
		if got, want := listedIn(t, c), listedIn(t, now); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d, or others", when, len(got), len(want))
		}
	}
	same("older rows")
	commit(t, now, h.blocks[first:second])
	commit(t, c, h.blocks[first:second])
	same("older rows with further blocks")
	came := false
	if err := c.Rebuild(t.Context(), inArchive(h.blocks), func(uint64, uint64) {
		if !came {
			came = true
			commit(t, c, h.blocks[second:])
		}
	}); err != nil || !came || c.Stale() {
		t.Fatal(err, came, c.Stale())
	}
	commit(t, now, h.blocks[second:])
	same("rows made again")
	got, err := c.Digest(t.Context())
	want, werr := now.Digest(t.Context())
	if err != nil || werr != nil || got != want {
		t.Errorf("another digest: %v, %v", err, werr)
	}
}

// TestNothingRemoved: lists that iterators go through have no row that was removed, and
// none that changes with each block: pages would pass over all of it.
func TestNothingRemoved(t *testing.T) {
	t.Parallel()
	h := simulated(t)
	db := openDB(t, t.TempDir())
	c := open(t, db, h.cfg)
	for i := range h.blocks {
		if err := c.Commit(t.Context(), h.blocks[i:i+1]); err != nil {
			t.Fatal(err)
		}
	}
	s, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, table := range []struct {
		id   byte
		most int // versions of a row
	}{
		{store.PrimaryBlocks, 1}, {store.PrimaryProposed, 1}, {store.PrimaryTxs, 1}, {store.PrimaryAddressTxs, 1},
		{store.PrimarySpent, 1}, {store.PrimaryAddressUTXOs, 1}, {store.PlatformSets, 1}, {store.PlatformStakerEnds, 1}, {store.PlatformRewards, 1},
		{store.PlatformL1Lists, 1}, {store.PrimaryLocked, 1}, {store.PlatformSetChanges, 1}, {store.PlatformChainList, 1},
		{store.PlatformStakerLists, 3}, // pending, active and ended delegators
		{store.PlatformSubnetList, 5},  // subnets change rarely
	} {
		prefix := c.Space().Key(table.id)
		rows, err := s.Rows(prefix, false)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for rows.Seek(prefix); rows.Valid(); rows.Next() {
			n++
		}
		if versions, err := s.Versions(prefix); err != nil || versions > table.most*n {
			t.Errorf("table %#x: %d versions of %d rows, at most %d of one: %v", table.id, versions, n, table.most, err)
		}
	}
}
