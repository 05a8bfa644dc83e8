package primary

import (
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/xchain"
	"quorate/httpapi/door"
	"quorate/httpapi/view"
)

// anyTx is a transaction of any of the chains: exactly one member is set.
type anyTx struct {
	platform *platform.Tx
	avm      *avm.Tx
	atomic   *atomic.Tx
}

func parseTx(k primary.Kind, raw []byte) (tx anyTx, err error) {
	switch k {
	case primary.PChain:
		tx.platform, err = platform.ParseTx(raw)
	case primary.CChain:
		var list []atomic.Tx
		if list, err = atomic.Parse(raw); err == nil {
			tx.atomic = &list[0]
		}
	case primary.XChain, primary.XVertices:
		tx.avm, err = avm.ParseTx(raw)
	}
	return tx, err
}

// kind returns what the SDKs call the kind of transaction.
func (t *anyTx) kind() string {
	switch {
	case t.platform != nil:
		return t.platform.Body.Kind().String()
	case t.avm != nil:
		return t.avm.Body.Kind().String()
	case t.atomic.Kind == atomic.Import:
		return "ImportTx"
	}
	return "ExportTx"
}

// unnamed reports whether the SDKs have no name for the kind.
func (t *anyTx) unnamed() bool { return t.platform != nil && view.Unnamed(t.platform.Body.Kind()) }

// funds returns the inputs of a transaction, the outputs that it spends besides, and how
// many outputs of its own it has.
func (t *anyTx) funds() (in []utxo.Input, refs []utxo.Ref, outs int) {
	switch {
	case t.atomic != nil:
		return t.atomic.Imported, nil, len(t.atomic.Exported)
	case t.avm != nil:
		return exchangeFunds(t.avm.Body)
	}
	if base := t.platform.Body.Funds(); base != nil {
		in = base.Inputs
	}
	if imported, _ := t.platform.Body.Crossing(); len(imported) > 0 {
		in = slices.Concat(in, imported)
	}
	return in, nil, platform.OutputsOf(t.platform.Body)
}

func exchangeFunds(body avm.Body) (in []utxo.Input, refs []utxo.Ref, outs int) {
	base := body.Funds()
	in, outs = base.Inputs, len(base.Outputs)
	switch b := body.(type) {
	case *avm.Import:
		in = slices.Concat(in, b.Imported)
	case *avm.Export:
		outs += len(b.Exported)
	case *avm.CreateAsset:
		for i := range b.States {
			outs += len(b.States[i].Outputs)
		}
	case *avm.Operate:
		for i := range b.Operations {
			refs = append(refs, b.Operations[i].Inputs...)
			outs += len(b.Operations[i].Outputs)
		}
	}
	return in, refs, outs
}

// known collects what is known of a transaction besides what it says itself.
func (c *call) known(row *primary.TxRow, tx *anyTx) (*view.PrimaryTx, error) {
	t := &view.PrimaryTx{Row: row}
	in, refs, outs := tx.funds()
	consumed, ok, err := row.Consumed()
	if err == nil && !ok {
		consumed, err = c.consumed(row, in, refs)
	}
	if err != nil {
		return nil, err
	}
	t.Consumed = consumed
	spent, err := c.rows.SpentOf(row, c.Q.Ascending)
	if err != nil {
		return nil, err
	}
	t.Emitted = make([]*primary.Output, 0, outs+len(row.Made))
	for i := range outs {
		ref := utxo.Ref{TxID: row.ID, Index: uint32(i)}
		if j := slices.IndexFunc(spent, func(u *primary.Output) bool { return u.Ref == ref }); j >= 0 {
			t.Emitted = append(t.Emitted, spent[j])
		} else if t.Emitted, err = c.outputs(t.Emitted, []chain.ID{ref.ID()}); err != nil {
			return nil, err
		}
	}
	if t.Emitted, err = c.outputs(t.Emitted, row.Made); err != nil {
		return nil, err
	}
	return t, c.place(t, tx)
}

