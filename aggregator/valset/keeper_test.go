package valset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
)

var (
	l1    = chain.ID{1}
	plain = chain.ID{2}
	bc    = chain.ID{0xbc}

	errDown = errors.New("node is down")
)

// refusal is an error as a source returns it.
type refusal string

func (r refusal) Error() string      { return string(r) }
func (r refusal) NotFound() bool     { return r == "not found" }
func (r refusal) FutureHeight() bool { return r == "future height" }
func (r refusal) NoMethod() bool     { return r == "no method" }

// fakeSource is a network of one P-Chain.
type fakeSource struct {
	mu       sync.Mutex
	height   uint64
	sets     map[chain.ID][]Member
	balances map[chain.ID]map[chain.NodeID]uint64
	fee      uint64 // of L1 validators
	err      error
	old      bool // has no getAllValidatorsAt
	latency  time.Duration
	calls    map[string]int
	gate     chan struct{} // if not nil, calls wait for its end
	epochs   map[chain.ID][2]uint64
	past     map[uint64]map[chain.ID][]Member // sets of heights that are not as those of the tip
}

func newFakeSource() *fakeSource {
	return &fakeSource{
		height: 10,
		sets: map[chain.ID][]Member{
			chain.PrimaryNetworkID: members(5),
			l1:                     {{NodeID: node(100), PublicKey: pub(100), Weight: 7}, {NodeID: node(101), PublicKey: pub(101), Weight: 8}},
			plain:                  {{NodeID: node(200), PublicKey: pub(200), Weight: 9}},
		},
		balances: map[chain.ID]map[chain.NodeID]uint64{
			l1: {node(100): 2047, node(101): 2048},
		},
		calls: make(map[string]int),
	}
}

// change changes the network under its lock.
func (s *fakeSource) change(f func(*fakeSource)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *fakeSource) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

