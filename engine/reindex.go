package engine

import (
	"context"
	"fmt"

	"quorate/engine/folder"
)

// Reindex makes tables of the chains that are served again, one chain after the other,
// while the old ones are served. The folder of cfg is not looked at, and metrics alone
// cannot be made.
func (e *Engine) Reindex(ctx context.Context, cfg folder.ReindexConfig) error {
	found := cfg.Chain == ""
	for _, c := range e.evms.All() {
		name := c.ID().String()
		if cfg.Chain != "" && cfg.Chain != name {
			continue
		}
		found = true
		if cfg.Tables == nil && cfg.Primary {
			continue
		}
		made, blocks, err := c.Reindex(ctx, cfg.Tables, func(done, of uint64) { cfg.OnProgress(name, done, of) })
		if err != nil {
			return fmt.Errorf("chain %s: %w", name, err)
		}
		cfg.OnDone(name, folder.Names(made), blocks)
	}
	for _, c := range e.primaries.list() {
		name := folder.PrimaryName(c.NetworkID(), c.Kind())
		if cfg.Chain != "" && cfg.Chain != name {
			continue
		}
		found = true
		if cfg.Tables != nil && !cfg.Primary {
			continue
		}
		blocks, err := c.Reindex(ctx, cfg.Primary, func(done, of uint64) { cfg.OnProgress(name, done, of) })
		if err != nil {
			return fmt.Errorf("chain %s: %w", name, err)
		}
		if blocks > 0 {
			cfg.OnDone(name, folder.PrimaryTables, blocks)
		}
	}
	if !found {
		return fmt.Errorf("chain %s is not served", cfg.Chain)
	}
	return nil
}
