package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"quorate/devnet"
	"quorate/devnet/hostile"
	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/follow/verdict"
	"quorate/internal/hostport"
)

// devnetPort is where a simulated network's node API is looked for.
const devnetPort = 9850

// devnetFlags are the flags of quorate devnet.
type devnetFlags struct {
	cfg                devnet.Config
	weights, factsFile string
	log                logFlags
	kinds              []string
	genesisFile        string
	httpPort           uint16
	now                bool
	helicon            heliconValue
}

func devnetCommand() *cobra.Command {
	var f devnetFlags
	cmd := &cobra.Command{
		Use:   "devnet",
		Short: "Run a simulated Avalanche network",
		Long: `Runs a network in this process: a node API, and validators that speak the peer
protocol with keys and certificates of their own and sign the warp messages in
the facts file. Any aggregator can use it as it uses a real node. It prints
"devnet ready http://HOST:PORT" on standard output once everything listens.

The same seed gives the same keys, IDs and messages, but for ports, and for what
depends on the time with --now.

How it is further is said by a scenario, a file in YAML or JSON, or the same in
braces. Validators can be made silent, lying, slow, flapping, refusing and late,
by shares of the stake that add up to 1 at most. A share is made of whole validators
and never exceeded; the first validator, whose node API this is, stays honest.
Ways of lying:
` + kindNames(hostile.Kinds()) + `.
Ways of attacking the connection, only when named in kinds:
` + kindNames(hostile.Attacks()) + `.`,
		Example: `  quorate devnet --validators 100 --weights zipf --facts-file facts.json
  quorate devnet --validators 100 --byzantine 0.2 --scenario odd.yaml
  quorate devnet --byzantine 0.2 --scenario '{kinds: [wrong-key, flood, bomb]}'
  quorate serve --node-url http://127.0.0.1:9850`,
		Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return runDevnet(cmd, &f) },
	}
	f.helicon = defaultHelicon
	f.add(cmd.Flags())
	addConfigFlag(cmd)
	cmd.SetUsageFunc(groupedUsage)
	return cmd
}

func (f *devnetFlags) add(flags *pflag.FlagSet) {
	group(flags, groupPeers, func(flags *pflag.FlagSet) {
		flags.IntVar(&f.cfg.Validators, "validators", devnet.DefaultValidators, "number of validators")
		flags.StringVar(&f.weights, "weights", string(devnet.Equal), "how stake is spread: equal or zipf")
		flags.DurationVar(&f.cfg.Latency, "latency", 0, "delay of every answer of every validator")
	})
	group(flags, groupBehave, func(flags *pflag.FlagSet) {
		flags.Float64Var(&f.cfg.Silent, "silent", 0, "share of the stake, 0 to 1, whose validators never answer")
		flags.Float64Var(&f.cfg.Byzantine, "byzantine", 0, "share of the stake whose validators lie; the facts file names them")
	})
	group(flags, groupChains, func(flags *pflag.FlagSet) {
		flags.IntVar(&f.cfg.EVMChains, "evm-chains", 0, "number of EVM chains besides the C-Chain, each of an L1")
		flags.IntVar(&f.cfg.Blocks, "blocks", devnet.DefaultBlocks, "height of each EVM chain at the start")
		flags.IntVar(&f.cfg.TxsPerBlock, "txs-per-block", devnet.DefaultTxsPerBlock, "average number of transactions of a block")
		flags.DurationVar(&f.cfg.BlockInterval, "block-interval", devnet.DefaultBlockInterval, "how often each EVM chain accepts a block; 0 means never")
		flags.Var(&f.helicon, "helicon", "when the upgrade Helicon activates on the C- and the P-Chain: a time, one that is counted from the end of the history like -960h or +30s, or never")
		flags.Uint64Var(&f.cfg.Seed, "seed", 0, "selects keys, IDs and messages")
	})
	group(flags, groupListen, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.cfg.HTTPHost, "http-host", devnet.DefaultHost, "IP address of the node API")
		flags.Uint16Var(&f.httpPort, "http-port", devnetPort, "port of the node API; 0 takes a free one")
	})
	group(flags, groupOperate, func(flags *pflag.FlagSet) {
		flags.StringVar(&f.factsFile, "facts-file", "", "file to write messages, IDs and addresses to")
		flags.StringVar(&f.genesisFile, "genesis-file", "", "file to write the genesis bytes of the P-Chain to: serve --genesis-file 12345=FILE reads it")
		f.log.addDisplay(flags)
	})
	group(flags, groupChains, func(flags *pflag.FlagSet) {
		addScenario(flags, f.scenario())
	})
}

