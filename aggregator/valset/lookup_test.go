package valset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
)

func unknownChain(i int) chain.ID { return chain.ID{0xee, byte(i >> 8), byte(i)} }

func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{CallTimeout: time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(s *fakeSource) { s.gate, s.err = make(chan struct{}), errDown })
		var wg sync.WaitGroup
		for i := range maxLookups {
			wg.Go(func() {
				_, err := k.SubnetOf(t.Context(), unknownChain(i))
				wantError(t, "question put while the node hangs", err, ErrSource)
			})
		}
		synctest.Wait()
		if n := src.count("subnetOf"); n != maxParallel {
			t.Errorf("%d questions were put at once", n)
		}
		_, err := k.SubnetOf(t.Context(), unknownChain(5000))
		wantError(t, "one too many", err, ErrBusy)
		src.change(func(s *fakeSource) { close(s.gate); s.gate = nil })
		wg.Wait()
	})
}

// TestClientsTakeTurns: who asks much waits alone, and finds no room when others
// need it.
func TestClientsTakeTurns(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{CallTimeout: time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(s *fakeSource) { s.latency = 100 * time.Millisecond })
		var wg sync.WaitGroup
		var mu sync.Mutex
		busy := map[string]int{}
		flood := func(client string, from, n int) {
			for i := range n {
				wg.Go(func() {
					if _, err := k.SubnetOf(For(t.Context(), client, time.Time{}), unknownChain(from+i)); errors.Is(err, ErrBusy) {
						mu.Lock()
						busy[client]++
						mu.Unlock()
					}
				})
			}
		}
		for c := range 20 { // more than there is room for
			flood(fmt.Sprint("client ", c), 100*c, maxEach+8)
		}
		synctest.Wait()
		if n := k.lookups.len(); n != maxLookups {
			t.Errorf("%d questions wait", n)
		}
		began := time.Now()
		if _, err := k.SubnetOf(For(t.Context(), "honest", time.Time{}), bc); err != nil {
			t.Error(err)
		}
		// Each of 20 clients may have its turn before, 8 questions at a time.
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("one question waited for %v", took)
		}
		wg.Wait()
		if busy["honest"] > 0 || len(busy) != 20 {
			t.Errorf("found no room: %v", busy)
		}
		if n := k.lookups.len(); n != 0 {
			t.Errorf("%d questions are left", n)
		}
	})
}

// TestNobodyWaits: a question whose callers have all given up is not put.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{CallTimeout: time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(s *fakeSource) { s.latency = 10 * time.Second })
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				_, err := k.SubnetOf(For(t.Context(), "", time.Now().Add(5*time.Second)), unknownChain(i))
				wantError(t, "slow node", err, context.DeadlineExceeded)
			})
		}
		wg.Wait()
		pass(time.Minute)
		if n := src.count("subnetOf"); n != maxParallel {
			t.Errorf("%d questions were put", n)
		}
	})
}

// TestMissesAreRemembered: what does not exist is asked for once in a while.
func TestMissesAreRemembered(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		ask := func() {
			t.Helper()
			for range 10 {
				_, err := k.SubnetOf(t.Context(), unknownChain(1))
				wantError(t, "unknown chain", err, ErrUnknownChain)
				_, err = k.At(t.Context(), chain.ID{99}, 5)
				wantError(t, "unknown subnet at a height", err, ErrUnknownSubnet)
				_, _, err = k.ConversionOf(t.Context(), chain.ID{99})
				wantError(t, "unknown subnet", err, ErrUnknownSubnet)
				_, err = k.At(t.Context(), chain.PrimaryNetworkID, 11)
				wantError(t, "height to come", err, ErrHeight)
			}
		}
		ask()
		if a, b, c := src.count("subnetOf"), src.count("conversion"), src.count("one"); a != 1 || b != 1 || c != 2 {
			t.Errorf("asked %d, %d and %d times", a, b, c)
		}
		src.change(func(s *fakeSource) { s.height = 11 })
		pass(time.Second)
		if _, err := k.At(t.Context(), chain.PrimaryNetworkID, 11); err != nil {
			t.Errorf("height that was reached: %v", err)
		}
		pass(missedFor)
		_, err := k.SubnetOf(t.Context(), unknownChain(1))
		wantError(t, "unknown chain, later", err, ErrUnknownChain)
		if n := src.count("subnetOf"); n != 2 {
			t.Errorf("asked %d times after a while", n)
		}
		k.Learn(unknownChain(1), l1)
		if id, err := k.SubnetOf(t.Context(), unknownChain(1)); err != nil || id != l1 {
			t.Errorf("a chain that was learnt: %v, %v", id, err)
		}
	})
}

