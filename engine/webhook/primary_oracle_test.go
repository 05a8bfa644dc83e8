package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// oracle knows what webhooks must be told. It looks at the chain after each block, as it
// is then: nothing is counted back.
type oracle struct {
	w     *primaryWorld
	hooks []*Hook
	want  [][]string
	below []map[address.Address]bool
	l1s   map[chain.ID]primary.L1Validator // after the block before
	on    primary.Kind
	at    uint64 // the next block

	// What was looked up of the chain as it is after the block: webhooks share addresses.
	now    map[chain.ID]primary.L1Validator
	txs    map[chain.ID][]address.Address // owners by transaction
	amount map[address.Address]map[string][2]uint64
}

// expect returns what each of some webhooks that are made after a number of blocks is
// told of those behind them.
func expect(w *primaryWorld, on primary.Kind, begin int, hooks ...Hook) [][]string {
	o := &oracle{w: w, on: on}
	if on == primary.XChain {
		w.grow(primary.XVertices, 1<<20)
	}
	w.grow(on, begin)
	r := w.open(on)
	o.at = r.horizon + 1
	o.look(r)
	for i := range hooks {
		o.hooks = append(o.hooks, &hooks[i])
		o.below = append(o.below, map[address.Address]bool{})
		o.lows(r, i, hooks[i].Keys)
	}
	o.want = make([][]string, len(hooks))
	o.l1s = o.now
	r.Close()
	for before := -1; before != w.done[on]; {
		before = w.done[on]
		w.grow(on, 1)
		r := w.open(on)
		for ; o.at <= r.horizon; o.at++ {
			o.block(r)
		}
		r.Close()
	}
	return o.want
}

func (o *oracle) check(err error) {
	o.w.t.Helper()
	if err != nil {
		o.w.t.Fatal(err)
	}
}

// look forgets what was looked up before: rows have changed.
func (o *oracle) look(r *Rows) {
	o.now, o.txs, o.amount = o.validators(r), map[chain.ID][]address.Address{}, map[address.Address]map[string][2]uint64{}
}

func (o *oracle) validators(r *Rows) map[chain.ID]primary.L1Validator {
	all := map[chain.ID]primary.L1Validator{}
	if r.Platform == nil {
		return all
	}
	_, err := r.Platform.L1Validators(&primary.L1Filter{Inactive: true}, primary.Page{Limit: 1 << 20, Asc: true}, func(v *primary.L1Validator) bool {
		all[v.ValidationID] = *v
		return true
	})
	o.check(err)
	return all
}

// holds returns the sums of outputs that addresses have now.
func (o *oracle) holds(r *Rows, of ...address.Address) map[string][2]uint64 {
	sums := map[string][2]uint64{}
	now := r.Tip().TimeMilli / 1000
	if r.Platform != nil {
		now = r.Platform.Time()
	}
	_, err := r.Outputs(of, []primary.OutputState{primary.Unspent, primary.Staked}, primary.Page{Limit: 1 << 20, Asc: true}, func(u *primary.Output) (primary.Result, error) {
		name := "unlocked"
		if u.Locktime > now || u.StakeLock > now {
			name = "locked"
		}
		switch {
		case r.Platform == nil:
			if name = "unlocked"; u.Locktime > now {
				name = "locked"
			}
		case u.State == primary.Staked:
			name += "Staked"
			if s, found, err := r.Platform.Staker(u.TxID); err == nil && found && s.Status == primary.Pending {
				name = "pendingStaked"
			}
		case u.Locktime > now:
			name = "lockedPlatform"
		case u.StakeLock > now:
			name = "lockedStakeable"
		default:
			name = "unlockedUnstaked"
		}
		if u.Kind == utxo.TransferOutput {
			key := name + " " + u.Asset.String()
			sums[key] = [2]uint64{sums[key][0] + u.Amount, sums[key][1] + 1}
		}
		return primary.Taken, nil
	})
	o.check(err)
	return sums
}

// lows notes which addresses are below the least of a webhook, and returns those that
// were not before.
func (o *oracle) lows(r *Rows, i int, of []address.Address) (fell []address.Address) {
	h := o.hooks[i]
	for _, a := range of {
		if h.Low == nil {
			break
		}
		if o.amount[a] == nil {
			o.amount[a] = o.holds(r, a)
		}
		below := o.amount[a][h.Low.Balance+" "+r.Network.AVAX.String()][0] < h.Low.Least
		if below && !o.below[i][a] {
			fell = append(fell, a)
		}
		o.below[i][a] = below
	}
	return fell
}

// owners returns who has part in a transaction.
func (o *oracle) owners(r *Rows, row *primary.TxRow) (in []address.Address) {
	if in, ok := o.txs[row.ID]; ok {
		return in
	}
	outs, err := parts{}.Tx(r, row)
	o.check(err)
	for _, u := range append(outs.Consumed, outs.Emitted...) {
		in = append(in, u.Addresses...)
	}
	o.txs[row.ID] = in
	return in
}

