package valset

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"quorate/engine/chain"
)

// pollSets asks for the proposed height and, when it is new, for the sets.
func (k *Keeper) pollSets(ctx context.Context) {
	k.polling.Lock()
	defer k.polling.Unlock()
	k.count.polls.Inc()
	err := k.refresh(ctx)
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	before := k.lastErr
	k.lastErr = err
	k.mu.Unlock()
	switch {
	case err != nil:
		k.count.pollErrors.Inc()
		if before == nil {
			k.cfg.Logger.Warn("validator sets cannot be read, the last ones are used for a time",
				"err", err, "for", k.cfg.MaxStale)
		}
	case before != nil:
		k.cfg.Logger.Info("validator sets are read again")
	}
}

func (k *Keeper) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, k.cfg.CallTimeout)
	defer cancel()
	height, err := k.cfg.Source.ProposedHeight(ctx)
	if err != nil {
		return err
	}
	asked := k.clock()
	snap := k.snap.Load()
	switch {
	case snap == nil, height > snap.height:
	case height == snap.height && !k.incomplete(asked):
		k.seen.Store(asked)
		return nil
	case height < snap.height && k.age(asked) <= k.cfg.MaxStale:
		// Another node that is behind: the newer sets are right until they are too
		// old. A height that stays lower is a network that was made again.
		return fmt.Errorf("proposed height fell from %d to %d", snap.height, height)
	}
	sets, partial, err := k.load(ctx, height)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.height > height {
		k.exact.Purge() // a network that was made again has other sets at the same heights
		k.epochs.sets.Store(nil)
	}
	k.base, k.height, k.partial = sets, height, partial
	k.seen.Store(asked)
	k.count.loads.Inc()
	k.publish()
	return nil
}

// load builds the sets of all subnets at height. partial reports that the node
// gave only those that it was asked for by name.
func (k *Keeper) load(ctx context.Context, height uint64) (sets map[chain.ID]*Set, partial bool, err error) {
	all, err := k.cfg.Source.AllValidatorsAt(ctx, height)
	if noMethod(err) {
		partial = true
		all, err = k.loadNamed(ctx, height)
	}
	if err != nil {
		return nil, partial, err
	}
	k.mu.Lock()
	old := k.base
	k.mu.Unlock()
	sets = make(map[chain.ID]*Set, len(all))
	for id, members := range all {
		if len(members) == 0 {
			continue
		}
		set, err := New(id, height, members, k.cfg.Keys)
		if err != nil {
			if id == chain.PrimaryNetworkID {
				return nil, partial, fmt.Errorf("primary network: %w", err)
			}
			k.cfg.Logger.Warn("validator set is left out", "subnet", id, "height", height, "err", err)
			continue
		}
		if prev := old[id]; prev != nil && prev.Digest == set.Digest {
			set = prev.at(height)
		}
		sets[id] = set
	}
	if sets[chain.PrimaryNetworkID] == nil {
		return nil, partial, fmt.Errorf("no validators of the primary network at height %d", height)
	}
	return sets, partial, nil
}

// loadNamed reads the sets of the primary network and of subnets in use one by one.
func (k *Keeper) loadNamed(ctx context.Context, height uint64) (map[chain.ID][]Member, error) {
	out := make(map[chain.ID][]Member)
	for _, id := range append(k.subnetsInUse(k.clock()), chain.PrimaryNetworkID) {
		members, err := k.cfg.Source.ValidatorsAt(ctx, id, height)
		if err != nil {
			return nil, fmt.Errorf("subnet %s: %w", id, err)
		}
		out[id] = members
	}
	return out, nil
}

// incomplete reports whether a subnet has come into use whose set a partial load
// does not have.
func (k *Keeper) incomplete(now int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.partial {
		return false
	}
	for id, used := range k.used {
		if _, ok := k.base[id]; !ok && k.inUse(used, now) {
			return true
		}
	}
	return false
}

// subnetsInUse returns the subnets in use but the primary network.
func (k *Keeper) subnetsInUse(now int64) []chain.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []chain.ID
	for id, used := range k.used {
		if id != chain.PrimaryNetworkID && k.inUse(used, now) {
			out = append(out, id)
		}
	}
	return out
}

// Wanted returns the nodes that may be asked to sign, in ascending order: those
// of the primary network and of subnets in use. It must not be changed.
func (k *Keeper) Wanted() []chain.NodeID { return *k.wantedNow.Load() }

func (k *Keeper) signalChange() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// followWanted keeps Wanted right and tells of changes.
func (k *Keeper) followWanted(ctx context.Context) {
	for {
		select {
		case <-k.changed:
		case <-ctx.Done():
			return
		}
		snap := k.snap.Load()
		if snap == nil {
			continue
		}
		now := k.clock()
		var ids []chain.NodeID
		for subnet, v := range snap.views {
			if subnet != chain.PrimaryNetworkID && !k.inUse(v.used, now) {
				continue
			}
			ids = v.set.appendNodes(ids)
			// Who left the set still signs for chains whose epoch has not turned.
			for _, sets := range k.epochs.load() {
				if set := sets[subnet]; set != nil && set.Digest != v.set.Digest {
					ids = set.appendNodes(ids)
				}
			}
		}
		slices.SortFunc(ids, func(a, b chain.NodeID) int { return bytes.Compare(a[:], b[:]) })
		ids = slices.Compact(ids)
		if !slices.Equal(ids, k.Wanted()) {
			k.wantedNow.Store(&ids)
			k.cfg.OnChange(ids)
		}
	}
}
