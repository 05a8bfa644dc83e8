package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// indexDir is the folder of the index database in the data folder.
const indexDir = "index"

// Offline says which chains of a data folder [Reindex] and [Check] work on.
type Offline struct {
	// DataDir is the data folder. No other process may use it. Required.
	DataDir string
	// Chain is the blockchain ID of the one chain to do; nil does all.
	Chain *chain.ID
	// OnProgress, if not nil, is called with how many blocks of a chain are done.
	OnProgress func(id chain.ID, done, of uint64)
	// OnPrimary, if not nil, is called with each chain of the primary network, whose rows
	// are passed over: they are of other tables, which the server that follows the
	// network makes again by itself.
	OnPrimary func(network uint32, kind primary.Kind)
	// Logger takes the log; nil discards it.
	Logger *slog.Logger
}

// ReindexConfig says what [Reindex] does.
type ReindexConfig struct {
	Offline
	// Tables are made again from the archive; nil are those that are stale.
	Tables []index.Table
	// Metrics makes the metrics that are missing instead, from the index's own rows,
	// or with Scratch all of them.
	Metrics, Scratch bool
	// OnDone, if not nil, is called at the end of a chain with what was made, of how
	// many blocks.
	OnDone func(id chain.ID, made []index.Table, blocks uint64)
}

// Reindex makes tables of the chains in a data folder again, while nothing serves
// it. It can be ended by ctx at any time and goes on when called again.
func Reindex(ctx context.Context, cfg ReindexConfig) error {
	return cfg.each(func(c *index.Chain, id chain.ID, progress func(done, of uint64)) error {
		tables := cfg.Tables
		if tables == nil {
			tables = c.Stale()
		}
		var err error
		switch {
		case cfg.Metrics && cfg.Scratch:
			err = c.Reroll(ctx, progress)
		case cfg.Metrics:
			err = c.Roll(ctx, progress)
		case len(tables) > 0:
			err = cfg.archive(id, func(a index.Blocks) error { return c.Rebuild(ctx, a, tables, progress) })
		}
		if number, _, ok := c.Cursor(); err == nil && ok && cfg.OnDone != nil {
			cfg.OnDone(id, tables, number+1)
		}
		return err
	})
}

// Reindex makes tables of the chains that are served again, one chain after the other,
// while the old ones are served. The folder of cfg is not looked at, and metrics alone
// cannot be made.
func (e *Engine) Reindex(ctx context.Context, cfg ReindexConfig) error {
	found := cfg.Chain == nil
	for _, c := range e.EVMs() {
		if cfg.Chain != nil && *cfg.Chain != c.ID() {
			continue
		}
		found = true
		made, blocks, err := c.Reindex(ctx, cfg.Tables, func(done, of uint64) { cfg.OnProgress(c.ID(), done, of) })
		if err != nil {
			return fmt.Errorf("chain %s: %w", c.ID(), err)
		}
		cfg.OnDone(c.ID(), made, blocks)
	}
	if !found {
		return fmt.Errorf("chain %s is not served", cfg.Chain)
	}
	return nil
}

// CheckConfig says what [Check] does.
type CheckConfig struct {
	Offline
	// OnDifference is called for each row that is not what the archive says.
	OnDifference func(id chain.ID, d index.Difference)
	// OnDone is called at the end of a chain with how many rows were compared, and
	// with the tables that were left out since they are stale.
	OnDone func(id chain.ID, rows uint64, stale []index.Table)
}

// Check compares every row of the chains in a data folder with what the archive
// says, while nothing serves it.
func Check(ctx context.Context, cfg CheckConfig) error {
	return cfg.each(func(c *index.Chain, id chain.ID, progress func(done, of uint64)) error {
		return cfg.archive(id, func(a index.Blocks) error {
			rows, err := c.Check(ctx, a, progress, func(d index.Difference) { cfg.OnDifference(id, d) })
			if err == nil {
				cfg.OnDone(id, rows, c.Stale())
			}
			return err
		})
	})
}

// each opens the chains one after the other.
func (o *Offline) each(do func(c *index.Chain, id chain.ID, progress func(done, of uint64)) error) (err error) {
	dir := filepath.Join(o.DataDir, indexDir)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("no chain was indexed in %s: %w", o.DataDir, err)
	}
	db, err := store.Open(dir, store.Options{Logger: o.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ids, err := db.Chains()
	if err != nil {
		return err
	}
	found := o.Chain == nil
	for _, raw := range ids {
		id := chain.ID(raw)
		if network, kind, rows := primary.IsRowsID(id); rows {
			if o.OnPrimary != nil && o.Chain == nil {
				o.OnPrimary(network, kind)
			}
			continue
		}
		if o.Chain != nil && *o.Chain != id {
			continue
		}
		found = true
		progress := func(done, of uint64) {
			if o.OnProgress != nil {
				o.OnProgress(id, done, of)
			}
		}
		c, err := index.Open(db, id, index.Options{})
		if err == nil {
			err = do(c, id, progress)
		}
		if err != nil {
			return fmt.Errorf("chain %s: %w", id, err)
		}
	}
	if !found {
		return fmt.Errorf("chain %s was never indexed", o.Chain)
	}
	return nil
}

// archive opens the archive of a chain.
func (o *Offline) archive(id chain.ID, do func(index.Blocks) error) (err error) {
	dir := filepath.Join(o.DataDir, archiveDir, id.String())
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("the chain has no archive: %w", err)
	}
	a, err := archive.Open(dir, archive.Options{Kind: archive.KindEVM, Logger: o.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return do(evmarchive.NewReader(a))
}
