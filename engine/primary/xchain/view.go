package xchain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// View reads the X-Chain: its blocks, and the vertices before them. It is not safe for
// concurrent use and must be closed soon.
type View struct {
	blocks, vertices *primary.View // nil: there are none
}

// Open opens a view. The error wraps [primary.ErrEmpty] when there are neither blocks
// nor vertices. Vertices may be nil.
func Open(blocks, vertices *primary.Chain) (*View, error) {
	v := &View{}
	b, err := blocks.View(primary.XChain)
	switch {
	case err == nil:
		v.blocks = b
	case !errors.Is(err, primary.ErrEmpty):
		return nil, err
	}
	if vertices == nil {
		return v, err
	}
	w, werr := vertices.View(primary.XVertices)
	switch {
	case werr == nil:
		v.vertices = w
		return v, nil
	case errors.Is(werr, primary.ErrEmpty):
		return v, err
	}
	v.Close()
	return nil, werr
}

// Close ends the view. Further calls do nothing.
func (v *View) Close() {
	for _, w := range []*primary.View{v.blocks, v.vertices} {
		if w != nil {
			w.Close()
		}
	}
}

// Blocks returns the view of the blocks; ok is false if there are none.
func (v *View) Blocks() (b *primary.View, ok bool) { return v.blocks, v.blocks != nil }

// Tip returns the last block, or the last vertex if there are no blocks yet.
func (v *View) Tip() chain.Head {
	if v.blocks != nil {
		return v.blocks.Tip()
	}
	return v.vertices.Tip()
}

// rows is the view that has the state after all that is indexed.
func (v *View) rows() *primary.View {
	if v.blocks != nil {
		return v.blocks
	}
	return v.vertices
}

// Vertices lists the vertices of a height, or of all if height is nil, by their height
// and the order of their acceptance.
func (v *View) Vertices(height *uint64, p primary.Page, take func(*primary.Vertex) bool) (primary.Position, error) {
	if v.vertices == nil {
		return nil, nil
	}
	w := v.vertices
	prefix := w.Key(store.XChainVertexHeights)
	if height != nil {
		prefix = prefix.U64(*height)
	}
	return w.List(&primary.Lists{Prefixes: []primary.Key{prefix}}, &p, func(order, _ []byte) (primary.Result, error) {
		if len(order) < 8 {
			return primary.Passed, fmt.Errorf("%w: vertex by height", primary.ErrRow)
		}
		vertex, found, err := v.VertexAt(binary.BigEndian.Uint64(order[len(order)-8:]))
		if err == nil && !found {
			err = fmt.Errorf("%w: a vertex is missing", primary.ErrRow)
		}
		if err != nil || !take(vertex) {
			return primary.Full, err
		}
		return primary.Taken, nil
	})
}

// Vertex returns a vertex by its ID.
func (v *View) Vertex(id chain.ID) (*primary.Vertex, bool, error) {
	if v.vertices == nil {
		return nil, false, nil
	}
	b, found, err := v.vertices.Get(v.vertices.Key(store.XChainVertexIDs).Short(id))
	if err != nil || !found {
		return nil, false, err
	}
	if len(b) != 8 {
		return nil, false, fmt.Errorf("%w: vertex by ID", primary.ErrRow)
	}
	vertex, found, err := v.VertexAt(binary.BigEndian.Uint64(b))
	return vertex, found && vertex.ID == id, err
}

// VertexAt returns a vertex by its index.
func (v *View) VertexAt(index uint64) (*primary.Vertex, bool, error) {
	if v.vertices == nil {
		return nil, false, nil
	}
	b, found, err := v.vertices.Get(v.vertices.Key(store.XChainVertices).U64(index))
	if err != nil || !found {
		return nil, false, err
	}
	vertex, err := decodeVertex(index, b)
	return vertex, err == nil, err
}

// Asset returns an asset by its ID.
func (v *View) Asset(id chain.ID) (*Asset, bool, error) {
	w := v.rows()
	b, found, err := w.Get(w.Key(store.XChainAssets).ID(id))
	if err != nil || !found {
		return nil, false, err
	}
	a, err := decodeAsset(id, b)
	return a, err == nil, err
}

// Tx returns a transaction by its ID.
func (v *View) Tx(id chain.ID) (tx *primary.TxRow, found bool, err error) {
	for _, w := range []*primary.View{v.blocks, v.vertices} {
		if w == nil {
			continue
		}
		if tx, found, err = w.Tx(id); err != nil || found {
			if found {
				tx.InVertex = w == v.vertices
			}
			return tx, found, err
		}
	}
	return nil, false, nil
}

// Output returns an output by its ID, also one that was spent.
func (v *View) Output(id chain.ID) (*primary.Output, bool, error) {
	for _, w := range []*primary.View{v.blocks, v.vertices} {
		if w == nil {
			continue
		}
		if u, found, err := w.Output(id); err != nil || found {
			return u, found, err
		}
	}
	return nil, false, nil
}

