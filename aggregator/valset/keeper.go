package valset

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/engine/chain"
)

// maxChains bounds the remembered subnets of blockchains, and the remembered conversions.
const maxChains = 1 << 16

// Keeper follows the validator sets of all subnets of one network. Its loops
// poll the source and publish what they learn as one immutable snapshot;
// [Keeper.Current] reads that without locks. Start it with Run.
type Keeper struct {
	cfg   Config
	count counters

	start   time.Time  // zero of clock
	polling sync.Mutex // held while a poll of the height is under way
	snap    atomic.Pointer[snapshot]
	seen    atomic.Int64 // clock at the last confirmation of the snapshot's height

	wantedNow atomic.Pointer[[]chain.NodeID]
	changed   chan struct{} // room for one: the wanted nodes may have changed

	subnets     *lru.Cache[chain.ID, chain.ID] // by blockchain
	conversions *lru.Cache[chain.ID, chain.ID] // by subnet
	// exact keeps sets that were asked for again apart from those that were not, so
	// that nobody drives them out by asking for every height once.
	exact *lru.TwoQueueCache[exactKey, exactSet]

	lookups *lookups
	allowed allowed
	epochs

	mu       sync.Mutex // guards what follows
	base     map[chain.ID]*Set
	height   uint64
	partial  bool // base holds only the primary network and subnets in use
	balances map[chain.ID]*balances
	fee      uint64 // nAVAX a second of an active L1 validator; 0 if it is not known
	feeAsked int64  // clock when it was asked for last, 0 never
	used     map[chain.ID]*atomic.Int64
	tracked  map[chain.ID]struct{}
	running  bool
	wg       sync.WaitGroup
	lastErr  error // of polling; nil when the last poll succeeded
}

// snapshot is what is known at one moment. It is immutable.
type snapshot struct {
	height uint64
	views  map[chain.ID]*view
}

// view is a subnet in a snapshot.
type view struct {
	base *Set // without marks
	bal  *balances
	set  *Set          // base, marked by bal
	used *atomic.Int64 // clock at the last use, 0 for never, or always
}

// always is the last use of a tracked subnet.
const always = math.MaxInt64

// NewKeeper checks cfg and returns a keeper that is not running yet.
func NewKeeper(cfg Config) (*Keeper, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	k := &Keeper{
		cfg:      cfg,
		start:    time.Now(),
		changed:  make(chan struct{}, 1),
		balances: make(map[chain.ID]*balances),
		used:     make(map[chain.ID]*atomic.Int64),
		tracked:  make(map[chain.ID]struct{}),
		lookups:  newLookups(cfg.CallTimeout),
	}
	for _, id := range cfg.Tracked {
		k.tracked[id] = struct{}{}
	}
	if len(cfg.Allowed) > 0 {
		k.allowed = allowed{chain.PrimaryNetworkID: {}}
		for _, id := range slices.Concat(cfg.Allowed, cfg.Tracked) {
			k.allowed[id] = struct{}{}
		}
	}
	var errs [3]error
	k.subnets, errs[0] = lru.New[chain.ID, chain.ID](maxChains)
	k.conversions, errs[1] = lru.New[chain.ID, chain.ID](maxChains)
	k.exact, errs[2] = lru.New2Q[exactKey, exactSet](cfg.Heights)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("valset: %w", err)
	}
	k.wantedNow.Store(&[]chain.NodeID{})
	k.count = newCounters(k)
	return k, nil
}

// Run follows the source until ctx ends, and returns nil when all that it
// started has ended. It runs once at a time.
func (k *Keeper) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.mu.Lock()
	was := k.running
	k.running = true
	k.mu.Unlock()
	if was {
		return errors.New("valset: keeper is running already")
	}
	k.lookups.open(ctx)
	k.wg.Go(func() { every(ctx, k.cfg.BalancePoll, k.pollBalances) })
	k.wg.Go(func() { every(ctx, k.cfg.EpochPoll, k.pollEpochs) })
	k.wg.Go(func() { k.followWanted(ctx) })
	k.pollSets(ctx)
	k.pollBalances(ctx) // so that tracked subnets need no first request
	every(ctx, k.cfg.Poll, k.pollSets)

	cancel()
	k.wg.Wait()
	k.lookups.stop()
	k.mu.Lock()
	k.running = false
	k.mu.Unlock()
	return nil
}