// consumed looks up what a transaction spends, one by one.
func (c *call) consumed(row *primary.TxRow, in []utxo.Input, refs []utxo.Ref) (list []*primary.Output, err error) {
	for i := range in {
		u, found, err := c.rows.Output(in[i].Ref.ID())
		if err != nil {
			return nil, err
		}
		if !found { // begun above what made it
			u = &primary.Output{UTXO: utxo.UTXO{Ref: in[i].Ref, Output: utxo.Output{Asset: in[i].Asset, StakeLock: in[i].StakeLock}}}
			u.Kind, u.Amount, u.State, u.MadeBy = utxo.TransferOutput, in[i].Amount, primary.Spent, in[i].TxID
			u.SpentBy, u.SpentAt, u.SpentTime = row.ID, row.Place, row.Time
		}
		list = append(list, u)
	}
	return c.outputs(list, refIDs(refs))
}

func refIDs(refs []utxo.Ref) []chain.ID {
	ids := make([]chain.ID, len(refs))
	for i := range refs {
		ids[i] = refs[i].ID()
	}
	return ids
}

// outputs appends those outputs that the rows have.
func (c *call) outputs(list []*primary.Output, ids []chain.ID) ([]*primary.Output, error) {
	for _, id := range ids {
		u, found, err := c.rows.Output(id)
		if err != nil {
			return nil, err
		}
		if found {
			list = append(list, u)
		}
	}
	return list, nil
}

// place finds where a transaction stands, what it stakes and what it creates.
func (c *call) place(t *view.PrimaryTx, tx *anyTx) error {
	if rows, ok := c.rows.(AssetView); ok && tx.avm != nil {
		if tx.avm.Body.Kind() == avm.KindCreateAsset {
			t.Created = c.asset(&t.Row.ID)
		}
		if t.Row.InVertex && t.Row.Height == 0 {
			return nil // made by the genesis
		}
		if t.Row.InVertex && !t.Row.Block.IsZero() {
			t.Vertex = &primary.Vertex{ID: t.Row.Block, Height: t.Row.VertexHeight, Time: t.Row.Time}
			return nil
		}
		if t.Row.InVertex {
			v, found, err := rows.VertexAt(t.Row.Height - 1)
			if err == nil && !found {
				err = fmt.Errorf("%w: vertex of transaction %s", primary.ErrRow, t.Row.ID)
			}
			t.Vertex = v
			return err
		}
	}
	if rows, ok := c.rows.(PlatformView); ok && tx.stakes() {
		s, found, err := rows.Staker(t.Row.ID)
		if err != nil {
			return err
		}
		if found {
			t.Staker = s
		}
	}
	if t.Block = t.Row.Block; !t.Block.IsZero() {
		return nil
	}
	b, found, err := c.rows.BlockAt(t.Row.Height)
	switch {
	case err != nil:
		return err
	case found:
		t.Block = b.ID
	case t.Row.Height > 0: // otherwise made by the genesis
		return fmt.Errorf("%w: block of transaction %s", primary.ErrRow, t.Row.ID)
	}
	return nil
}

// stakes reports whether a transaction adds a validator or a delegator.
func (t *anyTx) stakes() (ok bool) {
	if t.platform != nil {
		_, ok = t.platform.Body.Staking()
	}
	return ok
}

// writeTx writes a transaction.
func (c *call) writeTx(row *primary.TxRow, tx *anyTx) error {
	t, err := c.known(row, tx)
	if err != nil {
		return err
	}
	switch {
	case tx.platform != nil:
		c.W.PlatformTx(t, tx.platform)
	case tx.avm != nil:
		c.W.ExchangeTx(t, tx.avm)
	default:
		c.W.AtomicTx(t, tx.atomic)
	}
	return nil
}

// takeTx offers a transaction to the page.
func (c *call) takeTx(row *primary.TxRow) (primary.Result, error) {
	tx, err := parseTx(c.kind, row.Raw)
	switch {
	case err != nil:
		return primary.Passed, err
	case !c.own.wants(&tx):
		c.Looked++
		return primary.Passed, nil
	case !c.Room():
		return primary.Full, nil
	}
	return primary.Taken, c.writeTx(row, &tx)
}

