package primary

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/utxo"
)

// XState is the X-Chain's state after some vertices and blocks.
type XState struct {
	coins
	// Assets are all, by the transaction that made them; AVAX is one.
	Assets map[chain.ID]*avm.CreateAsset
	Txs    map[chain.ID]*XRecord
}

// XRecord is where a transaction of the X-Chain was accepted.
type XRecord struct {
	*avm.Tx
	// Vertex is set before the linearisation; then it is that of the index.
	Vertex bool
	Height uint64 // of the block, or the index of the vertex
	Time   uint64
}

func newXState(id chain.ID, genesis []byte) (*XState, error) {
	assets, err := avm.ParseGenesis(genesis)
	if err != nil {
		return nil, err
	}
	x := &XState{coins: newCoins(id), Assets: make(map[chain.ID]*avm.CreateAsset), Txs: make(map[chain.ID]*XRecord)}
	for i := range assets {
		x.make(&assets[i].Tx)
	}
	return x, nil
}

// apply executes a transaction.
func (x *XState) apply(tx *avm.Tx, r XRecord) error {
	r.Tx = tx
	x.Txs[tx.ID] = &r
	for _, in := range tx.Body.Funds().Inputs {
		if err := x.spend(in.Ref); err != nil {
			return fmt.Errorf("%v %s: %w", tx.Body.Kind(), tx.ID, err)
		}
	}
	if body, ok := tx.Body.(*avm.Operate); ok {
		for i := range body.Operations {
			for _, ref := range body.Operations[i].Inputs {
				if err := x.spend(ref); err != nil {
					return fmt.Errorf("operation of %s: %w", tx.ID, err)
				}
			}
		}
	}
	x.make(tx)
	return nil
}

func (x *XState) spend(ref utxo.Ref) error {
	if x.UTXOs[ref] == nil {
		return fmt.Errorf("input %v is not there", ref)
	}
	delete(x.UTXOs, ref)
	return nil
}

// make makes the outputs of a transaction.
func (x *XState) make(tx *avm.Tx) {
	next := utxo.Ref{TxID: tx.ID}
	add := func(asset chain.ID, state utxo.State) {
		x.addUTXO(utxo.UTXO{Ref: next, Output: utxo.Output{Asset: asset, State: state}})
		next.Index++
	}
	for _, o := range tx.Body.Funds().Outputs {
		add(o.Asset, o.State)
	}
	switch body := tx.Body.(type) {
	case *avm.CreateAsset:
		x.Assets[tx.ID] = body
		for _, s := range body.States {
			for _, state := range s.Outputs {
				add(tx.ID, state)
			}
		}
	case *avm.Operate:
		for i := range body.Operations {
			for _, state := range body.Operations[i].Outputs {
				add(body.Operations[i].Asset, state)
			}
		}
	case *avm.Export:
		for _, o := range body.Exported {
			x.export(body.DestinationChain, utxo.UTXO{Ref: next, Output: o})
			next.Index++
		}
	}
}
