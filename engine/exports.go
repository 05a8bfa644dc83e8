package engine

import (
	"quorate/engine/chain"
	"quorate/engine/operation"
)

// exportsDir is the folder of exports in the data folder.
const exportsDir = "exports"

// Exports returns what writes exports of transactions; nil without an index.
func (e *Engine) Exports() *operation.Exports { return e.exports }

func (e *Engine) newExports() (err error) {
	cfg := e.cfg.Exports
	cfg.Dir, cfg.Chain = e.disk.path(exportsDir), e.exported
	cfg.Room, cfg.Spare, cfg.Logger, cfg.Metrics = e.disk.room, e.cfg.Spare, e.cfg.Log("export"), e.cfg.Metrics
	e.exports, err = operation.New(cfg)
	return err
}

// exported returns a followed chain for exports.
func (e *Engine) exported(id chain.ID) (operation.Chain, bool) {
	c, ok := e.evms.ByID(id)
	if !ok {
		return operation.Chain{}, false
	}
	return operation.Chain{Chain: c.Index(), Number: c.Number()}, true
}