// wants reports whether a transaction is of those that a list is asked for.
func (q *Query) wants(tx *anyTx) bool {
	if len(q.kinds) > 0 && !slices.Contains(q.kinds, tx.kind()) && !(tx.unnamed() && slices.Contains(q.kinds, "UNKNOWN")) {
		return false
	}
	return q.validation == nil || tx.platform != nil && concernsL1(tx.platform.Body, q.validation)
}

// concernsL1 reports whether a transaction makes or changes a validator of an L1.
func concernsL1(body platform.Body, id *chain.ID) bool {
	return slices.ContainsFunc(body.L1Changes(), func(c platform.L1Change) bool { return c.ValidationID == *id })
}

// latestTxs lists the transactions of a chain, or those that addresses have part
// in.
func latestTxs(c *call) *door.Failure {
	c.List("transactions")
	times, ok := c.frame()
	if !ok {
		return c.finish(nil, nil, c.chainInfo)
	}
	next, err := c.rows.Txs(c.own.addresses, times, c.page(), c.takeTx)
	return c.finish(next, err, c.chainInfo)
}

// stakingTxs lists the transactions whose stake is active.
func stakingTxs(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	c.List("transactions")
	times, ok := c.frame()
	if !ok {
		return c.finish(nil, nil, c.chainInfo)
	}
	of := primary.StakerFilter{Owners: c.own.addresses, Status: primary.Active, AnyKind: true}
	next, err := rows.Stakers(&of, c.page(), func(s *primary.Staker) bool {
		row, found, err := rows.Tx(s.TxID)
		if err != nil {
			c.Note(err)
			return false
		}
		if !found || row.Time < times.From || times.To > 0 && row.Time >= times.To { // of the genesis, or of another time
			return true
		}
		res, err := c.takeTx(row)
		if err != nil {
			c.Note(err)
		}
		return err == nil && res != primary.Full
	})
	if err == nil {
		err = c.Err
	}
	return c.finish(next, err, c.chainInfo)
}

func readTx(c *call) *door.Failure { return c.readID("txHash", &c.id) }

func singleTx(c *call) *door.Failure {
	row, found, err := c.rows.Tx(c.id)
	switch {
	case err != nil:
		return c.unreadable(err)
	case !found:
		return c.missing("transaction " + c.id.String() + " does not exist or is not indexed yet")
	}
	tx, err := parseTx(c.kind, row.Raw)
	if err == nil {
		err = c.writeTx(row, &tx)
	}
	if err != nil {
		return c.unreadable(err)
	}
	return nil
}

// asset returns an asset of the X-Chain, nil if it is not known.
func (c *call) asset(id *chain.ID) *xchain.Asset {
	rows, ok := c.rows.(AssetView)
	if !ok {
		return nil
	}
	a, found, err := rows.Asset(*id)
	if err != nil {
		c.Note(err)
	}
	if err != nil || !found {
		return nil
	}
	return a
}

func readAsset(c *call) *door.Failure { return c.readID("assetId", &c.id) }

func assetDetails(c *call) *door.Failure {
	a := c.asset(&c.id)
	switch {
	case c.Err != nil:
		return c.unreadable(c.Err)
	case a == nil:
		return c.missing("asset " + c.id.String() + " does not exist or is not indexed yet")
	}
	c.W.Asset(a)
	return nil
}

func assetTxs(c *call) *door.Failure {
	rows, ok := c.rows.(AssetView)
	if !ok {
		return c.unreadable(ErrKind)
	}
	c.List("transactions")
	times, ok := c.frame()
	if !ok {
		return c.finish(nil, nil, c.chainInfo)
	}
	next, err := rows.AssetTxs(c.id, c.page(), func(row *primary.TxRow) (primary.Result, error) {
		if row.Time < times.From || times.To > 0 && row.Time >= times.To {
			return primary.Passed, nil
		}
		return c.takeTx(row)
	})
	return c.finish(next, err, c.chainInfo)
}
