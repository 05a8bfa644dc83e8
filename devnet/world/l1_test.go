package world

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"quorate/engine/chain"
)

func at(t *testing.T, w *World, height uint64) *Snapshot {
	t.Helper()
	s, err := w.At(height)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPickGroups: groups have nobody in common, keep to their shares and depend
// on the seed only.
func TestPickGroups(t *testing.T) {
	t.Parallel()
	shares := []float64{0.1, 0.29, 0.33, 0.28}
	for _, weights := range []Weights{Equal, Zipf} {
		w := mustNew(t, Params{Validators: 101, Weights: weights, Seed: 4})
		var total uint64
		for _, v := range w.Validators() {
			total += v.Weight
		}
		groups := w.Pick(shares...)
		seen := map[int]bool{0: true} // validator 0 is in none
		for k, group := range groups {
			var stake uint64
			for _, i := range group {
				if seen[i] {
					t.Errorf("%s: validator %d in group %d", weights, i, k)
				}
				seen[i] = true
				stake += w.Validators()[i].Weight
			}
			if got := float64(stake) / float64(total); got > shares[k]+1e-6 || weights == Equal && got < shares[k]-0.01 {
				t.Errorf("%s: group %d has %v of the stake, wants %v", weights, k, got, shares[k])
			}
		}
		again := mustNew(t, Params{Validators: 101, Weights: weights, Seed: 4}).Pick(shares...)
		if !slices.EqualFunc(groups, again, slices.Equal) {
			t.Errorf("%s: the same seed gives other groups", weights)
		}
		if other := mustNew(t, Params{Validators: 101, Weights: weights, Seed: 5}).Pick(shares...); slices.Equal(groups[1], other[1]) {
			t.Errorf("%s: another seed gives the same group", weights)
		}
	}
	// 0.29 of a million is 289999.99 in floating point.
	if got := mustNew(t, Params{Validators: 100}).Pick(0.29, 0.34); len(got[0]) != 29 || len(got[1]) != 34 {
		t.Errorf("%d and %d of 100 equal validators, want 29 and 34", len(got[0]), len(got[1]))
	}
}

// TestOddSets: inactive members, shared keys and validators without a key.
func TestOddSets(t *testing.T) {
	t.Parallel()
	w := mustNew(t, Params{
		Validators: 12, Seed: 2, L1s: 2, L1Members: 8, L1Inactive: 2, L1Underfunded: 1, SharedKeys: 2, Keyless: 3,
	})
	v := w.Validators()
	for i, same := range map[int]bool{1: true, 2: false, 3: true, 4: false, 5: false} {
		if (v[i].PublicKey == v[i+1].PublicKey) != same {
			t.Errorf("validators %d and %d share a key: want %v", i, i+1, same)
		}
		if v[i].NodeID == v[i+1].NodeID {
			t.Errorf("validators %d and %d are one node", i, i+1)
		}
	}
	s := at(t, w, 0)
	primary := s.Sets[chain.PrimaryNetworkID]
	if len(primary) != 12 {
		t.Fatalf("%d members", len(primary))
	}
	for i, m := range primary {
		if m.NoKey != (i >= 9) || m.NoKey != (m.Index >= 9) {
			t.Errorf("member %d, validator %d: no key %v", i, m.Index, m.NoKey)
		}
	}
	for k, l := range w.L1s() {
		if len(l.Members) != 8 {
			t.Fatalf("L1 %d: %d members", k, len(l.Members))
		}
		for i, want := range []uint64{l1Balance, l1Balance, l1Balance, l1Balance, l1Balance, l1Little, 0, 0} {
			if l.Members[i].Balance != want {
				t.Errorf("L1 %d, member %d: balance %d, want %d", k, i, l.Members[i].Balance, want)
			}
		}
		members := s.Sets[l.SubnetID]
		if len(members) != 7 {
			t.Fatalf("L1 %d: %d entries, want 6 active and one for the inactive", k, len(members))
		}
		last := members[6]
		if !last.NoKey || last.Index != -1 || last.NodeID != (chain.NodeID{}) || last.Weight != 2*l1Weight {
			t.Errorf("L1 %d: the inactive are %+v", k, last)
		}
	}
}

func TestOddParams(t *testing.T) {
	t.Parallel()
	for _, p := range []Params{
		{Validators: 3, L1s: 1, L1Members: 4},
		{Validators: 3, L1s: 1, L1Members: -1},
		{Validators: 9, L1s: 1, L1Inactive: 3, L1Underfunded: 2},
		{Validators: 9, L1s: 1, L1Inactive: -1},
		{Validators: 9, L1Inactive: 1},
		{Validators: 9, L1Own: 1},
		{Validators: 9, L1s: 1, L1Members: 3, L1Own: 4},
		{Validators: 9, L1s: 1, L1Own: -1},
		{Validators: MaxValidators, L1s: 1, L1Own: 1},
		{Validators: 4, SharedKeys: 2},
		{Validators: 4, SharedKeys: -1},
		{Validators: 4, Keyless: 4},
		{Validators: 4, Keyless: 2, SharedKeys: 1},
	} {
		if _, err := New(p); !errors.Is(err, ErrParams) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// TestOwnMembers: members that only an L1 has are nobody else's, and no part of the
// primary network.
func TestOwnMembers(t *testing.T) {
	t.Parallel()
	w := mustNew(t, Params{Validators: 3, Seed: 2, L1s: 2, L1Members: 5, L1Own: 4, Keyless: 1})
	s, err := w.At(0)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Sets[chain.PrimaryNetworkID]); n != 3 || len(w.Validators()) != 3+2*4 {
		t.Errorf("%d primary validators, %d in all", n, len(w.Validators()))
	}
	seen := make(map[int]int)
	for k, l := range w.L1s() {
		for i, m := range l.Members {
			if own := !w.Primary(m.Index); own != (i >= 1) || own != (m.Weight == 0) {
				t.Errorf("L1 %d, member %d is validator %d with stake %d", k, i, m.Index, m.Weight)
			}
			if !w.Runs(m.Index, l.ChainID) {
				t.Errorf("validator %d does not run the chain of its L1", m.Index)
			}
			seen[m.Index]++
		}
		for _, m := range s.Sets[l.SubnetID] {
			if m.NoKey {
				t.Errorf("L1 %d: validator %d has no key", k, m.Index)
			}
		}
	}
	if seen[0] != 2 || len(seen) != 1+2*4 {
		t.Errorf("members %v", seen)
	}
}

// TestConvert: a subnet has no validators before its conversion, at no height.
func TestConvert(t *testing.T) {
	t.Parallel()
	w := mustNew(t, Params{Validators: 6, Seed: 3, L1s: 2, L1Late: true})
	early, late := w.L1s()[0], w.L1s()[1]
	if !w.Converted(early) || w.Converted(late) {
		t.Fatalf("converted: %v, %v", w.Converted(early), w.Converted(late))
	}
	for range 2 { // the second changes nothing
		if height := w.Convert(late); height != 1 || !w.Converted(late) {
			t.Errorf("converted at %d: %v", height, w.Converted(late))
		}
	}
	for height, want := range []int{0, len(late.Members)} {
		s, err := w.At(uint64(height)) // not negative
		if err != nil {
			t.Fatal(err)
		}
		if n := len(s.Sets[late.SubnetID]); n != want || len(s.Sets[early.SubnetID]) != len(early.Members) {
			t.Errorf("height %d: %d validators, want %d", height, n, want)
		}
	}
}

// TestL1Messages: the chain of each L1 has messages of its own.
func TestL1Messages(t *testing.T) {
	t.Parallel()
	w := mustNew(t, Params{Validators: 7, Seed: 5, L1s: 2, Emitted: 10})
	seen := map[chain.ID]bool{w.Message(3).ID(): true}
	for _, l := range w.L1s() {
		u := w.L1Message(l, 3)
		if seen[u.ID()] || u.SourceChainID != l.ChainID || u.NetworkID != NetworkID {
			t.Errorf("message %+v of chain %s", u, l.ChainID)
		}
		seen[u.ID()] = true
		if i, ok := w.MessageIndex(u); !ok || i != 3 {
			t.Errorf("message 3 is %d, %v", i, ok)
		}
		if _, ok := w.MessageIndex(w.L1Message(l, 10)); ok {
			t.Error("a message that is not emitted yet counts")
		}
		moved := *w.Message(3)
		moved.SourceChainID = l.ChainID
		if _, ok := w.MessageIndex(&moved); ok {
			t.Error("a payload of the C-Chain counts on another chain")
		}
		if got, ok := w.L1Of(l.ChainID); !ok || got != l {
			t.Error("the chain's L1 is not found")
		}
		if !w.Runs(4, l.ChainID) || w.Runs(5, l.ChainID) {
			t.Error("not exactly the members run the chain")
		}
	}
	if _, ok := w.L1Of(w.CChainID()); ok || !w.Runs(6, w.CChainID()) || w.Runs(0, w.XChainID()) {
		t.Error("the C-Chain is everybody's, and the X-Chain no EVM chain")
	}
}

// TestShift: the total stays, two weights differ from the block before, the same
// height always has the same weights, and later changes build on what was.
func TestShift(t *testing.T) {
	t.Parallel()
	w := mustNew(t, Params{Validators: 20, Seed: 6, L1s: 1})
	weights := func(s *Snapshot) map[int]uint64 {
		all := map[int]uint64{}
		for _, m := range s.Sets[chain.PrimaryNetworkID] {
			all[m.Index] = m.Weight
		}
		return all
	}
	genesis := weights(at(t, w, 0))
	distinct := map[string]bool{}
	for height := uint64(1); height <= 30; height++ {
		if got := w.Shift(); got != height || w.Height() != height {
			t.Fatalf("height %d, %d, want %d", got, w.Height(), height)
		}
		now := weights(at(t, w, height))
		var changed []byte
		var sum uint64
		for i, weight := range now {
			sum += weight
			if weight != genesis[i] {
				changed = append(changed, byte(i))
			}
		}
		if len(now) != 20 || len(changed) != 2 || sum != 20*equalStake {
			t.Errorf("height %d: %d members, %d changed, %d in all", height, len(now), len(changed), sum)
		}
		slices.Sort(changed)
		distinct[string(changed)] = true
		if !maps.Equal(now, weights(at(t, w, height))) {
			t.Errorf("height %d has two sets", height)
		}
	}
	if len(distinct) < 10 {
		t.Errorf("only %d different pairs in 30 blocks", len(distinct))
	}
	if !maps.Equal(genesis, weights(at(t, w, 0))) {
		t.Error("the past has changed")
	}
	if _, err := w.Advance(map[int]uint64{3: 7}); err != nil {
		t.Fatal(err)
	}
	after := weights(at(t, w, 31))
	if genesis[3] = 7; !maps.Equal(after, genesis) {
		t.Error("a change after shifts is not made to what was before them")
	}
	if _, err := w.At(32); !errors.Is(err, ErrHeight) {
		t.Errorf("height 32: %v", err)
	}
	single := mustNew(t, Params{Validators: 1})
	if single.Shift() != 1 || len(at(t, single, 1).Sets[chain.PrimaryNetworkID]) != 1 {
		t.Error("a network of one does not go on")
	}
}
