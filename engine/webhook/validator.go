package webhook

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/primary"
)

// validators derives the messages about the validators of a webhook.
type validators struct {
	hook *Hook
	// watch is what is known of the balances of those of L1s, nil where nothing is told
	// that depends on them.
	watch *watch
}

func (v *validators) state() []byte {
	if v.watch == nil {
		return nil
	}
	return v.watch.encode()
}

// watches reports whether balances of validators of L1s are to be watched: they fall by
// the second, and no transaction says so.
func watches(h *Hook) bool { return h.tells(L1Disabled, L1Low) }

func readValidatorState(h *Hook, state []byte) (*validators, error) {
	v := &validators{hook: h}
	if h.Validators == nil {
		return nil, errPoint
	}
	if !watches(h) {
		return v, nil
	}
	var err error
	v.watch, err = decodeWatch(state)
	return v, err
}

// beginValidators returns what the balances are after the last block.
func beginValidators(r *Rows, h *Hook) (*validators, error) {
	v := &validators{hook: h}
	if !watches(h) {
		return v, nil
	}
	fees, _, ok := r.Platform.L1Fees()
	if !ok || !r.Platform.Exact() {
		return nil, fmt.Errorf("%w: the P-Chain is not indexed from its genesis on", ErrWatched)
	}
	v.watch = &watch{fees: fees, limits: map[chain.ID]uint64{}}
	f := primary.L1Filter{Node: h.Validators.Node, Subnet: h.Validators.Subnet}
	page := primary.Page{Limit: maxHeld, Asc: true}
	for {
		next, err := r.Platform.L1Validators(&f, page, func(one *primary.L1Validator) bool {
			if h.Validators.match(one.Node, one.Subnet) {
				v.watch.limits[one.ValidationID] = fees.Accrued + one.Balance
			}
			return len(v.watch.limits) <= maxWatched
		})
		if err == nil {
			err = v.watch.bounded()
		}
		if err != nil {
			return nil, err
		}
		if page.After = next; next == nil {
			return v, nil
		}
	}
}

// next implements derivation.
func (v *validators) next(r *Rows, from uint64) (uint64, bool, error) {
	return max(from, r.First()), max(from, r.First()) <= r.horizon, nil
}

// blockOf is a block whose messages are derived.
type blockOf struct {
	*primary.BlockInfo
	r     *Rows
	v     *validators
	out   *messages
	watch *watch // changes with the block; nil without
}

// derive implements derivation.
func (v *validators) derive(r *Rows, height uint64, out *messages) (derivation, error) {
	info, err := r.block(height)
	if err != nil {
		return nil, err
	}
	b := &blockOf{BlockInfo: info, r: r, v: v, out: out}
	before := map[chain.ID]uint64{}
	if v.watch != nil {
		b.watch = v.watch.clone()
		if before, err = b.advance(); err != nil {
			return nil, err
		}
	}
	txs, err := r.txsOf(height, nil)
	if err != nil {
		return nil, err
	}
	for _, row := range txs {
		tx, err := platform.ParseTx(row.Raw)
		if err != nil {
			return nil, err
		}
		if err := b.tx(row, tx.Body); err != nil {
			return nil, err
		}
	}
	if b.watch == nil {
		return v, nil
	}
	if err := b.deactivate(); err != nil {
		return nil, err
	}
	if err := b.low(before); err != nil {
		return nil, err
	}
	return &validators{hook: v.hook, watch: b.watch}, b.watch.bounded()
}

// tx adds what a transaction does to the validators of the webhook.
func (b *blockOf) tx(row *primary.TxRow, body platform.Body) error {
	if s, ok := body.Staking(); ok {
		sub := ValidatorStake
		if s.Delegator {
			sub = DelegatorStake
		}
		return b.stake(sub, row, s.NodeID, s.Subnet)
	}
	if staked, ok := body.Rewards(); ok {
		return b.reward(row, staked)
	}
	for _, c := range body.L1Changes() {
		if err := b.change(row, &c); err != nil {
			return err
		}
	}
	return nil
}

