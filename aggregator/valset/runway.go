package valset

import (
	"cmp"
	"context"
	"slices"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
)

// feeEvery is how often the fee of L1 validators is asked for: it changes slowly.
const feeEvery = 30 * time.Second

// Runway is for how long the validators of an L1 can pay.
type Runway struct {
	Subnet chain.ID
	// Price is what an active validator pays, in nAVAX a second; 0 if it is not known.
	Price uint64
	// Validators are in the order in which they run out of balance.
	Validators []Lasting
}

// Lasting is an L1 validator and for how long its balance lasts at today's fee: 0 if it is out
// of balance, and the longest time if the fee is not known.
type Lasting struct {
	L1Validator
	Left time.Duration
}

// Next returns the active validator that runs out of balance first; ok is false if none is
// known to.
func (r *Runway) Next() (next Lasting, ok bool) {
	i := slices.IndexFunc(r.Validators, func(v Lasting) bool { return v.Balance > 0 })
	if i < 0 || r.Price == 0 {
		return next, false
	}
	return r.Validators[i], true
}

// Runways returns those of the L1s in use.
func (k *Keeper) Runways() []Runway {
	now := k.clock()
	k.mu.Lock()
	defer k.mu.Unlock()
	var out []Runway
	for id, bal := range k.balances {
		if len(bal.all) == 0 || !k.inUse(k.usage(id), now) {
			continue
		}
		r := Runway{Subnet: id, Price: k.fee, Validators: make([]Lasting, len(bal.all))}
		for i, v := range bal.all {
			r.Validators[i] = Lasting{v, rules.Lasts(v.Balance, k.fee)}
			if v.Balance == 0 {
				r.Validators[i].Left = 0
			}
		}
		slices.SortStableFunc(r.Validators, func(a, b Lasting) int { return cmp.Compare(a.Balance, b.Balance) })
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Runway) int { return slices.Compare(a.Subnet[:], b.Subnet[:]) })
	return out
}

// readFee asks for the fee if that was not done lately. The last known one serves while no
// node says it.
func (k *Keeper) readFee(ctx context.Context) {
	k.mu.Lock()
	due := k.feeAsked == 0 || k.clock()-k.feeAsked >= int64(feeEvery)
	k.mu.Unlock()
	if !due {
		return
	}
	call, cancel := context.WithTimeout(ctx, k.cfg.CallTimeout)
	defer cancel()
	fee, err := k.cfg.Source.L1Fee(call)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.feeAsked = k.clock()
	switch {
	case err == nil:
		k.fee = fee
	case ctx.Err() == nil:
		k.cfg.Logger.Debug("node does not tell the fee of L1 validators", "err", err)
	}
}
