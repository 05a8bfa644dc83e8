package devnet

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"quorate/devnet/hostile"
	"quorate/devnet/validator"
	"quorate/devnet/world"
	"quorate/engine/metric"
)

// ErrConfig is wrapped by errors about a [Config].
var ErrConfig = errors.New("invalid devnet configuration")

// Behaviour decides what a validator does with a signature request. See
// [validator.Honest], [validator.Silent], [validator.Slow], [hostile.SignWith].
type Behaviour = validator.Behaviour

// Kind names a way of lying; [hostile.Kinds] has them all.
type Kind = hostile.Kind

// Weights names how stake is spread over the validators.
type Weights = world.Weights

// How stake may be spread.
const (
	Equal = world.Equal
	Zipf  = world.Zipf
)

// Defaults of [Config].
const (
	DefaultValidators = 5
	DefaultMessages   = 1000
	DefaultHost       = "127.0.0.1"
	DefaultSlowDelay  = 2 * time.Second
	DefaultFlapEvery  = 5 * time.Second
	DefaultLateBy     = 500 * time.Millisecond
	// DefaultBlocks, DefaultTxsPerBlock and DefaultHistory are of EVM chains:
	// 2,000 blocks with some 10,000 transactions within the two years before 2025.
	DefaultBlocks      = 2000
	DefaultTxsPerBlock = 5
	DefaultHistory     = 2 * 365 * 24 * time.Hour
	// DefaultBlockInterval is how often the commands let EVM chains grow; a
	// Config's zero value means that they do not.
	DefaultBlockInterval = 2 * time.Second
	// DefaultHeightInterval is, likewise, how often the P-Chain grows.
	DefaultHeightInterval = 10 * time.Second
	// DefaultExecutionDelay is, likewise, how long after their acceptance blocks are executed.
	DefaultExecutionDelay = 20 * time.Millisecond
)

// MaxPrimaryBlocks bounds [Config.PrimaryBlocks].
const MaxPrimaryBlocks = 1_000_000