// TestHeightsAreSlow: who iterates heights does not keep the node from other
// questions, nor drives out sets that are in use, nor goes back for ever.
func TestHeightsAreSlow(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{Heights: 64, MaxLookback: 5000, CallTimeout: time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(s *fakeSource) { s.height = 10_000 })
		pass(time.Second)
		_, err := k.At(t.Context(), chain.PrimaryNetworkID, 4999)
		wantError(t, "too far back", err, ErrLookback)
		if _, err := k.At(t.Context(), chain.PrimaryNetworkID, 5000); err != nil {
			t.Error(err)
		}
		inUse := func() *Set {
			s, err := k.At(t.Context(), chain.PrimaryNetworkID, 9000)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		first := inUse()
		inUse()
		for h := range uint64(1000) {
			if _, err := k.At(t.Context(), chain.PrimaryNetworkID, 6000+h); err != nil {
				t.Fatal(err)
			}
		}
		if inUse() != first {
			t.Error("a set in use was driven out by others that were asked for once")
		}
		src.change(func(s *fakeSource) { s.latency = 100 * time.Millisecond })
		var wg sync.WaitGroup
		began, n := time.Now(), src.count("one")
		for h := range uint64(40) {
			wg.Go(func() { _, _ = k.At(For(t.Context(), "flood", time.Time{}), chain.PrimaryNetworkID, 8000+h) })
		}
		synctest.Wait()
		if got := src.count("one") - n; got > maxSets {
			t.Errorf("%d sets were asked for at once", got)
		}
		if _, err := k.SubnetOf(For(t.Context(), "flood", time.Time{}), bc); err != nil || time.Since(began) > 200*time.Millisecond {
			t.Errorf("another question waited for %v: %v", time.Since(began), err)
		}
		wg.Wait()
		if took := time.Since(began); took < 40/maxSets*300*time.Millisecond {
			t.Errorf("40 sets took %v: the node was kept busy", took)
		}
	})
}

func TestAllowedAndTracked(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{Tracked: []chain.ID{l1}, Allowed: []chain.ID{{77}}}, func(t *testing.T, src *fakeSource, k *Keeper) {
		wantCurrent(t, k, l1, 10) // without a first request
		if !slices.Contains(k.Wanted(), node(100)) {
			t.Error("the validators of a tracked subnet are not wanted")
		}
		for _, height := range []uint64{0, 5, 10} {
			_, err := k.At(t.Context(), plain, height)
			wantError(t, "subnet that is not allowed", err, ErrNotAllowed)
		}
		if _, ok := k.Current(plain); ok || slices.Contains(k.Wanted(), node(200)) {
			t.Error("a subnet that is not allowed is followed")
		}
		_, err := k.At(t.Context(), chain.ID{77}, 0)
		wantError(t, "allowed, but unknown", err, ErrUnknownSubnet)
		if _, err := k.At(t.Context(), chain.PrimaryNetworkID, 0); err != nil {
			t.Error(err)
		}
		pass(3 * time.Hour)
		wantCurrent(t, k, l1, 10)
		if !slices.Contains(k.Wanted(), node(100)) {
			t.Error("a tracked subnet was given up")
		}
	})
}

// TestTrackLater: a subnet that is tracked before it has validators is there as
// soon as it has.
func TestTrackLater(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		late := chain.ID{3}
		k.Track(plain)
		k.Track(late)
		pass(3 * time.Second)
		wantCurrent(t, k, plain, 10)
		src.change(func(s *fakeSource) {
			s.height = 11
			s.sets[late] = []Member{{NodeID: node(300), PublicKey: pub(300), Weight: 1}}
			s.balances[late] = map[chain.NodeID]uint64{node(300): 1e9}
		})
		pass(3 * time.Second)
		wantCurrent(t, k, late, 11)
		if !slices.Contains(k.Wanted(), node(300)) {
			t.Error("its validators are not wanted")
		}
	})
}

// TestRecheck: a validator that was paid for counts at once.
func TestRecheck(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		if _, err := k.At(t.Context(), l1, 0); err != nil {
			t.Fatal(err)
		}
		pass(200 * time.Millisecond)
		src.change(func(s *fakeSource) {
			s.height++
			s.balances[l1][node(100)] = 1e9
			s.balances[l1][node(102)] = 0
			s.sets[l1] = append(s.sets[l1], Member{Weight: 5})
		})
		s, err := k.Recheck(t.Context(), l1)
		if err != nil || underfunded(t, s, 100) || s.Height != 11 {
			t.Errorf("%+v, %v", s, err)
		}
		if s.Inactive != 5 {
			t.Errorf("%d of the weight is inactive, want 5", s.Inactive)
		}
		if want := []L1Validator{{NodeID: node(102), Weight: 5}}; !slices.Equal(s.OutOfBalance, want) {
			t.Errorf("out of balance: %+v", s.OutOfBalance)
		}
		n := src.count("balances")
		for range 100 {
			if _, err := k.Recheck(t.Context(), l1); err != nil {
				t.Fatal(err)
			}
		}
		if got := src.count("balances"); got != n {
			t.Errorf("read %d times within a moment", got-n)
		}
	})
}