func every(ctx context.Context, period time.Duration, do func(context.Context)) {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			do(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Ready reports whether the primary network's set has been loaded.
func (k *Keeper) Ready() bool { return k.snap.Load() != nil }

// clock is the time since the keeper was made, in nanoseconds, never 0. It does
// not jump when the system's time is set.
func (k *Keeper) clock() int64 { return int64(time.Since(k.start)) + 1 }

// age is the time since the source last confirmed the snapshot's height.
func (k *Keeper) age(now int64) time.Duration { return time.Duration(now - k.seen.Load()) }

// Current returns the set of a subnet at the proposed height if it is at hand; if
// not, [Keeper.At] says why or gets it. It does no I/O and takes no lock.
func (k *Keeper) Current(subnet chain.ID) (*Set, bool) {
	snap := k.snap.Load()
	if snap == nil || !k.allowed.has(subnet) {
		return nil, false
	}
	now := k.clock()
	v, ok := snap.views[subnet]
	if !ok || !v.ready() || k.age(now) > k.cfg.MaxStale {
		return nil, false
	}
	return v.set, k.touch(v, now)
}

// InUse returns the sets at the proposed height of the primary network and of the
// subnets in use. To look at them here does not count as use.
func (k *Keeper) InUse() []*Set {
	snap := k.snap.Load()
	if snap == nil {
		return nil
	}
	now := k.clock()
	sets := make([]*Set, 0, len(snap.views))
	for id, v := range snap.views {
		if id == chain.PrimaryNetworkID || k.inUse(v.used, now) {
			sets = append(sets, v.set)
		}
	}
	return sets
}

// ready reports whether low balances are marked, where there can be any.
func (v *view) ready() bool { return v.bal != nil || v.set.SubnetID == chain.PrimaryNetworkID }

// touchEvery keeps cores from writing the same word all the time.
const touchEvery = int64(time.Second)

// touch records that a subnet in use is asked for. It reports false when it is not in use:
// then [Keeper.admit] says whether it may be.
func (k *Keeper) touch(v *view, now int64) bool {
	for {
		last := v.used.Load()
		switch {
		case last == always || last != 0 && now-last < touchEvery:
			return true
		case v.set.SubnetID != chain.PrimaryNetworkID && (last == 0 || now-last >= int64(k.cfg.InUse)):
			return false
		case v.used.CompareAndSwap(last, now):
			return true
		}
	}
}

// admit makes a subnet that a request names count as in use, and gives up the one that was
// not asked for longest if there are too many. Those that are tracked do not count, and none
// is given up that a request may still be about.
func (k *Keeper) admit(subnet chain.ID, now int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var oldest *atomic.Int64
	least, count := int64(always), 0
	for id, used := range k.used {
		last := used.Load()
		if id == chain.PrimaryNetworkID || id == subnet || last == always || !k.inUse(used, now) {
			continue
		}
		if count++; last < least {
			oldest, least = used, last
		}
	}
	if count >= k.cfg.MaxInUse {
		if now-least < int64(k.cfg.RequestTimeout)+touchEvery || !oldest.CompareAndSwap(least, 0) {
			k.count.refused.Inc()
			return fmt.Errorf("%w: requests are under way for %d", ErrSubnets, count)
		}
		k.count.displaced.Inc()
	}
	if u := k.usage(subnet); u.Load() != always {
		u.Store(now)
	}
	k.signalChange()
	return nil
}

// allowed are the subnets whose sets may be asked for; nil for all.
type allowed map[chain.ID]struct{}

func (a allowed) has(subnet chain.ID) bool {
	_, ok := a[subnet]
	return ok || a == nil
}

// Track makes a subnet count as in use from now on, asked for or not.
func (k *Keeper) Track(subnet chain.ID) {
	k.mu.Lock()
	_, was := k.tracked[subnet]
	k.tracked[subnet] = struct{}{}
	if !was && k.snap.Load() != nil {
		k.publish()
	}
	k.mu.Unlock()
}

// inUse reports whether a subnet was asked for lately.
func (k *Keeper) inUse(used *atomic.Int64, now int64) bool {
	last := used.Load()
	return last == always || last != 0 && now-last < int64(k.cfg.InUse)
}

// publish makes a snapshot of what is known. It needs mu. Views that did not
// change stay the same, so that whoever remembers a set by its pointer can.
func (k *Keeper) publish() {
	var old map[chain.ID]*view
	if snap := k.snap.Load(); snap != nil {
		old = snap.views
	}
	for id := range k.tracked {
		k.usage(id).Store(always)
	}
	views := make(map[chain.ID]*view, len(k.base))
	for id, base := range k.base {
		bal, prev := k.balances[id], old[id]
		switch {
		case prev != nil && prev.base == base && prev.bal == bal:
			views[id] = prev
		case prev != nil && prev.bal == bal && prev.base.Digest == base.Digest:
			views[id] = &view{base: base, bal: bal, set: prev.set.at(base.Height), used: prev.used}
		default:
			views[id] = &view{base: base, bal: bal, set: bal.mark(base), used: k.usage(id)}
		}
	}
	for id := range k.used {
		_, tracked := k.tracked[id]
		if _, ok := k.base[id]; !ok && !k.partial && !tracked {
			delete(k.used, id)
			delete(k.balances, id)
		}
	}
	k.snap.Store(&snapshot{height: k.height, views: views})
	k.signalChange()
}

// usage returns the time of last use of a subnet. It needs mu.
func (k *Keeper) usage(id chain.ID) *atomic.Int64 {
	u := k.used[id]
	if u == nil {
		u = new(atomic.Int64)
		k.used[id] = u
	}
	return u
}