func (o *oracle) block(r *Rows) {
	txs, err := r.txsOf(o.at, nil)
	o.check(err)
	o.look(r)
	for i, h := range o.hooks {
		if h.Kind() == PrimaryActivity {
			o.addresses(r, i, h, txs)
		} else {
			o.validatorTxs(r, i, h, txs)
		}
	}
	o.l1s = o.now
}

func (o *oracle) add(i int, format string, args ...any) {
	o.want[i] = append(o.want[i], fmt.Sprintf("%06d ", o.at)+fmt.Sprintf(format, args...))
}

func (o *oracle) addresses(r *Rows, i int, h *Hook, txs []*primary.TxRow) {
	last := map[address.Address]string{}
	for _, row := range txs {
		var mine []address.Address
		owners := o.owners(r, row)
		for _, k := range h.Keys {
			if slices.Contains(owners, k) {
				mine, last[k] = append(mine, k), row.ID.String()+" "
			}
		}
		if len(mine) == 0 {
			continue
		}
		if h.tells(BalanceChange) {
			sums := o.holds(r, mine...)
			var held []string
			for _, name := range slices.Sorted(maps.Keys(sums)) {
				held = append(held, fmt.Sprintf("%s=%d in %d", name, sums[name][0], sums[name][1]))
			}
			o.add(i, "balance_change %s %s %s", row.ID, r.texts(mine), strings.Join(held, ","))
		}
		if h.tells(RewardPaid) {
			o.rewards(r, i, row, &primary.RewardFilter{Addresses: mine})
		}
	}
	for _, k := range o.lows(r, i, h.Keys) { // also where nothing but time changes them
		o.add(i, "balance_threshold %s%s", last[k], r.texts([]address.Address{k}))
	}
}

func (o *oracle) rewards(r *Rows, i int, row *primary.TxRow, f *primary.RewardFilter) {
	if r.Platform == nil {
		return
	}
	_, err := r.Platform.Rewards(f, primary.Page{Limit: 1 << 20, Asc: true}, func(p *primary.Reward) bool {
		if p.RewardTx == row.ID {
			o.add(i, "reward_distribution %s %s %d", row.ID, r.texts(p.Owners.Addresses), p.Amount)
		}
		return true
	})
	o.check(err)
}

// validatorTxs says what is told of validators. What comes in a block is sorted.
func (o *oracle) validatorTxs(r *Rows, i int, h *Hook, txs []*primary.TxRow) {
	first := len(o.want[i])
	now, told := o.now, map[chain.ID]bool{}
	tell := func(sub Sub, row *primary.TxRow, node chain.NodeID, subnet, validation chain.ID) {
		if h.Validators.match(node, subnet) && h.tells(sub) {
			o.add(i, "%s %s %s %s", sub, row.ID, node, validation)
		}
	}
	l1 := func(sub Sub, row *primary.TxRow, id chain.ID) {
		told[id] = told[id] || sub == L1Disabled || sub == L1Removed
		tell(sub, row, now[id].Node, now[id].Subnet, id)
	}
	for _, row := range txs {
		tx, err := platform.ParseTx(row.Raw)
		o.check(err)
		switch t := tx.Body.(type) {
		case *platform.RewardValidator:
			s, found, err := r.Platform.Staker(t.TxID)
			o.check(err)
			if found && h.Validators.match(s.Node, s.Subnet) && h.tells(RewardPaid) {
				o.rewards(r, i, row, &primary.RewardFilter{Nodes: []chain.NodeID{s.Node}})
			}
		case *platform.IncreaseL1ValidatorBalance:
			l1(L1Increased, row, t.ValidationID)
		case *platform.DisableL1Validator:
			if len(row.Made) > 0 { // it was active: what was left is paid back
				l1(L1Disabled, row, t.ValidationID)
			}
		case *platform.SetL1ValidatorWeight:
			if m, err := t.Weight(); err == nil && m.Weight == 0 {
				l1(L1Removed, row, m.ValidationID)
			}
		default:
			if s, found, err := r.Platform.Staker(tx.ID); err == nil && found && !row.Aborted {
				sub := ValidatorStake
				if s.Delegator {
					sub = DelegatorStake
				}
				tell(sub, row, s.Node, s.Subnet, chain.ID{})
			}
			for id, v := range now {
				if v.CreateTx == row.ID {
					l1(ValidatorStake, row, id)
				}
			}
		}
	}
	for id, v := range now {
		was := o.l1s[id]
		if !h.Validators.match(v.Node, v.Subnet) || !was.Active {
			continue
		}
		if !v.Active && !told[id] && h.tells(L1Disabled) {
			o.add(i, "%s %s", L1Disabled, id)
		}
		if least := h.Validators.Least; least != nil && was.Balance >= *least && v.Balance < *least && h.tells(L1Low) {
			o.add(i, "%s %s", L1Low, id)
		}
	}
	slices.Sort(o.want[i][first:])
}
