package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"quorate/engine/chain"
	"quorate/engine/folder"
	"quorate/engine/index"
)

// offlineFlags are the flags of commands on a data folder that no server uses.
type offlineFlags struct{ dataDir, chain string }

func (f *offlineFlags) add(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&f.chain, "chain", "", "the one chain to do: its blockchain ID, or of a primary network the name of its archive, as network-1-p (default all)")
	cmd.Flags().StringVar(&f.dataDir, "data-dir", defaultDataDir(), use)
	addConfigFlag(cmd)
}

func (f *offlineFlags) config() (folder.Offline, error) {
	if _, _, ok := folder.ParsePrimaryName(f.chain); f.chain != "" && !ok {
		if _, err := chain.ParseID(f.chain); err != nil {
			return folder.Offline{}, usageError{fmt.Errorf("--chain: %w", err)}
		}
	}
	return folder.Offline{DataDir: f.dataDir, Chain: f.chain}, nil
}

// reindexFlags are the flags of quorate reindex.
type reindexFlags struct {
	offlineFlags
	metrics, scratch, compress, keepRows bool
	uncompressed                         uncompressedValue
}

// allTables is the argument that stands for all tables, primaryTables for all those of
// the chains of primary networks.
const (
	allTables     = "all"
	primaryTables = "primary"
)

func reindexCommand() *cobra.Command {
	var f reindexFlags
	cmd := &cobra.Command{
		Use:   "reindex [TABLE...]",
		Short: "Make tables of the index again from the archive",
		Long: `Makes tables of the index again from the archive in the data folder; no node is
asked. Without a table those are made that the program would make in another way
than they were made: after an update, or when blocks were completed since. Tables
that belong together are made together, and so are all of a chain of a primary
network. A server that uses the folder makes them,
and serves the old ones meanwhile; it does so by itself for stale ones. By hand it
is for tables that "quorate check" has found damaged.

--metrics makes the metrics that are missing from the index's own rows instead, for
a folder without an archive; with --from-scratch all of them.

--compress compresses an index of before it was compressed, at once and as a whole;
without it tables are compressed as they are written again. It says first how long
it takes and how much disk, and no server may use the folder meanwhile. When it is
stopped it has done nothing.

--keep-rows copies the primary network's history, where an older version has left it
in sorted files beside the database, into the database, and removes the files; a server
makes it again from the archive instead, if that has all blocks. It says first how
long it takes and how much disk, and no server may use the folder meanwhile.

Else it can be stopped at any time, and goes on where it was when it is called again.

Tables: ` + allTables + `, ` + primaryTables + `, ` + tableNames() + `.`,
		Example: `  quorate reindex
  quorate reindex token-balances --data-dir /var/lib/quorate
  quorate reindex all
  quorate reindex --metrics --from-scratch
  quorate reindex --compress
  quorate reindex --keep-rows`,
		RunE: func(cmd *cobra.Command, args []string) error { return reindex(cmd, &f, args) },
	}
	cmd.Flags().BoolVar(&f.metrics, "metrics", false, "make the metrics that are missing, from the index's own rows")
	cmd.Flags().BoolVar(&f.scratch, "from-scratch", false, "with --metrics: make all metrics again, not only those that are missing")
	cmd.Flags().BoolVar(&f.compress, "compress", false, "compress the tables of the index that are not compressed")
	cmd.Flags().BoolVar(&f.keepRows, "keep-rows", false, "copy rows that an older version has left beside the database into it")
	f.uncompressed.add(cmd.Flags())
	f.add(cmd, "data folder, which a server may use, but for --metrics, --compress and --keep-rows")
	return cmd
}

func tableNames() string {
	var names []string
	for _, t := range index.Tables() {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

var errAgain = errors.New("stopped; call it again to go on")

func reindex(cmd *cobra.Command, f *reindexFlags, args []string) error {
	offline, err := f.config()
	if err != nil {
		return err
	}
	offline.Uncompressed = bool(f.uncompressed)
	cfg := folder.ReindexConfig{Offline: offline, Metrics: f.metrics, Scratch: f.scratch}
	switch {
	case f.scratch && !f.metrics:
		return usageError{errors.New("--from-scratch goes with --metrics; to make all tables again: quorate reindex all")}
	case f.metrics && len(args) > 0:
		return usageError{errors.New("--metrics takes no table")}
	case (f.compress || f.keepRows) && (f.metrics || f.chain != "" || len(args) > 0 || f.compress && f.keepRows):
		return usageError{errors.New("--compress and --keep-rows are each of the whole index: they take no table, no --chain and no --metrics")}
	}
	for _, name := range args {
		if name == allTables {
			cfg.Tables, cfg.Primary = index.Tables(), true
			break
		}
		if name == primaryTables {
			cfg.Primary = true
			continue
		}
		t, err := index.ParseTable(name)
		if err != nil {
			return usageError{fmt.Errorf("%w: the tables are %s, %s", err, primaryTables, tableNames())}
		}
		cfg.Tables = append(cfg.Tables, t)
	}
	shown := newChainMeter(cmd.ErrOrStderr())
	if f.compress || f.keepRows {
		return whole(cmd, f, offline, shown)
	}
	cfg.OnProgress = shown.chain
	var outErr error
	cfg.OnDone = func(name string, made []string, blocks uint64) {
		shown.finish()
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "chain %s: %s\n", name, reindexed(f.metrics, made, blocks))
		outErr = errors.Join(outErr, err)
	}
	if !f.metrics && served(cmd.Context(), f.dataDir) {
		err = askReindex(cmd.Context(), &cfg)
	} else {
		err = folder.Reindex(cmd.Context(), cfg)
	}
	shown.finish()
	if errors.Is(err, context.Canceled) {
		return errAgain
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Clean(f.dataDir), err)
	}
	return outErr
}

// reindexed says what was made.
func reindexed(metrics bool, made []string, blocks uint64) string {
	if metrics {
		return fmt.Sprintf("metrics of %d blocks are complete", blocks)
	}
	if len(made) == 0 {
		return "nothing is stale"
	}
	return fmt.Sprintf("made again from %d blocks: %s", blocks, strings.Join(made, ", "))
}
