package valset

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/chain"
)

type exactKey struct {
	subnet chain.ID
	height uint64
}

// exactSet is a set at a height of the past, with the marks of bal.
type exactSet struct {
	base, set *Set
	bal       *balances
}

// At returns the set of a subnet at a height, 0 meaning the proposed one. A set
// at a height never changes: each is fetched once and kept a while; those of
// running epochs are at hand.
//
// Errors wrap [ErrUnknownSubnet], [ErrNoValidators], [ErrNotAllowed], [ErrHeight],
// [ErrLookback], [ErrSubnets], [ErrBusy] or [ErrSource], or are the cause of ctx's end.
func (k *Keeper) At(ctx context.Context, subnet chain.ID, height uint64) (*Set, error) {
	if !k.allowed.has(subnet) {
		return nil, fmt.Errorf("%w: %s", ErrNotAllowed, subnet)
	}
	if height == 0 {
		return k.atProposed(ctx, subnet)
	}
	snap := k.snap.Load()
	if snap != nil && k.cfg.MaxLookback > 0 && snap.height > k.cfg.MaxLookback && height < snap.height-k.cfg.MaxLookback {
		return nil, fmt.Errorf("%w: %d is more than %d below %d", ErrLookback, height, k.cfg.MaxLookback, snap.height)
	}
	bal, err := k.prepare(ctx, subnet)
	if err != nil {
		return nil, err
	}
	if snap != nil && snap.height == height {
		if v, ok := snap.views[subnet]; ok {
			return v.set, nil
		}
	}
	return k.atExact(ctx, subnet, height, bal)
}

func (k *Keeper) atProposed(ctx context.Context, subnet chain.ID) (*Set, error) {
	if k.snap.Load() == nil {
		return nil, k.sourceError("no validator set has been loaded yet")
	}
	now := k.clock()
	if k.age(now) > k.cfg.MaxStale {
		return nil, k.sourceError("the last validator sets are too old")
	}
	bal, err := k.prepare(ctx, subnet)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	snap, partial := k.snap.Load(), k.partial
	k.mu.Unlock()
	if v, ok := snap.views[subnet]; ok {
		return v.set, nil
	}
	if !partial {
		return nil, k.nothing(ctx, subnet, snap.height)
	}
	set, err := k.atExact(ctx, subnet, snap.height, bal)
	if err == nil {
		err = k.admit(subnet, now) // the next load has it
	}
	return set, err
}

// nothing says why a subnet has no set at a height: it does not exist, or has no
// validators there, such as an L1 before its conversion.
func (k *Keeper) nothing(ctx context.Context, subnet chain.ID, height uint64) error {
	if _, _, err := k.ConversionOf(ctx, subnet); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s at height %d", ErrNoValidators, subnet, height)
}

// sourceError says why nothing is known, with the error of the last poll.
func (k *Keeper) sourceError(why string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lastErr != nil {
		return fmt.Errorf("%w: %s: %w", ErrSource, why, k.lastErr)
	}
	return fmt.Errorf("%w: %s", ErrSource, why)
}

