package pchain_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
)

// pages walks through a list page by page, each of random length and from a new view.
func pages[T any](t *testing.T, rnd *rand.Rand, c *pchain.Chain, asc bool, list func(v *pchain.View, p primary.Page, take func(T) bool) (primary.Position, error)) (all []T) {
	t.Helper()
	p := primary.Page{Asc: asc}
	for {
		p.Limit = 1 + rnd.IntN(40)
		room, n := rnd.IntN(40), 0
		v, err := c.View()
		if err != nil {
			t.Fatal(err)
		}
		p.After, err = list(v, p, func(row T) bool {
			if n > room {
				return false
			}
			n++
			all = append(all, row)
			return true
		})
		v.Close()
		if err != nil || n > p.Limit || len(p.After) > 80 {
			t.Fatalf("%d rows of %d, a position of %d bytes: %v", n, p.Limit, len(p.After), err)
		}
		if p.After == nil {
			return all
		}
	}
}

// everyone returns all stakers as a scan of all transactions finds them, in the order
// of lists.
func everyone(t *testing.T, c *pchain.Chain, h *history) (all []*primary.Staker) {
	t.Helper()
	v := view(t, c)
	places := map[chain.ID]primary.Place{}
	note := func(id chain.ID, at primary.Place) {
		s, found, err := v.Staker(id)
		if err != nil {
			t.Fatal(err)
		}
		if found {
			all = append(all, s)
			places[id] = at
		}
	}
	for i := range h.cfg.Genesis.Validators {
		note(h.cfg.Genesis.Validators[i].ID, primary.Place{Index: uint32(i)})
	}
	for _, b := range h.blocks {
		for i := range b.Platform.Txs {
			note(b.Platform.Txs[i].ID, primary.Place{Height: b.Platform.Height, Index: uint32(i)})
		}
	}
	slices.SortFunc(all, func(a, b *primary.Staker) int {
		x, y := places[a.TxID], places[b.TxID]
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(x.Height, y.Height), cmp.Compare(x.Index, y.Index))
	})
	return all
}

func anyOf(have, want []address.Address) bool {
	return slices.ContainsFunc(have, func(a address.Address) bool { return slices.Contains(want, a) })
}

func shows(f *primary.StakerFilter, s *primary.Staker) bool {
	return (f.Subnet == nil || *f.Subnet == s.Subnet) && (len(f.Nodes) == 0 || slices.Contains(f.Nodes, s.Node)) &&
		(len(f.Owners) == 0 || anyOf(s.RewardOwners.Addresses, f.Owners)) &&
		(f.Status == primary.AnyStatus || f.Status == s.Status) && (f.AnyKind || f.Delegators == s.Delegator) &&
		(f.During.To == 0 || s.Start < f.During.To) && stakedUntil(s) > f.During.From && !(f.Rewarded && len(s.RewardOwners.Addresses) == 0)
}

func stakedUntil(s *primary.Staker) uint64 {
	if s.Status == primary.Removed && s.RemovedAt > 0 && s.RemovedAt < s.End {
		return s.RemovedAt
	}
	return s.End
}

// Pages of stakers have what a full scan finds, whatever the filter and the order.
func TestStakerPages(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	all := everyone(t, c, h)
	rnd := rand.New(rand.NewPCG(5, 5))
	found := 0
	for range 60 {
		f := &primary.StakerFilter{Status: primary.StakerStatus(rnd.IntN(5)), AnyKind: rnd.IntN(3) == 0, Delegators: rnd.IntN(3) > 0}
		for range rnd.IntN(4) {
			s := all[rnd.IntN(len(all))]
			switch rnd.IntN(4) {
			case 0:
				f.Nodes = append(f.Nodes, s.Node)
			case 1:
				f.Owners = append(f.Owners, s.RewardOwners.Addresses...)
			case 2:
				f.Subnet = &s.Subnet
			case 3:
				f.Rewarded, f.During.From = rnd.IntN(2) == 0, s.Start+rnd.Uint64N(s.End-s.Start+2)
				if rnd.IntN(2) == 0 {
					f.During.To = f.During.From + 1 + rnd.Uint64N(s.End-s.Start+2)
				}
			}
		}
		asc := rnd.IntN(2) == 0
		got := pages(t, rnd, c, asc, func(v *pchain.View, p primary.Page, take func(*primary.Staker) bool) (primary.Position, error) {
			return v.Stakers(f, p, take)
		})
		var want []chain.ID
		for _, s := range all {
			if shows(f, s) {
				want = append(want, s.TxID)
			}
		}
		if !asc {
			slices.Reverse(want)
		}
		if len(got) != len(want) {
			t.Fatalf("%+v: %d stakers, want %d", f, len(got), len(want))
		}
		for i, s := range got {
			if s.TxID != want[i] {
				t.Fatalf("%+v: %s is at %d, want %s", f, s.TxID, i, want[i])
			}
		}
		found += len(got)
	}
	if found < 300 {
		t.Errorf("%d stakers on all pages", found)
	}
}

