package httpapi

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/xchain"
	"quorate/httpapi/view"
)

// primaries are the primary networks of a test by name.
type primaries map[string]*fakePrimary

func (p primaries) Primary(name string) (PrimaryNetwork, bool) {
	n, ok := p[name]
	return n, ok
}

// fakePrimary is a primary network in memory. Its lists are oldest first, and each row's
// place is its position.
type fakePrimary struct {
	id       uint32
	chains   map[primary.Kind]*fakePrimaryChain
	mu       sync.Mutex
	subnets  []primary.Subnet
	genesis  map[chain.ID][]byte
	stakers  []primary.Staker
	rewards  []primary.Reward
	l1       []primary.L1Validator
	blocks   map[primary.Kind][]primary.BlockInfo
	vertices []primary.Vertex
	txs      map[primary.Kind][]primary.TxRow
	parties  map[chain.ID][]address.Address // who has part in a transaction
	outputs  map[primary.Kind][]primary.Output
	assets   map[chain.ID]*xchain.Asset
	broken   error
	open     int
	asked    int // how often genesis data were
}

func (n *fakePrimary) NetworkID() uint32 { return n.id }
func (n *fakePrimary) AVAX() chain.ID    { return chain.ID{0xa5} }

func (n *fakePrimary) Chain(k primary.Kind) (PrimaryChain, bool) {
	c, ok := n.chains[k]
	return c, ok
}

// fakePrimaryChain is one of its chains.
type fakePrimaryChain struct {
	id     chain.ID
	n      *fakePrimary
	kind   primary.Kind
	mu     sync.Mutex
	height uint64
	empty  bool
	down   error
	target uint64
	gaps   []view.Gap
}

func (c *fakePrimaryChain) ID() chain.ID { return c.id }

