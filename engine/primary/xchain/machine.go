package xchain

import (
	"errors"
	"fmt"
	"slices"

	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// ErrVertices means that a block cannot be indexed before the vertices that came before
// all blocks.
var ErrVertices = errors.New("the vertices before the X-Chain's blocks are not all indexed yet")

// machine makes the rows of blocks or of vertices.
type machine struct {
	genesis []byte
	// vertices returns where the rows of the vertices lie, and whether there are any. It
	// is nil for the vertices' own machine.
	vertices func() (space primary.Space, any bool, err error)

	begun   bool // some block or vertex was applied
	stopped bool // the stop vertex was

	work applier // whose memory the next transaction has
	txs  []chain.ID
}

// The state row: u8 1 | u8 1 = the stop vertex was applied.
const stateVersion = 1

func stateKey(s primary.Space) primary.Key { return s.Key(store.XChainState) }

func decodeState(b []byte) (stopped bool, err error) {
	d := primary.NewDecoder(b)
	if d.U8() != stateVersion {
		return false, fmt.Errorf("%w: state of the X-Chain", primary.ErrRow)
	}
	stopped = d.Bool()
	return stopped, d.End("state of the X-Chain")
}

// Load implements [primary.Machine].
func (m *machine) Load(rows *primary.Overlay) error {
	b, found, err := rows.Get(stateKey(rows.Space))
	if err != nil || !found {
		return err
	}
	m.begun = true
	m.stopped, err = decodeState(b)
	return err
}

// Apply implements [primary.Machine].
func (m *machine) Apply(rows *primary.Overlay, b *primary.Block) error {
	if m.stopped {
		return fmt.Errorf("%w: behind the stop vertex", primary.ErrOrder)
	}
	if !m.begun {
		if err := m.begin(rows); err != nil {
			return err
		}
	}
	var err error
	if b.Vertex != nil {
		m.stopped = b.Vertex.Stop
		err = m.vertex(rows, b)
	} else {
		err = m.block(rows, b)
	}
	if err != nil {
		return err
	}
	if !m.begun || m.stopped {
		e := &primary.Encoder{}
		e.U8(stateVersion)
		e.Bool(m.stopped)
		rows.Put(stateKey(rows.Space), e.B)
		m.begun = true
	}
	return nil
}

// begin writes what is there before the first block or vertex.
func (m *machine) begin(rows *primary.Overlay) error {
	if m.vertices != nil {
		space, any, err := m.vertices()
		if err != nil {
			return err
		}
		if any {
			return inherit(rows, space)
		}
	}
	return m.genesisRows(rows)
}

// genesisRows writes the assets of the genesis and their outputs. They are in no block:
// their place is before the first.
func (m *machine) genesisRows(rows *primary.Overlay) error {
	if len(m.genesis) == 0 {
		return nil
	}
	assets, err := avm.ParseGenesis(m.genesis)
	if err != nil {
		return fmt.Errorf("genesis: %w", err)
	}
	for i := range assets {
		at := primary.Place{Index: uint32(i)}
		if err := m.applyTx(rows, &assets[i].Tx, primary.TxRow{Place: at}); err != nil {
			return fmt.Errorf("genesis, asset %s: %w", assets[i].Tx.ID, err)
		}
	}
	return nil
}

func (m *machine) block(rows *primary.Overlay, b *primary.Block) error {
	x := b.AVM
	info := &primary.BlockInfo{
		Chain: primary.XChain, Height: x.Height, ID: x.ID, Parent: x.Parent, Time: x.Time,
		Type: "StandardBlock", Size: x.Size, Proposer: rows.Proposer(b),
	}
	m.txs = m.txs[:0]
	for i := range x.Txs {
		tx := &x.Txs[i]
		m.txs = append(m.txs, tx.ID)
		row := primary.TxRow{Place: primary.Place{Height: x.Height, Index: uint32(i)}, Time: x.Time, Block: x.ID}
		if err := m.applyTx(rows, tx, row); err != nil {
			return fmt.Errorf("transaction %s: %w", tx.ID, err)
		}
	}
	info.Txs = m.txs
	rows.PutBlock(info)
	return nil
}

// vertex writes the rows of a vertex. A transaction may stand in several: it has effect
// in the first. The places of vertices begin at 1, behind the genesis.
func (m *machine) vertex(rows *primary.Overlay, b *primary.Block) error {
	v := b.Vertex
	row := &primary.Vertex{ID: v.ID, Parents: v.Parents, Height: v.Height, Index: b.Place, Time: b.Accepted, Size: v.Size}
	m.txs = m.txs[:0]
	for i := range v.Txs {
		tx := &v.Txs[i]
		m.txs = append(m.txs, tx.ID)
		if again, err := applied(rows, tx); err != nil {
			return err
		} else if again {
			continue
		}
		at := primary.Place{Height: b.Place + 1, Index: uint32(i)}
		if err := m.applyTx(rows, tx, primary.TxRow{Place: at, Time: b.Accepted, Block: v.ID, VertexHeight: v.Height}); err != nil {
			return fmt.Errorf("transaction %s: %w", tx.ID, err)
		}
	}
	row.Txs = m.txs
	putVertex(rows, row)
	return nil
}

// applied reports whether a vertex before has the transaction: then that has spent what the
// transaction spends. The output is about to be read anyway and in memory most often, where
// to look for the row of a transaction that is not there takes a search on disk.
func applied(rows *primary.Overlay, tx *avm.Tx) (bool, error) {
	inputs := tx.Body.Funds().Inputs
	if len(inputs) == 0 {
		_, found, err := rows.Tx(tx.ID)
		return found, err
	}
	u, found, err := rows.Output(inputs[0].Ref.ID())
	return found && u.SpentBy == tx.ID, err
}

// applyTx writes the rows of a transaction; row says where it stands.
func (m *machine) applyTx(rows *primary.Overlay, tx *avm.Tx, row primary.TxRow) error {
	a := &m.work
	raw, err := tx.AppendRaw(a.row.Raw[:0])
	if err != nil {
		return err
	}
	row.ID, row.Raw = tx.ID, raw
	*a = applier{rows: rows, tx: tx, row: row, assets: a.assets[:0]}
	a.funds = rows.Funds(&a.row)
	base := tx.Body.Funds()
	if err := a.funds.Spend(base.Inputs, nil); err != nil {
		return err
	}
	a.assetsOf(base)
	var burned primary.Balance
	burned.TakeAll(base.Inputs)
	burned.MakeAll(base.Outputs)
	switch t := tx.Body.(type) {
	case *avm.Import:
		burned.TakeAll(t.Imported)
	case *avm.Export:
		burned.MakeAll(t.Exported)
	}
	if err := rows.Burn(&burned, row.Time); err != nil {
		return err
	}
	if a.next, err = a.funds.MakeAll(0, base.Outputs, nil); err != nil {
		return err
	}
	if err := a.body(); err != nil {
		return err
	}
	rows.PutTx(&a.row)
	return nil
}

// applier writes what a transaction does besides moving funds.
type applier struct {
	rows   *primary.Overlay
	tx     *avm.Tx
	row    primary.TxRow
	funds  primary.Funds
	next   uint32     // index of the next output
	assets []chain.ID // that were noted last
}

func (a *applier) body() error {
	switch t := a.tx.Body.(type) {
	case *avm.CreateAsset:
		return a.createAsset(t)
	case *avm.Import:
		for i := range t.Imported {
			a.asset(t.Imported[i].Asset)
		}
		return a.funds.Spend(t.Imported, &t.SourceChain)
	case *avm.Export:
		for i := range t.Exported {
			a.asset(t.Exported[i].Asset)
		}
		_, err := a.funds.MakeAll(a.next, t.Exported, &t.DestinationChain)
		return err
	case *avm.Operate:
		for i := range t.Operations {
			op := &t.Operations[i]
			a.asset(op.Asset)
			for _, ref := range op.Inputs {
				if _, err := a.funds.SpendRef(ref); err != nil {
					return err
				}
			}
			if err := a.states(op.Asset, op.Outputs); err != nil {
				return err
			}
		}
	}
	return nil
}

// states writes outputs of an asset that may be other than amounts.
func (a *applier) states(asset chain.ID, list []utxo.State) error {
	for i := range list {
		if err := a.funds.Make(a.next, &utxo.Output{Asset: asset, State: list[i]}, nil); err != nil {
			return err
		}
		a.next++
	}
	return nil
}

func (a *applier) createAsset(t *avm.CreateAsset) error {
	row := &Asset{
		ID: a.tx.ID, Name: t.Name, Symbol: t.Symbol, Denomination: t.Denomination,
		Height: a.row.Height, Time: a.row.Time, Fixed: true,
	}
	for i := range t.States {
		s := &t.States[i]
		row.NFT = row.NFT || s.Extension == nftExtension
		for j := range s.Outputs {
			row.Fixed = row.Fixed && !mints(s.Outputs[j].Kind)
		}
		if err := a.states(a.tx.ID, s.Outputs); err != nil {
			return err
		}
	}
	putAsset(a.rows, row)
	a.asset(a.tx.ID)
	return nil
}

// assetsOf notes the assets that funds move.
func (a *applier) assetsOf(b *utxo.Base) {
	for i := range b.Inputs {
		a.asset(b.Inputs[i].Asset)
	}
	for i := range b.Outputs {
		a.asset(b.Outputs[i].Asset)
	}
}

// notedAssets bounds how many assets of a transaction are looked at before a row is
// written, which may be written twice.
const notedAssets = 8

// asset notes that the transaction moves an asset.
func (a *applier) asset(id chain.ID) {
	if slices.Contains(a.assets, id) {
		return
	}
	if len(a.assets) < notedAssets {
		a.assets = append(a.assets, id)
	}
	a.rows.Put(a.rows.Key(store.XChainAssetTxs).ID(id).Place(a.row.Place), nil)
}