// prepare records the use of a subnet that the snapshot has, and reads its
// balances if they are not followed yet.
func (k *Keeper) prepare(ctx context.Context, subnet chain.ID) (*balances, error) {
	snap := k.snap.Load()
	if snap == nil {
		return nil, nil
	}
	v, ok := snap.views[subnet]
	if !ok {
		return nil, nil
	}
	if now := k.clock(); !k.touch(v, now) {
		if err := k.admit(subnet, now); err != nil {
			return nil, err
		}
	}
	if v.ready() {
		return v.bal, nil
	}
	_, err := look(ctx, k.lookups, lookupKey{kind: kindBalances, id: subnet}, func(ctx context.Context) (struct{}, error) {
		k.readBalances(ctx, subnet)
		return struct{}{}, nil
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.balances[subnet], err
}

func (k *Keeper) atExact(ctx context.Context, subnet chain.ID, height uint64, bal *balances) (*Set, error) {
	key := exactKey{subnet, height}
	have, ok := k.exact.Get(key)
	if !ok {
		if base := k.epochs.load()[height][subnet]; base != nil {
			have, ok = exactSet{base: base, set: bal.mark(base), bal: bal}, true
			k.exact.Add(key, have)
		}
	}
	if ok {
		if have.bal != bal {
			have.bal, have.set = bal, bal.mark(have.base)
			k.exact.Add(key, have)
		}
		return have.set, nil
	}
	what := lookupKey{kindSet, subnet, height}
	set, err := look(ctx, k.lookups, what, func(ctx context.Context) (*Set, error) {
		k.count.exact.Inc()
		members, err := k.cfg.Source.ValidatorsAt(ctx, subnet, height)
		switch {
		case futureHeight(err):
			// Soon it may be reached: the height is asked for as often.
			return nil, k.lookups.miss(what, fmt.Errorf("%w: %w", ErrHeight, err), k.cfg.Poll)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		case len(members) == 0:
			return nil, k.lookups.miss(what, fmt.Errorf("%w: %s at height %d", ErrNoValidators, subnet, height), missedFor)
		}
		base, err := New(subnet, height, members, k.cfg.Keys)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSource, err)
		}
		set := bal.mark(base)
		k.exact.Add(key, exactSet{base: base, set: set, bal: bal})
		return set, nil
	})
	if errors.Is(err, ErrNoValidators) {
		err = k.nothing(ctx, subnet, height)
	}
	return set, err
}

// SubnetOf returns the subnet that validates a blockchain. It never changes and
// is remembered. Errors wrap [ErrUnknownChain] or [ErrSource], or are the cause
// of ctx's end.
func (k *Keeper) SubnetOf(ctx context.Context, blockchain chain.ID) (chain.ID, error) {
	if blockchain == chain.PlatformChainID {
		return chain.PrimaryNetworkID, nil
	}
	if id, ok := k.subnets.Get(blockchain); ok {
		return id, nil
	}
	what := lookupKey{kind: kindSubnet, id: blockchain}
	return look(ctx, k.lookups, what, func(ctx context.Context) (chain.ID, error) {
		id, err := k.cfg.Source.SubnetOf(ctx, blockchain)
		switch {
		case notFound(err):
			return id, k.lookups.miss(what, fmt.Errorf("%w: %s", ErrUnknownChain, blockchain), missedFor)
		case err != nil:
			return id, fmt.Errorf("%w: %w", ErrSource, err)
		}
		k.subnets.Add(blockchain, id)
		return id, nil
	})
}

// Learn tells the keeper the subnet of a blockchain, so that it need not ask.
func (k *Keeper) Learn(blockchain, subnet chain.ID) {
	if known, ok := k.subnets.Peek(blockchain); !ok || known != subnet {
		k.subnets.Add(blockchain, subnet)
		k.lookups.missed.Remove(lookupKey{kind: kindSubnet, id: blockchain})
	}
}

// ConversionOf returns the ID of the conversion that made a subnet an L1, and
// isL1 false if it is none (yet). Errors wrap [ErrUnknownSubnet],
// [ErrBusy] or [ErrSource], or are the cause of ctx's end.
func (k *Keeper) ConversionOf(ctx context.Context, subnet chain.ID) (id chain.ID, isL1 bool, err error) {
	if subnet == chain.PrimaryNetworkID {
		return id, false, nil
	}
	if id, ok := k.conversions.Get(subnet); ok {
		return id, true, nil
	}
	what := lookupKey{kind: kindConversion, id: subnet}
	id, err = look(ctx, k.lookups, what, func(ctx context.Context) (chain.ID, error) {
		id, err := k.cfg.Source.ConversionOf(ctx, subnet)
		switch {
		case notFound(err):
			return chain.ID{}, k.lookups.miss(what, fmt.Errorf("%w: %s", ErrUnknownSubnet, subnet), missedFor)
		case err != nil:
			return chain.ID{}, fmt.Errorf("%w: %w", ErrSource, err)
		case !id.IsZero(): // a conversion happens once
			k.conversions.Add(subnet, id)
		}
		return id, nil
	})
	return id, err == nil && !id.IsZero(), err
}
