package valset

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/engine/source/platform"
)

func underfunded(t *testing.T, s *Set, i int) bool {
	t.Helper()
	at, ok := s.Index(node(i))
	if !ok {
		t.Fatalf("node %d is not in the set", i)
	}
	return s.Validators[at].Underfunded
}

func TestBalances(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		if _, ok := k.Current(l1); ok {
			t.Fatal("an L1 is current before its balances are known")
		}
		s, err := k.At(t.Context(), l1, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !underfunded(t, s, 100) || underfunded(t, s, 101) {
			t.Error("marks do not follow the balances")
		}
		if got := wantCurrent(t, k, l1, 10); got != s {
			t.Error("current set is another one")
		}
		exact, err := k.At(t.Context(), l1, 8)
		if err != nil || !underfunded(t, exact, 100) {
			t.Errorf("set at a numbered height has no marks: %v", err)
		}
		src.change(func(f *fakeSource) { f.balances[l1][node(100)] = 5000; f.balances[l1][node(101)] = 0 })
		pass(2 * time.Second)
		now := wantCurrent(t, k, l1, 10)
		if underfunded(t, now, 100) || !underfunded(t, now, 101) || now.Digest != s.Digest {
			t.Error("marks do not follow a change of balances")
		}
		exact, err = k.At(t.Context(), l1, 8)
		if err != nil || underfunded(t, exact, 100) || !underfunded(t, exact, 101) {
			t.Errorf("set at a numbered height has old marks: %v", err)
		}
		if src.count("one") != 1 {
			t.Error("new marks cost a new fetch")
		}
		pass(2 * time.Second)
		if again := wantCurrent(t, k, l1, 10); again != now {
			t.Error("same balances make another set")
		}
		src.change(func(f *fakeSource) { f.height = 11 })
		pass(time.Second)
		if next := wantCurrent(t, k, l1, 11); &next.Validators[0] != &now.Validators[0] {
			t.Error("a new height without changes was marked again")
		}
	})
}

// A node that no longer tells balances leaves the last known in force.
func TestBalancesFail(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		if _, err := k.At(t.Context(), l1, 0); err != nil {
			t.Fatal(err)
		}
		src.change(func(f *fakeSource) { f.err = errDown })
		pass(10 * time.Second)
		if !underfunded(t, wantCurrent(t, k, l1, 10), 100) {
			t.Error("marks were lost")
		}
		// One that was never asked for is served without marks.
		s, err := k.At(t.Context(), plain, 0)
		if err != nil || underfunded(t, s, 200) {
			t.Errorf("got %v, %v", s, err)
		}
		if metric.Value(k.count.balanceErrors) == 0 {
			t.Error("failures are not counted")
		}
	})
}

func TestBalancesAreReadOnlyInUse(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{InUse: 10 * time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		pass(time.Minute)
		if n := src.count("balances"); n != 0 {
			t.Fatalf("balances were read %d times for nobody", n)
		}
		for range 20 { // at once, so that the first one's answer serves all
			if _, err := k.At(t.Context(), plain, 0); err != nil {
				t.Fatal(err)
			}
		}
		if n := src.count("balances"); n != 1 {
			t.Errorf("balances were read %d times", n)
		}
		pass(5 * time.Minute)
		if n := src.count("balances"); n < 4 || n > 7 {
			t.Errorf("a subnet that is no L1 was looked at %d times in 5 min", n)
		}
		pass(10 * time.Minute)
		n := src.count("balances")
		if _, ok := k.Current(plain); ok {
			t.Error("a subnet out of use is current with old balances")
		}
		pass(5 * time.Minute)
		if src.count("balances") != n {
			t.Error("balances are read for a subnet out of use")
		}
	})
}

func TestWanted(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var all [][]chain.NodeID
	cfg := Config{InUse: 10 * time.Minute, OnChange: func(ids []chain.NodeID) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, ids)
	}}
	withKeeper(t, cfg, func(t *testing.T, src *fakeSource, k *Keeper) {
		primary := []chain.NodeID{node(0), node(1), node(2), node(3), node(4)}
		wantWanted := func(ids ...chain.NodeID) {
			t.Helper()
			synctest.Wait()
			if got := k.Wanted(); !slices.Equal(got, ids) {
				t.Fatalf("got %v, want %v", got, ids)
			}
			mu.Lock()
			told := all
			mu.Unlock()
			if len(told) == 0 || !slices.Equal(told[len(told)-1], ids) {
				t.Fatalf("told %v, want %v", told, ids)
			}
		}
		wantWanted(primary...)
		src.change(func(f *fakeSource) { f.height = 11 })
		pass(time.Second)
		mu.Lock()
		if len(all) != 1 {
			t.Errorf("told %d times of one change", len(all))
		}
		mu.Unlock()
		if _, err := k.At(t.Context(), l1, 0); err != nil {
			t.Fatal(err)
		}
		wantWanted(append(primary, node(100), node(101))...)
		src.change(func(f *fakeSource) { f.height = 12; f.sets[l1] = f.sets[l1][1:] })
		pass(time.Second)
		wantWanted(append(primary, node(101))...)
		for range 12 { // asked for again and again, it stays in use
			pass(time.Minute)
			wantCurrent(t, k, l1, 12)
		}
		wantWanted(append(primary, node(101))...)
		pass(11 * time.Minute)
		wantWanted(primary...)
	})
}

