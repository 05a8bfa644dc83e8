package webhook

import (
	"bytes"
	"math"
	"slices"
	"sort"

	"quorate/engine/chain/address"
	"quorate/engine/primary"
)

// addresses derives the messages about the addresses of a webhook.
type addresses struct {
	hook *Hook
	// below says of each address whether the balance of [Low] was below it, by its bit.
	below []byte
	// wake is when, in Unix seconds, time alone changes balances next: zero is unknown,
	// [never] not at all. It is not kept: the rows say it again.
	wake uint64
}

// never is no time.
const never = math.MaxUint64

func (a *addresses) isBelow(i int) bool { return a.below[i/8]&(1<<(i%8)) != 0 }

func (a *addresses) setBelow(i int, v bool) {
	if a.below[i/8] &^= 1 << (i % 8); v {
		a.below[i/8] |= 1 << (i % 8)
	}
}

func (a *addresses) state() []byte { return a.below }

func readAddressState(h *Hook, state []byte) (*addresses, error) {
	a := &addresses{hook: h}
	if h.Low == nil {
		return a, nil
	}
	if len(state) != (len(h.Keys)+7)/8 {
		return nil, errPoint
	}
	a.below = state
	return a, nil
}

// beginAddresses returns what is below its least after the last block.
func beginAddresses(r *Rows, h *Hook) (*addresses, error) {
	a := &addresses{hook: h}
	if h.Low == nil {
		return a, nil
	}
	a.below = make([]byte, (len(h.Keys)+7)/8)
	held, err := r.holdings(h.Keys, r.horizon)
	if err != nil || held == nil {
		return a, err
	}
	for i, k := range h.Keys {
		a.setBelow(i, held.amount(r, h.Low.Balance, k) < h.Low.Least)
	}
	return a, nil
}

// near is how many blocks before the horizon are looked at transaction by transaction:
// to look for each address costs a hundred times what the next block does.
const near = 16

// next implements derivation.
func (a *addresses) next(r *Rows, from uint64) (height uint64, ok bool, err error) {
	if height, ok, err = a.nextTx(r, from); err != nil || a.hook.Low == nil {
		return height, ok, err
	}
	last := r.horizon
	if ok {
		last = height
	}
	if wakes, found, err := a.wakes(r, from, last); err != nil || found {
		return wakes, found, err
	}
	return height, ok, nil
}

// wakes returns the first block of some in which time alone may have changed balances.
func (a *addresses) wakes(r *Rows, from, last uint64) (height uint64, ok bool, err error) {
	if from > last || from <= r.First() {
		return 0, false, nil
	}
	if a.wake == 0 {
		held, err := r.holdings(a.hook.Keys, from-1)
		if err != nil {
			return 0, false, err
		}
		a.wake = held.wake()
	}
	late := func(height uint64) bool {
		b, e := r.block(height)
		if e != nil {
			err = e
			return false
		}
		return b.Time >= a.wake
	}
	if a.wake == never || !late(last) || err != nil {
		return 0, false, err
	}
	n := sort.Search(int(last-from), func(i int) bool { return late(from + uint64(i)) })
	return from + uint64(n), err == nil, err
}

// nextTx returns the first block from a height on in which the addresses have part.
func (a *addresses) nextTx(r *Rows, from uint64) (height uint64, ok bool, err error) {
	for height = from; height <= r.horizon && r.horizon-height < near; height++ {
		if ok, err = a.concerned(r, height); err != nil || ok {
			return height, ok, err
		}
	}
	if height > r.horizon {
		return height, false, nil
	}
	_, err = r.Txs(a.hook.Keys, primary.TimeRange{}, primary.Page{After: before(from), Limit: 1, Asc: true}, func(t *primary.TxRow) (primary.Result, error) {
		height, ok = t.Height, t.Height <= r.horizon
		return primary.Taken, nil
	})
	return height, ok, err
}

