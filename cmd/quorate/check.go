package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/engine/primary"
)

// maxDifferences bounds the rows of a chain that are named one by one.
const maxDifferences = 100

func checkCommand() *cobra.Command {
	var f offlineFlags
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare every row of the index with the archive",
		Long: `Makes all tables of the index from the archive in the data folder, beside those
that are there, compares row by row, and removes them again. Rows that differ are
named, up to ` + fmt.Sprint(maxDifferences) + ` of a chain one by one, and the exit code is 1; "quorate reindex TABLE"
makes a table good. No node is asked. It is for a folder that no server uses, and
takes as much room on disk as the index does. Rows of the primary network are not
compared.`,
		Example: `  quorate check
  quorate check --data-dir /var/lib/quorate`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return check(cmd, &f) },
	}
	f.add(cmd, "data folder, which no running server may use")
	return cmd
}

// errDiffers ends the command with exit code 1.
var errDiffers = errors.New("rows of the index are not what the archive says")

func check(cmd *cobra.Command, f *offlineFlags) error {
	offline, err := f.config()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	told := teller{w: cmd.ErrOrStderr(), bars: isTerminal(cmd.ErrOrStderr())}
	offline.OnProgress = told.progress
	var outErr error
	say := func(format string, args ...any) {
		told.finish()
		_, err := fmt.Fprintf(out, format, args...)
		outErr = errors.Join(outErr, err)
	}
	differ, all := 0, 0
	offline.OnPrimary = func(network uint32, kind primary.Kind) {
		say("network %d, %s: not compared: rows of the primary network are made by the server that follows it\n", network, kind)
	}
	err = engine.Check(cmd.Context(), engine.CheckConfig{
		Offline: offline,
		OnDifference: func(id chain.ID, d index.Difference) {
			if differ++; differ <= maxDifferences {
				say("chain %s: %s\n", id, d)
			}
		},
		OnDone: func(id chain.ID, rows uint64, stale []index.Table) {
			if len(stale) > 0 {
				var names []string
				for _, t := range stale {
					names = append(names, t.String())
				}
				say("chain %s: not checked, since they are to be made again: %s\n", id, strings.Join(names, ", "))
			}
			say("chain %s: %d rows compared, %d differ\n", id, rows, differ)
			differ, all = 0, all+differ
		},
	})
	told.finish()
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("stopped; nothing has changed")
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.Clean(f.dataDir), err)
	case all > 0:
		return errors.Join(errDiffers, outErr)
	}
	return outErr
}
