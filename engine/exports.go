package engine

import (
	"quorate/engine/chain"
	"quorate/engine/follow"
	"quorate/engine/operation"
)

// exportsDir is the folder of exports in the data folder.
const exportsDir = "exports"

// Exports returns what writes exports of transactions; nil without an index.
func (e *Engine) Exports() *operation.Exports { return e.exports }

func (e *Engine) newExports() (err error) {
	cfg := e.cfg.Exports
	cfg.Dir, cfg.Chains = e.disk.path(exportsDir), exported{&e.evms}
	cfg.Room, cfg.Spare, cfg.Logger, cfg.Metrics = e.disk.room, e.cfg.Spare, e.cfg.Log("export"), e.cfg.Metrics
	e.exports, err = operation.New(cfg)
	return err
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
