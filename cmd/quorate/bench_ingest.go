package main

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"quorate/bench"
)

// benchIngestHelp also documents the JSON form of the report.
const benchIngestHelp = `Indexes blocks that it makes up, always the same ones, into databases in a
temporary folder, and tells how fast that was. There is no node and no server. Each
round measures, in an order that changes from round to round:

  rollup alone           the metrics of all blocks, in memory on one core; an event
                         is one address in a transaction, a transfer or a creation
  index without metrics  all other rows, each commit of 64 blocks on disk
  index with metrics     all rows
  database alone         as many rows of the same bytes in as many commits, written
                         to the database without any other work: the floor

The figures of one round are divided, since a busy machine disturbs them alike. What
is measured includes the disk below --dir. Everything is removed at the end, also
after Ctrl-C, which shows the rounds that were whole.

--json prints {blocks, txs, accounts, rounds, events, rows, rowBytes, commits, diskBytes,
eventsPerSecond, plainPerSecond, perSecond, floorPerSecond, metricsRatio,
floorRatio}: the rates count events (the rollup alone) and transactions (the index
without and with metrics, the database), metricsRatio is the time with metrics divided
by that without, floorRatio the rate with metrics divided by that of the database;
each has min, median and max of the rounds.`

func benchIngestCommand() *cobra.Command {
	var cfg bench.IngestConfig
	var json bool
	cmd := &cobra.Command{
		Use:   "ingest",
		Short: "Measure the indexing of blocks, and the metrics' share of it",
		Long:  benchIngestHelp,
		Example: `  quorate bench ingest
  quorate bench ingest --blocks 1000 --rounds 5 --json
  quorate bench ingest --dir /data --txs-per-block 500`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return benchIngest(cmd, cfg, json) },
	}
	flags := cmd.Flags()
	flags.IntVar(&cfg.Blocks, "blocks", 300, "blocks to index")
	flags.IntVar(&cfg.TxsPerBlock, "txs-per-block", 100, "transactions of each block; at most 200,000 in all")
	flags.IntVar(&cfg.Accounts, "accounts", 10_000, "accounts that take part; new ones are what metrics cost most for")
	flags.IntVar(&cfg.Rounds, "rounds", 3, "how often each thing is measured, at most 100")
	flags.StringVar(&cfg.Dir, "dir", "", "where the temporary folder is made (default: the system's)")
	flags.BoolVar(&json, "json", false, "print the report in JSON")
	return cmd
}

func benchIngest(cmd *cobra.Command, cfg bench.IngestConfig, json bool) error {
	if cfg.Blocks < 1 || cfg.TxsPerBlock < 1 || cfg.Accounts < 1 || cfg.Rounds < 1 {
		return usageError{errors.New("--blocks, --txs-per-block, --accounts and --rounds must be positive")}
	}
	stop := showIngest(cmd.ErrOrStderr(), &cfg)
	report, err := bench.Ingest(cmd.Context(), cfg)
	stop()
	if errors.Is(err, bench.ErrConfig) {
		return usageError{err}
	}
	if report == nil {
		return err
	}
	return errors.Join(err, writeReport(cmd, report, json))
}

// showIngest draws a bar if w is a terminal. stop takes it away.
func showIngest(w io.Writer, cfg *bench.IngestConfig) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	bar := newBar(w, 1)
	// What cannot be drawn is no loss.
	cfg.Progress = func(p bench.IngestProgress) {
		bar.ChangeMax(p.Total)
		bar.Describe(p.Doing)
		_ = bar.Set(min(p.Done, p.Total))
	}
	return func() { _ = bar.Finish() }
}