func (c *fakePrimaryChain) View() (PrimaryView, error) {
	height, id, ok := c.Cursor()
	if !ok {
		return nil, fmt.Errorf("%w: %s", primary.ErrEmpty, c.kind)
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.n.open++
	return &fakeRows{c.n, c.kind, chain.Head{Height: height, ID: id}}, nil
}

func (c *fakePrimaryChain) Cursor() (uint64, chain.ID, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.height, chain.ID(numbered(c.height, 0xc)), !c.empty
}

func (c *fakePrimaryChain) Down() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

func (c *fakePrimaryChain) Syncing() (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.target, c.target > 0
}

func (c *fakePrimaryChain) Gaps() ([]view.Gap, string) { return c.gaps, "" }

// set changes the chain as another goroutine may.
func (c *fakePrimaryChain) set(change func(c *fakePrimaryChain)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

// fakeRows lists by full scans. It has the rows of all kinds of chains.
type fakeRows struct {
	n    *fakePrimary
	kind primary.Kind
	tip  chain.Head
}

func (r *fakeRows) Close() {
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	r.n.open--
}

func (r *fakeRows) Tip() chain.Head { return r.tip }
func (r *fakeRows) First() uint64   { return 0 }

func (r *fakeRows) Block(id chain.ID) (*primary.BlockInfo, bool, error) {
	for _, b := range r.n.blocks[r.kind] {
		if b.ID == id || b.Proposer != nil && b.Proposer.ID == id {
			return &b, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) BlockAt(height uint64) (*primary.BlockInfo, bool, error) {
	for _, b := range r.n.blocks[r.kind] {
		if b.Height == height {
			return &b, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) Tx(id chain.ID) (*primary.TxRow, bool, error) {
	for _, tx := range r.n.txs[r.kind] {
		if tx.ID == id {
			return &tx, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) Txs(addresses []address.Address, f primary.TimeRange, p primary.Page, take func(*primary.TxRow) (primary.Result, error)) (primary.Position, error) {
	return scanRows(r, r.n.txs[r.kind], p, take, func(tx *primary.TxRow) bool {
		return tx.Time >= f.From && (f.To == 0 || tx.Time < f.To) && (len(addresses) == 0 || meets(addresses, r.n.parties[tx.ID]))
	})
}

func (r *fakeRows) Output(id chain.ID) (*primary.Output, bool, error) {
	for _, u := range r.n.outputs[r.kind] {
		if u.Ref.ID() == id {
			return &u, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) Outputs(addresses []address.Address, states []primary.OutputState, p primary.Page, take func(*primary.Output) (primary.Result, error)) (primary.Position, error) {
	return scanRows(r, r.n.outputs[r.kind], p, take, func(u *primary.Output) bool {
		return slices.Contains(states, u.State) && meets(addresses, u.Owners.Addresses)
	})
}

// listRows hands over a page of all, oldest first, of what keep keeps.
func listRows[T any](r *fakeRows, all []T, p primary.Page, take func(*T) bool, keep func(*T) bool) (primary.Position, error) {
	return scanRows(r, all, p, func(row *T) (primary.Result, error) {
		if take(row) {
			return primary.Taken, nil
		}
		return primary.Full, nil
	}, keep)
}

// scanRows does the same for what also passes rows over.
func scanRows[T any](r *fakeRows, all []T, p primary.Page, take func(*T) (primary.Result, error), keep func(*T) bool) (primary.Position, error) {
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	if r.n.broken != nil {
		return nil, r.n.broken
	}
	var places []int
	for i := range all {
		if keep(&all[i]) {
			places = append(places, i)
		}
	}
	if !p.Asc {
		slices.Reverse(places)
	}
	if len(p.After) > 0 {
		if len(p.After) != 8 {
			return nil, primary.ErrPosition
		}
		after := int(binary.BigEndian.Uint64(p.After))
		places = slices.DeleteFunc(places, func(i int) bool { return (i <= after) == p.Asc || i == after })
	}
	last, taken := p.After, 0
	for _, i := range places {
		if taken == p.Limit {
			return last, nil
		}
		row := all[i] // good until take returns
		res, err := take(&row)
		switch {
		case err != nil:
			return nil, err
		case res == primary.Full:
			return last, nil
		case res == primary.Taken:
			taken++
		}
		last = binary.BigEndian.AppendUint64(nil, uint64(i))
	}
	return nil, nil
}

func anyRow[T any](*T) bool { return true }

func (r *fakeRows) Subnets(p primary.Page, take func(*primary.Subnet) bool) (primary.Position, error) {
	return listRows(r, r.n.subnets, p, take, anyRow)
}

func (r *fakeRows) Genesis(id chain.ID) ([]byte, error) {
	r.n.asked++ // within the lock of listRows
	return r.n.genesis[id], nil
}

func meets[T comparable](wanted, have []T) bool {
	return slices.ContainsFunc(have, func(v T) bool { return slices.Contains(wanted, v) })
}

func (r *fakeRows) Stakers(f *primary.StakerFilter, p primary.Page, take func(*primary.Staker) bool) (primary.Position, error) {
	return listRows(r, r.n.stakers, p, take, func(s *primary.Staker) bool {
		return (f.AnyKind || f.Delegators == s.Delegator) && (f.Status == primary.AnyStatus || f.Status == s.Status) &&
			(f.Subnet == nil || *f.Subnet == s.Subnet) && (len(f.Nodes) == 0 || slices.Contains(f.Nodes, s.Node)) &&
			(len(f.Owners) == 0 || meets(f.Owners, s.RewardOwners.Addresses))
	})
}

func (r *fakeRows) Rewards(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error) {
	return listRows(r, r.n.rewards, p, take, func(w *primary.Reward) bool {
		return slices.Contains(f.Nodes, w.Node) || meets(f.Addresses, w.Owners.Addresses)
	})
}

func (r *fakeRows) Staker(id chain.ID) (*primary.Staker, bool, error) {
	for _, s := range r.n.stakers {
		if s.TxID == id {
			return &s, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) VertexAt(index uint64) (*primary.Vertex, bool, error) {
	for _, v := range r.n.vertices {
		if v.Index == index {
			return &v, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) Asset(id chain.ID) (*xchain.Asset, bool, error) {
	a, ok := r.n.assets[id]
	return a, ok, r.n.broken
}

func (r *fakeRows) AssetTxs(id chain.ID, p primary.Page, take func(*primary.TxRow) (primary.Result, error)) (primary.Position, error) {
	return scanRows(r, r.n.txs[r.kind], p, take, func(tx *primary.TxRow) bool { return tx.ID == id })
}

func (r *fakeRows) Subnet(id chain.ID) (*primary.Subnet, bool, error) {
	for _, s := range r.n.subnets {
		if s.ID == id {
			return &s, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) blockchains() (list []primary.Blockchain) {
	for _, s := range r.n.subnets {
		list = append(list, s.Blockchains...)
	}
	return list
}

func (r *fakeRows) Blockchains(p primary.Page, take func(*primary.Blockchain) bool) (primary.Position, error) {
	return listRows(r, r.blockchains(), p, take, anyRow)
}

func (r *fakeRows) Blockchain(id chain.ID) (*primary.Blockchain, bool, error) {
	for _, b := range r.blockchains() {
		if b.ID == id {
			return &b, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) PendingRewards(f *primary.RewardFilter, p primary.Page, take func(*primary.Reward) bool) (primary.Position, error) {
	return r.Rewards(f, p, take)
}

func (r *fakeRows) L1Validators(f *primary.L1Filter, p primary.Page, take func(*primary.L1Validator) bool) (primary.Position, error) {
	return listRows(r, r.n.l1, p, take, func(v *primary.L1Validator) bool {
		return (f.Inactive || v.Active) && (f.Node == nil || *f.Node == v.Node) && (f.Subnet == nil || *f.Subnet == v.Subnet) &&
			(f.ValidationID == nil || *f.ValidationID == v.ValidationID)
	})
}

func (r *fakeRows) Totals() (primary.Totals, error) {
	return primary.Totals{Validators: 1, Delegators: 2, Staked: 2000e9, Delegated: 53e9, Supply: of(720_000_000e9)}, r.n.broken
}

func (r *fakeRows) Time() uint64 { return 1_700_043_200 }

func (r *fakeRows) Vertex(id chain.ID) (*primary.Vertex, bool, error) {
	for _, v := range r.n.vertices {
		if v.ID == id {
			return &v, true, r.n.broken
		}
	}
	return nil, false, r.n.broken
}

func (r *fakeRows) Blocks(f *primary.BlockFilter, p primary.Page, take func(*primary.BlockInfo) bool) (primary.Position, error) {
	return listRows(r, r.n.blocks[r.kind], p, take, func(b *primary.BlockInfo) bool {
		return b.Time >= f.From && (f.To == 0 || b.Time < f.To) &&
			(f.Proposer == nil || b.Proposer != nil && b.Proposer.Node == *f.Proposer)
	})
}

func (r *fakeRows) Vertices(height *uint64, p primary.Page, take func(*primary.Vertex) bool) (primary.Position, error) {
	return listRows(r, r.n.vertices, p, take, func(v *primary.Vertex) bool { return height == nil || v.Height == *height })
}

// The parties of the sample.
var (
	ann, ben       = address.Address{0xa1, 1}, address.Address{0xbe, 2}
	nodeOne        = chain.NodeID{1}
	nodeTwo        = chain.NodeID{2}
	evmGenesis     = `{"config":{"chainId":99999,"homesteadBlock":0,"feeConfig":{"gasLimit":8000000,"targetBlockRate":2,"unknown":1},"warpConfig":{"blockTimestamp":1,"quorumNumerator":67,"requirePrimaryNetworkSigners":true},"txAllowListConfig":{"blockTimestamp":0,"adminAddresses":["0xa1"],"managerAddresses":null},"cancunTime":null},"alloc":{"a1":{"balance":"0x52b7d2dcc80cd2e4000000","nonce":"0x1"},"b2":{"balance":1000,"code":"0x60","storage":{"0x0":"0x1"}},"c3":7},"nonce":"0x0","timestamp":"0x0","extraData":"0x","gasLimit":8000000,"difficulty":"0x0","mixHash":"0x00","coinbase":"0x00","airdropHash":"0x00","airdropAmount":"0x100","baseFeePerGas":null,"blobGasUsed":null,"number":"0x0","gasUsed":"0x0","parentHash":"0x00","secret":"x"}`
	fujiX          = chain.ID{0x10}
	platformOwners = utxo.Owners{Threshold: 1, Addresses: []address.Address{ann, ben}}
)

func of(n uint64) *uint64 { return &n }

// samplePrimary has an example of each thing that is told about.
func samplePrimary() *fakePrimary {
	const day = 86400
	l1 := primary.Subnet{ID: chain.ID{3}, Height: 12, Time: 1_700_000_100, Owners: utxo.Owners{Threshold: 1, Locktime: 7, Addresses: []address.Address{ben}},
		Conversion: chain.ID{0xc0}, ManagerChain: chain.ID{4}, ManagerAddress: alice[:], Blockchains: []primary.Blockchain{
			{ID: chain.ID{4}, Subnet: chain.ID{3}, VM: chain.ID{5}, Name: `an "L1"`, Height: 13, Time: 1_700_000_200},
			{ID: chain.ID{6}, Subnet: chain.ID{3}, VM: chain.ID{7}, Name: "other VM", Height: 14, Time: 1_700_000_300},
		}}
	n := &fakePrimary{
		id: 5, genesis: map[chain.ID][]byte{{4}: []byte(evmGenesis), {6}: {0, 1, 2}},
		chains: map[primary.Kind]*fakePrimaryChain{
			primary.PChain:    {id: chain.PlatformChainID, height: 20},
			primary.XChain:    {id: fujiX, height: 9},
			primary.CChain:    {id: chain.ID{0x20}, height: 30},
			primary.XVertices: {id: fujiX, height: 40},
		},
		subnets: []primary.Subnet{{ID: chain.ID{2}, Height: 11, Time: 1_700_000_000, Owners: platformOwners}, l1},
		stakers: []primary.Staker{
			{TxID: chain.ID{0x31}, Node: nodeOne, Weight: 2000e9, Status: primary.Active, Start: 1_700_000_000, End: 1_700_000_000 + 30*day, RewardOwners: platformOwners, Fee: 20_000,
				BLSKey: &[48]byte{0xb1}, Gross: 7e9, Share: 5, Delegators: 1, DelegatedWeight: 25e9, Estimated: true},
			{TxID: chain.ID{0x36}, Node: nodeTwo, Weight: 2100e9, Status: primary.Completed, Start: 1_600_000_000, End: 1_600_000_000 + 30*day, RewardOwners: platformOwners, Fee: 20_000, Gross: 9e9, EndTx: chain.ID{0x46}},
			{TxID: chain.ID{0x37}, Node: nodeTwo, Weight: 2200e9, Status: primary.Pending, Start: 1_800_000_000, End: 1_800_000_000 + 30*day, RewardOwners: platformOwners, Fee: 20_000},
			{TxID: chain.ID{0x38}, Subnet: chain.ID{2}, Node: nodeTwo, Weight: 20, Status: primary.Removed, Start: 1_600_000_000, End: 1_600_000_500, EndTx: chain.ID{0x48}},
			{TxID: chain.ID{0x39}, Subnet: chain.ID{2}, Node: nodeOne, Weight: 20, Status: primary.Active, Start: 1_600_000_000, End: 1_800_000_500},
			{TxID: chain.ID{0x32}, Node: nodeOne, Delegator: true, Weight: 25e9, Status: primary.Completed, Start: 1_700_000_000, End: 1_700_000_000 + 14*day, RewardOwners: platformOwners, Fee: 20_000, Gross: 100, Net: 98},
			{TxID: chain.ID{0x33}, Node: nodeTwo, Delegator: true, Weight: 26e9, Status: primary.Active, Start: 1_700_000_500, End: 1_700_000_500 + 14*day, RewardOwners: utxo.Owners{Threshold: 1, Addresses: []address.Address{ben}}, Fee: 25_500, Gross: 200, Net: 195, Estimated: true},
			{TxID: chain.ID{0x34}, Node: nodeTwo, Delegator: true, Weight: 27e9, Status: primary.Pending, Start: 1_700_001_000, End: 1_700_001_000 + 14*day, RewardOwners: utxo.Owners{Threshold: 1, Addresses: []address.Address{ann}}, Fee: 1_000_000, Gross: 300, Estimated: true},
			{TxID: chain.ID{0x35}, Subnet: chain.ID{2}, Node: nodeTwo, Delegator: true, Status: primary.Active},
		},
		l1: []primary.L1Validator{
			{ValidationID: chain.ID{0x71}, Subnet: chain.ID{3}, Node: nodeOne, Weight: 100, Balance: 5e9, Active: true, Start: 1_700_000_100, BalanceOwner: platformOwners},
			{ValidationID: chain.ID{0x72}, Subnet: chain.ID{3}, Node: nodeTwo, Weight: 50, Start: 1_700_000_100, DisableOwner: platformOwners},
		},
		rewards: []primary.Reward{
			{Kind: primary.ValidatorReward, Owners: platformOwners, TxID: chain.ID{0x31}, RewardTx: chain.ID{0x41}, Node: nodeOne, Staked: 2000e9, Start: 1_700_000_000, End: 1_700_000_000 + day, Asset: chain.ID{0xa5}, Amount: 5e9, Ref: utxo.Ref{TxID: chain.ID{0x31}, Index: 2}},
			{Kind: primary.DelegatorReward, Owners: utxo.Owners{Threshold: 1, Addresses: []address.Address{ben}}, TxID: chain.ID{0x32}, RewardTx: chain.ID{0x42}, Node: nodeOne, Staked: 25e9, Start: 1_700_000_000, End: 1_700_000_000 + day, Asset: chain.ID{0xa5}, Amount: 98, Ref: utxo.Ref{TxID: chain.ID{0x32}, Index: 1}},
			{Kind: primary.ValidatorFee, Owners: platformOwners, TxID: chain.ID{0x32}, RewardTx: chain.ID{0x42}, Node: nodeOne, Staked: 25e9, Start: 1_700_000_000, End: 1_700_000_000 + day, Asset: chain.ID{0xee}, Amount: 2, Ref: utxo.Ref{TxID: chain.ID{0x32}, Index: 2}},
		},
		blocks: map[primary.Kind][]primary.BlockInfo{},
		vertices: []primary.Vertex{
			{ID: chain.ID{0x51}, Parents: []chain.ID{{0x50}}, Height: 7, Index: 10, Time: 1_600_000_000, Txs: []chain.ID{{0x61}}, Size: 300},
			{ID: chain.ID{0x52}, Parents: []chain.ID{{0x50}, {0x51}}, Height: 8, Index: 11, Time: 1_600_000_001, Txs: []chain.ID{{0x62}, {0x63}}, Size: 500},
			{ID: chain.ID{0x53}, Parents: nil, Height: 8, Index: 12, Time: 1_600_000_002, Size: 100},
		},
	}
	for k, c := range n.chains {
		c.n, c.kind = n, k
	}
	for _, k := range []primary.Kind{primary.PChain, primary.XChain, primary.CChain} {
		for h := range uint64(12) {
			b := primary.BlockInfo{Chain: k, Height: h, ID: chain.ID(numbered(h, byte(k))), Time: 1_700_000_000 + 10*h, Type: "BanffStandardBlock", Size: 200}
			if h > 0 {
				b.Parent = chain.ID(numbered(h-1, byte(k)))
				b.Txs = []chain.ID{chain.ID(numbered(h, 0x70))}
			}
			if h > 9 {
				b.Proposer = &primary.Proposer{ID: chain.ID(numbered(h, 0x80)), Parent: chain.ID(numbered(h-1, 0x80)), PChainHeight: h - 2, Time: b.Time}
			}
			if h == 11 {
				b.Proposer.Node = nodeOne
				b.Supply, b.ActiveL1, b.L1Fees = of(720_000_000e9), of(3), of(512)
			}
			n.blocks[k] = append(n.blocks[k], b)
		}
	}
	return n
}

// addPlatformTx adds a transaction of the P-Chain with the outputs that it makes.
func (n *fakePrimary) addPlatformTx(height uint64, body platform.Body, made ...chain.ID) *platform.Tx {
	raw, err := (&platform.Tx{Body: body}).Bytes()
	if err != nil {
		panic(err)
	}
	tx, err := platform.ParseTx(raw)
	if err != nil {
		panic(err)
	}
	n.addTx(primary.PChain, height, tx.ID, raw, made)
	if f := tx.Body.Funds(); f != nil {
		n.addOutputs(primary.PChain, height, tx.ID, f, slices.Clone(view.StakeOf(tx.Body)))
	}
	return tx
}

// addExchangeTx does so for the X-Chain.
func (n *fakePrimary) addExchangeTx(height uint64, body avm.Body, inVertex bool) *avm.Tx {
	raw, err := (&avm.Tx{Body: body}).Bytes()
	if err != nil {
		panic(err)
	}
	tx, err := avm.ParseTx(raw)
	if err != nil {
		panic(err)
	}
	n.addTx(primary.XChain, height, tx.ID, raw, nil)
	list := n.txs[primary.XChain]
	list[len(list)-1].InVertex = inVertex
	n.addOutputs(primary.XChain, height, tx.ID, tx.Body.Funds(), nil)
	return tx
}

func (n *fakePrimary) addAtomicTx(height uint64, tx *atomic.Tx) *atomic.Tx {
	raw, err := tx.Bytes()
	if err != nil {
		panic(err)
	}
	list, err := atomic.Parse(raw)
	if err != nil {
		panic(err)
	}
	n.addTx(primary.CChain, height, list[0].ID, raw, nil)
	n.addOutputs(primary.CChain, height, list[0].ID, &utxo.Base{Outputs: list[0].Exported}, nil)
	return &list[0]
}

func (n *fakePrimary) addTx(k primary.Kind, height uint64, id chain.ID, raw []byte, made []chain.ID) {
	if n.txs == nil {
		n.txs, n.outputs, n.parties = map[primary.Kind][]primary.TxRow{}, map[primary.Kind][]primary.Output{}, map[chain.ID][]address.Address{}
	}
	row := primary.TxRow{Place: primary.Place{Height: height}, ID: id, Time: 1_700_000_000 + 10*height, Raw: raw, Made: made}
	n.txs[k] = append(n.txs[k], row)
}

func (n *fakePrimary) addOutputs(k primary.Kind, height uint64, id chain.ID, base *utxo.Base, stake []utxo.Output) {
	for i, out := range slices.Concat(base.Outputs, stake) {
		out.Kind = utxo.TransferOutput
		u := primary.Output{UTXO: utxo.UTXO{Ref: utxo.Ref{TxID: id, Index: uint32(i)}, Output: out}, Known: true,
			Place: primary.Place{Height: height}, Time: 1_700_000_000 + 10*height, MadeBy: id}
		if i >= len(base.Outputs) {
			u.State = primary.Staked
		}
		n.outputs[k] = append(n.outputs[k], u)
		n.parties[id] = append(n.parties[id], out.Addresses...)
	}
	for _, in := range base.Inputs {
		for i := range n.outputs[k] {
			if u := &n.outputs[k][i]; u.Ref == in.Ref {
				u.State, u.SpentBy, u.SpentAt, u.SpentTime = primary.Spent, id, primary.Place{Height: height}, 1_700_000_000+10*height
				n.parties[id] = append(n.parties[id], u.Addresses...)
			}
		}
	}
}

// out is an output of so much AVAX.
func out(nAVAX uint64, to address.Address) utxo.Output {
	return utxo.Output{Asset: chain.ID{0xa5}, State: utxo.State{Kind: utxo.TransferOutput, Amount: nAVAX,
		Owners: utxo.Owners{Threshold: 1, Addresses: []address.Address{to}}}}
}

// spend is the input that spends an output of a transaction.
func spend(tx chain.ID, index uint32, nAVAX uint64) utxo.Input {
	return utxo.Input{Ref: utxo.Ref{TxID: tx, Index: index}, Asset: chain.ID{0xa5}, Amount: nAVAX, Auth: utxo.Auth{Indices: []uint32{0}}}
}

// withTxs adds transactions of all three chains to the sample.
func (n *fakePrimary) withTxs() *fakePrimary {
	base := func(in []utxo.Input, outs ...utxo.Output) utxo.Base {
		return utxo.Base{NetworkID: 5, Inputs: in, Outputs: outs, Memo: []byte("hi")}
	}
	first := n.addPlatformTx(1, &platform.Base{Base: base(nil, out(5e9, ann), out(7e9, ben))})
	locked := out(2e9, ann)
	locked.Locktime = 1_900_000_000
	stake := &platform.AddPermissionlessDelegator{Base: base([]utxo.Input{spend(first.ID, 0, 5e9)}, locked),
		Validator: platform.Validator{NodeID: nodeOne, End: 1_702_000_000, Weight: 2e9}, Stake: []utxo.Output{out(2e9, ann)}, RewardsOwner: utxo.Owners{Threshold: 1, Addresses: []address.Address{ann}}}
	staking := n.addPlatformTx(2, stake)
	n.stakers = append(n.stakers, primary.Staker{TxID: staking.ID, Node: nodeOne, Delegator: true, Weight: 2e9, Status: primary.Active, Start: 1_700_000_020, End: 1_702_000_000, RewardOwners: stake.RewardsOwner, Gross: 77, Net: 75})
	n.addPlatformTx(3, &platform.CreateChain{Base: base(nil), Subnet: chain.ID{3}, Name: "chain", VM: chain.ID{5}, GenesisData: []byte(evmGenesis)})
	n.addPlatformTx(4, &platform.CreateSubnet{Base: base(nil), Owner: platformOwners})
	n.addPlatformTx(5, &platform.ConvertSubnetToL1{Base: base([]utxo.Input{spend(first.ID, 1, 7e9)}, out(1e9, ben)), Subnet: chain.ID{3}, ManagerChain: chain.ID{4}, ManagerAddress: alice[:],
		Validators: []platform.L1Validator{{NodeID: nodeOne[:], Weight: 9, Balance: 3e9}}})
	n.addPlatformTx(6, &platform.RewardValidator{TxID: staking.ID}, utxo.Ref{TxID: first.ID}.ID())
	n.addPlatformTx(7, &platform.Import{Base: base(nil, out(4e9, ann)), SourceChain: fujiX, Imported: []utxo.Input{spend(chain.ID{0x99}, 0, 5e9)}})

	mint := n.addExchangeTx(11, &avm.CreateAsset{Base: base(nil, out(3e9, ann)), Name: "Token", Symbol: "TOK", Denomination: 2}, true)
	n.assets = map[chain.ID]*xchain.Asset{mint.ID: {ID: mint.ID, Name: "Token", Symbol: "TOK", Denomination: 2, Time: 1_600_000_001, Fixed: true}}
	n.addExchangeTx(3, &avm.Export{Base: base([]utxo.Input{spend(mint.ID, 0, 3e9)}, out(1e9, ben)), DestinationChain: chain.PlatformChainID, Exported: []utxo.Output{out(2e9, ben)}}, false)
	n.addAtomicTx(5, &atomic.Tx{Kind: atomic.Export, NetworkID: 5, ChainID: chain.ID{0x20}, Peer: fujiX,
		Accounts: []atomic.Account{{Address: alice, Amount: 6e9, Asset: chain.ID{0xa5}, Nonce: 1}}, Exported: []utxo.Output{out(5e9, ann)}})
	n.addAtomicTx(6, &atomic.Tx{Kind: atomic.Import, NetworkID: 5, ChainID: chain.ID{0x20}, Peer: fujiX,
		Imported: []utxo.Input{spend(chain.ID{0x98}, 0, 5e9)}, Accounts: []atomic.Account{{Address: alice, Amount: 4e9, Asset: chain.ID{0xa5}}}})
	return n
}

// samplePrimaries serves the sample as fuji and testnet.
func samplePrimaries() primaries {
	n := samplePrimary().withTxs()
	return primaries{"fuji": n, "testnet": n}
}