// Pages of rewards of several nodes and addresses have each once, by their time.
func TestRewardPages(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	all := everyone(t, c, h)
	v := view(t, c)
	paid := map[string]*primary.Reward{}
	for _, s := range all {
		f := &primary.RewardFilter{Nodes: []chain.NodeID{s.Node}}
		if _, err := v.Rewards(f, primary.Page{Limit: 1e6}, func(r *primary.Reward) bool {
			paid[fmt.Sprint(r.Ref)] = r
			return true
		}); err != nil {
			t.Fatal(err)
		}
	}
	rnd := rand.New(rand.NewPCG(6, 6))
	found := 0
	for range 30 {
		f := &primary.RewardFilter{}
		for range 1 + rnd.IntN(4) {
			if s := all[rnd.IntN(len(all))]; rnd.IntN(2) == 0 {
				f.Nodes = append(f.Nodes, s.Node)
			} else {
				f.Addresses = append(f.Addresses, s.RewardOwners.Addresses...)
			}
		}
		want := 0
		for _, r := range paid {
			if slices.Contains(f.Nodes, r.Node) || anyOf(r.Owners.Addresses, f.Addresses) {
				want++
			}
		}
		asc := rnd.IntN(2) == 0
		got := pages(t, rnd, c, asc, func(v *pchain.View, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error) {
			return v.Rewards(f, p, take)
		})
		once := map[string]bool{}
		for i, r := range got {
			once[fmt.Sprint(r.Ref)] = true
			if i > 0 && r.Time != got[i-1].Time && asc != (r.Time > got[i-1].Time) {
				t.Fatalf("%+v: %d after %d", f, r.Time, got[i-1].Time)
			}
		}
		if len(got) != want || len(once) != want {
			t.Fatalf("%+v: %d rewards, %d of them once, want %d", f, len(got), len(once), want)
		}
		found += want
	}
	if found < 50 {
		t.Errorf("%d rewards on all pages", found)
	}
}

