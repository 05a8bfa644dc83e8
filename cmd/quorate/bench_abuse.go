package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"quorate/bench"
)

// benchAbuseHelp also documents the JSON form of the report.
const benchAbuseHelp = `Floods a server with requests that nobody can answer, and tells what that does to
those who ask for messages that validators sign.

The flood comes without a key from other addresses of this machine (127.0.0.2 and
so on), a quarter each of
  messages of chains that do not exist, for 40 signing subnets
  random payloads of a chain that does exist
  the same with a justification of 64 KiB
  the same for old P-Chain heights
at both addresses that sign, /v1/signatureAggregator and /aggregate-signatures.

The run has three parts of --duration each: honest requests alone, beside the
flood, and, still beside it, the same number to a bare HTTP server in this process
that answers the same bytes at once. What the bare server's requests take is what
the busy machine takes; the client is on it, too.

Each honest request is for a message of the facts file that was not asked for
before. "quorate devnet --scenario '{messages: N}'" makes more. At 1,000 validators use --rate 2.

--json prints {garbage, clients, honest, factor, quiet, flooded, bare: each {ok,
failed, latencyMs: {mean, p50, p90, p99, max}, errors: [{kind, count}]}, answers:
[{kind, count}]}; answers are those to the garbage.

It exits with 1 when an honest request failed beside the flood, or when their 99th
percentile was more than --factor times both that without the flood and that of
the bare server.`

type benchAbuseFlags struct {
	cfg   bench.AbuseConfig
	facts string
	json  bool
}

func benchAbuseCommand() *cobra.Command {
	var f benchAbuseFlags
	cmd := &cobra.Command{
		Use:   "abuse",
		Short: "Measure what a flood of garbage does to honest requests",
		Long:  benchAbuseHelp,
		Example: `  quorate bench abuse --facts ~/.quorate/facts.json
  quorate bench abuse --facts facts.json --garbage 1000 --clients 50
  quorate bench abuse --facts facts.json --rate 2 --duration 30s --json`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return benchAbuse(cmd, &f) },
	}
	flags := cmd.Flags()
	loadFlags(flags, &f.cfg.Load)
	flags.Lookup("concurrency").Usage = "honest requests in flight"
	flags.Lookup("concurrency").DefValue = "64"
	f.cfg.Concurrency = 64
	flags.Lookup("rate").Usage = "honest requests due each second"
	flags.Lookup("rate").DefValue = "20"
	f.cfg.Rate = 20
	flags.StringVar(&f.facts, "facts", "", "facts file with the messages (required)")
	flags.StringVar(&f.cfg.Network, "network", "", "network of the messages (default: that of the facts file)")
	flags.DurationVar(&f.cfg.Duration, "duration", 10*time.Second, "length of each of the three parts, at most 1h")
	flags.Float64Var(&f.cfg.Garbage, "garbage", 500, "garbage requests due each second")
	flags.IntVar(&f.cfg.Clients, "clients", 8, "addresses that the garbage comes from, 1 to 200")
	flags.Float64Var(&f.cfg.Factor, "factor", 3, "bound for the 99th percentile, in units of that without the flood")
	flags.BoolVar(&f.json, "json", false, "print the report in JSON")
	return cmd
}

func benchAbuse(cmd *cobra.Command, f *benchAbuseFlags) error {
	if f.facts == "" {
		return usageError{errors.New("--facts is required: the file that quorate serve --devnet or quorate devnet --facts-file writes")}
	}
	if f.cfg.Concurrency < 1 || f.cfg.Duration <= 0 || f.cfg.Timeout <= 0 || f.cfg.Rate <= 0 || f.cfg.Garbage <= 0 {
		return usageError{errors.New("--concurrency, --duration, --timeout, --rate and --garbage must be positive")}
	}
	facts, err := readFacts(f.facts)
	if err != nil {
		return err
	}
	f.cfg.Messages = facts.Messages
	if f.cfg.Network == "" {
		f.cfg.Network = facts.Network
	}
	stop := showLoad(cmd.ErrOrStderr(), &f.cfg.Load)
	report, err := bench.RunAbuse(cmd.Context(), f.cfg)
	stop()
	if errors.Is(err, bench.ErrConfig) {
		return usageError{err}
	}
	if report == nil {
		return err
	}
	return errors.Join(err, writeReport(cmd, report, f.json), report.Broken())
}