func TestChainsAndConversions(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		ctx := t.Context()
		if id, err := k.SubnetOf(ctx, chain.PlatformChainID); err != nil || id != chain.PrimaryNetworkID || src.count("subnetOf") != 0 {
			t.Errorf("P-Chain: %v, %v", id, err)
		}
		for range 3 {
			if id, err := k.SubnetOf(ctx, bc); err != nil || id != l1 || src.count("subnetOf") != 1 {
				t.Errorf("chain: %v, %v", id, err)
			}
			if id, is, err := k.ConversionOf(ctx, l1); err != nil || !is || id != (chain.ID{0xc0}) || src.count("conversion") != 1 {
				t.Errorf("conversion: %v, %v, %v", id, is, err)
			}
		}
		_, err := k.SubnetOf(ctx, chain.ID{5})
		wantError(t, "unknown chain", err, ErrUnknownChain)
		_, _, err = k.ConversionOf(ctx, chain.ID{5})
		wantError(t, "unknown subnet", err, ErrUnknownSubnet)
		for range 2 { // not remembered: it can become an L1
			if _, is, err := k.ConversionOf(ctx, plain); err != nil || is {
				t.Errorf("plain subnet: %v, %v", is, err)
			}
		}
		if n := src.count("conversion"); n != 4 {
			t.Errorf("asked %d times", n)
		}
		if _, is, err := k.ConversionOf(ctx, chain.PrimaryNetworkID); err != nil || is {
			t.Errorf("primary network: %v, %v", is, err)
		}
		src.change(func(f *fakeSource) { f.err = errDown })
		_, err = k.SubnetOf(ctx, chain.ID{6})
		wantError(t, "node down", err, ErrSource)
		_, _, err = k.ConversionOf(ctx, plain)
		wantError(t, "node down", err, ErrSource)
		if id, err := k.SubnetOf(ctx, bc); err != nil || id != l1 {
			t.Errorf("remembered chain: %v, %v", id, err)
		}
	})
}

// Nodes before v1.14 give one subnet at a time.
func TestOldNode(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{InUse: 10 * time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(f *fakeSource) { f.old, f.height = true, 11 })
		pass(time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 11)
		if s, err := k.At(t.Context(), l1, 0); err != nil || s.Height != 11 {
			t.Fatalf("subnet that was not loaded: %v, %v", s, err)
		}
		_, err := k.At(t.Context(), chain.ID{99}, 0)
		wantError(t, "unknown subnet", err, ErrUnknownSubnet)
		pass(3 * time.Second)
		if !underfunded(t, wantCurrent(t, k, l1, 11), 100) {
			t.Error("a subnet in use has no marks")
		}
		src.change(func(f *fakeSource) { f.height = 12 })
		pass(time.Second)
		wantCurrent(t, k, l1, 12)
		pass(11 * time.Minute)
		src.change(func(f *fakeSource) { f.height = 13 })
		pass(time.Second)
		if _, ok := k.snap.Load().views[l1]; ok {
			t.Error("a subnet out of use is still loaded")
		}
	})
}

func TestSlowNode(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{CallTimeout: 2 * time.Second}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(f *fakeSource) { f.latency = time.Hour })
		pass(10 * time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 10)
		_, err := k.SubnetOf(t.Context(), bc)
		wantError(t, "node that hangs", err, ErrSource)
		if metric.Value(k.count.pollErrors) < 2 {
			t.Error("polls that hang are not ended")
		}
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	set := metric.NewSet()
	withKeeper(t, Config{Metrics: set}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(f *fakeSource) { f.err = errDown })
		pass(30 * time.Second)
		if got := set.Value("quorate_valset_age_seconds"); got < 29 || got > 31 {
			t.Errorf("age: got %v s after 30", got)
		}
		if got := set.Value("quorate_valset_height"); got != 10 {
			t.Errorf("height: got %v", got)
		}
	})
}

func BenchmarkCurrent(b *testing.B) {
	src := newFakeSource()
	k, err := NewKeeper(Config{Source: src})
	if err != nil {
		b.Fatal(err)
	}
	k.pollSets(b.Context())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := k.Current(chain.PrimaryNetworkID); !ok {
				b.Error("no set")
			}
		}
	})
}

