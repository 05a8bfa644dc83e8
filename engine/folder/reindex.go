package folder

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

// Offline says which chains of a data folder [Reindex] and [Check] work on.
type Offline struct {
	// DataDir is the data folder. No other process may use it. Required.
	DataDir string
	// Chain is the one chain to do: its blockchain ID, or one of a primary network by its
	// [PrimaryName]. Empty does all.
	Chain string
	// OnProgress, if not nil, is called with how many blocks of a chain are done. Chains
	// are called here as in Chain.
	OnProgress func(name string, done, of uint64)
	// Uncompressed leaves what is written to the index as it is.
	Uncompressed bool
	// Logger takes the log; nil discards it.
	Logger *slog.Logger
}

// ReindexConfig says what [Reindex] does.
type ReindexConfig struct {
	Offline
	// Tables are made again from the archive; nil are those that are stale. Primary says
	// the same of the rows of primary networks' chains, all of which are made together.
	Tables  []index.Table
	Primary bool
	// Metrics makes the metrics that are missing instead, from the index's own rows,
	// or with Scratch all of them.
	Metrics, Scratch bool
	// OnDone, if not nil, is called at the end of a chain with what was made, of how
	// many blocks.
	OnDone func(name string, made []string, blocks uint64)
}

// PrimaryTables is what all rows of a chain of a primary network are called.
var PrimaryTables = []string{"primary"}

// Reindex makes tables of the chains in a data folder again, while nothing serves
// it. It can be ended by ctx at any time and goes on when called again.
func Reindex(ctx context.Context, cfg ReindexConfig) error {
	return cfg.each(func(c *index.Chain, id chain.ID, progress func(done, of uint64)) error {
		tables := cfg.Tables
		if tables == nil {
			if cfg.Primary {
				return nil
			}
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
			cfg.OnDone(id.String(), Names(tables), number+1)
		}
		return err
	}, func(c *primaryOffline) error {
		if cfg.Metrics || !cfg.Primary && (cfg.Tables != nil || !c.rows.Stale()) {
			return nil
		}
		if err := c.made(); err != nil {
			return err
		}
		err := c.archive(func(a primary.Blocks) error { return c.rows.Remake(ctx, a, c.progress) })
		if first, ok := c.rows.First(); err == nil && ok && cfg.OnDone != nil {
			head, _ := c.rows.Cursor()
			cfg.OnDone(c.name, PrimaryTables, head.Height-first+1)
		}
		return err
	})
}

// Names returns what tables are called.
func Names(tables []index.Table) (list []string) {
	for _, t := range tables {
		list = append(list, t.String())
	}
	return list
}

// CheckConfig says what [Check] does.
type CheckConfig struct {
	Offline
	// OnDifference is called for each row that is not what the archive says.
	OnDifference func(name string, d fmt.Stringer)
	// OnDone is called at the end of a chain with how many rows were compared, and
	// with the tables that were left out since they are stale.
	OnDone func(name string, rows uint64, stale []string)
}

// Check compares every row of the chains in a data folder with what the archive
// says, while nothing serves it.
func Check(ctx context.Context, cfg CheckConfig) error {
	return cfg.each(func(c *index.Chain, id chain.ID, progress func(done, of uint64)) error {
		return cfg.archive(id, func(a index.Blocks) error {
			rows, err := c.Check(ctx, a, progress, func(d index.Difference) { cfg.OnDifference(id.String(), d) })
			if err == nil {
				cfg.OnDone(id.String(), rows, Names(c.Stale()))
			}
			return err
		})
	}, func(c *primaryOffline) error {
		if c.rows.Stale() {
			cfg.OnDone(c.name, 0, PrimaryTables)
			return nil
		}
		if err := c.made(); err != nil {
			return err
		}
		return c.archive(func(a primary.Blocks) error {
			rows, err := c.rows.Check(ctx, a, c.progress, func(d primary.Difference) { cfg.OnDifference(c.name, d) })
			if err == nil {
				cfg.OnDone(c.name, rows, nil)
			}
			return err
		})
	})
}

// each opens the chains one after the other.
func (o *Offline) each(do func(c *index.Chain, id chain.ID, progress func(done, of uint64)) error, primaryDo func(*primaryOffline) error) (err error) {
	dir, err := o.indexDir()
	if err != nil {
		return err
	}
	db, err := store.Open(dir, store.Options{Uncompressed: o.Uncompressed, Logger: o.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ids, err := db.Chains()
	if err != nil {
		return err
	}
	found := o.Chain == ""
	for _, raw := range ids {
		id := chain.ID(raw)
		if _, _, rows := primary.IsRowsID(id); rows || o.Chain != "" && o.Chain != id.String() {
			continue
		}
		found = true
		c, err := index.Open(db, id, index.Options{})
		if err == nil {
			err = do(c, id, o.progress(id.String()))
		}
		if err != nil {
			return fmt.Errorf("chain %s: %w", id, err)
		}
	}
	any, err := o.eachPrimary(db, ids, primaryDo)
	if err == nil && !found && !any {
		err = fmt.Errorf("chain %s was never indexed", o.Chain)
	}
	return err
}

// indexDir returns the folder of the index, which must be there.
func (o *Offline) indexDir() (string, error) {
	dir := filepath.Join(o.DataDir, IndexDir)
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("no chain was indexed in %s: %w", o.DataDir, err)
	}
	return dir, nil
}

// progress returns what is called with the progress of a chain.
func (o *Offline) progress(name string) func(done, of uint64) {
	return func(done, of uint64) {
		if o.OnProgress != nil {
			o.OnProgress(name, done, of)
		}
	}
}

// archive opens the archive of a chain.
func (o *Offline) archive(id chain.ID, do func(index.Blocks) error) error {
	return o.openArchive(id.String(), archive.KindEVM, func(a *archive.Archive) error { return do(evmarchive.NewReader(a)) })
}

// openArchive opens an archive by the name of its folder.
func (o *Offline) openArchive(name string, kind archive.Kind, do func(*archive.Archive) error) (err error) {
	dir := filepath.Join(o.DataDir, ArchiveDir, name)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("the chain has no archive: %w", err)
	}
	a, err := archive.Open(dir, archive.Options{Kind: kind, Logger: o.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	return do(a)
}
