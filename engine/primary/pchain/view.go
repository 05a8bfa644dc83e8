package pchain

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// View reads the P-Chain as it was after one block: see [primary.View].
type View struct {
	*primary.View
	c    *Chain
	head head
}

// View opens a view after the last indexed block. The error wraps [primary.ErrEmpty]
// when there is none.
func (c *Chain) View() (*View, error) {
	base, err := c.Chain.View(primary.PChain)
	if err != nil {
		return nil, err
	}
	v := &View{View: base, c: c}
	b, found, err := v.Get(v.Key(store.PlatformState).U8(rowHead))
	if err == nil && !found {
		err = fmt.Errorf("%w: no state of the P-Chain", primary.ErrRow)
	}
	if err == nil {
		v.head, err = decodeHead(b)
	}
	if err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// Exact reports whether all is known from the network's genesis on. Where it is not,
// supply, rewards that depend on it and what was there before are left out.
func (v *View) Exact() bool { return v.head.Exact }

// Time returns the chain's time, Unix seconds.
func (v *View) Time() uint64 { return v.head.Time }

// AVAX returns the ID of the asset, zero if it is not known yet.
func (v *View) AVAX() chain.ID { return v.head.AVAX }

// Supply returns the supply of the primary network's asset; ok is false if it is not known.
func (v *View) Supply() (nAVAX uint64, ok bool) { return v.head.Supply, v.head.SupplyKnown }

// L1Fees returns the state of what validators of L1s pay, and by what rules; ok is false
// if it is not known.
func (v *View) L1Fees() (fees rules.L1Fees, config rules.FeeConfig, ok bool) {
	return v.head.Fees, v.c.cfg.Params.Fees, v.head.FeesKnown
}

// L1Price returns what an active validator of an L1 pays after the last block, in nAVAX a
// second; 0 if it is not known.
func (v *View) L1Price() uint64 {
	fees, config, ok := v.L1Fees()
	if !ok {
		return 0
	}
	return fees.Price(config)
}

// ids adapts take to lists whose values are IDs.
func ids(take func(id chain.ID) (primary.Result, error)) func(order, value []byte) (primary.Result, error) {
	return func(_, value []byte) (primary.Result, error) {
		if len(value) != chain.IDLen {
			return primary.Passed, fmt.Errorf("%w: list of the P-Chain", primary.ErrRow)
		}
		return take(chain.ID(value))
	}
}

// found makes lists whose values are IDs, or since version 5 of the rows IDs with the row
// that they name, lists of those rows; look finds a row of an ID.
func found[T any](decode func(id chain.ID, b []byte) (T, error), look func(id chain.ID) (T, bool, error),
	take func(T) (primary.Result, error),
) func(order, value []byte) (primary.Result, error) {
	return func(_, value []byte) (primary.Result, error) {
		if len(value) < chain.IDLen {
			return primary.Passed, fmt.Errorf("%w: list of the P-Chain", primary.ErrRow)
		}
		var row T
		var err error
		if id := chain.ID(value[:chain.IDLen]); len(value) > chain.IDLen {
			row, err = decode(id, value[chain.IDLen:])
		} else {
			row, err = must(look(id))
		}
		if err != nil {
			return primary.Passed, err
		}
		return take(row)
	}
}

// taken returns what became of a row that was offered.
func taken(ok bool) (primary.Result, error) {
	if ok {
		return primary.Taken, nil
	}
	return primary.Full, nil
}

// Subnets lists subnets by the time of their creation.
func (v *View) Subnets(p primary.Page, take func(*primary.Subnet) bool) (primary.Position, error) {
	l := &primary.Lists{Prefixes: []primary.Key{v.Key(store.PlatformSubnetList)}}
	return v.List(l, &p, found(decodeSubnet, v.subnet, func(s *subnet) (primary.Result, error) {
		out, err := v.withChains(s)
		if err != nil {
			return primary.Passed, err
		}
		return taken(take(out))
	}))
}

// must makes what was not found an error.
func must[T any](value T, found bool, err error) (T, error) {
	if err == nil && !found {
		err = fmt.Errorf("%w: %T is missing", primary.ErrRow, value)
	}
	return value, err
}

// Subnet returns a subnet with its blockchains.
func (v *View) Subnet(id chain.ID) (*primary.Subnet, bool, error) {
	s, found, err := v.subnet(id)
	if err != nil || !found {
		return nil, false, err
	}
	out, err := v.withChains(s)
	return out, err == nil, err
}

func (v *View) withChains(s *subnet) (*primary.Subnet, error) {
	out := &primary.Subnet{
		ID: s.ID, Height: s.place.Height, Time: s.time, Owners: s.owners,
		Conversion: s.conversion, ManagerChain: s.managerChain, ManagerAddress: s.managerAddress,
	}
	l := &primary.Lists{Prefixes: []primary.Key{v.Key(store.PlatformChainList).U8(listSubnet).ID(s.ID)}}
	_, err := v.blockchains(l, primary.Page{Limit: maxChains, Asc: true}, func(c *primary.Blockchain) bool {
		out.Blockchains = append(out.Blockchains, *c)
		return true
	})
	return out, err
}

// maxChains bounds the blockchains of a subnet that are handed over with it.
const maxChains = 1000

func (v *View) subnet(id chain.ID) (*subnet, bool, error) {
	b, found, err := v.Get(v.Key(store.PlatformSubnets).ID(id))
	if err != nil || !found {
		return nil, false, err
	}
	s, err := decodeSubnet(id, b)
	return s, err == nil, err
}

// Blockchains lists blockchains by the time of their creation, without their genesis
// data: see [View.Genesis].
func (v *View) Blockchains(p primary.Page, take func(*primary.Blockchain) bool) (primary.Position, error) {
	return v.blockchains(&primary.Lists{Prefixes: []primary.Key{v.Key(store.PlatformChainList).U8(listAll)}}, p, take)
}

func (v *View) blockchains(l *primary.Lists, p primary.Page, take func(*primary.Blockchain) bool) (primary.Position, error) {
	decode := func(id chain.ID, b []byte) (*primary.Blockchain, error) {
		c, _, err := decodeChain(id, b)
		return c, err
	}
	return v.List(l, &p, found(decode, v.Blockchain, func(c *primary.Blockchain) (primary.Result, error) { return taken(take(c)) }))
}

// platformVM is the ID of the P-Chain's virtual machine.
var platformVM = chain.ID{'p', 'l', 'a', 't', 'f', 'o', 'r', 'm', 'v', 'm'}

// Blockchain returns a blockchain without its genesis data. The P-Chain, which no
// transaction has created, is there since the genesis, if that is known.
func (v *View) Blockchain(id chain.ID) (*primary.Blockchain, bool, error) {
	c, _, found, err := v.blockchain(id)
	if found || err != nil || id != chain.PlatformChainID {
		return c, found, err
	}
	b, found, err := v.BlockAt(0)
	if err != nil || !found {
		return nil, false, err
	}
	return &primary.Blockchain{ID: id, Subnet: chain.PrimaryNetworkID, VM: platformVM, Name: "P-Chain", Time: b.Time}, true, nil
}

func (v *View) blockchain(id chain.ID) (*primary.Blockchain, primary.Place, bool, error) {
	b, found, err := v.Get(v.Key(store.PlatformChains).ID(id))
	if err != nil || !found {
		return nil, primary.Place{}, false, err
	}
	c, place, err := decodeChain(id, b)
	return c, place, err == nil, err
}

// Genesis returns the genesis data of a blockchain, nil if it is not known.
func (v *View) Genesis(id chain.ID) ([]byte, error) {
	_, place, found, err := v.blockchain(id)
	if err != nil || !found {
		return nil, err
	}
	row, err := must(v.TxAt(place))
	if err != nil {
		return nil, err
	}
	tx, err := platform.ParseTx(row.Raw)
	if err != nil {
		return nil, err
	}
	t, ok := tx.Body.(*platform.CreateChain)
	if !ok {
		return nil, fmt.Errorf("%w: transaction %s makes no chain", primary.ErrRow, id)
	}
	return t.GenesisData, nil
}

// Stakers lists stakers by the time of their start.
func (v *View) Stakers(f *primary.StakerFilter, p primary.Page, take func(*primary.Staker) bool) (primary.Position, error) {
	l := &primary.Lists{}
	base := []primary.Key{v.Key(store.PlatformStakerLists).U8(listAll)}
	switch {
	case len(f.Nodes) > 0:
		base = base[:0]
		for _, n := range f.Nodes {
			base = append(base, v.Key(store.PlatformStakerLists).U8(listNode).Bytes(n[:]))
		}
	case len(f.Owners) > 0:
		base = base[:0]
		for _, a := range f.Owners {
			base = append(base, v.Key(store.PlatformStakerLists).U8(listAddress).Bytes(a[:]))
		}
	case f.Subnet != nil:
		base[0] = v.Key(store.PlatformStakerLists).U8(listSubnet).ID(*f.Subnet)
	}
	for _, k := range base {
		for _, delegator := range []bool{false, true} {
			if !f.AnyKind && delegator != f.Delegators {
				continue
			}
			k := k.Clone().U8(boolByte(delegator))
			from, to := f.Status, f.Status
			if f.Status == primary.AnyStatus && v.Version() < wholeLists {
				from, to = primary.Pending, primary.Removed
			}
			for status := from; status <= to; status++ {
				if list := k.Clone().U8(uint8(status)); isLive(k, delegator, status) {
					l.Live = append(l.Live, list)
				} else {
					l.Prefixes = append(l.Prefixes, list)
				}
			}
		}
	}
	return v.List(l, &p, found(decodeStaker, v.staker, func(s *staker) (primary.Result, error) {
		switch {
		case f.Subnet != nil && s.Subnet != *f.Subnet || len(f.Owners) > 0 && !owned(&s.Staker, f) || !f.Stakes(&s.Staker):
			return primary.Passed, nil
		}
		return taken(take(v.shown(s)))
	}))
}

// owned reports whether one of the filter's addresses is a staker's.
func owned(s *primary.Staker, f *primary.StakerFilter) bool {
	for _, a := range s.RewardOwners.Addresses {
		for _, b := range f.Owners {
			if a == b {
				return true
			}
		}
	}
	return false
}

// Staker returns a staker by its transaction.
func (v *View) Staker(id chain.ID) (*primary.Staker, bool, error) {
	s, found, err := v.staker(id)
	if err != nil || !found {
		return nil, false, err
	}
	return v.shown(s), true, nil
}

func (v *View) staker(id chain.ID) (*staker, bool, error) {
	b, found, err := v.Get(v.Key(store.PlatformStakers).ID(id))
	if err != nil || !found {
		return nil, false, err
	}
	s, err := decodeStaker(id, b)
	return s, err == nil, err
}

// shown returns what is shown of a staker: of one that waits also what it would earn if
// it began now.
func (v *View) shown(s *staker) *primary.Staker {
	s.Share = s.accrued + s.paid + s.expected
	if s.Status == primary.Pending && !s.permissioned {
		s.Estimated = true
		if s.Subnet == chain.PrimaryNetworkID && v.head.SupplyKnown {
			s.Gross = v.c.cfg.rewards(s.Start).Reward(s.End-min(s.Start, s.End), s.Weight, v.head.Supply)
		}
		s.Net = s.Gross
		if s.Delegator {
			_, s.Net = rules.Split(s.Gross, s.Fee)
		}
	}
	return &s.Staker
}

// Rewards lists rewards that were paid by the time of that.
func (v *View) Rewards(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error) {
	return v.List(&primary.Lists{Prefixes: v.rewardLists(store.PlatformRewards, f)}, &p, func(_, value []byte) (primary.Result, error) {
		r, err := decodeReward(value)
		if err != nil {
			return primary.Passed, err
		}
		return taken(take(r))
	})
}

// PendingRewards lists rewards that stakers expect by the time of their end. What is
// not known yet of a reward is zero.
func (v *View) PendingRewards(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error) {
	return v.List(&primary.Lists{Live: v.rewardLists(store.PlatformStakerEnds, f)}, &p, func(order, value []byte) (primary.Result, error) {
		if len(value) != chain.IDLen || len(order) == 0 {
			return primary.Passed, fmt.Errorf("%w: pending reward", primary.ErrRow)
		}
		s, err := must(v.staker(chain.ID(value)))
		if err != nil {
			return primary.Passed, err
		}
		r := &primary.Reward{
			Kind: primary.ValidatorReward, Owners: s.RewardOwners, TxID: s.TxID, Node: s.Node, Subnet: s.Subnet, Staked: s.Weight,
			Start: s.Start, End: s.End, Asset: s.asset, Amount: s.Net, Time: s.End,
		}
		switch {
		case order[len(order)-1] == endShare:
			r.Kind, r.Owners, r.Amount = primary.ValidatorFee, s.DelegationOwners, s.accrued+s.expected
			if r.Amount == 0 {
				return primary.Passed, nil
			}
		case s.Delegator:
			r.Kind = primary.DelegatorReward
		}
		return taken(take(r))
	})
}

func (v *View) rewardLists(table byte, f *primary.RewardFilter) (lists []primary.Key) {
	for _, n := range f.Nodes {
		lists = append(lists, v.Key(table).U8(listNode).Bytes(n[:]))
	}
	for _, a := range f.Addresses {
		lists = append(lists, v.Key(table).U8(listAddress).Bytes(a[:]))
	}
	return lists
}

// L1Validators lists validators of L1s by the time of their creation: the active ones,
// or all that ever were.
func (v *View) L1Validators(f *primary.L1Filter, p primary.Page, take func(*primary.L1Validator) bool) (primary.Position, error) {
	if f.ValidationID != nil {
		one, found, err := v.L1Validator(*f.ValidationID)
		if err == nil && found && v.matches(f, one) && len(p.After) == 0 && p.Limit > 0 {
			take(one)
		}
		return nil, err
	}
	k := v.Key(store.PlatformL1Lists).U8(listAll)
	switch {
	case f.Node != nil:
		k = v.Key(store.PlatformL1Lists).U8(listNode).Bytes(f.Node[:])
	case f.Subnet != nil:
		k = v.Key(store.PlatformL1Lists).U8(listSubnet).ID(*f.Subnet)
	}
	l := &primary.Lists{Live: []primary.Key{k.Clone().U8(0)}}
	if f.Inactive {
		l.Live = append(l.Live, k.Clone().U8(1))
	}
	return v.List(l, &p, ids(func(id chain.ID) (primary.Result, error) {
		one, err := must(v.L1Validator(id))
		if err != nil || !v.matches(f, one) {
			return primary.Passed, err
		}
		return taken(take(one))
	}))
}

func (v *View) matches(f *primary.L1Filter, one *primary.L1Validator) bool {
	return (f.Inactive || one.Active) && (f.Node == nil || *f.Node == one.Node) && (f.Subnet == nil || *f.Subnet == one.Subnet)
}

// L1Validator returns a validator of an L1, also one that was removed.
func (v *View) L1Validator(id chain.ID) (*primary.L1Validator, bool, error) {
	b, found, err := v.Get(v.Key(store.PlatformL1).ID(id))
	if err != nil || !found {
		return nil, false, err
	}
	one, err := decodeL1(id, b)
	if err != nil {
		return nil, false, err
	}
	if one.Active && !one.open && v.head.FeesKnown {
		one.Balance = one.limit - min(one.limit, v.head.Fees.Accrued)
	}
	return &one.L1Validator, true, nil
}

// EachOutput yields all outputs that ever were, in the order of their IDs: for
// checks and sums, for it costs what the chain holds.
func (v *View) EachOutput(take func(*primary.Output)) error {
	l := &primary.Lists{Prefixes: []primary.Key{v.Key(store.PrimaryUTXOs)}}
	_, err := v.List(l, &primary.Page{Limit: 1 << 62, Asc: true}, func(id, _ []byte) (primary.Result, error) {
		u, err := must(v.Output(chain.ID(id)))
		if err == nil {
			take(u)
		}
		return primary.Taken, err
	})
	return err
}
