package genesis

import (
	"bytes"
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
)

// held is an amount of an account.
type held struct {
	locked
	account account
}

// validators makes the validators of the primary network, who stake the same each but
// for the last, who takes what is left.
func (c *config) validators(g *platform.Genesis) error {
	stakes := c.split(len(c.Stakers))
	end := c.StartTime + c.StakeSeconds
	var order byEnd
	for i := range c.Stakers {
		s := &c.Stakers[i]
		tx, err := c.validator(s, stakes[i], end)
		if err != nil {
			return err
		}
		heap.Push(&order, ended{end, tx})
		end -= c.StakeOffset
	}
	// The nodes' own order: that in which a heap has them that they were pushed to.
	for _, e := range order {
		g.Validators = append(g.Validators, platform.Tx{Body: e.body})
	}
	return nil
}

func (c *config) validator(s *staker, stake []held, end uint64) (platform.Body, error) {
	if end <= c.StartTime {
		return nil, fmt.Errorf("%w: %s ends before the network begins", ErrConfig, chain.NodeID(s.Node))
	}
	slices.SortFunc(stake, func(a, b held) int {
		return cmp.Or(cmp.Compare(a.Locktime, b.Locktime), cmp.Compare(a.Amount, b.Amount), bytes.Compare(a.account[:], b.account[:]))
	})
	v := platform.Validator{NodeID: chain.NodeID(s.Node), Start: c.StartTime, End: end}
	var outputs []utxo.Output
	for _, h := range stake {
		v.Weight += h.Amount // the supply, which holds it, fits 64 bits
		outputs = append(outputs, c.output(h.account, h.locked))
	}
	if v.Weight == 0 {
		return nil, fmt.Errorf("%w: %s has no stake", ErrConfig, v.NodeID)
	}
	base := utxo.Base{NetworkID: c.NetworkID}
	owner := utxo.Owners{Threshold: 1, Addresses: []address.Address{address.Address(s.Reward)}}
	if s.Signer == nil {
		return &platform.AddValidator{Base: base, Validator: v, Stake: outputs, RewardsOwner: owner, DelegationFee: s.Fee}, nil
	}
	key := &platform.Signer{}
	if len(s.Signer.Key) != len(key.PublicKey) || len(s.Signer.Proof) != len(key.ProofOfPossession) {
		return nil, fmt.Errorf("%w: the BLS key of %s", ErrConfig, v.NodeID)
	}
	copy(key.PublicKey[:], s.Signer.Key)
	copy(key.ProofOfPossession[:], s.Signer.Proof)
	return &platform.AddPermissionlessValidator{
		Base: base, Validator: v, Signer: key, Stake: outputs, ValidatorRewardsOwner: owner, DelegationRewardsOwner: owner, DelegationFee: s.Fee,
	}, nil
}

// split divides what the staked funds have on the P-Chain into n parts of one size, in
// the order of the allocations; the last part takes what does not divide.
func (c *config) split(n int) [][]held {
	var funds []held
	total := uint64(0)
	for i := range c.Allocations {
		a := &c.Allocations[i]
		if !c.staked[a.Account] {
			continue
		}
		for _, l := range a.Locked {
			funds = append(funds, held{l, a.Account})
			total += l.Amount
		}
	}
	part, parts := total/uint64(n), make([][]held, n)
	at, sum := 0, uint64(0)
	for _, h := range funds {
		for at < n-1 && sum+h.Amount > part {
			first := h
			first.Amount = part - sum
			h.Amount -= first.Amount
			parts[at] = append(parts[at], first)
			at, sum = at+1, 0
		}
		if h.Amount > 0 {
			parts[at] = append(parts[at], h)
			sum += h.Amount
		}
	}
	return parts
}

// ended is a validator with its end.
type ended struct {
	end  uint64
	body platform.Body
}

// byEnd is a heap of validators.
type byEnd []ended

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].end < h[j].end }
func (h byEnd) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byEnd) Push(v any)        { *h = append(*h, v.(ended)) }

// Pop implements [heap.Interface].
func (h *byEnd) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
