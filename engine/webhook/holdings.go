package webhook

import (
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// The names of balances.
const (
	unlockedUnstaked = "unlockedUnstaked"
	unlockedStaked   = "unlockedStaked"
	lockedPlatform   = "lockedPlatform"
	lockedStakeable  = "lockedStakeable"
	lockedStaked     = "lockedStaked"
	pendingStaked    = "pendingStaked"
	unlocked         = "unlocked"
	locked           = "locked"
)

// holdings are the outputs that addresses had after a block.
type holdings struct {
	list []holding
	// until is when, in Unix seconds, the balance that an output is part of changes next
	// without a transaction; zero: never.
	until uint64
}

// wake returns when time alone changes them next; those that are too many never do.
func (h *holdings) wake() uint64 {
	if h == nil || h.until == 0 {
		return never
	}
	return h.until
}

// changes notes a time at which a balance changes if it is not over.
func (h *holdings) changes(at, now uint64) {
	if at > now && (h.until == 0 || at < h.until) {
		h.until = at
	}
}

type holding struct {
	name   string // of the balance that it is part of
	asset  chain.ID
	amount uint64
	owners []address.Address
}

// maxHeld bounds the outputs of addresses, and the transactions since a block, that their
// balances after it are made of.
const maxHeld = 10_000

// holdings returns what addresses had after a block: what they have now without what
// came since, and with what went. It returns nil if that is too much to look at.
func (r *Rows) holdings(of []address.Address, height uint64) (*holdings, error) {
	b, err := r.block(height)
	if err != nil {
		return nil, err
	}
	h, returned, looked := &holdings{}, map[chain.ID]bool{}, 0
	complete := true
	take := func(u *primary.Output, staked bool) error {
		if u.Kind != utxo.TransferOutput || u.Place.Height > height || !slices.ContainsFunc(u.Addresses, func(a address.Address) bool { return slices.Contains(of, a) }) {
			return nil
		}
		name, err := r.balanceOf(u, b.Time, staked, h)
		h.list = append(h.list, holding{name, u.Asset, u.Amount, u.Addresses})
		return err
	}
	var spent []*primary.Output
	if _, err := r.Txs(of, primary.TimeRange{}, primary.Page{After: behind(height), Limit: maxHeld, Asc: true}, func(t *primary.TxRow) (primary.Result, error) {
		list, ok, err := t.Consumed()
		if complete = complete && ok; err != nil || !complete {
			return primary.Full, err
		}
		spent, looked = append(spent, list...), looked+1+len(list)
		for _, id := range t.Made {
			returned[id] = true // a stake, if it was made before
		}
		complete = looked < maxHeld
		return primary.Taken, nil
	}); err != nil || !complete {
		return nil, err
	}
	for _, u := range spent {
		if err := take(u, returned[u.Ref.ID()]); err != nil {
			return nil, err
		}
	}
	if _, err := r.Outputs(of, []primary.OutputState{primary.Unspent, primary.Staked}, primary.Page{Limit: maxHeld, Asc: true}, func(u *primary.Output) (primary.Result, error) {
		looked++
		complete = looked < maxHeld
		return primary.Taken, take(u, u.State == primary.Staked || returned[u.Ref.ID()])
	}); err != nil || !complete {
		return nil, err
	}
	return h, nil
}

// balanceOf returns which balance an output was part of at a time, and notes when that
// changes by itself.
func (r *Rows) balanceOf(u *primary.Output, now uint64, staked bool, h *holdings) (string, error) {
	h.changes(u.Locktime, now)
	h.changes(u.StakeLock, now)
	lock, stakeable := u.Locktime > now, u.StakeLock > now
	switch {
	case r.Platform == nil && lock:
		return locked, nil
	case r.Platform == nil:
		return unlocked, nil
	case !staked && lock:
		return lockedPlatform, nil
	case !staked && stakeable:
		return lockedStakeable, nil
	case !staked:
		return unlockedUnstaked, nil
	}
	s, found, err := r.Platform.Staker(u.TxID)
	switch {
	case err != nil:
		return "", err
	case found && s.Start > now:
		h.changes(s.Start, now)
		return pendingStaked, nil
	case lock || stakeable:
		return lockedStaked, nil
	}
	return unlockedStaked, nil
}

// amount returns how much AVAX an address has in a balance.
func (h *holdings) amount(r *Rows, name string, of address.Address) (sum uint64) {
	for i := range h.list {
		if x := &h.list[i]; x.name == name && x.asset == r.Network.AVAX && slices.Contains(x.owners, of) {
			sum += min(x.amount, ^uint64(0)-sum)
		}
	}
	return sum
}

// sums returns the balances of addresses together.
func (h *holdings) sums(r *Rows, of []address.Address) (list []Sum) {
	for i := range h.list {
		x := &h.list[i]
		if !slices.ContainsFunc(x.owners, func(a address.Address) bool { return slices.Contains(of, a) }) {
			continue
		}
		at := slices.IndexFunc(list, func(s Sum) bool { return s.Name == x.name && s.Asset == x.asset })
		if at < 0 {
			at, list = len(list), append(list, Sum{Name: x.name, Asset: x.asset})
		}
		list[at].Amount += min(x.amount, ^uint64(0)-list[at].Amount)
		list[at].Count++
	}
	return list
}
