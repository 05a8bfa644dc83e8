package httpapi

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
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
	inexact  bool // the genesis is not known
	oldRows  bool // they do not have what was burned
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
	told     primary.Told
	open     int
	asked    int // how often genesis data were
}

func (n *fakePrimary) NetworkID() uint32 { return n.id }
func (n *fakePrimary) AVAX() chain.ID    { return chain.ID{0xa5} }

func (n *fakePrimary) Told() *primary.Told { return &n.told }

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

func (r *fakeRows) SpentOf(*primary.TxRow, bool) ([]*primary.Output, error) { return nil, nil }

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
		row := all[i]   // good until take returns
		r.n.mu.Unlock() // it may open further views
		res, err := take(&row)
		r.n.mu.Lock()
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
	r.n.mu.Lock()
	defer r.n.mu.Unlock()
	r.n.asked++
	return r.n.genesis[id], nil
}

func meets[T comparable](wanted, have []T) bool {
	return slices.ContainsFunc(have, func(v T) bool { return slices.Contains(wanted, v) })
}

func (r *fakeRows) Stakers(f *primary.StakerFilter, p primary.Page, take func(*primary.Staker) bool) (primary.Position, error) {
	return listRows(r, r.n.stakers, p, take, func(s *primary.Staker) bool {
		return (f.AnyKind || f.Delegators == s.Delegator) && (f.Status == primary.AnyStatus || f.Status == s.Status) &&
			(f.Subnet == nil || *f.Subnet == s.Subnet) && (len(f.Nodes) == 0 || slices.Contains(f.Nodes, s.Node)) &&
			(len(f.Owners) == 0 || meets(f.Owners, s.RewardOwners.Addresses)) && f.Stakes(s)
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
	t := primary.Totals{Validators: 1, Delegators: 2, Staked: 2000e9, Delegated: 53e9}
	if !r.n.inexact {
		t.Supply = of(720_000_000e9)
	}
	return t, r.n.broken
}

func (r *fakeRows) Time() uint64 { return 1_700_043_200 }

func (r *fakeRows) L1Price() uint64 { return 512 }
func (r *fakeRows) Exact() bool     { return !r.n.inexact }

// Days has as many validators as a day has Unix days modulo 1000, on 40 days.
func (r *fakeRows) Days(subnet chain.ID, before uint64, take func(time uint64, s pchain.Sums) bool) error {
	const day = 24 * 60 * 60
	last := r.Time() / day
	next := last
	if before > 0 {
		next = min(next, (before-1)/day)
	}
	for ; next > last-40; next-- {
		n := next%1000 + uint64(subnet[0])
		if !take(next*day, pchain.Sums{Validators: n, ValidatorWeight: n * 1e9, Delegators: 2 * n, DelegatorWeight: 3 * n * 1e9}) {
			break
		}
	}
	return r.n.broken
}

// BurnedDays has, on 40 days, twice as much as Days has validators of stakers, and that
// as often as the number of the chain says.
func (r *fakeRows) BurnedDays(_ chain.ID, before uint64, take func(*primary.BurnedDay) bool) (bool, error) {
	return !r.n.oldRows, r.Days(chain.ID{}, before, func(time uint64, s pchain.Sums) bool {
		return take(&primary.BurnedDay{Time: time, Total: s.Delegators * uint64(r.kind), Today: s.Validators * uint64(r.kind)})
	})
}

// Locked has 7.5 AVAX for each number of the chain.
func (r *fakeRows) Locked(chain.ID, uint64) (uint64, bool, error) {
	return 75e8 * uint64(r.kind), !r.n.oldRows, r.n.broken
}

func (r *fakeRows) Rewarded(chain.ID) (uint64, bool, error) { return 5e9 + 1, !r.n.oldRows, r.n.broken }

func (r *fakeRows) GenesisSupply() (all, unlocked uint64, known bool) {
	return 720_000_000e9, 360_000_000e9, !r.n.inexact
}

// FeeDays has, on 40 days, as much as Days has validators, of who has an ID as many more as
// its first byte says.
func (r *fakeRows) FeeDays(f *pchain.FeeFilter, before uint64, take func(*pchain.FeeDay) bool) error {
	var id chain.ID
	switch {
	case f.Node != nil:
		id[0] = f.Node[0]
	case f.Subnet != nil:
		id = *f.Subnet
	case f.Validation != nil:
		id = *f.Validation
	}
	return r.Days(id, before, func(time uint64, s pchain.Sums) bool {
		return take(&pchain.FeeDay{Time: time, Paying: s.Validators, Paid: s.ValidatorWeight, Today: s.Delegators})
	})
}

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
