package valset

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
)

const (
	// maxEpochChains bounds the chains whose epochs are followed, and so with the
	// epoch before the heights whose sets are held.
	maxEpochChains = 64
	// recheckEpochs is how often a chain without epochs is asked again: the network
	// may have been upgraded.
	recheckEpochs = time.Minute
	// retryEpochs is the wait after the node did not answer.
	retryEpochs = 5 * time.Second
)

// epochs follows the epochs of blockchains. With ACP-181 a chain checks messages
// against the sets at the P-Chain height of its epoch, so that height is asked
// for by many until the next epoch begins.
type epochs struct {
	// sets has the sets of all subnets by height; the map is replaced, not changed.
	sets atomic.Pointer[map[uint64]map[chain.ID]*Set]

	mu     sync.Mutex // guards what follows
	chains []*epochChain
}

type epochChain struct {
	id             chain.ID
	own            Epochs // asked first; may be nil
	number, height uint64 // 0 while there is none
	before         uint64 // height of the epoch before, for those who ask at the turn
	notBefore      int64  // by the keeper's clock
}

func (e *epochs) load() map[uint64]map[chain.ID]*Set {
	if m := e.sets.Load(); m != nil {
		return *m
	}
	return nil
}

func (e *epochs) all() []*epochChain {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.chains)
}

// FollowEpochs follows the epochs of a blockchain: the sets at the heights of
// its running epoch and of the one before are at hand. own, if it is not nil, asks a node of
// the chain's own; the source is asked where that one says nothing.
func (e *epochs) FollowEpochs(blockchain chain.ID, own Epochs) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := slices.ContainsFunc(e.chains, func(c *epochChain) bool { return c.id == blockchain })
	if !known && len(e.chains) < maxEpochChains {
		e.chains = append(e.chains, &epochChain{id: blockchain, own: own})
	}
}

// EpochHeights returns the heights of the running epochs of the followed chains
// whose sets are at hand, in ascending order.
func (e *epochs) EpochHeights() []uint64 {
	have := e.load()
	var out []uint64
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.chains {
		if have[c.height] != nil {
			out = append(out, c.height)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// EpochHeight returns the height of a followed blockchain's running epoch, 0 while it has none
// or none is known, and reports whether the chain is followed. The P-Chain, which checks
// messages at the proposed height, always is.
func (e *epochs) EpochHeight(blockchain chain.ID) (height uint64, followed bool) {
	if blockchain == chain.PlatformChainID {
		return 0, true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.chains {
		if c.id == blockchain {
			return c.height, true
		}
	}
	return 0, false
}

// Beside returns the sets of the same subnet at the heights of epochs, running ones and
// those before, if set is the one at the proposed height and as far as they differ.
func (k *Keeper) Beside(set *Set) []*Set {
	if now, ok := k.Current(set.SubnetID); !ok || now.Digest != set.Digest {
		return nil
	}
	byHeight := k.epochs.load()
	var out []*Set
	for _, height := range slices.Sorted(maps.Keys(byHeight)) {
		o := byHeight[height][set.SubnetID]
		known := func(s *Set) bool { return s.Digest == o.Digest }
		if o != nil && !known(set) && !slices.ContainsFunc(out, known) {
			out = append(out, o)
		}
	}
	return out
}

// pollEpochs asks for the epochs and loads the sets of heights that are new.
func (k *Keeper) pollEpochs(ctx context.Context) {
	for _, c := range k.epochs.all() {
		if ctx.Err() == nil && k.clock() >= c.notBefore {
			k.pollEpoch(ctx, c)
		}
	}
	k.loadEpochs(ctx)
}

// pollEpoch asks for one chain's epoch. Only the loop of polls changes c.
func (k *Keeper) pollEpoch(ctx context.Context, c *epochChain) {
	call, cancel := context.WithTimeout(ctx, k.cfg.CallTimeout)
	defer cancel()
	number, height, err := c.read(call, &k.cfg)
	k.epochs.mu.Lock()
	defer k.epochs.mu.Unlock()
	switch {
	case c.number == 0 && (noMethod(err) || notFound(err)), err == nil && number == 0:
		c.notBefore = k.clock() + int64(recheckEpochs)
	case err != nil: // what was known goes on: an epoch lasts
		c.notBefore = k.clock() + int64(retryEpochs)
		k.cfg.Logger.Debug("the epoch of a chain cannot be read", "chain", c.id, "err", err)
	case number != c.number || height != c.height:
		c.number, c.height, c.before = number, height, c.height
	}
}

func (c *epochChain) read(ctx context.Context, cfg *Config) (number, height uint64, err error) {
	if c.own != nil {
		if number, height, err = c.own.EpochOf(ctx, c.id); err == nil {
			return number, height, nil
		}
		cfg.Logger.Debug("the node of a chain's own does not say its epoch", "chain", c.id, "err", err)
	}
	return cfg.Source.EpochOf(ctx, c.id)
}

// loadEpochs loads the sets at the heights of epochs, and forgets those of
// epochs that are over.
func (k *Keeper) loadEpochs(ctx context.Context) {
	have := k.epochs.load()
	next := make(map[uint64]map[chain.ID]*Set, len(have))
	changed := false
	for _, c := range k.epochs.all() { // only the caller changes what they hold
		for _, h := range [...]uint64{c.height, c.before} {
			if h == 0 || next[h] != nil {
				continue
			}
			if next[h] = have[h]; next[h] != nil {
				continue
			}
			sets, err := k.setsAt(ctx, h)
			if err != nil {
				delete(next, h)
				k.cfg.Logger.Debug("the sets of an epoch cannot be read", "height", h, "err", err)
				continue
			}
			next[h], changed = sets, true
		}
	}
	if changed || len(next) != len(have) {
		k.epochs.sets.Store(&next)
		k.signalChange()
	}
}

// setsAt returns the sets of all subnets at a height that is not the newest.
func (k *Keeper) setsAt(ctx context.Context, height uint64) (map[chain.ID]*Set, error) {
	k.mu.Lock()
	base, same := k.base, k.height == height && !k.partial
	k.mu.Unlock()
	if same {
		return base, nil
	}
	call, cancel := context.WithTimeout(ctx, k.cfg.CallTimeout)
	defer cancel()
	sets, _, err := k.load(call, height)
	return sets, err
}