// concerned reports whether the addresses have part in a block.
func (a *addresses) concerned(r *Rows, height uint64) (bool, error) {
	txs, err := r.txsOf(height, nil)
	if err != nil {
		return false, err
	}
	for _, row := range txs {
		t, err := r.writer.Tx(r, row)
		if err != nil {
			return false, err
		}
		if len(a.part(t)) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// txsOf returns the transactions of a block, or those that addresses have part in.
func (r *Rows) txsOf(height uint64, of []address.Address) (list []*primary.TxRow, err error) {
	_, err = r.Txs(of, primary.TimeRange{}, primary.Page{After: before(height), Limit: maxTxs, Asc: true}, func(t *primary.TxRow) (primary.Result, error) {
		if t.Height != height {
			return primary.Full, nil
		}
		list = append(list, t)
		return primary.Taken, nil
	})
	return list, err
}

// maxTxs is more than the transactions that a block has room for.
const maxTxs = 1 << 20

// derive implements derivation. What changes with the rows that are there, and not with
// the block alone, comes last: those before keep their numbers.
func (a *addresses) derive(r *Rows, height uint64, out *messages) (derivation, error) {
	txs, err := r.txsOf(height, a.hook.Keys)
	if err != nil {
		return nil, err
	}
	var held *holdings // made when it is needed; nil if there are too many
	made := false
	holds := func() (*holdings, error) {
		if made {
			return held, nil
		}
		made = true
		held, err = r.holdings(a.hook.Keys, height)
		return held, err
	}
	last := map[address.Address]change{}
	for _, row := range txs {
		t, err := r.writer.Tx(r, row)
		if err != nil {
			return nil, err
		}
		mine := a.part(t)
		for _, k := range mine {
			last[k] = change{row, t}
		}
		if len(mine) == 0 {
			continue
		}
		if a.hook.tells(BalanceChange) {
			if err := a.changed(r, row, t, mine, holds, out); err != nil {
				return nil, err
			}
		}
		if a.hook.tells(RewardPaid) && r.Platform != nil {
			if err := r.rewards(row, t, &primary.RewardFilter{Addresses: mine}, out, nil); err != nil {
				return nil, err
			}
		}
	}
	if a.hook.Low == nil {
		return a, nil
	}
	if _, err := holds(); err != nil {
		return nil, err
	}
	if held == nil {
		return &addresses{hook: a.hook, below: a.below, wake: never}, nil
	}
	return a.low(r, height, last, held, out)
}

// change is a transaction that changes the balance of an address.
type change struct {
	row *primary.TxRow
	tx  *Tx
}

// part returns the addresses whose outputs a transaction spends or makes.
func (a *addresses) part(t *Tx) (mine []address.Address) {
	for i := range a.hook.Keys {
		k := a.hook.Keys[i]
		owns := func(u *primary.Output) bool { return slices.Contains(u.Addresses, k) }
		if slices.ContainsFunc(t.Consumed, owns) || slices.ContainsFunc(t.Emitted, owns) {
			mine = append(mine, k)
		}
	}
	return mine
}

func (r *Rows) texts(list []address.Address) []string {
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = list[i].Text(address.Prefix(r.Network.ID))
	}
	return texts
}

// event returns what all messages of the primary network have.
func (r *Rows) event() object {
	return object{"chainInfo": object{"chainName": r.On.String(), "network": r.Name}}
}

// blockEvent is event with a block: for what no transaction does.
func (r *Rows) blockEvent(b *primary.BlockInfo) object {
	e := r.event()
	e["blockNumber"], e["blockHash"], e["blockTimestamp"] = decimal(b.Height), b.ID.String(), b.Time
	return e
}

// txEvent is event with a transaction.
func (r *Rows) txEvent(t *Tx) (object, error) {
	raw, err := t.Write()
	if err != nil {
		return nil, err
	}
	e := r.event()
	e["transaction"], err = parsed(raw)
	return e, err
}

func (a *addresses) changed(r *Rows, row *primary.TxRow, t *Tx, mine []address.Address, holds func() (*holdings, error), out *messages) error {
	return out.add(BalanceChange, [][]byte{row.Block[:], row.ID[:]}, func() (object, error) {
		e, err := r.txEvent(t)
		if err != nil {
			return nil, err
		}
		e["addresses"] = r.texts(mine)
		held, err := holds()
		if err != nil || held == nil {
			return e, err
		}
		raw, err := r.writer.Balances(r, held.sums(r, mine))
		if err != nil {
			return nil, err
		}
		e["balances"], err = parsed(raw)
		return e, err
	})
}

// low says which balances fell below the least of the webhook in a block: by the last
// transaction of each address, or by time alone.
func (a *addresses) low(r *Rows, height uint64, last map[address.Address]change, held *holdings, out *messages) (derivation, error) {
	block, err := r.block(height)
	if err != nil {
		return nil, err
	}
	next := &addresses{hook: a.hook, below: bytes.Clone(a.below), wake: held.wake()}
	for i, k := range a.hook.Keys {
		amount := held.amount(r, a.hook.Low.Balance, k)
		next.setBelow(i, amount < a.hook.Low.Least)
		if amount >= a.hook.Low.Least || a.isBelow(i) {
			continue
		}
		by, ok := last[k]
		about := [][]byte{block.ID[:], k[:]}
		if ok {
			about = [][]byte{by.row.Block[:], by.row.ID[:], k[:]}
		}
		if err := out.add(BalanceLow, about, func() (e object, err error) {
			if ok {
				e, err = r.txEvent(by.tx)
			} else {
				e = r.blockEvent(block)
			}
			if err == nil {
				e["addresses"], e["balanceType"] = r.texts([]address.Address{k}), a.hook.Low.Balance
				e["balanceThreshold"], e["balance"] = decimal(a.hook.Low.Least), decimal(amount)
			}
			return e, err
		}); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// rewards adds what a transaction paid as rewards to those of a filter; pass chooses
// among them, nil takes all.
func (r *Rows) rewards(row *primary.TxRow, t *Tx, f *primary.RewardFilter, out *messages, pass func(*primary.Reward) bool) error {
	var list []*primary.Reward
	after := primary.Position(primary.Key(nil).U64(row.Time).Place(row.Place))
	_, err := r.Platform.Rewards(f, primary.Page{After: after, Limit: maxTxs, Asc: true}, func(p *primary.Reward) bool {
		if p.RewardTx != row.ID {
			return false
		}
		list = append(list, p)
		return true
	})
	if err != nil {
		return err
	}
	for _, p := range list {
		if pass != nil && !pass(p) {
			continue
		}
		id := p.Ref.ID()
		if err := out.add(RewardPaid, [][]byte{row.Block[:], row.ID[:], id[:]}, func() (object, error) {
			e, err := r.txEvent(t)
			if err != nil {
				return nil, err
			}
			raw, err := r.writer.Reward(r, p)
			if err != nil {
				return nil, err
			}
			e["addresses"], e["nodeId"], e["subnetId"] = r.texts(p.Owners.Addresses), p.Node.String(), p.Subnet.String()
			e["reward"], err = parsed(raw)
			return e, err
		}); err != nil {
			return err
		}
	}
	return nil
}
