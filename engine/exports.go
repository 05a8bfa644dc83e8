package engine

import (
	"context"

	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/operation"
	"quorate/engine/store/results"
)

// exportsDir is the folder of exports in the data folder.
const exportsDir = "exports"

// Exports returns what writes exports of transactions; nil while the databases are not
// open, and without an index.
func (e *Engine) Exports() *operation.Exports { return e.exports.Load() }

// startExports starts what writes exports. It ends before what it reads.
func (e *Engine) startExports(ctx context.Context, kept *results.DB, end *ending) error {
	if e.cfg.NoIndex {
		return nil
	}
	cfg := e.cfg.Exports
	cfg.Dir, cfg.Store, cfg.Chains = e.path(exportsDir), kept.Operations(), exported{&e.evms}
	cfg.Room, cfg.Spare, cfg.Logger, cfg.Metrics = e.room, e.cfg.Spare, e.cfg.Log("export"), e.cfg.Metrics
	exports, err := operation.New(cfg)
	if err != nil {
		return err
	}
	layer := actor.NewLayer(ctx, e.log)
	end.later("the exports", baseStop, layer.StopWithin)
	e.exports.Store(exports)
	return layer.Go("exports", exports.Run)
}

// exported shows the followed chains to exports.
type exported struct{ evms *EVMs }

// ByID implements [operation.Chains].
func (x exported) ByID(id chain.ID) (operation.Chain, bool) {
	c, ok := x.evms.ByID(id)
	return exportedChain{c}, ok
}

type exportedChain struct{ *follow.EVM }

// View implements [operation.Chain].
func (c exportedChain) View(tip *uint64) (operation.View, error) {
	v, err := c.Index().At(tip)
	if err != nil {
		return nil, err // a nil *index.View is not a nil View
	}
	return v, nil
}
