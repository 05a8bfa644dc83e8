package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"quorate/bench"
)

// benchMetricsFlags are the flags of quorate bench metrics.
type benchMetricsFlags struct {
	cfg    bench.MetricsConfig
	facts  string
	states []string
	json   bool
}

// benchMetricsHelp also documents the JSON form of the report.
const benchMetricsHelp = `Asks a server for pages of a chain's metrics, and in turns a bare HTTP server in
this process for the same bytes: the floor. Nothing that answers these bytes over
HTTP on this machine could do less, so "rate/bare" tells what the server adds, also
on a busy machine. It is the median over pairs of turns, with the lowest and the
highest. Latencies of the bare server are those of a server that shares its process
with the clients.

Pages have 1, 100 and 2160 points (--points) and are of two kinds (--state):
  warm   the newest page of each metric and interval, first once and unmeasured,
         then again and again
  cold   another combination of metric, interval and range in each request, none
         of them asked for before in this run

An interval of which the chain has fewer points than a page is left out; if that
leaves none, hours are asked for, and "pointsGiven" tells how many there were. So are
metrics that the chain does not have, as those of contracts without traces.

Two kinds of load, as in "quorate bench aggregate":
  --concurrency 16   closed loop: 16 clients, each waits for its answer before it
                     asks again
  --rate 5000        open loop: 5000 requests are due each second; a latency counts
                     from the time at which the request was due

--pid N also measures the process of a server on this machine. Only servers on
loopback are loaded, unless --allow-remote.

--json prints {chain, concurrency, rate, firstDay, lastDay, metrics, pages:
[{points, state, pointsGiven, bytes, exhausted, servers, ratio}]}. servers are the
server and the bare one; they and ratio have the form of "quorate bench aggregate".

It exits with 1 when the server gave not one good answer to a kind of page.`

func benchMetricsCommand() *cobra.Command {
	var f benchMetricsFlags
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "Measure the pages of a chain's metrics",
		Long:  benchMetricsHelp,
		Example: `  quorate bench metrics --facts ~/.quorate/facts.json
  quorate bench metrics --chain total --points 100 --state warm --rate 5000
  quorate bench metrics --facts facts.json --duration 20s --pid 4711 --json`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return benchMetrics(cmd, &f) },
	}
	flags := cmd.Flags()
	loadFlags(flags, &f.cfg.Load)
	flags.StringVar(&f.facts, "facts", "", "facts file that names the chain")
	flags.StringVar(&f.cfg.Chain, "chain", "", "ID of the chain, or total, mainnet or testnet (default: that of the facts file)")
	flags.IntSliceVar(&f.cfg.Points, "points", []int{1, 100, bench.MaxPoints}, "points of a page")
	flags.StringSliceVar(&f.states, "state", []string{string(bench.Warm), string(bench.Cold)}, "kinds of pages: warm, cold")
	flags.DurationVar(&f.cfg.Duration, "duration", 5*time.Second, "time for each size and kind of page, half of it for the bare server; at most 1h")
	flags.DurationVar(&f.cfg.Slice, "slice", 0, "length of a turn (default 1s, or a sixth of a short run)")
	flags.BoolVar(&f.json, "json", false, "print the report in JSON")
	return cmd
}

func benchMetrics(cmd *cobra.Command, f *benchMetricsFlags) error {
	if f.cfg.Concurrency < 1 || f.cfg.Duration <= 0 || f.cfg.Timeout <= 0 || len(f.cfg.Points) == 0 || len(f.states) == 0 {
		return usageError{errors.New("--concurrency, --duration and --timeout must be positive, --points and --state not empty")}
	}
	if f.cfg.Chain == "" {
		if f.facts == "" {
			return usageError{errors.New("--chain or --facts is required: the file that quorate serve --devnet or quorate devnet --facts-file writes")}
		}
		var err error
		if f.cfg.Chain, err = metricsChain(f.facts); err != nil {
			return err
		}
	}
	for _, s := range f.states {
		f.cfg.States = append(f.cfg.States, bench.State(s))
	}
	stop := showLoad(cmd.ErrOrStderr(), &f.cfg.Load)
	report, err := bench.RunMetrics(cmd.Context(), f.cfg)
	stop()
	if errors.Is(err, bench.ErrConfig) {
		return usageError{err}
	}
	if report == nil {
		return err
	}
	err = errors.Join(err, writeReport(cmd, report, f.json))
	for i := range report.Pages {
		p := &report.Pages[i]
		if err == nil && p.Servers[0].OK == 0 {
			err = fmt.Errorf("%s gave not one good answer for %s pages of %d points", p.Servers[0].URL, p.State, p.Points)
		}
	}
	return err
}

// metricsChain reads from a facts file which chain to ask for.
func metricsChain(path string) (string, error) {
	data, err := os.ReadFile(path) // the caller names the file
	if err != nil {
		return "", fmt.Errorf("read the facts file: %w", err)
	}
	var facts struct{ MetricsChainID, ChainID string }
	if err := json.Unmarshal(data, &facts); err != nil {
		return "", fmt.Errorf("facts file %s: %w", path, err)
	}
	id := cmp.Or(facts.MetricsChainID, facts.ChainID)
	if id == "" {
		return "", fmt.Errorf("facts file %s: it has neither \"metricsChainId\" nor \"chainId\"", path)
	}
	return id, nil
}
