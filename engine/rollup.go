package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/engine/store"
)

// indexDir is the folder of the index database in the data folder.
const indexDir = "index"

// ReindexConfig says what [ReindexMetrics] does.
type ReindexConfig struct {
	// DataDir is the data folder. No other process may use it. Required.
	DataDir string
	// Chain is the blockchain ID of the one chain to do; nil does all.
	Chain *chain.ID
	// Scratch makes all metrics anew, not only those that are missing.
	Scratch bool
	// OnProgress, if not nil, is told how many blocks of a chain have metrics.
	OnProgress func(id chain.ID, done, of uint64)
	// OnDone, if not nil, is told when the metrics of a chain are complete, and
	// how many blocks the chain has.
	OnDone func(id chain.ID, blocks uint64)
	// Logger takes the log; nil discards it.
	Logger *slog.Logger
}

// ReindexMetrics makes the metrics of the chains in a data folder, while nothing
// serves it. It can be ended by ctx at any time and goes on when called again.
func ReindexMetrics(ctx context.Context, cfg ReindexConfig) (err error) {
	dir := filepath.Join(cfg.DataDir, indexDir)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("no chain was indexed in %s: %w", cfg.DataDir, err)
	}
	db, err := store.Open(dir, store.Options{Logger: cfg.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ids, err := db.Chains()
	if err != nil {
		return err
	}
	found := cfg.Chain == nil
	for _, id := range ids {
		if cfg.Chain != nil && *cfg.Chain != id {
			continue
		}
		found = true
		if err := reindex(ctx, db, id, &cfg); err != nil {
			return fmt.Errorf("chain %s: %w", chain.ID(id), err)
		}
	}
	if !found {
		return fmt.Errorf("chain %s was never indexed", cfg.Chain)
	}
	return nil
}

func reindex(ctx context.Context, db *store.DB, id chain.ID, cfg *ReindexConfig) error {
	c, err := index.Open(db, id, index.Options{})
	if err != nil {
		return err
	}
	var progress func(done, of uint64)
	if cfg.OnProgress != nil {
		progress = func(done, of uint64) { cfg.OnProgress(id, done, of) }
	}
	roll := c.Roll
	if cfg.Scratch {
		roll = c.Reroll
	}
	if err := roll(ctx, progress); err != nil {
		return err
	}
	if number, _, ok := c.Cursor(); ok && cfg.OnDone != nil {
		cfg.OnDone(id, number+1)
	}
	return nil
}