// ofStaker returns the rewards of a list that are for one staker, by kind.
func ofStaker(t *testing.T, s *primary.Staker, list func(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error)) map[primary.RewardKind]uint64 {
	t.Helper()
	amounts := map[primary.RewardKind]uint64{}
	f := &primary.RewardFilter{Nodes: []chain.NodeID{s.Node}}
	if _, err := list(f, primary.Page{Limit: 1e6}, func(r *primary.Reward) bool {
		if r.TxID == s.TxID {
			amounts[r.Kind] = r.Amount
		}
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return amounts
}

// What a staker is expected to get right before its end is what it gets.
func TestPendingRewards(t *testing.T) {
	t.Parallel()
	h := simulated(t)
	c := open(t, openDB(t, t.TempDir()), h.cfg)
	done, checked := 0, 0
	for i, b := range h.blocks {
		if i == 0 || !b.Platform.Kind.Option() || b.Platform.Kind == platform.ApricotAbort || b.Platform.Kind == platform.BanffAbort {
			continue
		}
		body, ok := h.blocks[i-1].Platform.Proposed().Body.(*platform.RewardValidator)
		if !ok || h.blocks[i-1].Platform.Time < h.cfg.Upgrades.Durango { // before, a validator got its share at each end
			continue
		}
		commit(t, c, h.blocks[done:i])
		v := view(t, c)
		s, found, err := v.Staker(body.TxID)
		if err != nil || !found {
			t.Fatal(found, err)
		}
		want := ofStaker(t, s, v.PendingRewards)
		commit(t, c, h.blocks[i:i+1])
		done = i + 1
		got := ofStaker(t, s, view(t, c).Rewards)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", s.TxID, got, want)
		}
		if checked++; checked > 30 {
			break
		}
	}
	if checked < 10 {
		t.Errorf("%d rewards were paid", checked)
	}
	// Nothing is expected of who has ended.
	h, c = full(t)
	v := view(t, c)
	for _, s := range everyone(t, c, h) {
		if got := ofStaker(t, s, v.PendingRewards); (len(got) > 0) != (s.Status == primary.Active && s.RewardOwners.Threshold > 0) {
			t.Errorf("%s, status %d: expects %v", s.TxID, s.Status, got)
		}
	}
}

// Blocks are found by time, by proposer and by either ID.
func TestBlockPages(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	v := view(t, c)
	rnd := rand.New(rand.NewPCG(7, 7))
	var all []*primary.BlockInfo
	for height := uint64(0); height <= v.Tip().Height; height++ {
		b, found, err := v.BlockAt(height)
		if err != nil || !found || height > 0 && (b.ID != h.blocks[height-1].ID() || b.Supply == nil) {
			t.Fatalf("block %d: %+v, %v, %v", height, b, found, err)
		}
		if other, found, err := v.Block(b.ID); err != nil || !found || other.Height != height {
			t.Fatalf("block %s: %v, %v", b.ID, found, err)
		}
		if len(all) > 0 && b.Time < all[len(all)-1].Time {
			t.Fatalf("block %d is before the one before", height)
		}
		all = append(all, b)
	}
	for range 20 {
		f := &primary.BlockFilter{}
		if f.From = all[rnd.IntN(len(all))].Time; rnd.IntN(2) == 0 {
			f.From = 0
		}
		f.To = all[rnd.IntN(len(all))].Time + uint64(rnd.IntN(2))
		want := 0
		for _, b := range all {
			if b.Time >= f.From && b.Time < f.To {
				want++
			}
		}
		got := pages(t, rnd, c, rnd.IntN(2) == 0, func(v *pchain.View, p primary.Page, take func(*primary.BlockInfo) bool) (primary.Position, error) {
			return v.Blocks(f, p, take)
		})
		if len(got) != want {
			t.Fatalf("%+v: %d blocks, want %d", f, len(got), want)
		}
	}
}

// TestTxRows: what a transaction's row has of the outputs that it spends, and what is
// listed by place of those that it made, is what the outputs' own rows have; in whatever
// order transactions are asked for.
func TestTxRows(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	v := view(t, c)
	own := func(id chain.ID) *primary.Output {
		u, found, err := v.Output(id)
		if err != nil || !found {
			t.Fatalf("output %s: %v, %v", id, found, err)
		}
		return u
	}
	spent, consumed := 0, 0
	check := func(row *primary.TxRow, asc bool) {
		t.Helper()
		list, ok, err := row.Consumed()
		if err != nil || !ok {
			t.Fatalf("transaction %s: %v, %v", row.ID, ok, err)
		}
		for _, u := range list {
			if want := own(u.Ref.ID()); !reflect.DeepEqual(u, want) {
				t.Fatalf("transaction %s consumes\n%+v, want\n%+v", row.ID, u, want)
			}
		}
		consumed += len(list)
		if list, err = v.SpentOf(row, asc); err != nil {
			t.Fatal(err)
		}
		for _, u := range list {
			if want := own(u.Ref.ID()); !reflect.DeepEqual(u, want) || u.State != primary.Spent || u.Place != row.Place {
				t.Fatalf("transaction %s made\n%+v, want\n%+v", row.ID, u, want)
			}
		}
		spent += len(list)
		if b, found, err := v.BlockAt(row.Height); err != nil || !found || b.ID != row.Block {
			t.Fatalf("transaction %s: block %s, want that at %d: %v, %v", row.ID, row.Block, row.Height, found, err)
		}
	}
	var rows []*primary.TxRow
	for _, asc := range []bool{true, false} {
		spent, consumed, rows = 0, 0, rows[:0]
		_, err := v.Txs(nil, primary.TimeRange{}, primary.Page{Limit: 1 << 30, Asc: asc}, func(row *primary.TxRow) (primary.Result, error) {
			check(row, asc)
			rows = append(rows, row)
			return primary.Taken, nil
		})
		if err != nil || spent < 100 || consumed < 100 {
			t.Errorf("%d transactions made %d and consume %d: %v", len(rows), spent, consumed, err)
		}
	}
	inputs := 0
	for _, b := range h.blocks {
		for i := range b.Platform.Txs {
			if f := b.Platform.Txs[i].Body.Funds(); f != nil {
				inputs += len(f.Inputs)
			}
			if imp, ok := b.Platform.Txs[i].Body.(*platform.Import); ok {
				inputs += len(imp.Imported)
			}
		}
	}
	if consumed != inputs {
		t.Errorf("%d outputs are consumed by %d inputs", consumed, inputs)
	}
	rnd := rand.New(rand.NewPCG(5, 6))
	all := spent
	for _, asc := range []bool{true, false} {
		spent = 0
		for _, i := range rnd.Perm(len(rows)) {
			check(rows[i], asc)
		}
		if spent != all {
			t.Errorf("ascending %v: %d spent outputs in random order, %d in order", asc, spent, all)
		}
	}
}

// The P-Chain is a blockchain since the genesis, where that is known.
func TestPlatformChain(t *testing.T) {
	t.Parallel()
	h, c := full(t)
	got, found, err := view(t, c).Blockchain(chain.PlatformChainID)
	if err != nil || !found || got.Name != "P-Chain" || got.Time != h.cfg.Genesis.Time || got.Height != 0 || got.VM.String() != "rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT" {
		t.Errorf("%+v, %v, %v", got, found, err)
	}
	late := open(t, openDB(t, t.TempDir()), h.cfg)
	commit(t, late, h.blocks[50:60])
	if got, found, err := view(t, late).Blockchain(chain.PlatformChainID); found || err != nil {
		t.Errorf("without the genesis: %+v, %v, %v", got, found, err)
	}
}
