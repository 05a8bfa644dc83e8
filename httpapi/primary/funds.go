package primary

import (
	"slices"
	"strconv"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/view"
)

// addressNames are the members of a body that names addresses.
var addressNames = door.MemberNames{"addresses"}

// readBody reads the addresses of a body as those of the query.
func (c *call) readBody() *door.Failure {
	if f := door.CheckJSON(c.Ctx); f != nil {
		return f
	}
	var mistyped *door.Failure
	m, err := door.ParseObject(c.Ctx.Request.Body(), &addressNames, false, func(name []byte) {
		if mistyped == nil {
			mistyped = c.Q.Ignored.Add("member", name, addressNames[:1])
		}
	})
	switch {
	case err != nil:
		return door.AsFailure(err)
	case mistyped != nil:
		return mistyped
	case m[0].Kind() != door.Text:
		return door.BadRequest("addresses must be a string with a comma-separated list")
	}
	c.own.listed, c.own.listedAs = m[0].Bytes(), addressNames[0]
	if len(c.own.listed) == 0 {
		return door.BadRequest("addresses is required")
	}
	return nil
}

// unspent are the states of outputs that are there.
var unspent = []primary.OutputState{primary.Unspent, primary.Staked}

// listOutputs lists the outputs of addresses.
func listOutputs(c *call) *door.Failure {
	states := unspent
	if c.own.spent {
		states = slices.Concat(states, []primary.OutputState{primary.Spent})
	}
	if c.kind == primary.CChain { // it has none but those that are on their way
		states = []primary.OutputState{primary.Exported}
	}
	q := &c.own
	c.List("utxos")
	next, err := c.rows.Outputs(q.addresses, states, c.page(), func(u *primary.Output) (primary.Result, error) {
		if c.kind == primary.CChain && !q.spent { // what arrived is not on its way any more
			if there, err := c.imported(u); err != nil || there {
				return primary.Passed, err
			}
		}
		switch {
		case u.Kind == utxo.TransferOutput && u.Amount < q.least || q.asset != nil && u.Asset != *q.asset:
			return primary.Passed, nil
		case !c.Room():
			return primary.Full, nil
		case c.kind == primary.PChain:
			c.W.PlatformOutput(u)
		default:
			c.W.ExchangeOutput(u)
		}
		return primary.Taken, nil
	})
	return c.finish(next, err, c.chainInfo)
}

const (
	// maxSummed bounds the outputs that a balance is the sum of: more are read from the
	// list of outputs, page by page.
	maxSummed = 100_000
	// summedPage is how many of them are read at a time.
	summedPage = 10_000
)

// sums are balances by their name.
type sums map[string][]view.Balance

func (s sums) add(name string, u *primary.Output, shared *chain.ID) {
	list := s[name]
	for i := range list {
		b := &list[i]
		if b.Asset == u.Asset && (shared == nil) == (b.Shared == nil) && (shared == nil || *shared == *b.Shared) {
			b.Amount += min(u.Amount, ^uint64(0)-b.Amount)
			b.Count++
			return
		}
	}
	s[name] = append(list, view.Balance{Asset: u.Asset, Amount: u.Amount, Count: 1, Shared: shared})
}

// balanceNames are the members of a balance on each chain, in their order.
var balanceNames = map[primary.Kind][]string{
	primary.PChain: {"unlockedUnstaked", "unlockedStaked", "lockedPlatform", "lockedStakeable", "lockedStaked", "pendingStaked",
		"atomicMemoryUnlocked", "atomicMemoryLocked"},
	primary.XChain: {"locked", "unlocked", "atomicMemoryUnlocked", "atomicMemoryLocked"},
	primary.CChain: {"atomicMemoryUnlocked", "atomicMemoryLocked"},
}

// balances sums up the outputs of addresses by what can be done with them.
func balances(c *call) *door.Failure {
	now := c.rows.Tip().TimeMilli / 1000
	if rows, ok := c.rows.(PlatformView); ok {
		now = rows.Time()
	}
	all, count := sums{}, 0
	states := slices.Concat(unspent, []primary.OutputState{primary.Exported})
	for p := (primary.Page{Limit: summedPage, Asc: true}); ; {
		next, err := c.rows.Outputs(c.own.addresses, states, p, func(u *primary.Output) (primary.Result, error) {
			count++
			return primary.Taken, c.sum(all, u, now)
		})
		if err != nil {
			return c.unreadable(err)
		}
		if count > maxSummed {
			return door.BadRequest("addresses have more than " + strconv.Itoa(maxSummed) + " outputs, which are not summed up for a request; list them instead")
		}
		if p.After = next; next == nil {
			break
		}
	}
	c.W.Raw(`{"balances":{`)
	for _, name := range balanceNames[c.kind] {
		c.W.Balances(name, all[name], c.kind)
	}
	c.W.Raw("}")
	c.chainInfo()
	c.W.Raw("}")
	return nil
}

