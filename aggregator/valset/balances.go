package valset

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"quorate/engine/chain"
)

// recheckPlain is how often a subnet that has no L1 validators is looked at
// again: it may have been converted.
const recheckPlain = time.Minute

// balances is what is known of the balances of one subnet's validators. The
// keeper's mu guards all, checked and failed; the rest does not change.
type balances struct {
	l1      bool
	under   map[chain.NodeID]struct{} // nodes below the minimum
	out     []L1Validator             // those that are out of balance
	all     []L1Validator             // as they were read last
	checked int64                     // by the keeper's clock
	failed  bool                      // the last reading did
}

// mark returns set with its underfunded validators marked, and those out of balance
// counted. All L1 validators have keys: weight without one is of inactive ones.
func (b *balances) mark(set *Set) *Set {
	if b == nil || !b.l1 {
		return set
	}
	inactive := set.TotalWeight
	for i := range set.Validators {
		inactive -= set.Validators[i].Weight // at most the total
	}
	if len(b.under) == 0 && inactive == set.Inactive {
		return set
	}
	out := set.marked(b.under)
	out.Inactive = inactive
	if inactive > 0 {
		out.OutOfBalance = b.out
	}
	return out
}

// recheckAfter is how old balances may be for [Keeper.Recheck] to leave it at them.
const recheckAfter = 100 * time.Millisecond

// Recheck reads the proposed height and the balances of a subnet again, unless
// that was done a moment ago, and returns the set. It is for when the set at hand
// cannot do: an L1 validator may just have been paid for.
func (k *Keeper) Recheck(ctx context.Context, subnet chain.ID) (*Set, error) {
	k.mu.Lock()
	bal := k.balances[subnet]
	recent := bal != nil && k.clock()-bal.checked < int64(recheckAfter)
	k.mu.Unlock()
	if !recent {
		_, err := look(ctx, k.lookups, lookupKey{kind: kindPoll, id: subnet}, func(ctx context.Context) (struct{}, error) {
			k.pollSets(ctx)
			k.readBalances(ctx, subnet)
			return struct{}{}, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return k.atProposed(ctx, subnet)
}

// pollBalances reads the balances of L1 subnets in use, and forgets those of others.
func (k *Keeper) pollBalances(ctx context.Context) {
	now := k.clock()
	k.mu.Lock()
	var due []chain.ID
	dropped := false
	for id, used := range k.used {
		bal := k.balances[id]
		switch {
		case id == chain.PrimaryNetworkID:
		case !k.inUse(used, now):
			if bal != nil {
				delete(k.balances, id)
				dropped = true
			}
			if k.partial {
				delete(k.used, id)
			}
		case bal == nil || bal.l1 || now-bal.checked >= int64(recheckPlain):
			due = append(due, id)
		}
	}
	if dropped {
		k.publish()
	}
	k.mu.Unlock()
	if len(due) > 0 {
		k.readFee(ctx)
	}
	for _, id := range due {
		if ctx.Err() != nil {
			return
		}
		k.readBalances(ctx, id)
	}
}

// readBalances reads and publishes the balances of one subnet. They are a
// precaution: when they cannot be read, what was known stays, or nothing is marked.
func (k *Keeper) readBalances(ctx context.Context, subnet chain.ID) {
	call, cancel := context.WithTimeout(ctx, k.cfg.CallTimeout)
	defer cancel()
	all, err := k.cfg.Source.L1Validators(call, subnet)
	if ctx.Err() != nil {
		return
	}
	fresh := &balances{l1: len(all) > 0, under: make(map[chain.NodeID]struct{}), all: all, checked: k.clock()}
	if err != nil {
		k.count.balanceErrors.Inc()
		fresh.l1, fresh.failed = true, true // look again at the next poll
	}
	for _, v := range all {
		if v.Balance < k.cfg.MinBalance {
			fresh.under[v.NodeID] = struct{}{}
		}
		if v.Balance == 0 {
			fresh.out = append(fresh.out, v)
		}
	}
	slices.SortFunc(fresh.out, func(a, b L1Validator) int {
		return cmp.Or(bytes.Compare(a.NodeID[:], b.NodeID[:]), cmp.Compare(a.Weight, b.Weight))
	})
	for _, v := range all {
		if v.Balance >= k.cfg.MinBalance { // of a node's validations the highest counts
			delete(fresh.under, v.NodeID)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	have := k.balances[subnet]
	if err != nil && (have == nil || !have.failed) {
		k.cfg.Logger.Warn("balances of a subnet's validators cannot be read, none further are marked",
			"subnet", subnet, "err", err)
	}
	if have != nil && (err != nil || have.l1 == fresh.l1 && maps.Equal(have.under, fresh.under) && slices.Equal(have.out, fresh.out)) {
		have.checked, have.failed = fresh.checked, fresh.failed
		if err == nil {
			have.all = all
		}
		return
	}
	if k.used[subnet] == nil {
		return // the subnet is gone
	}
	k.balances[subnet] = fresh
	k.publish()
}