// The errors of the client that is the source in practice are told apart.
func TestClassesOfPlatform(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err                              error
		notFound, futureHeight, noMethod bool
	}{
		{platform.ErrNotFound, true, false, false},
		{platform.ErrFutureHeight, false, true, false},
		{platform.ErrNoMethod, false, false, true},
		{errDown, false, false, false},
		{nil, false, false, false},
	} {
		err := c.err
		if err != nil {
			err = fmt.Errorf("%w: %w", err, errDown)
		}
		if notFound(err) != c.notFound || futureHeight(err) != c.futureHeight || noMethod(err) != c.noMethod {
			t.Errorf("%v is taken for something else", err)
		}
	}
	var _ Source = (*platform.Client)(nil)
}

// TestInUse: sets that are looked at for the metrics do not count as used.
func TestInUse(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{InUse: 10 * time.Minute}, func(t *testing.T, _ *fakeSource, k *Keeper) {
		subnets := func() (ids []chain.ID) {
			for _, s := range k.InUse() {
				ids = append(ids, s.SubnetID)
			}
			return ids
		}
		if got := subnets(); len(got) != 1 || got[0] != chain.PrimaryNetworkID {
			t.Errorf("at the start: %v", got)
		}
		if _, err := k.At(t.Context(), l1, 0); err != nil {
			t.Fatal(err)
		}
		for range 9 {
			if got := subnets(); len(got) != 2 {
				t.Errorf("after a request: %v", got)
			}
			pass(time.Minute)
		}
		pass(2 * time.Minute)
		if got := subnets(); len(got) != 1 {
			t.Errorf("long after a request: %v", got)
		}
	})
}

// Clients choose the subnets that are followed, so that these are bounded: the one that was
// not asked for longest makes room, but none that is tracked, and none that a request may
// be under way for.
func TestMaxInUse(t *testing.T) {
	t.Parallel()
	subnet := func(i int) chain.ID { return chain.ID{50, byte(i)} }
	const most = 3
	withKeeper(t, Config{MaxInUse: most, RequestTimeout: 10 * time.Second, Tracked: []chain.ID{l1}}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(f *fakeSource) {
			f.height = 11
			for i := range 2 * most {
				f.sets[subnet(i)] = []Member{{NodeID: node(500 + i), PublicKey: pub(500 + i), Weight: 1}}
			}
		})
		pass(time.Second)
		inUse := func(want ...int) {
			t.Helper()
			synctest.Wait()
			followed := k.subnetsInUse(k.clock())
			if len(followed) != len(want)+1 || !slices.Contains(followed, l1) {
				t.Errorf("%d subnets are in use: %v", len(followed), followed)
			}
			for _, i := range want {
				if !slices.Contains(followed, subnet(i)) || !slices.Contains(k.Wanted(), node(500+i)) {
					t.Errorf("subnet %d is not followed", i)
				}
			}
		}
		ask := func(i int) error {
			_, err := k.At(t.Context(), subnet(i), 0)
			return err
		}
		for i := range most {
			if err := ask(i); err != nil {
				t.Fatal(err)
			}
			pass(3 * time.Second)
		}
		// Requests may be under way for all of them.
		wantError(t, "one more", ask(most), ErrSubnets)
		if _, ok := k.Current(subnet(most)); ok {
			t.Error("the set of a subnet that was refused is at hand")
		}
		inUse(0, 1, 2)
		if err := ask(0); err != nil { // the second is the oldest now
			t.Error(err)
		}
		pass(6 * time.Second)
		if err := ask(most); err != nil {
			t.Error(err)
		}
		inUse(0, 2, most)
		pass(time.Hour + time.Second) // nobody asks for any
		inUse()
		for i := range most {
			if err := ask(most + i); err != nil {
				t.Error(err)
			}
		}
		wantError(t, "one more", ask(0), ErrSubnets)
		// One that is tracked from now on leaves its place.
		k.Track(subnet(most))
		if err := ask(0); err != nil {
			t.Error(err)
		}
		if metric.Value(k.count.displaced) != 1 || metric.Value(k.count.refused) != 2 {
			t.Errorf("%v displaced, %v refused", metric.Value(k.count.displaced), metric.Value(k.count.refused))
		}
	})
}

// However many ask at once for however many subnets, no more are followed.
func TestMaxInUseAtOnce(t *testing.T) {
	t.Parallel()
	const most, subnets = 4, 40
	withKeeper(t, Config{MaxInUse: most, RequestTimeout: 2 * time.Second}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(f *fakeSource) {
			f.height = 11
			for i := range subnets {
				f.sets[chain.ID{50, byte(i)}] = []Member{{NodeID: node(500 + i), PublicKey: pub(500 + i), Weight: 1}}
			}
		})
		pass(time.Second)
		for range 5 {
			var all sync.WaitGroup
			for i := range subnets {
				all.Go(func() {
					id := chain.ID{50, byte(i)}
					if _, err := k.At(t.Context(), id, 0); err == nil {
						k.Current(id)
					} else {
						wantError(t, id.String(), err, ErrSubnets)
					}
				})
			}
			all.Wait()
			if n := len(k.subnetsInUse(k.clock())); n != most {
				t.Errorf("%d subnets are in use", n)
			}
			pass(4 * time.Second)
		}
	})
}