// enter waits and counts as a call does, and returns the locked state.
func (s *fakeSource) enter(ctx context.Context, call string) error {
	s.mu.Lock()
	s.calls[call]++
	latency, gate, err := s.latency, s.gate, s.err
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if latency > 0 { // the race detector may crash on a timer that has expired as it is made (golang/go#78156)
		select {
		case <-time.After(latency):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

func (s *fakeSource) ProposedHeight(ctx context.Context) (uint64, error) {
	err := s.enter(ctx, "height")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.height, err
}

func (s *fakeSource) AllValidatorsAt(ctx context.Context, height uint64) (map[chain.ID][]Member, error) {
	if err := s.enter(ctx, "all"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.old {
		return nil, fmt.Errorf("getAllValidatorsAt: %w", refusal("no method"))
	}
	if height > s.height {
		return nil, refusal("future height")
	}
	sets := s.sets
	if p, ok := s.past[height]; ok {
		sets = p
	}
	out := make(map[chain.ID][]Member, len(sets))
	for id, m := range sets {
		out[id] = slices.Clone(m)
	}
	return out, nil
}

func (s *fakeSource) ValidatorsAt(ctx context.Context, subnet chain.ID, height uint64) ([]Member, error) {
	if err := s.enter(ctx, "one"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if height > s.height {
		return nil, refusal("future height")
	}
	return slices.Clone(s.sets[subnet]), nil
}

func (s *fakeSource) L1Validators(ctx context.Context, subnet chain.ID) (list []L1Validator, err error) {
	if err := s.enter(ctx, "balances"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, balance := range s.balances[subnet] {
		list = append(list, L1Validator{NodeID: id, Weight: 5, Balance: balance})
	}
	slices.SortFunc(list, func(a, b L1Validator) int { return bytes.Compare(a.NodeID[:], b.NodeID[:]) })
	return list, nil
}

func (s *fakeSource) L1Fee(ctx context.Context) (uint64, error) {
	err := s.enter(ctx, "fee")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fee, err
}

func (s *fakeSource) SubnetOf(ctx context.Context, blockchain chain.ID) (chain.ID, error) {
	if err := s.enter(ctx, "subnetOf"); err != nil {
		return chain.ID{}, err
	}
	if blockchain != bc {
		return chain.ID{}, fmt.Errorf("blockchain: %w", refusal("not found"))
	}
	return l1, nil
}

func (s *fakeSource) ConversionOf(ctx context.Context, subnet chain.ID) (chain.ID, error) {
	if err := s.enter(ctx, "conversion"); err != nil {
		return chain.ID{}, err
	}
	switch subnet {
	case l1:
		return chain.ID{0xc0}, nil
	case plain:
		return chain.ID{}, nil
	default:
		return chain.ID{}, fmt.Errorf("subnet: %w", refusal("not found"))
	}
}

func (s *fakeSource) EpochOf(ctx context.Context, blockchain chain.ID) (number, height uint64, err error) {
	if err := s.enter(ctx, "epoch"); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.epochs[blockchain]
	if !ok {
		return 0, 0, refusal("no method")
	}
	return e[0], e[1], nil
}

// withKeeper runs f beside a keeper in a bubble of fake time.
func withKeeper(t *testing.T, cfg Config, f func(t *testing.T, src *fakeSource, k *Keeper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		src := newFakeSource()
		cfg.Source = src
		k, err := NewKeeper(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx) }()
		synctest.Wait()
		f(t, src, k)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// pass lets time pass. In the bubble nothing waits for real.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func wantCurrent(t *testing.T, k *Keeper, subnet chain.ID, height uint64) *Set {
	t.Helper()
	s, ok := k.Current(subnet)
	if !ok || s.Height != height || s.SubnetID != subnet {
		t.Fatalf("current set of %s: got %+v, %v, want height %d", subnet, s, ok, height)
	}
	return s
}

func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestFollowsHeights(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		if !k.Ready() {
			t.Fatal("not ready after the first load")
		}
		first := wantCurrent(t, k, chain.PrimaryNetworkID, 10)
		pass(3 * time.Second)
		if n := src.count("all"); n != 1 {
			t.Errorf("sets of one height were fetched %d times", n)
		}
		if n := src.count("height"); n != 16 {
			t.Errorf("height was polled %d times in 3 s", n)
		}
		src.change(func(s *fakeSource) { s.height = 11 })
		pass(time.Second)
		same := wantCurrent(t, k, chain.PrimaryNetworkID, 11)
		if same.Digest != first.Digest || &same.Validators[0] != &first.Validators[0] {
			t.Error("an unchanged set was built again")
		}
		if first.Height != 10 {
			t.Error("a set that was handed out has changed")
		}
		src.change(func(s *fakeSource) {
			s.height = 12
			s.sets[chain.PrimaryNetworkID] = members(6)
		})
		pass(time.Second)
		if got := wantCurrent(t, k, chain.PrimaryNetworkID, 12); got.Digest == first.Digest || len(got.Validators) != 6 {
			t.Errorf("changed set: got %d validators", len(got.Validators))
		}
	})
}

func TestOutageAndRecovery(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{MaxStale: time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(s *fakeSource) { s.err = errDown })
		pass(59 * time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 10)
		if _, err := k.At(t.Context(), chain.PrimaryNetworkID, 0); err != nil {
			t.Errorf("within the time: %v", err)
		}
		pass(2 * time.Second)
		if _, ok := k.Current(chain.PrimaryNetworkID); ok {
			t.Error("a set that is too old is current")
		}
		_, err := k.At(t.Context(), chain.PrimaryNetworkID, 0)
		wantError(t, "too old", err, ErrSource)
		wantError(t, "too old", err, errDown)
		// A numbered height cannot become wrong.
		if _, err := k.At(t.Context(), chain.PrimaryNetworkID, 10); err != nil {
			t.Errorf("numbered height: %v", err)
		}
		_, err = k.At(t.Context(), chain.PrimaryNetworkID, 9)
		wantError(t, "numbered height that is not kept", err, ErrSource)
		src.change(func(s *fakeSource) { s.err, s.height = nil, 11 })
		pass(time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 11)
	})
}

// A node that stands in may be behind; a network that starts over stays behind.
func TestHeightFalls(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{MaxStale: time.Minute}, func(t *testing.T, src *fakeSource, k *Keeper) {
		if _, err := k.At(t.Context(), chain.PrimaryNetworkID, 4); err != nil {
			t.Fatal(err)
		}
		src.change(func(s *fakeSource) { s.height = 4; s.sets[chain.PrimaryNetworkID] = members(3) })
		pass(30 * time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 10)
		pass(31 * time.Second)
		if got := wantCurrent(t, k, chain.PrimaryNetworkID, 4); len(got.Validators) != 3 {
			t.Errorf("got the set of the network that was")
		}
		src.change(func(s *fakeSource) { s.height = 5 })
		pass(time.Second)
		if got, err := k.At(t.Context(), chain.PrimaryNetworkID, 4); err != nil || len(got.Validators) != 3 {
			t.Errorf("kept set of the network that was: %v, %v", got, err)
		}
	})
}

func TestStartsWithoutNode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newFakeSource()
		src.err = errDown
		k, err := NewKeeper(Config{Source: src})
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.At(t.Context(), chain.PrimaryNetworkID, 5)
		wantError(t, "before Run", err, ErrSource)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- k.Run(ctx) }()
		pass(3 * time.Second)
		if err := k.Run(ctx); err == nil {
			t.Error("runs twice at once")
		}
		if _, ok := k.Current(chain.PrimaryNetworkID); ok || k.Ready() || len(k.Wanted()) != 0 {
			t.Error("something is known of a node that is down")
		}
		_, err = k.At(t.Context(), chain.PrimaryNetworkID, 0)
		wantError(t, "proposed height", err, ErrSource)
		wantError(t, "proposed height", err, errDown)
		src.change(func(s *fakeSource) { s.err = nil })
		pass(time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 10)
		cancel()
		<-done
		_, err = k.SubnetOf(t.Context(), bc)
		wantError(t, "after the end", err, ErrSource)
	})
}