// change adds what a transaction does to a validator of an L1.
func (b *blockOf) change(row *primary.TxRow, c *platform.L1Change) error {
	switch c.Does {
	case platform.L1Register:
		return b.register(row, c.ValidationID, c.Balance)
	case platform.L1Fund:
		return b.increase(row, c)
	case platform.L1Disable:
		return b.disable(row, c.ValidationID)
	case platform.L1Remove:
		return b.remove(row, c.ValidationID)
	case platform.L1Weigh:
	}
	return nil
}

// tell adds a message with a transaction.
func (b *blockOf) tell(sub Sub, row *primary.TxRow, id []byte, node chain.NodeID, subnet chain.ID, more object) error {
	if !b.v.hook.tells(sub) {
		return nil
	}
	return b.out.add(sub, [][]byte{row.Block[:], row.ID[:], id}, func() (object, error) {
		t, err := b.r.writer.Tx(b.r, row)
		if err != nil {
			return nil, err
		}
		e, err := b.r.txEvent(t)
		if err != nil {
			return nil, err
		}
		e["nodeId"], e["subnetId"] = node.String(), subnet.String()
		maps.Copy(e, more)
		return e, nil
	})
}

func (b *blockOf) stake(sub Sub, row *primary.TxRow, node chain.NodeID, subnet chain.ID) error {
	if row.Aborted || !b.v.hook.Validators.match(node, subnet) {
		return nil
	}
	return b.tell(sub, row, node[:], node, subnet, nil)
}

// reward adds what is paid at the end of a stake, or of a cycle of it.
func (b *blockOf) reward(row *primary.TxRow, staked chain.ID) error {
	if !b.v.hook.tells(RewardPaid) {
		return nil
	}
	s, found, err := b.r.Platform.Staker(staked)
	if err != nil || !found || !b.v.hook.Validators.match(s.Node, s.Subnet) {
		return err
	}
	tx, err := b.r.writer.Tx(b.r, row)
	if err != nil {
		return err
	}
	return b.r.rewards(row, tx, &primary.RewardFilter{Nodes: []chain.NodeID{s.Node}}, b.out, nil)
}

// l1 returns a validator of an L1 if it is one of the webhook's.
func (b *blockOf) l1(id chain.ID) (*primary.L1Validator, error) {
	one, found, err := b.r.Platform.L1Validator(id)
	if err != nil || !found || !b.v.hook.Validators.match(one.Node, one.Subnet) {
		return nil, err
	}
	return one, nil
}

func (b *blockOf) register(row *primary.TxRow, id chain.ID, balance uint64) error {
	one, err := b.l1(id)
	if err != nil || one == nil {
		return err
	}
	if b.watch != nil {
		b.watch.fund(id, balance)
	}
	return b.tell(ValidatorStake, row, id[:], one.Node, one.Subnet, object{"validationId": id.String()})
}

func (b *blockOf) increase(row *primary.TxRow, t *platform.L1Change) error {
	one, err := b.l1(t.ValidationID)
	if err != nil || one == nil {
		return err
	}
	if b.watch != nil {
		b.watch.fund(t.ValidationID, t.Balance)
	}
	return b.tell(L1Increased, row, t.ValidationID[:], one.Node, one.Subnet, object{
		"validationId": t.ValidationID.String(), "amount": decimal(t.Balance),
	})
}

func (b *blockOf) disable(row *primary.TxRow, id chain.ID) error {
	one, err := b.l1(id)
	if err != nil || one == nil {
		return err
	}
	if b.watch == nil {
		return nil // nothing would be told
	}
	if _, active := b.watch.limits[id]; !active {
		return nil
	}
	delete(b.watch.limits, id)
	return b.tell(L1Disabled, row, id[:], one.Node, one.Subnet, object{"validationId": id.String(), "reason": "transaction"})
}