// SpentOf returns outputs that a transaction made and that are spent: see
// [primary.View.SpentOf].
func (v *View) SpentOf(tx *primary.TxRow, asc bool) ([]*primary.Output, error) {
	w := v.blocks
	if tx.InVertex {
		w = v.vertices
	}
	if w == nil {
		return nil, nil
	}
	return w.SpentOf(tx, asc)
}

// Outputs lists the outputs of any of the addresses in any of the states.
func (v *View) Outputs(addresses []address.Address, states []primary.OutputState, p primary.Page, take func(*primary.Output) (primary.Result, error)) (primary.Position, error) {
	return v.rows().Outputs(addresses, states, p, take)
}

// Txs lists the transactions that any of the addresses has part in, or all if there are
// none, in a range of times: those of blocks behind those of vertices.
func (v *View) Txs(addresses []address.Address, f primary.TimeRange, p primary.Page, take func(*primary.TxRow) (primary.Result, error)) (primary.Position, error) {
	return v.both(p, func(w *primary.View, p primary.Page, offer offer) (primary.Position, error) {
		return w.Txs(addresses, f, p, func(tx *primary.TxRow) (primary.Result, error) {
			tx.InVertex = w == v.vertices
			return offer(func() (primary.Result, error) { return take(tx) })
		})
	})
}

// AssetTxs lists the transactions that create or move an asset.
func (v *View) AssetTxs(asset chain.ID, p primary.Page, take func(*primary.TxRow) (primary.Result, error)) (primary.Position, error) {
	return v.both(p, func(w *primary.View, p primary.Page, offer offer) (primary.Position, error) {
		l := &primary.Lists{Prefixes: []primary.Key{w.Key(store.XChainAssetTxs).ID(asset)}}
		return w.List(l, &p, func(order, _ []byte) (primary.Result, error) {
			if len(order) != placeLen {
				return primary.Passed, fmt.Errorf("%w: place of a transaction", primary.ErrRow)
			}
			tx, found, err := w.TxAt(primary.PlaceAt(order))
			if err == nil && !found {
				err = fmt.Errorf("%w: a transaction is missing", primary.ErrRow)
			}
			if err != nil {
				return primary.Passed, err
			}
			tx.InVertex = w == v.vertices
			return offer(func() (primary.Result, error) { return take(tx) })
		})
	})
}

// placeLen is the length of a place in a key.
const placeLen = 8 + 4

// The first byte of a position in a list of both.
const (
	inVertices byte = 0
	inBlocks   byte = 1
)

// offer has a row taken, if there is room for it.
type offer func(take func() (primary.Result, error)) (primary.Result, error)

// both makes one list of that of the vertices and that of the blocks behind it. list goes
// through one of them and offers each row.
func (v *View) both(p primary.Page, list func(w *primary.View, p primary.Page, offer offer) (primary.Position, error)) (primary.Position, error) {
	parts := []byte{inVertices, inBlocks}
	if !p.Asc {
		parts = []byte{inBlocks, inVertices}
	}
	if len(p.After) > 0 {
		if p.After[0] == parts[1] {
			parts = parts[1:]
		}
		p.After = p.After[1:]
	}
	left := p.Limit
	for _, part := range parts {
		w := v.vertices
		if part == inBlocks {
			w = v.blocks
		}
		if w == nil {
			p.After = nil
			continue
		}
		full := false
		p.Limit = left + 1 // so that the end of one part is not taken for that of the list
		pos, err := list(w, p, func(take func() (primary.Result, error)) (primary.Result, error) {
			if left == 0 {
				full = true
				return primary.Full, nil
			}
			res, err := take()
			if res == primary.Taken {
				left--
			}
			full = full || res == primary.Full
			return res, err
		})
		if err != nil {
			return nil, err
		}
		if full || pos != nil {
			return append(primary.Position{part}, pos...), nil
		}
		p.After = nil
	}
	return nil, nil
}

// BurnedDays does what [primary.View.BurnedDays] does for the blocks and the vertices
// together.
func (v *View) BurnedDays(asset chain.ID, before uint64, take func(*primary.BurnedDay) bool) (known bool, err error) {
	var of []*primary.View
	for _, w := range []*primary.View{v.blocks, v.vertices} {
		if w != nil {
			of = append(of, w)
		}
	}
	return primary.BurnedDays(of, asset, before, take)
}

// Locked does what [primary.View.Locked] does: blocks have the outputs of the vertices
// before them.
func (v *View) Locked(asset chain.ID, after uint64) (sum uint64, known bool, err error) {
	if v.blocks != nil {
		return v.blocks.Locked(asset, after)
	}
	return v.vertices.Locked(asset, after)
}