// TestOwnEpochs: the node of a chain's own is asked for its epoch, and where that says nothing
// the source is; what was known goes on while neither says anything.
func TestOwnEpochs(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		own := newFakeSource()
		own.change(func(s *fakeSource) { s.epochs = map[chain.ID][2]uint64{bc: {1, 4}} })
		k.FollowEpochs(bc, own)
		f := func(want uint64) {
			t.Helper()
			pass(10 * time.Second)
			if height, followed := k.EpochHeight(bc); height != want || !followed {
				t.Errorf("the epoch is at %d, followed %v; want %d", height, followed, want)
			}
		}
		f(4)
		if n := src.count("epoch"); n != 0 {
			t.Errorf("the source was asked %d times", n)
		}
		own.change(func(s *fakeSource) { s.epochs = nil })
		f(4)
		src.change(func(s *fakeSource) { s.epochs = map[chain.ID][2]uint64{bc: {2, 6}} })
		f(6)
		own.change(func(s *fakeSource) { s.epochs = map[chain.ID][2]uint64{bc: {3, 8}} })
		f(8)
	})
}

// TestEpochs: the sets of running epochs are at hand for every subnet, and those
// of the epoch before for a while.
func TestEpochs(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		k.Track(l1)
		before := []Member{{NodeID: node(102), PublicKey: pub(102), Weight: 9}}
		src.change(func(s *fakeSource) {
			s.past = map[uint64]map[chain.ID][]Member{4: {chain.PrimaryNetworkID: members(5), l1: before}}
			s.epochs = map[chain.ID][2]uint64{bc: {1, 4}}
		})
		k.FollowEpochs(bc, nil)
		k.FollowEpochs(chain.ID{9}, nil) // has no epochs
		pass(2 * time.Second)
		if got := k.EpochHeights(); !slices.Equal(got, []uint64{4}) {
			t.Fatalf("heights %v", got)
		}
		one := src.count("one")
		old, err := k.At(t.Context(), l1, 4)
		if err != nil || old.Height != 4 || old.TotalWeight != 9 {
			t.Fatalf("%+v, %v", old, err)
		}
		if again, _ := k.At(t.Context(), l1, 4); again != old {
			t.Error("another set at the same height")
		}
		for of, want := range map[chain.ID]uint64{bc: 4, {9}: 0, chain.PlatformChainID: 0} {
			if height, followed := k.EpochHeight(of); height != want || !followed {
				t.Errorf("%s: the epoch is at %d, followed %v; want %d", of, height, followed, want)
			}
		}
		if _, followed := k.EpochHeight(chain.ID{8}); followed {
			t.Error("a chain is followed that nobody has named")
		}
		now, primary := wantCurrent(t, k, l1, 10), wantCurrent(t, k, chain.PrimaryNetworkID, 10)
		if beside := k.Beside(now); len(beside) != 1 || beside[0].Digest != old.Digest {
			t.Errorf("beside the proposed set: %v", beside)
		}
		if len(k.Beside(old)) != 0 || len(k.Beside(primary)) != 0 {
			t.Error("sets beside one of the past, or beside one that has not changed")
		}
		if now.Digest == old.Digest {
			t.Error("the proposed set is that of the epoch")
		}
		if p, err := k.At(t.Context(), chain.PrimaryNetworkID, 4); err != nil || p.Digest != primary.Digest || &p.Validators[0] != &primary.Validators[0] {
			t.Errorf("the same set is not shared: %v", err)
		}
		if w := k.Wanted(); !slices.Contains(w, node(102)) || !slices.Contains(w, node(100)) {
			t.Error("wanted are not the nodes of both sets")
		}
		src.change(func(s *fakeSource) { s.epochs[bc] = [2]uint64{2, 10} })
		pass(2 * time.Second)
		if got := k.EpochHeights(); !slices.Equal(got, []uint64{10}) {
			t.Errorf("heights %v after the turn", got)
		}
		for _, h := range []uint64{4, 10} {
			if _, err := k.At(t.Context(), l1, h); err != nil {
				t.Error(err)
			}
		}
		if got := src.count("one"); got != one {
			t.Errorf("%d sets were asked for one by one", got-one)
		}
		src.change(func(s *fakeSource) { s.height = 12; s.epochs[bc] = [2]uint64{3, 12} })
		pass(2 * time.Second)
		if got := len(k.epochs.load()); got != 2 {
			t.Errorf("sets of %d heights are held", got)
		}
		if slices.Contains(k.Wanted(), node(102)) {
			t.Error("nodes of an epoch that is over are still wanted")
		}
		if n := src.count("epoch"); n > 12 {
			t.Errorf("a chain without epochs is asked all the time: %d", n)
		}
	})
}

// len returns the number of questions that wait or run.
func (l *lookups) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.byKey)
}