func (b *blockOf) remove(row *primary.TxRow, id chain.ID) error {
	one, err := b.l1(id)
	if err != nil || one == nil {
		return err
	}
	if b.watch != nil {
		delete(b.watch.limits, id)
	}
	return b.tell(L1Removed, row, id[:], one.Node, one.Subnet, object{"validationId": id.String()})
}

// passing adds a message about what no transaction does.
func (b *blockOf) passing(sub Sub, id chain.ID, more object) error {
	if !b.v.hook.tells(sub) {
		return nil
	}
	one, err := b.l1(id)
	if err != nil || one == nil {
		return err
	}
	return b.out.add(sub, [][]byte{b.ID[:], id[:]}, func() (object, error) {
		e := b.r.blockEvent(b.BlockInfo)
		e["validationId"], e["nodeId"], e["subnetId"] = id.String(), one.Node.String(), one.Subnet.String()
		maps.Copy(e, more)
		return e, nil
	})
}

// advance has validators pay for the time since the block before, and returns the
// balances that they had then. Those that could not pay are disabled.
func (b *blockOf) advance() (before map[chain.ID]uint64, err error) {
	before = make(map[chain.ID]uint64, len(b.watch.limits))
	for id, limit := range b.watch.limits {
		before[id] = limit - min(limit, b.watch.fees.Accrued)
	}
	prev, err := b.r.block(b.Height - 1)
	if err != nil {
		return nil, err
	}
	end, err := b.end()
	if err != nil {
		return nil, err
	}
	_, config, _ := b.r.Platform.L1Fees()
	if b.watch.fees, err = b.watch.fees.Advance(config, b.Time-min(prev.Time, b.Time)); err != nil {
		return nil, err
	}
	b.watch.fees.Accrued = *end.L1Fees
	return before, b.run(b.watch.fees.Accrued)
}

// end returns what is known after the block's transactions: a proposal is executed with
// its option.
func (b *blockOf) end() (*primary.BlockInfo, error) {
	end, err := b.BlockInfo, error(nil)
	if proposes(b.BlockInfo) {
		if end, err = b.r.block(b.Height + 1); err != nil {
			return nil, err
		}
	}
	if end.L1Fees == nil || end.ActiveL1 == nil {
		return nil, fmt.Errorf("%w: what they pay is not known", ErrWatched)
	}
	return end, nil
}

// run disables those whose limit is at most what has accrued.
func (b *blockOf) run(accrued uint64) error {
	for _, id := range b.watch.ids() {
		if b.watch.limits[id] > accrued {
			continue
		}
		delete(b.watch.limits, id)
		if err := b.passing(L1Disabled, id, object{"reason": "balance"}); err != nil {
			return err
		}
	}
	return nil
}

// deactivate disables those that could not pay for another second.
func (b *blockOf) deactivate() error {
	end, err := b.end()
	if err != nil {
		return err
	}
	// The price follows from how many were active before this. With fewer it is lower if
	// at all: whoever is missed is found with the next block.
	b.watch.fees.Active = *end.ActiveL1
	_, config, _ := b.r.Platform.L1Fees()
	next, err := b.watch.fees.NextSecond(config)
	if err != nil || next == 0 {
		return err
	}
	return b.run(next - 1)
}

// low says which balances fell below the least of the webhook in the block.
func (b *blockOf) low(before map[chain.ID]uint64) error {
	least := b.v.hook.Validators.Least
	if least == nil || !b.v.hook.tells(L1Low) {
		return nil
	}
	for _, id := range slices.SortedFunc(maps.Keys(before), compareIDs) {
		limit := b.watch.limits[id] // 0 if it is not active any more
		left := limit - min(limit, b.watch.fees.Accrued)
		if before[id] < *least || left >= *least {
			continue
		}
		if err := b.passing(L1Low, id, object{"balanceThreshold": decimal(*least), "remainingBalance": decimal(left)}); err != nil {
			return err
		}
	}
	return nil
}

func compareIDs(a, b chain.ID) int { return bytes.Compare(a[:], b[:]) }