// Config describes a simulated network. The zero value is usable: five equal,
// honest validators on free loopback ports.
type Config struct {
	// Validators is the number of validators, 1 to [world.MaxValidators]; 0 means
	// [DefaultValidators]. Each takes a listening socket.
	Validators int
	// Weights is how stake is spread; empty means [Equal].
	Weights Weights
	// L1s is the number of subnets that were converted to L1s, at most
	// [world.MaxL1s]. Each is validated by the first L1Members validators (0 means
	// [world.DefaultL1Members], or all when there are fewer) and has a chain whose
	// messages they sign. Default 0.
	L1s, L1Members int
	// L1Own is how many members of each L1, the last ones, are nodes of their own
	// that are no validators of the primary network; default 0.
	L1Own int
	// L1After has the last L1 be a subnet without validators until so long after the
	// start, when the P-Chain accepts its conversion; 0 means from the start on.
	L1After time.Duration
	// L1Inactive is how many members of each L1, the last ones, have no balance
	// left, L1Underfunded how many before them are about to; default 0.
	L1Inactive, L1Underfunded int
	// L1Balances are those of the first members of each L1, in nAVAX: at the start each
	// pays 1 a second, and the others have one AVAX.
	L1Balances []uint64
	// SharedKeys is how many pairs of validators share a BLS key: 1 and 2, then 3
	// and 4, and so on. Default 0.
	SharedKeys int
	// Keyless is how many primary network validators, the last ones, have no BLS
	// key there. Default 0.
	Keyless int
	// EVMChains is the least number of EVM chains besides the C-Chain: each L1 has
	// one, so there are as many L1s, or L1s if that is more. At most [world.MaxL1s].
	EVMChains int
	// Blocks is the height of each EVM chain at the start, and TxsPerBlock the
	// average number of transactions of a block; 0 means [DefaultBlocks] and
	// [DefaultTxsPerBlock]. A million transactions take about 200 MB and some
	// seconds, once their chain is asked for something.
	Blocks      int
	TxsPerBlock int
	// HistoryInterval is the average time between these blocks, by their own
	// clocks, which end at Start; 0 spreads them over [DefaultHistory],
	// though at most 8 hours apart.
	HistoryInterval time.Duration
	// IrregularTimes has these blocks come in bursts, at equal times, around
	// midnight and not at all for months, as [evmchain.Config] describes it, and
	// makes the histories of L1s begin later and end earlier than the C-Chain's.
	// Default false: blocks are about evenly spaced.
	IrregularTimes bool
	// StateProofs makes the state roots of EVM chains true, and lets balances be
	// proven by eth_getProof. Their histories are then small: at most
	// [evmchain.MaxProvenTxs] transactions. Default false.
	StateProofs bool
	// BlockInterval is how often each EVM chain accepts a further block, and the
	// average time by which their clocks go on; 0, the default, means never.
	BlockInterval time.Duration
	// NoSybilProtection has every validator take its peers for validators, as nodes with
	// --sybil-protection-enabled=false do: it polls them about each block of EVM chains,
	// which is accepted only when no vote is due. Default false.
	NoSybilProtection bool
	// HeightInterval is how often the P-Chain accepts a block that moves some
	// weight in the primary network; 0, the default, means never. With PrimaryBlocks
	// users stake and move funds in it, and the X-Chain grows too.
	HeightInterval time.Duration
	// PrimaryBlocks is about how many blocks the P-Chain has at the start, with years
	// of history of validators, subnets and L1s; the X-Chain, with vertices and
	// blocks, has a third as many. [primary.Config] has more about it. 0, the default,
	// means that the P-Chain begins at height 0 with empty blocks and that nobody runs
	// an X-Chain: what needs no history is quicker so.
	PrimaryBlocks int
	// Start is when the history ends by the chains' own clocks, which go on from there
	// as they grow, 2000 to 2040; zero means the start of 2025. The clocks are right if
	// it is when the network begins to run.
	Start time.Time
	// A time after Start is reached as the chains grow.
	Helicon time.Time // when Helicon activates; the zero time is never
	// ExecutionDelay is how long after its acceptance the C-Chain executes a block from
	// Helicon on; 0, the default, is at once. [evmchain.Chain.SetExecution] changes it.
	ExecutionDelay time.Duration
	// Grown is how far the chains have come since the start of an earlier network of the same
	// Config, as OnGrowth said it last: they go on from there. Zero begins with the history.
	Grown Growth
	// OnGrowth, if not nil, is called after the chains have grown, once at a time. It must
	// not block.
	OnGrowth func(Growth)
	// Messages is how many messages the facts file holds, at most 1,000,000; 0
	// means [DefaultMessages]. It does not bound what validators sign.
	Messages int
	// Emitted is how many messages the C-Chain has emitted, those that validators
	// sign; 0 means [world.DefaultEmitted].
	Emitted uint64
	// Seed selects keys, certificates, IDs and messages: the same seed and numbers
	// give the same bytes, but for ports and the times of live observations.
	Seed uint64
	// HTTPHost is the address of the node API; empty means [DefaultHost]. It must
	// be an IP address. Anything but loopback opens the network to others.
	HTTPHost string
	// HTTPPort is the port of the node API; 0 takes a free one.
	HTTPPort uint16
	// Nodes is the number of node APIs, those of the first validators, at most
	// [MaxNodes] and one for each validator; 0 means 1. They take ports from
	// HTTPPort on. What each can do is changed by [Devnet.Node].
	Nodes int
	// StakingPort is the port of validator 0, those that follow take the next
	// ones; 0 takes free ones. Validators always listen on loopback.
	StakingPort uint16
	// Latency delays every answer of every validator, and Jitter each by a random
	// time up to itself more. Default 0.
	Latency, Jitter time.Duration
	// ReadRate has every validator stop reading from a peer above so many bytes a
	// second, see [validator.RealReadRate]. Default 0: no bound.
	ReadRate int
	// Silent, Byzantine, Slow, Flapping, Refusing and Late are shares of the stake,
	// 0 to 1 and together at most 1, whose validators are not honest or not well. No validator
	// is in two groups, and validator 0 in none. The seed decides which.
	// Each group gets whole validators and so at most its share: the share is
	// rounded to a millionth of the stake, and what is left of it when no further
	// validator fits stays honest.
	//
	// Silent validators never answer a signature request.
	Silent float64
	// Byzantine validators lie: the Kinds are dealt to them in turn.
	Byzantine float64
	// Kinds are the ways of lying or attacking, with repetitions if need be; none
	// means all of [hostile.Kinds]. A
	// [hostile.Cancelling] takes two validators; when only one is left, it gets
	// the next kind that needs no other, and is honest when there is none.
	Kinds []Kind
	// Slow validators take SlowDelay longer than the others; 0 means
	// [DefaultSlowDelay].
	Slow      float64
	SlowDelay time.Duration
	// Flapping validators are honest, but cut every connection after a time that
	// differs from validator to validator, FlapEvery on average; 0 means
	// [DefaultFlapEvery].
	Flapping  float64
	FlapEvery time.Duration
	// Refusing validators refuse every request.
	Refusing float64
	// Late validators refuse a message until LateBy after a validator was first
	// asked for it, as one does that accepts blocks late; 0 means [DefaultLateBy].
	Late   float64
	LateBy time.Duration
	// Behaviours overrides how single validators reply, by index. They are in
	// none of the groups above, whose stake gets smaller by theirs.
	Behaviours map[int]Behaviour
	// Drain is how long requests in flight may take once the network is to end; 0
	// means 5 s.
	Drain time.Duration
	// Logger gets what the network does; nil discards.
	Logger *slog.Logger
	// Metrics gets the network's metrics, quorate_devnet_...; nil means none.
	Metrics *metric.Set
}

