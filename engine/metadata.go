package engine

import (
	"context"
	"sync/atomic"

	"github.com/holiman/uint256"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/follow"
	"quorate/engine/index"
	"quorate/engine/nftmeta"
	"quorate/engine/store/results"
)

// Metadata returns what fetches the metadata of NFTs; nil while the databases are not
// open, without an index, and where that is off.
func (e *Engine) Metadata() *nftmeta.Metadata { return e.metadata.running.Load() }

// metadata fetches the metadata of NFTs in the followed chains.
type metadata struct {
	evms    *EVMs
	running atomic.Pointer[nftmeta.Metadata]
}

// The database takes all records.
const _ = uint(results.MaxValue - nftmeta.MaxRecord)

// start starts what fetches, as far as cfg says how.
func (d *metadata) start(layer actor.Layer, cfg nftmeta.Config) error {
	cfg.Chains = d.chains
	m, err := nftmeta.New(cfg)
	if err != nil {
		return err
	}
	d.running.Store(m)
	return layer.Go("nft metadata", m.Run)
}

// changed has the metadata of NFTs fetched whose URIs are others now.
func (d *metadata) changed(of chain.ID, nfts []index.NFT) {
	if m := d.running.Load(); m != nil {
		m.Changed(of, nfts)
	}
}

// chains shows the followed chains to what fetches.
func (d *metadata) chains() []nftmeta.Chain {
	list := d.evms.All()
	out := make([]nftmeta.Chain, len(list))
	for i, c := range list {
		out[i] = nftmeta.Chain{ID: c.ID(), View: collectedView(c), Ask: func(token evm.Address, id uint256.Int) { c.AskURI(token, id) }}
	}
	return out
}

func collectedView(c *follow.EVM) func() (nftmeta.View, error) {
	return func() (nftmeta.View, error) {
		v, err := c.Index().At(nil)
		if err != nil {
			return nil, err // a nil *index.View is not a nil View
		}
		return v, nil
	}
}

// check is the health of what fetches.
func (d *metadata) check(ctx context.Context) (any, error) {
	if m := d.running.Load(); m != nil {
		return m.Check(ctx)
	}
	return nil, nil
}
