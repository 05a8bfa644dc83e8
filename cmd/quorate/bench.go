package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"quorate/bench"
)

// benchFlags are the flags of quorate bench aggregate.
type benchFlags struct {
	cfg   bench.Config
	facts string
	style string
	json  bool
}

func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "bench",
		Short:   "Measure how fast a server is",
		Long:    `Puts load on a running server and tells how fast it answers.`,
		Example: `  quorate bench aggregate --facts ~/.quorate/facts.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("there is no command %q in %q", args[0], cmd.CommandPath())}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(cmd.ErrOrStderr())
			if err := cmd.Help(); err != nil {
				return err
			}
			return usageError{errors.New("no command given")}
		},
	}
	cmd.AddCommand(benchAggregateCommand())
	return cmd
}

// benchAggregateHelp also documents the JSON form of the report.
const benchAggregateHelp = `Asks a server to have the messages of a facts file signed, as fast as it answers
or at a fixed rate, and tells throughput, latencies and errors by kind.

Two kinds of load:
  --concurrency 16   closed loop: 16 clients, each waits for its answer before it
                     asks again. It finds the most that a server can do.
  --rate 200         open loop: 200 requests are due each second, whether or not
                     the earlier ones were answered; --concurrency bounds those in
                     flight. A latency counts from the time at which the request
                     was due, so a stall counts for all that it held up. It finds
                     what clients feel at that load. "sent late" is the part that
                     a request waited in this client; about 1 ms is its own clock.

Two kinds of messages:
  fresh (default)    each message once: the validators are asked. The run ends
                     when none is left; "quorate devnet --scenario '{messages: N}'" writes more.
                     Facts that were used before are not fresh to that server.
  --repeat           up to 1,000 messages, first once and unmeasured, then again
                     and again: a server that keeps its results asks nobody.

--vs URL2 compares two servers: they are loaded in turns of a second, and the
figures of each pair of turns are divided. A busy machine disturbs both alike, so
the median ratio says more than two runs one after the other. Each gets messages
of its own.

--pid N also measures the process of a server on this machine: CPU time and
memory for each request, from /proc.

Latencies cover good answers, and requests without any answer with the time until
they were given up. Answers with an error count by status and first words.
Signatures are not verified here: see quorate verify. Only servers on loopback
are loaded, unless --allow-remote.

--json prints {style, concurrency, rate, repeat, quorum, buffer, messages,
exhausted, servers: [{url, ok, failed, seconds, perSecond, latencyMs: {mean, p50,
p90, p99, max}, lateMs (with --rate), errors: [{kind, count}], process (with
--pid): {pid, cpuMs, cpuMsPerRequest, startRss, peakRss, growthPerRequest}}],
ratio (with --vs): {pairs: [{perSecond, p50, p99}], and the min, median and max of
each}}. Times end in Ms or are seconds, memory is in bytes, and a ratio is the
first server's figure divided by the second's.

It exits with 1 when a server gave not one good answer.`

func benchAggregateCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "aggregate",
		Short: "Measure the signing of warp messages",
		Long:  benchAggregateHelp,
		Example: `  quorate bench aggregate --facts ~/.quorate/facts.json --concurrency 32
  quorate bench aggregate --facts facts.json --rate 100 --duration 5s --json
  quorate bench aggregate --facts facts.json --repeat --pid 4711
  quorate bench aggregate --facts facts.json --style kebab --vs http://127.0.0.1:8080`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return benchAggregate(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.cfg.URL, "url", defaultServer, "address of the server")
	flags.IntVar(&f.cfg.Concurrency, "concurrency", 16, "requests in flight")
	flags.Float64Var(&f.cfg.Rate, "rate", 0, "requests due each second; 0: as fast as answers come")
	flags.DurationVar(&f.cfg.Timeout, "timeout", 15*time.Second, "longest wait for an answer")
	flags.IntVar(&f.cfg.PID, "pid", 0, "process of the server, to measure CPU and memory")
	flags.BoolVar(&f.cfg.AllowRemote, "allow-remote", false, "allow servers that are not on loopback; load only what is yours")
	flags.StringVar(&f.cfg.Vs, "vs", "", "address of a second server to compare it with")
	flags.StringVar(&f.facts, "facts", "", "facts file with the messages (required)")
	flags.StringVar(&f.style, "style", string(bench.Camel), "form of the requests: camel, or kebab as the relayer's own aggregator takes them")
	flags.StringVar(&f.cfg.Network, "network", "", "network of the messages, with --style camel (default: that of the facts file)")
	flags.DurationVar(&f.cfg.Duration, "duration", 10*time.Second, "length of the run, at most 1h")
	flags.DurationVar(&f.cfg.Slice, "slice", 0, "with --vs: length of a turn (default 1s, or a sixth of a short run)")
	flags.BoolVar(&f.cfg.Repeat, "repeat", false, "ask for the same messages again and again")
	flags.IntVar(&f.cfg.Quorum, "quorum", 67, "percent of the stake that must sign")
	flags.IntVar(&f.cfg.Buffer, "buffer", 0, "percent of the stake to try for beyond the quorum")
	flags.IntVar(&f.cfg.VsPID, "vs-pid", 0, "process of the second server")
	flags.BoolVar(&f.json, "json", false, "print the report in JSON")
	return cmd
}

func benchAggregate(cmd *cobra.Command, f *benchFlags) error {
	if f.facts == "" {
		return usageError{errors.New("--facts is required: the file that quorate serve --devnet or quorate devnet --facts-file writes")}
	}
	if f.cfg.Quorum < 1 || f.cfg.Concurrency < 1 || f.cfg.Duration <= 0 || f.cfg.Timeout <= 0 {
		return usageError{errors.New("--quorum, --concurrency, --duration and --timeout must be positive")}
	}
	facts, err := readFacts(f.facts)
	if err != nil {
		return err
	}
	f.cfg.Messages, f.cfg.Style = facts.Messages, bench.Style(f.style)
	if f.cfg.Network == "" {
		f.cfg.Network = facts.Network
	}
	stop := showLoad(cmd.ErrOrStderr(), &f.cfg.Load)
	report, err := bench.Run(cmd.Context(), f.cfg)
	stop()
	if errors.Is(err, bench.ErrConfig) {
		return usageError{err}
	}
	if report == nil {
		return err
	}
	write := report.WriteText
	if f.json {
		write = report.WriteJSON
	}
	err = errors.Join(err, write(cmd.OutOrStdout()))
	for _, s := range report.Servers {
		if err == nil && s.OK == 0 {
			err = fmt.Errorf("%s gave not one good answer", s.URL)
		}
	}
	return err
}

// showLoad draws a bar of the time if w is a terminal. stop takes it away.
func showLoad(w io.Writer, l *bench.Load) (stop func()) {
	if !isTerminal(w) {
		return func() {}
	}
	bar := progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false))
	// What cannot be drawn is no loss.
	l.Progress = func(p bench.Progress) {
		bar.ChangeMax64(p.Total.Milliseconds())
		bar.Describe(fmt.Sprintf("%d answers, %d failed", p.OK, p.Failed))
		_ = bar.Set64(min(p.Elapsed, p.Total).Milliseconds())
	}
	return func() { _ = bar.Finish() }
}
