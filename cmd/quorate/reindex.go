package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"quorate/engine"
	"quorate/engine/chain"
)

// reindexFlags are the flags of quorate reindex.
type reindexFlags struct {
	dataDir, chain   string
	metrics, scratch bool
}

func reindexCommand() *cobra.Command {
	var f reindexFlags
	cmd := &cobra.Command{
		Use:   "reindex",
		Short: "Make what follows from indexed blocks anew",
		Long: `Makes the metrics of chains that were indexed without them, or by other rules,
from the blocks in the data folder; no node is asked. "quorate serve" does the
same in the background, and answers metrics with 503 until they are complete.
This command is for a folder that no server uses, and faster.

It can be stopped at any time, and goes on where it was when it is called again.
--from-scratch makes all metrics anew, also those that are complete; go on after
a stop without it.`,
		Example: `  quorate reindex --metrics
  quorate reindex --metrics --from-scratch --data-dir /var/lib/quorate`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return reindex(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.metrics, "metrics", false, "make the metrics (required)")
	flags.BoolVar(&f.scratch, "from-scratch", false, "make all metrics anew, not only those that are missing")
	flags.StringVar(&f.chain, "chain", "", "blockchain ID of the one chain to do (default all)")
	flags.StringVar(&f.dataDir, "data-dir", defaultDataDir(), "data folder, which no running server may use")
	addConfigFlag(cmd)
	return cmd
}

func reindex(cmd *cobra.Command, f *reindexFlags) error {
	if !f.metrics {
		return usageError{errors.New("say what to make anew: --metrics")}
	}
	cfg := engine.ReindexConfig{DataDir: f.dataDir, Scratch: f.scratch}
	if f.chain != "" {
		id, err := chain.ParseID(f.chain)
		if err != nil {
			return usageError{fmt.Errorf("--chain: %w", err)}
		}
		cfg.Chain = &id
	}
	told := reindexTeller{w: cmd.ErrOrStderr(), bars: isTerminal(cmd.ErrOrStderr())}
	cfg.OnProgress = told.progress
	var outErr error
	cfg.OnDone = func(id chain.ID, blocks uint64) {
		told.finish()
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "chain %s: metrics of %d blocks are complete\n", id, blocks)
		outErr = errors.Join(outErr, err)
	}
	err := engine.ReindexMetrics(cmd.Context(), cfg)
	told.finish()
	if errors.Is(err, context.Canceled) {
		return errors.New("stopped; call it again, without --from-scratch, to go on")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Clean(f.dataDir), err)
	}
	return outErr
}

// tellEvery is the time between two lines where there is no bar.
const tellEvery = 5 * time.Second

// reindexTeller tells how far a chain is: by a bar on a terminal, else by lines.
type reindexTeller struct {
	w    io.Writer
	bars bool
	bar  *progressbar.ProgressBar
	last time.Time
}

func (t *reindexTeller) progress(id chain.ID, done, of uint64) {
	// What cannot be drawn is no loss.
	if !t.bars {
		if now := time.Now(); now.Sub(t.last) >= tellEvery {
			_, _ = fmt.Fprintf(t.w, "chain %s: metrics of %d of %d blocks\n", id, done, of)
			t.last = now
		}
		return
	}
	if t.bar == nil {
		t.bar = progressbar.NewOptions64(int64(of), progressbar.OptionSetWriter(t.w), progressbar.OptionSetWidth(30),
			progressbar.OptionSetDescription("chain "+id.String()[:8]), progressbar.OptionClearOnFinish(),
			progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("blocks"))
	}
	_ = t.bar.Set64(int64(done))
}

func (t *reindexTeller) finish() {
	if t.bar != nil {
		_ = t.bar.Finish()
		t.bar = nil
	}
}
