package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"quorate/engine/folder"
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
takes as much room on disk as the index does. What rows of the primary network follow
from beside blocks, such as the genesis, is in the folder too.`,
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
	shown := newChainMeter(cmd.ErrOrStderr())
	offline.OnProgress = shown.chain
	var outErr error
	say := func(format string, args ...any) {
		shown.finish()
		_, err := fmt.Fprintf(out, format, args...)
		outErr = errors.Join(outErr, err)
	}
	differ, all := 0, 0
	err = folder.Check(cmd.Context(), folder.CheckConfig{
		Offline: offline,
		OnDifference: func(name string, d fmt.Stringer) {
			if differ++; differ <= maxDifferences {
				say("chain %s: %s\n", name, d)
			}
		},
		OnDone: func(name string, rows uint64, stale []string) {
			if len(stale) > 0 {
				say("chain %s: not checked, since they are to be made again: %s\n", name, strings.Join(stale, ", "))
			}
			say("chain %s: %d rows compared, %d differ\n", name, rows, differ)
			differ, all = 0, all+differ
		},
	})
	shown.finish()
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
