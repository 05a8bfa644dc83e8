package engine

import (
	"context"

	"github.com/holiman/uint256"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/follow"
	"quorate/engine/health"
	"quorate/engine/index"
	"quorate/engine/nftmeta"
	"quorate/engine/store/results"
)

// Metadata returns what fetches the metadata of NFTs; nil while the databases are not
// open, without an index, and where that is off.
func (e *Engine) Metadata() *nftmeta.Metadata { return e.metadata.Load() }

// The database takes all records.
const _ = uint(results.MaxValue - nftmeta.MaxRecord)

// startMetadata starts what fetches.
func (e *Engine) startMetadata(layer actor.Layer, kept *results.DB) error {
	cfg := e.cfg.Metadata
	cfg.Store, cfg.Chains, cfg.Room, cfg.Logger, cfg.Metrics = kept.Metadata(), e.collected, e.room, e.cfg.Log("nft"), e.cfg.Metrics
	m, err := nftmeta.New(cfg)
	if err != nil {
		return err
	}
	e.metadata.Store(m)
	return layer.Go("nft metadata", m.Run)
}

// urisChanged has the metadata of NFTs fetched whose URIs are others now.
func (e *Engine) urisChanged(of chain.ID, nfts []index.NFT) {
	if m := e.metadata.Load(); m != nil {
		m.Changed(of, nfts)
	}
}

// collected shows the followed chains to what fetches.
func (e *Engine) collected() []nftmeta.Chain {
	list := e.evms.All()
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

// registerMetadata registers the check of what fetches, where that is on.
func (e *Engine) registerMetadata() error {
	if e.cfg.NoIndex || !e.cfg.Metadata.On {
		return nil
	}
	return e.checker.Register(health.Check{Name: "nft-metadata", Run: e.checkMetadata})
}

// checkMetadata is the health of what fetches.
func (e *Engine) checkMetadata(ctx context.Context) (any, error) {
	if m := e.metadata.Load(); m != nil {
		return m.Check(ctx)
	}
	return nil, nil
}
