package primary

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// xmaker makes the X-Chain.
type xmaker struct {
	x        *XState
	vertices []*Container
	heights  map[chain.ID]uint64 // of the vertices that none names yet
	tips     []chain.ID          // these, oldest first
	first    []byte              // the block at height 0; nil before Cortina
	line     line

	xopen []avm.Tx // of the vertex or block that is being made
}

func (m *maker) makeX() (err error) {
	m.heights = make(map[chain.ID]uint64)
	m.x, err = newXState(m.w.XChainID(), m.w.XGenesis())
	return err
}

// xbuild returns a transaction of the X-Chain, and by input and operation the kind of
// its credential; nil if it cannot be done now.
type xbuild func() (avm.Body, []utxo.Kind)

// actX has somebody issue transactions in a vertex, or since Cortina in a block.
func (m *maker) actX(at uint64, builds ...xbuild) {
	if at >= m.forks.Cortina && m.first == nil {
		m.linearize()
	}
	record := XRecord{Vertex: m.first == nil, Height: uint64(len(m.vertices)), Time: at}
	if m.first != nil {
		record.Height = uint64(len(m.line.all) + 1)
	}
	for _, build := range builds {
		if body, kinds := build(); body != nil && !m.follows(body) {
			m.issueX(body, kinds, record)
		}
	}
	if len(m.xopen) == 0 {
		body, kinds := m.xtransfer(m.w.AssetID())
		m.issueX(body, kinds, record)
	}
	if m.err != nil || len(m.xopen) == 0 {
		return
	}
	if m.first == nil {
		m.vertex(at)
	} else {
		m.xblock(at)
	}
	m.xopen = nil
}

// follows reports whether a transaction spends what one in the same vertex makes:
// there they have no order.
func (m *maker) follows(body avm.Body) bool {
	if m.first != nil {
		return false
	}
	made := func(r utxo.Ref) bool {
		return slices.ContainsFunc(m.xopen, func(tx avm.Tx) bool { return tx.ID == r.TxID })
	}
	if op, ok := body.(*avm.Operate); ok && made(op.Operations[0].Inputs[0]) {
		return true
	}
	return slices.ContainsFunc(body.Funds().Inputs, func(in utxo.Input) bool { return made(in.Ref) })
}

func (m *maker) issueX(body avm.Body, kinds []utxo.Kind, record XRecord) {
	if body == nil || m.err != nil {
		return
	}
	tx := avm.Tx{Body: body}
	unsigned, err := tx.UnsignedBytes()
	m.fail(err)
	tx.Credentials = world.Credentials(unsigned, slices.Repeat([]int{1}, len(kinds)))
	for i, k := range kinds {
		tx.Credentials[i].Kind = k
	}
	raw, err := tx.Bytes()
	if err != nil {
		m.fail(err)
		return
	}
	tx.ID, tx.Size = codec.HashOf(0, raw[codec.VersionLen:])
	m.fail(m.x.apply(&tx, record))
	m.xopen = append(m.xopen, tx)
	if body, ok := body.(*avm.CreateAsset); ok && body.States[0].Outputs[0].Kind == utxo.TransferOutput {
		m.assets = append(m.assets, tx.ID)
	}
}

// maxParents is how many parents a vertex has here at most.
const maxParents = 3

// parents takes vertices that none names yet as parents of the next.
func (m *maker) parents(most int) (list []chain.ID, height uint64) {
	n := min(most, len(m.tips))
	list, m.tips = slices.Clone(m.tips[:n]), m.tips[n:]
	for _, id := range list {
		height = max(height, m.heights[id]+1)
		delete(m.heights, id)
	}
	slices.SortFunc(list, func(a, b chain.ID) int { return bytes.Compare(a[:], b[:]) })
	return list, height
}

func (m *maker) vertex(at uint64) {
	v := avm.Vertex{ChainID: m.w.XChainID(), Txs: m.xopen}
	slices.SortFunc(v.Txs, func(a, b avm.Tx) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	// Now and then two are made at once: they name the same tips but one.
	if len(m.tips) < 4 && m.rng.IntN(3) == 0 && len(m.tips) > 0 {
		keep := m.tips[0]
		height := m.heights[keep]
		v.Parents, v.Height = m.parents(1)
		m.tips, m.heights[keep] = append(m.tips, keep), height
	} else {
		v.Parents, v.Height = m.parents(1 + m.rng.IntN(maxParents))
	}
	m.addVertex(&v, at)
}

func (m *maker) addVertex(v *avm.Vertex, at uint64) {
	raw, err := v.Bytes()
	m.fail(err)
	id := chain.ID(sha256.Sum256(raw))
	m.vertices = append(m.vertices, &Container{ID: id, BlockID: id, Block: raw, Height: v.Height, Time: at, chain: v.ChainID})
	m.tips, m.heights[id] = append(m.tips, id), v.Height
}

// linearize ends the vertices and begins the blocks.
func (m *maker) linearize() {
	stop := avm.Vertex{Stop: true, ChainID: m.w.XChainID()}
	stop.Parents, stop.Height = m.parents(len(m.tips))
	m.addVertex(&stop, m.forks.Cortina)
	zero := avm.Block{Parent: m.tips[0], Time: m.forks.Cortina}
	var err error
	if m.first, err = zero.Bytes(); err != nil {
		m.fail(fmt.Errorf("X-Chain block 0: %w", err))
	}
	m.line = line{chain: m.w.XChainID(), parent: sha256.Sum256(m.first), inner: m.forks.Cortina}
	m.line.outer = m.line.parent
}

func (m *maker) xblock(at uint64) {
	b := avm.Block{Parent: m.line.parent, Height: uint64(len(m.line.all) + 1), Time: at, Txs: m.xopen}
	raw, err := b.Bytes()
	if err != nil {
		m.fail(err)
		return
	}
	m.fail(m.line.wrap(m.forks, raw, at, at, m.line.lagging(uint64(len(m.p.all))), false, m.proposer()))
}

// XGenesis returns the X-Chain's genesis data.
func (c *Chain) XGenesis() []byte { return c.w.XGenesis() }

// XFirst returns the bytes of the X-Chain's block at height 0, which is no container.
func (c *Chain) XFirst() []byte { return c.first }

// Vertices returns the X-Chain's vertices in the order in which they were accepted;
// the last is the stop vertex. The slice must not be changed.
func (c *Chain) Vertices() []*Container {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.vertices[:len(c.vertices):len(c.vertices)]
}

// AVM returns the X-Chain's containers: that at index i has height i+1. The slice must
// not be changed.
func (c *Chain) AVM() []*Container {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.line.all[:len(c.line.all):len(c.line.all)]
}

// ReadX calls f with the X-Chain's state, which must neither be changed nor kept.
func (c *Chain) ReadX(f func(*XState)) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	f(c.x)
}