// Growth is how often the chains of a network have grown by themselves since their history
// was made. The same seed and Growth give the same chains.
type Growth struct {
	// Blocks is the number of blocks that each EVM chain has accepted, Heights how often the
	// P-Chain has grown.
	Blocks  uint64 `json:"blocks"`
	Heights uint64 `json:"heights"`
	// Helicon is when that upgrade activates in the network: its history depends on it.
	Helicon time.Time `json:"helicon,omitzero"`
}

func (c Config) withDefaults() Config {
	if c.Validators == 0 {
		c.Validators = DefaultValidators
	}
	if c.Messages == 0 {
		c.Messages = DefaultMessages
	}
	if c.SlowDelay == 0 {
		c.SlowDelay = DefaultSlowDelay
	}
	if c.FlapEvery == 0 {
		c.FlapEvery = DefaultFlapEvery
	}
	if c.LateBy == 0 {
		c.LateBy = DefaultLateBy
	}
	if c.Blocks == 0 {
		c.Blocks = DefaultBlocks
	}
	if c.TxsPerBlock == 0 {
		c.TxsPerBlock = DefaultTxsPerBlock
	}
	if c.HistoryInterval == 0 && c.Blocks > 0 {
		c.HistoryInterval = max(min(DefaultHistory/time.Duration(c.Blocks), 8*time.Hour), time.Millisecond)
	}
	if c.Nodes == 0 {
		c.Nodes = 1
	}
	if c.HTTPHost == "" {
		c.HTTPHost = DefaultHost
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return c
}

// params are those of the network's state.
func (c Config) params() world.Params {
	return world.Params{
		Validators: c.Validators, Weights: c.Weights, Seed: c.Seed, Emitted: c.Emitted,
		L1s: max(c.L1s, c.EVMChains), L1Members: c.L1Members, L1Inactive: c.L1Inactive, L1Underfunded: c.L1Underfunded, L1Balances: c.L1Balances,
		Start: c.Start, L1Own: c.L1Own, L1Late: c.L1After > 0, SharedKeys: c.SharedKeys, Keyless: c.Keyless,
	}
}

func (c Config) validate() error {
	switch {
	case c.Messages < 0 || c.Messages > 1_000_000:
		return fmt.Errorf("%w: %d messages, want 0 to 1000000", ErrConfig, c.Messages)
	case c.Latency < 0 || c.SlowDelay < 0 || c.FlapEvery < 0 || c.HeightInterval < 0 || c.L1After < 0:
		return fmt.Errorf("%w: latency %s, slow delay %s, flapping every %s, height interval %s: none may be negative",
			ErrConfig, c.Latency, c.SlowDelay, c.FlapEvery, c.HeightInterval)
	case c.Jitter < 0 || c.LateBy < 0 || c.ReadRate < 0:
		return fmt.Errorf("%w: jitter %s, late by %s, a read rate of %d: none may be negative",
			ErrConfig, c.Jitter, c.LateBy, c.ReadRate)
	case c.PrimaryBlocks < 0 || c.PrimaryBlocks > MaxPrimaryBlocks:
		return fmt.Errorf("%w: %d blocks of the P-Chain, want 0 to %d", ErrConfig, c.PrimaryBlocks, MaxPrimaryBlocks)
	case !c.Helicon.IsZero() && (c.Helicon.Year() < 1971 || c.Helicon.Year() > 9998):
		return fmt.Errorf("%w: Helicon in the year %d, want 1971 to 9998", ErrConfig, c.Helicon.Year())
	case c.ExecutionDelay < 0:
		return fmt.Errorf("%w: an execution delay of %s, want none below 0", ErrConfig, c.ExecutionDelay)
	case c.EVMChains < 0 || c.Blocks < 0 || c.BlockInterval < 0:
		return fmt.Errorf("%w: %d EVM chains, %d blocks, a block interval of %s: none may be negative",
			ErrConfig, c.EVMChains, c.Blocks, c.BlockInterval)
	case c.Nodes < 1 || c.Nodes > min(MaxNodes, c.Validators):
		return fmt.Errorf("%w: %d nodes, want 1 to %d", ErrConfig, c.Nodes, min(MaxNodes, c.Validators))
	case c.HTTPPort != 0 && int(c.HTTPPort)+c.Nodes > 1<<16:
		return fmt.Errorf("%w: %d ports from %d on do not exist", ErrConfig, c.Nodes, c.HTTPPort)
	case net.ParseIP(c.HTTPHost) == nil:
		return fmt.Errorf("%w: HTTP host %q is not an IP address", ErrConfig, c.HTTPHost)
	case c.StakingPort != 0 && int(c.StakingPort)+c.Validators+max(c.L1s, c.EVMChains)*c.L1Own > 1<<16:
		return fmt.Errorf("%w: staking ports from %d on for all validators do not exist", ErrConfig, c.StakingPort)
	}
	for _, kind := range c.Kinds {
		if !kind.Known() {
			return fmt.Errorf("%w: unknown kind of lie %q, want some of %v", ErrConfig, kind, append(hostile.Kinds(), hostile.Attacks()...))
		}
	}
	if err := c.validateShares(); err != nil {
		return err
	}
	for i := range c.Behaviours {
		if i < 0 || i >= c.Validators {
			return fmt.Errorf("%w: a behaviour for validator %d of %d", ErrConfig, i, c.Validators)
		}
	}
	return nil
}

func (c Config) validateShares() error {
	var sum float64
	for name, share := range map[string]float64{
		"silent": c.Silent, "byzantine": c.Byzantine, "slow": c.Slow, "flapping": c.Flapping,
		"refusing": c.Refusing, "late": c.Late,
	} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%w: %s share %v, want 0 to 1", ErrConfig, name, share)
		}
		sum += share
	}
	if sum > 1+1e-9 { // 0.7 + 0.2 + 0.1 is above 1 in floating point
		return fmt.Errorf("%w: the shares add up to %v, want at most 1", ErrConfig, sum)
	}
	return nil
}

// staking returns the address that validator i asks for.
func (c Config) staking(i int) netip.AddrPort {
	port := c.StakingPort
	if port != 0 {
		port += uint16(i) // validate has checked the sum
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
}

// signatureCache returns the number of signatures that each of n validators keeps:
// that of a real one, or less so that a farm stays small.
func signatureCache(n int) int {
	const total = 50_000 // about 12 MB
	return min(max(total/n, 16), validator.DefaultSignatureCache)
}
