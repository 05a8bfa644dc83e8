package evmchain

import (
	"errors"
	"fmt"
	"time"

	"quorate/devnet/traffic"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
)

const (
	// MaxBlocks bounds the history that is there from the start.
	MaxBlocks = 10_000_000
	// MaxTxsPerBlock bounds the transactions of a block, on average.
	MaxTxsPerBlock = 2000
	// MaxHistory bounds the time that the history spans.
	MaxHistory = 50 * 365 * 24 * time.Hour
)

// ErrConfig is wrapped by errors about a [Config].
var ErrConfig = errors.New("invalid EVM chain configuration")

// Config describes a chain. All but IrregularTimes, BlockInterval, Helicon, ExecutionDelay, StateProofs, the last two
// messages and the traffic are needed.
type Config struct {
	// ID is the blockchain ID, EVMChainID the chain ID of its transactions.
	ID         chain.ID
	EVMChainID uint64
	NetworkID  uint32
	// Atomic says that the chain is the C-Chain: it imports AVAX from other
	// chains and exports it, and its headers have the members for that.
	Atomic bool
	// PeerChain is where imports come from and exports go to; AssetID is AVAX.
	PeerChain, AssetID chain.ID
	// Seed selects what happens.
	Seed [32]byte
	// Blocks is the height at the start, 1 to [MaxBlocks].
	Blocks uint64
	// TxsPerBlock is the average number of transactions of a block, 1 to
	// [MaxTxsPerBlock]. Some blocks are empty.
	TxsPerBlock int
	// End is the time about which the history ends.
	End time.Time
	// HistoryInterval is the average time between two blocks of the history.
	HistoryInterval time.Duration
	// IrregularTimes has the history's blocks come as no clock would have it: many
	// at the same millisecond, around midnight, in bursts, and none for months.
	IrregularTimes bool
	// BlockInterval is the average time between two blocks after the history;
	// 0 means a second. It says what the blocks' times are, not when they come.
	BlockInterval time.Duration
	// Helicon is when the C-Chain begins to execute blocks after their acceptance: the
	// last block of the old kind is the first one from 10 s before on. The zero time is
	// never; other chains go on as they were.
	Helicon time.Time
	// ExecutionDelay is how long after its acceptance a block is executed from then on.
	ExecutionDelay time.Duration
	// StateProofs keeps the trie of all accounts at every height, so that stateRoot
	// is true and balances can be proven. The history may then have [MaxProvenTxs]
	// transactions, on average.
	StateProofs bool
	// Emitter is the contract that sends warp messages, Message returns message i of
	// it. The chain sends those from FirstMessage on, below Messages.
	Emitter                evm.Address
	Message                func(i uint64) *warp.Unsigned
	FirstMessage, Messages uint64
	// Traffic is the plan of interchain messages, in which the chain has place
	// TrafficIndex; nil for none.
	Traffic      *traffic.Plan
	TrafficIndex int

	// What follows from Helicon: the last block of the old kind, how many blocks' time
	// passes after it, and the gas target and minimum price from it on.
	transition, pause       uint64
	targetExponent, target  uint64
	leastExponent, leastFee uint64
}

func (c Config) validate() error {
	switch {
	case c.Blocks < 1 || c.Blocks > MaxBlocks:
		return fmt.Errorf("%w: %d blocks, want 1 to %d", ErrConfig, c.Blocks, MaxBlocks)
	case c.TxsPerBlock < 1 || c.TxsPerBlock > MaxTxsPerBlock:
		return fmt.Errorf("%w: %d transactions a block, want 1 to %d", ErrConfig, c.TxsPerBlock, MaxTxsPerBlock)
	case c.StateProofs && c.Blocks*uint64(c.TxsPerBlock) > MaxProvenTxs: // not negative
		return fmt.Errorf("%w: %d blocks of %d transactions with state proofs, want at most %d transactions in all",
			ErrConfig, c.Blocks, c.TxsPerBlock, MaxProvenTxs)
	case c.HistoryInterval < time.Millisecond || c.HistoryInterval > MaxHistory/time.Duration(c.Blocks): // bounded above
		return fmt.Errorf("%w: %d blocks %s apart, want at least 1ms and at most %s in all",
			ErrConfig, c.Blocks, c.HistoryInterval, MaxHistory)
	case c.BlockInterval < time.Millisecond || c.BlockInterval > 24*time.Hour:
		return fmt.Errorf("%w: block interval %s, want 1ms to 24h", ErrConfig, c.BlockInterval)
	}
	return nil
}

// A burst is a group of blocks that follow each other within a second or two;
// every fourth group is one.
const (
	burstLen   = 8
	burstEvery = 4
	burstStep  = 190 * time.Millisecond
)

// timeOf returns the time of a block in Unix milliseconds: a fixed rule, so that
// no block needs another's. It never falls.
func (c *Config) timeOf(n uint64) uint64 {
	if n > c.transition {
		n += c.pause
	}
	return c.regular(n)
}

// regular is timeOf as if no upgrade came.
func (c *Config) regular(n uint64) uint64 {
	first := c.End.UnixMilli() - int64(c.Blocks)*c.HistoryInterval.Milliseconds() // bounded by validate
	interval, from, k := c.HistoryInterval, first, n
	if c.IrregularTimes && n <= c.Blocks {
		return c.irregularTimeOf(n)
	}
	if n > c.Blocks {
		interval, k = c.BlockInterval, n-c.Blocks
		from = first + int64(c.Blocks)*c.HistoryInterval.Milliseconds()
		if c.Helicon.IsZero() { // else all that follow the same clock are to get there together
			from += c.HistoryInterval.Milliseconds()
		}
	}
	jitter := int64(mix(n) % uint64(interval.Milliseconds()/2+1)) // small
	if group := k / burstLen; n <= c.Blocks && n > 0 && group%burstEvery == 1 && interval > burstStep {
		start := from + int64(group*burstLen)*interval.Milliseconds()
		return uint64(start + int64(k%burstLen)*burstStep.Milliseconds() + jitter%50)
	}
	if n == 0 || n == c.Blocks && !c.Helicon.IsZero() {
		jitter = 0
	}
	return uint64(from + int64(k)*interval.Milliseconds() + jitter) // after 1970
}

// mix spreads a number over all 64 bits (the finalizer of SplitMix64).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