// sum adds an output to where it belongs.
func (c *call) sum(all sums, u *primary.Output, now uint64) error {
	if u.Kind != utxo.TransferOutput {
		return nil
	}
	locked := u.Locktime > now
	if u.State == primary.Exported {
		there, err := c.imported(u)
		if err != nil || there {
			return err
		}
		name := "atomicMemoryUnlocked"
		if locked {
			name = "atomicMemoryLocked"
		}
		all.add(name, u, &u.Other)
		return nil
	}
	if c.kind != primary.PChain {
		name := "unlocked"
		if locked {
			name = "locked"
		}
		all.add(name, u, nil)
		return nil
	}
	name, err := c.platformSum(u, locked, u.StakeLock > now)
	if err == nil {
		all.add(name, u, nil)
	}
	return err
}

// platformSum returns which of the P-Chain's balances an output belongs to.
func (c *call) platformSum(u *primary.Output, locked, stakeable bool) (string, error) {
	if u.State != primary.Staked {
		switch {
		case locked:
			return "lockedPlatform", nil
		case stakeable:
			return "lockedStakeable", nil
		}
		return "unlockedUnstaked", nil
	}
	if rows, ok := c.rows.(PlatformView); ok {
		s, found, err := rows.Staker(u.TxID)
		if err != nil {
			return "", err
		}
		if found && s.Status == primary.Pending {
			return "pendingStaked", nil
		}
	}
	if locked || stakeable {
		return "lockedStaked", nil
	}
	return "unlockedStaked", nil
}

// imported reports whether the chain that an output was exported to has taken it. It is
// not known of chains that are not followed.
func (c *call) imported(u *primary.Output) (bool, error) {
	kind, ok := kindOf(c.network, u.Other)
	if !ok {
		return false, nil
	}
	rows, f := c.beside(kind)
	if rows == nil || f != nil {
		return false, f
	}
	got, found, err := rows.Output(u.Ref.ID())
	return found && got.State == primary.Spent, err
}

// beside returns the rows of another chain of the network, which are closed with the
// call; nil if there are none yet. The answer changes with that chain's next block, too.
func (c *call) beside(k primary.Kind) (View, error) {
	if rows, ok := c.others[k]; ok {
		return rows, nil
	}
	on, ok := c.network.Chain(k)
	if !ok {
		return nil, nil
	}
	at := reply.Mark{Chain: mark{on}} // nothing is kept of a chain without a block
	rows, err := on.View()
	switch {
	case isEmpty(err):
		rows = nil
	case err != nil:
		return nil, err
	default:
		at.Tip = evm.Hash(rows.Tip().ID)
	}
	c.Marks = append(c.Marks, at)
	if c.others == nil {
		c.others = map[primary.Kind]View{}
	}
	c.others[k] = rows
	return rows, nil
}

func (c *call) closeOthers() {
	for _, rows := range c.others {
		if rows != nil {
			rows.Close()
		}
	}
	c.others = nil
}

// newest returns the newest transaction of addresses, nil if there is none.
func newest(rows View, addresses []address.Address) (tx *primary.TxRow, err error) {
	_, err = rows.Txs(addresses, primary.TimeRange{}, primary.Page{Limit: 1}, func(row *primary.TxRow) (primary.Result, error) {
		tx = row
		return primary.Taken, nil
	})
	return tx, err
}

// lastActivity returns what any of the addresses did last.
func lastActivity(c *call) *door.Failure {
	row, err := newest(c.rows, c.own.addresses)
	if err != nil {
		return c.unreadable(err)
	}
	if row == nil {
		return c.missing("addresses have no transaction on the " + aliasKind(c.kind).String() + " of " + c.name + " that is indexed")
	}
	tx, err := parseTx(c.kind, row.Raw)
	if err != nil {
		return c.unreadable(err)
	}
	t, err := c.known(row, &tx)
	if err != nil {
		return c.unreadable(err)
	}
	mine := func(u *primary.Output) bool {
		return slices.ContainsFunc(u.Addresses, func(a address.Address) bool { return slices.Contains(c.own.addresses, a) })
	}
	consumed := false
	i := slices.IndexFunc(t.Emitted, mine)
	list := t.Emitted
	if i < 0 {
		consumed, list = true, t.Consumed
		i = slices.IndexFunc(list, mine)
	}
	var u *primary.Output
	if i >= 0 {
		u = list[i]
	}
	c.W.LastActivity(row, u, consumed, aliasKind(c.kind))
	return nil
}

// chainIDs lists for each address the chains that it has part in.
func chainIDs(c *call) *door.Failure {
	c.List("addresses")
	for _, a := range c.own.addresses {
		var ids []chain.ID
		for _, k := range onAny {
			rows, err := c.beside(k)
			if err != nil {
				return c.unreadable(err)
			}
			if rows == nil {
				continue
			}
			tx, err := newest(rows, []address.Address{a})
			if err != nil {
				return c.unreadable(err)
			}
			if on, ok := c.network.Chain(k); tx != nil && ok {
				ids = append(ids, on.ID())
			}
		}
		c.W.ChainIDs(a.Text(c.W.Primary.Prefix), ids)
	}
	return c.finish(nil, nil, nil)
}
