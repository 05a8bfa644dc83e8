package xchain

import (
	"errors"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// nftExtension is the number of nftfx among the extensions of an asset.
const nftExtension = 1

// Asset is an asset of the X-Chain.
type Asset struct {
	ID           chain.ID // of the transaction that created it
	Name, Symbol string
	Denomination uint8  // number of decimals
	Height, Time uint64 // of the block; of a vertex one more than its index; zero for the genesis
	NFT          bool
	Fixed        bool // nobody may mint more
}

// mints reports whether who owns an output of a kind may mint.
func mints(k utxo.Kind) bool {
	return k == utxo.MintOutput || k == utxo.NFTMintOutput || k == utxo.PropertyMintOutput
}

// The asset codec, version 1: u8 1 | name | symbol | u8 decimals | height | time | u8 NFT |
// u8 fixed.
const assetVersion = 1

func putAsset(rows *primary.Overlay, a *Asset) {
	e := &primary.Encoder{}
	e.U8(assetVersion)
	e.Bytes([]byte(a.Name))
	e.Bytes([]byte(a.Symbol))
	e.U8(a.Denomination)
	e.Uint(a.Height)
	e.Uint(a.Time)
	e.Bool(a.NFT)
	e.Bool(a.Fixed)
	rows.Put(rows.Key(store.XChainAssets).ID(a.ID), e.B)
}

func decodeAsset(id chain.ID, b []byte) (*Asset, error) {
	d := primary.NewDecoder(b)
	if d.U8() != assetVersion {
		return nil, fmt.Errorf("%w: asset", primary.ErrRow)
	}
	a := &Asset{ID: id, Name: string(d.Bytes()), Symbol: string(d.Bytes()), Denomination: d.U8()}
	a.Height, a.Time, a.NFT, a.Fixed = d.Uint(), d.Uint(), d.Bool(), d.Bool()
	return a, d.End("asset")
}

// The vertex codec, version 1: u8 1 | ID | height | time | size | number of parents | their
// IDs | IDs of the transactions.
const vertexVersion = 1

func putVertex(rows *primary.Overlay, v *primary.Vertex) {
	e := &primary.Encoder{B: make([]byte, 0, 512)}
	e.U8(vertexVersion)
	e.ID(v.ID)
	e.Uint(v.Height)
	e.Uint(v.Time)
	e.Uint(uint64(v.Size))
	e.Uint(uint64(len(v.Parents)))
	for _, id := range v.Parents {
		e.ID(id)
	}
	for _, id := range v.Txs {
		e.ID(id)
	}
	rows.Put(rows.Key(store.XChainVertices).U64(v.Index), e.B)
	rows.Put(rows.Key(store.XChainVertexHeights).U64(v.Height).U64(v.Index), nil)
	rows.Put(rows.Key(store.XChainVertexTimes).U64(v.Time).U64(v.Index+1), nil)
	rows.Put(rows.Key(store.XChainVertexIDs).Short(v.ID), primary.Key(nil).U64(v.Index))
}

func decodeVertex(index uint64, b []byte) (*primary.Vertex, error) {
	d := primary.NewDecoder(b)
	if d.U8() != vertexVersion {
		return nil, fmt.Errorf("%w: vertex", primary.ErrRow)
	}
	v := &primary.Vertex{Index: index, ID: d.ID(), Height: d.Uint(), Time: d.Uint(), Size: int(d.Uint32())}
	for n := d.Count(chain.IDLen); n > 0; n-- {
		v.Parents = append(v.Parents, d.ID())
	}
	for n := d.Len() / chain.IDLen; n > 0; n-- {
		v.Txs = append(v.Txs, d.ID())
	}
	return v, d.End("vertex")
}

// inherit takes over what the vertices left: unspent outputs and assets. All is one block
// of rows, however large: see [primary.Chain].
func inherit(rows *primary.Overlay, from primary.Space) error {
	b, found, err := rows.Get(stateKey(from))
	if err != nil {
		return err
	}
	if !found {
		return ErrVertices
	}
	if stopped, err := decodeState(b); err != nil {
		return err
	} else if !stopped {
		return ErrVertices
	}
	// The rows must not be written while they are scanned.
	type row struct{ key, value []byte }
	var assets []row
	prefix := from.Key(store.XChainAssets)
	err = rows.Scan(prefix, func(key, value []byte) (bool, error) {
		assets = append(assets, row{append([]byte(nil), key[len(prefix):]...), append([]byte(nil), value...)})
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, a := range assets {
		rows.Put(rows.Key(store.XChainAssets).Bytes(a.key), a.value)
	}
	outputs, err := rows.UnspentOf(from)
	if err != nil {
		return err
	}
	for i, u := range outputs {
		// Their places are before all blocks, in the order of their IDs.
		u.Place = primary.Place{Index: uint32(i)}
		if err := rows.PutOutput(u); err != nil {
			return err
		}
	}
	return nil
}

// Inherited reports whether the rows of blocks have what the vertices left. They do not if
// no node had the vertices when the first block came. It may be asked when all vertices
// are indexed.
func Inherited(blocks, vertices *primary.Chain) (bool, error) {
	from, err := vertices.View(primary.XVertices)
	if errors.Is(err, primary.ErrEmpty) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer from.Close()
	left, found, err := from.UnspentOutput(0) // those of the genesis may be there without vertices
	if err != nil || !found {
		return err == nil, err
	}
	v, err := blocks.View(primary.XChain)
	if errors.Is(err, primary.ErrEmpty) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer v.Close()
	u, found, err := v.Output(left.ID())
	return found && u.Known, err
}