// scenario returns the settings that a file of --scenario has besides flags.
func (f *devnetFlags) scenario() *pflag.FlagSet {
	scenario := pflag.NewFlagSet(scenarioFlag, pflag.ContinueOnError)
	scenario.IntVar(&f.cfg.L1s, "l1s", 0, "number of subnets converted to L1s, each with a chain whose messages can be signed")
	scenario.IntVar(&f.cfg.L1Members, "l1-members", 0, "number of validators of each L1, the first ones; default 5, or all of fewer")
	scenario.IntVar(&f.cfg.L1Own, "l1-own", 0, "number of those validators, the last ones, that are not validators of the primary network")
	scenario.DurationVar(&f.cfg.L1After, "l1-after", 0, "how long after the start the last L1 is converted: until then it has no validators")
	scenario.IntVar(&f.cfg.L1Inactive, "l1-inactive", 0, "number of validators of each L1 that have run out of balance")
	scenario.IntVar(&f.cfg.L1Underfunded, "l1-underfunded", 0, "number of validators of each L1 that are about to")
	scenario.IntVar(&f.cfg.SharedKeys, "shared-keys", 0, "number of pairs of validators that share a BLS key")
	scenario.IntVar(&f.cfg.Keyless, "keyless", 0, "number of validators without a BLS key on the primary network")
	scenario.DurationVar(&f.cfg.HeightInterval, "height-interval", defaultHeight, "how often the P-Chain accepts a block; 0 means never")
	scenario.DurationVar(&f.cfg.Jitter, "jitter", 0, "further delay of each answer, random up to this")
	scenario.BoolVar(&f.cfg.NoSybilProtection, "no-sybil-protection", false, "take every peer for a validator, and accept no block of an EVM chain while its vote is due")
	scenario.IntVar(&f.cfg.ReadRate, "read-rate", 0, "bytes a second above which validators stop reading from a peer, 524288 for real ones; 0 means no bound")
	scenario.StringSliceVar(&f.kinds, "kinds", nil, "kinds of faults and attacks, assigned to validators in turn; default all kinds of false answers")
	scenario.Float64Var(&f.cfg.Slow, "slow", 0, "share of the stake whose validators answer late")
	scenario.DurationVar(&f.cfg.SlowDelay, "slow-delay", devnet.DefaultSlowDelay, "how much later")
	scenario.Float64Var(&f.cfg.Flapping, "flapping", 0, "share of the stake whose validators cut connections again and again")
	scenario.DurationVar(&f.cfg.FlapEvery, "flap-every", devnet.DefaultFlapEvery, "how long these connections last, on average")
	scenario.Float64Var(&f.cfg.Refusing, "refusing", 0, "share of the stake whose validators refuse every request")
	scenario.Float64Var(&f.cfg.Late, "late", 0, "share of the stake whose validators refuse a message at first, as they accept blocks late")
	scenario.DurationVar(&f.cfg.LateBy, "late-by", devnet.DefaultLateBy, "for how long after the message was first asked for")
	scenario.DurationVar(&f.cfg.HistoryInterval, "history-interval", 0, "average time between blocks before the start; default: two years in all")
	scenario.IntVar(&f.cfg.PrimaryBlocks, "primary-blocks", defaultPrimary, "about how many blocks the P-Chain has at the start, and the X-Chain a third of it; 0 means no history and no X-Chain")
	scenario.BoolVar(&f.cfg.IrregularTimes, "irregular-times", false, "have these blocks come in bursts, at equal times, and not at all for months")
	scenario.BoolVar(&f.cfg.StateProofs, "state-proofs", false, "make state roots true and balances provable (eth_getProof), on chains of at most 50000 transactions")
	scenario.BoolVar(&f.now, "now", false, "have the history end now, not at the start of 2025: the clocks of the chains are right, and an upgrade to come is ahead of those who follow them")
	scenario.DurationVar(&f.cfg.ExecutionDelay, "execution-delay", devnet.DefaultExecutionDelay, "how long after its acceptance the C-Chain executes a block from Helicon on")
	scenario.IntVar(&f.cfg.Messages, "messages", devnet.DefaultMessages, "number of messages in the facts file")
	scenario.IntVar(&f.cfg.Nodes, "nodes", 1, "number of node APIs, at ports from --http-port on; the facts file names them")
	return scenario
}

// kindNames returns names of ways of lying, in lines of help text.
func kindNames(kinds []hostile.Kind) string {
	var lines []string
	line := ""
	for _, kind := range kinds {
		if line != "" && len(line)+len(kind) > 76 {
			lines, line = append(lines, line+","), ""
		}
		if line != "" {
			line += ", "
		}
		line += string(kind)
	}
	return strings.Join(append(lines, line), "\n")
}