func TestUnknownSubnets(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		for _, height := range []uint64{0, 3, 10} {
			_, err := k.At(t.Context(), chain.ID{99}, height)
			wantError(t, fmt.Sprint("unknown subnet at ", height), err, ErrUnknownSubnet)
		}
		_, err := k.At(t.Context(), chain.PrimaryNetworkID, 11)
		wantError(t, "height above the tip", err, ErrHeight)
		// A subnet whose validators are gone is unknown from then on.
		if _, err := k.At(t.Context(), plain, 0); err != nil {
			t.Fatal(err)
		}
		src.change(func(s *fakeSource) { delete(s.sets, plain); s.height++ })
		pass(time.Second)
		_, err = k.At(t.Context(), plain, 0)
		wantError(t, "subnet without validators", err, ErrNoValidators)
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.used[plain] != nil || k.balances[plain] != nil || k.used[chain.ID{99}] != nil {
			t.Error("subnets that do not exist are remembered")
		}
	})
}

// One set that makes no sense must not hide the others.
func TestMalformedSubnet(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		src.change(func(s *fakeSource) {
			s.height = 11
			s.sets[plain] = []Member{{NodeID: node(1), PublicKey: []byte("junk"), Weight: 1}}
		})
		pass(time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 11)
		_, err := k.At(t.Context(), plain, 0)
		wantError(t, "malformed set", err, ErrNoValidators)
		_, err = k.At(t.Context(), plain, 9)
		wantError(t, "malformed set at a height", err, ErrSource)
		src.change(func(s *fakeSource) { s.height = 12; s.sets[chain.PrimaryNetworkID] = s.sets[plain] })
		pass(time.Second)
		wantCurrent(t, k, chain.PrimaryNetworkID, 11)
		if metric.Value(k.count.pollErrors) == 0 {
			t.Error("a malformed primary set is not counted")
		}
	})
}

func TestExactHeightIsFetchedOnce(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{}, func(t *testing.T, src *fakeSource, k *Keeper) {
		gate := make(chan struct{})
		src.change(func(s *fakeSource) { s.gate = gate })
		const callers = 50
		got := make(chan *Set, callers)
		gone, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { _, err := k.At(gone, chain.PrimaryNetworkID, 9); left <- err }()
		synctest.Wait()
		for range callers {
			go func() {
				s, err := k.At(t.Context(), chain.PrimaryNetworkID, 9)
				if err != nil {
					t.Error(err)
				}
				got <- s
			}()
		}
		synctest.Wait()
		leave() // the first caller does not take the question with it
		wantError(t, "caller that left", <-left, context.Canceled)
		close(gate)
		src.change(func(s *fakeSource) { s.gate = nil })
		first := <-got
		for range callers - 1 {
			if s := <-got; s != first {
				t.Error("callers got different sets")
			}
		}
		if first.Height != 9 || src.count("one") != 1 {
			t.Errorf("height %d was fetched %d times", first.Height, src.count("one"))
		}
		if again, _ := k.At(t.Context(), chain.PrimaryNetworkID, 9); again != first || src.count("one") != 1 {
			t.Error("a kept set was fetched again")
		}
		if s, err := k.At(t.Context(), chain.PrimaryNetworkID, 10); err != nil || s != wantCurrent(t, k, chain.PrimaryNetworkID, 10) {
			t.Errorf("the current height was not taken from the current sets: %v", err)
		}
	})
}

func TestExactHeightsAreBounded(t *testing.T) {
	t.Parallel()
	withKeeper(t, Config{Heights: 2}, func(t *testing.T, src *fakeSource, k *Keeper) {
		for _, h := range []uint64{1, 2, 3, 1} {
			if s, err := k.At(t.Context(), chain.PrimaryNetworkID, h); err != nil || s.Height != h {
				t.Fatalf("height %d: %v, %v", h, s, err)
			}
		}
		if n := src.count("one"); n != 4 {
			t.Errorf("fetched %d times, want 4: the first was dropped", n)
		}
	})
}

func TestConfigOfKeeper(t *testing.T) {
	t.Parallel()
	for _, cfg := range []Config{{}, {Source: newFakeSource(), Poll: -1}, {Source: newFakeSource(), Heights: -1}} {
		if _, err := NewKeeper(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