func runDevnet(cmd *cobra.Command, f *devnetFlags) (err error) {
	if f.cfg.HTTPHost, err = hostport.Host(f.cfg.HTTPHost); err != nil {
		return usageError{fmt.Errorf("--http-host: %w", err)}
	}
	logs, err := f.log.open(cmd, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, logs.Close()) }()
	for _, text := range movedOf(cmd) {
		logs.Logger("main").Warn(text)
	}
	if f.genesisFile != "" && f.cfg.PrimaryBlocks == 0 {
		return usageError{errors.New("--genesis-file: without primary-blocks there is none")}
	}
	if f.cfg.Kinds, err = hostile.ParseKinds(strings.Join(f.kinds, ",")); err != nil {
		return usageError{err}
	}
	f.cfg.Weights, f.cfg.HTTPPort, f.cfg.Logger = devnet.Weights(f.weights), f.httpPort, logs.Logger("devnet")
	start := world.Start()
	if f.now {
		start = time.Now().UTC().Truncate(time.Second)
		f.cfg.Start = start
	}
	f.cfg.Helicon = f.helicon.after(start)
	_, endHangups := onHangup() // there is nothing to read again
	defer endHangups()
	d, stop, err := startDevnet(cmd.Context(), f.cfg)
	if err != nil {
		return err
	}
	defer stop(&err)
	if f.factsFile != "" {
		if err := d.Facts("").Write(f.factsFile); err != nil {
			return err
		}
	}
	if f.genesisFile != "" {
		if err := os.WriteFile(f.genesisFile, d.Genesis(), 0o600); err != nil {
			return fmt.Errorf("genesis: %w", err)
		}
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "devnet ready %s\n", d.NodeURL()); err != nil {
		return err
	}
	<-cmd.Context().Done()
	return nil
}

// never is how a flag says that an upgrade does not activate.
const never = "never"

// heliconValue is a flag for a time by the clock of a simulated network.
type heliconValue struct {
	text string
	at   time.Time     // zero unless the text is a time
	from time.Duration // of a text that is counted from the end of the history
}

// after returns the time in a network whose history ends at start: zero for never.
func (v *heliconValue) after(start time.Time) time.Time {
	if v.text == never || !v.at.IsZero() {
		return v.at
	}
	return start.Add(v.from)
}

// String implements pflag.Value.
func (v *heliconValue) String() string { return v.text }

// Type implements pflag.Value.
func (*heliconValue) Type() string { return "time" }

// Set implements pflag.Value.
func (v *heliconValue) Set(s string) (err error) {
	to := heliconValue{text: s}
	if to.from, err = time.ParseDuration(s); err != nil && s != never {
		to.at, err = time.Parse(time.RFC3339, s)
		if err != nil || to.at.IsZero() {
			return fmt.Errorf("%q is neither a time like 2024-12-01T00:00:00Z, nor one from the end of the history like +30s, nor %s", s, never)
		}
		to.at = to.at.UTC()
	}
	*v = to
	return nil
}

// startDevnet starts a network and waits until it listens. stop ends it and
// adds its error to *err; it outlives ctx, so that servers above it can end first.
func startDevnet(ctx context.Context, cfg devnet.Config) (d *devnet.Devnet, stop func(err *error), err error) {
	d, err = devnet.New(cfg)
	if errors.Is(err, devnet.ErrConfig) {
		return nil, nil, usageError{err}
	}
	if err != nil {
		return nil, nil, err
	}
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	go func() { done <- d.Run(runCtx) }()
	stop = func(err *error) {
		cancel()
		*err = errors.Join(*err, <-done)
	}
	select {
	case <-d.Ready():
		return d, stop, nil
	case err = <-done:
		cancel()
		return nil, nil, err
	case <-ctx.Done():
		stop(&err)
		return nil, nil, errors.Join(context.Cause(ctx), err)
	}
}

// embeddedBlocks is the height of the chains of a network that quorate serve starts.
// Tests make it small: a history is signed and indexed block by block.
var embeddedBlocks = devnet.DefaultBlocks

// defaultPrimary is about how many blocks the P-Chain of a simulated network has
// unless told otherwise, and defaultHeight how often it grows. Tests do without.
// defaultHelicon is when that upgrade activates: within the history.
var (
	defaultPrimary = primary.DefaultBlocks
	defaultHeight  = devnet.DefaultHeightInterval
	defaultHelicon = heliconValue{text: "-960h", from: -960 * time.Hour}
)

// secondShare is of how many blocks one has its calls asked of a second node. Tests
// make it small: a chain grows until a lie is found.
var secondShare uint32 = verdict.DefaultShare

// maxNodeAnswer bounds an answer of a chain's nodes in bytes; 0 stands for what the engine
// takes. Tests make it small: a node sends too much again and again.
var maxNodeAnswer int
