package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/ingest"
	evmsource "quorate/engine/source/evm"
	"quorate/engine/tokens"
)

const (
	// evmTimeout bounds a call to a node for blocks or traces: those of large
	// blocks take some seconds.
	evmTimeout = 15 * time.Second
	// traceTimeout is how long a node may trace one transaction: it gives up before
	// the call for it ends.
	traceTimeout = 10 * time.Second
	// downAfter is how long a chain's node may fail before its chain counts as down.
	downAfter = 5 * time.Second
	// maxWaiting is how long a block that was fetched may wait for its commit
	// before the chain's check turns red.
	maxWaiting = time.Minute
	// maxStill is how long nothing may be heard of a chain: its last block is
	// asked for every ten seconds.
	maxStill = 25 * time.Second
	// otherConns is how many connections to each node there may be besides those for
	// blocks and traces.
	otherConns = 32
	// maxEVMBody bounds an answer in bytes.
	maxEVMBody = 32 << 20
)

// errNotAsked is what is wrong with a chain before its node was asked anything.
var errNotAsked = errors.New("the chain's node was not asked yet")

// wrappedAVAX are the contracts of WAVAX, by EVM chain number: mainnet's and
// fuji's. What is wrapped or unwrapped changes balances without a transfer.
var wrappedAVAX = map[uint64]evm.Address{
	43114: {0xB3, 0x1f, 0x66, 0xAA, 0x3C, 0x1e, 0x78, 0x53, 0x63, 0xF0, 0x87, 0x5A, 0x1B, 0x74, 0xE2, 0x7b, 0x85, 0xFD, 0x66, 0xc7},
	43113: {0xd0, 0x0a, 0xe0, 0x84, 0x03, 0xB9, 0xbb, 0xb9, 0x12, 0x4b, 0xB3, 0x05, 0xC0, 0x90, 0x58, 0xE3, 0x2C, 0x39, 0xA4, 0x8c},
}

// EVM is an EVM chain that is followed and indexed.
type EVM struct {
	number   uint64
	cfg      Config
	log      *slog.Logger
	opened   time.Time
	onServed func(*EVM)

	// Set before the chain is served.
	socket bool
	client *evmsource.Client
	index  *index.Chain
	tokens *tokens.Lane
	proofs *proofLane
	second *secondLane
	// settling checks the blocks that are committed at the head; its owner is the sink.
	settling *settling

	served     atomic.Bool
	traced     atomic.Bool                               // a node had the debug API
	asked      atomic.Bool                               // a node has said what the chain is
	keeper     atomic.Pointer[keeper[*evm.Block]]        // nil while the archive is not open
	unverified atomic.Pointer[unverified]                // nil: none
	noting     sync.Mutex                                // held while unverified changes
	ingest     atomic.Pointer[ingest.Ingest[*evm.Block]] // nil until the chain's node has answered
	trouble    atomic.Pointer[error]                     // why it has not
}

// Details is what no node tells of an EVM chain. All may be empty.
type Details struct {
	Name, Description      string
	ExplorerURL, LogoURI   string
	RPCURL, WSURL          string // as told to clients
	TokenName, TokenSymbol string // of the coin for fees; default the network's
	TokenLogoURI           string
	TokenDescription       string
	TokenDecimals          uint8
	Multicall              string
	Features               []string
	Wrapped                []evm.Address // contracts of the wrapped coin
	Private                bool
}

// Held returns about how many bytes are kept in memory of balances, and of blocks that
// wait for their commit.
func (c *EVM) Held() (balances, window int64) {
	if i := c.ingest.Load(); i != nil {
		window = i.Held()
	}
	return c.index.Remembered(), window
}

// Name is what the chain is called in health checks, logs and metrics.
func (c *EVM) Name() string { return c.cfg.Name }

// ID returns the blockchain ID.
func (c *EVM) ID() chain.ID { return c.cfg.ID }

// Subnet returns the ID of the chain's subnet.
func (c *EVM) Subnet() chain.ID { return c.cfg.Subnet }

// VM returns the ID of the virtual machine, zero if it is not known.
func (c *EVM) VM() chain.ID { return c.cfg.VM }

// Number returns the EVM chain number.
func (c *EVM) Number() uint64 { return c.number }

// NetworkID returns the network of the chain.
func (c *EVM) NetworkID() uint32 { return c.cfg.Host.ID() }

// Details returns what was configured about the chain. Do not change it.
func (c *EVM) Details() *Details { return &c.cfg.Details }

// Index returns the chain's rows.
func (c *EVM) Index() *index.Chain { return c.index }

// HasSocket reports whether the chain's node has a WebSocket for it, as far as it
// was configured.
func (c *EVM) HasSocket() bool { return c.socket }

// Balance asks the node for a balance in wei, at a height or the last one.
func (c *EVM) Balance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error) {
	return c.client.Balance(ctx, a, height)
}

// TokenBalances asks contracts what a holder has of ERC-20 tokens after a block.
func (c *EVM) TokenBalances(ctx context.Context, holder evm.Address, of []evm.Address, after *evm.Head) ([]uint256.Int, error) {
	return c.tokens.Balances(ctx, holder, of, after)
}

// AskURI has the URI of an NFT read again, some time.
func (c *EVM) AskURI(token evm.Address, id uint256.Int) { c.tokens.AskURI(token, id) }

func (c *EVM) urisChanged(nfts []index.NFT) {
	if c.cfg.OnURIs != nil {
		c.cfg.OnURIs(c.cfg.ID, nfts)
	}
}

// status says how the chain is followed. Before its node has answered that is
// what the index knows.
func (c *EVM) status() ingest.Status {
	if i := c.ingest.Load(); i != nil {
		return i.Status()
	}
	s := ingest.Status{Since: c.opened}
	if err := c.trouble.Load(); err != nil {
		s.Err = *err
	} else if !c.asked.Load() {
		s.Err = errNotAsked
	}
	s.Head, s.Started = index.Sink{Chain: c.index}.Cursor()
	s.Target = s.Height
	if k := c.keeper.Load(); k != nil {
		last, _, _ := k.sink.archive.Last()
		s.Target = max(s.Target, last)
	}
	return s
}

// Down says why the chain's node does not answer, or nil.
func (c *EVM) Down() error {
	s := c.status()
	if s.Err != nil && time.Since(s.Since) > downAfter {
		return s.Err
	}
	return nil
}

// Syncing returns the highest block that is known of, and reports whether the index is
// far behind it, or empty.
func (c *EVM) Syncing() (target uint64, behind bool) {
	s := c.status()
	return s.Target, s.Syncing()
}

// Updated reports when a block was indexed last, or when it turned out that there
// is none to index; the zero time if not since the start.
func (c *EVM) Updated() time.Time { return c.status().Progress }

// stuck says why the archive and the index have not been brought together for a while.
func (c *EVM) stuck() error {
	if k := c.keeper.Load(); k != nil {
		return k.stuckFor(maxWaiting)
	}
	return nil
}

// check is the health of the chain: the last block that is indexed.
func (c *EVM) check() (s ingest.Status, err error) {
	s = c.status()
	if err = unhealthy(&s, c.stuck()); err == nil {
		err = c.second.list.err()
	}
	return s, err
}

// unhealthy says what is wrong with the way a chain is followed, or nil; stuck is why
// archive and index have not been brought together.
func unhealthy(s *ingest.Status, stuck error) error {
	switch {
	case s.Err != nil:
		return fmt.Errorf("the chain is not followed for %s: %w", time.Since(s.Since).Round(time.Millisecond), s.Err)
	case !s.Started:
		return errors.New("no block is indexed yet")
	case time.Since(s.Progress) > maxStill:
		return fmt.Errorf("nothing was heard of the chain for %s", time.Since(s.Progress).Round(time.Millisecond))
	case stuck != nil:
		return fmt.Errorf("the archive and the index are not brought together: %w", stuck)
	case s.WaitingFor > maxWaiting:
		return fmt.Errorf("a block has waited for %s to be indexed", s.WaitingFor.Round(time.Millisecond))
	case s.Unable > 0:
		return untracedError(s)
	}
	return nil
}

// untracedError says that blocks were indexed while no node could trace, and why.
func untracedError(s *ingest.Status) error {
	i := slices.IndexFunc(s.Gaps, func(g ingest.Gap) bool { return g.Unable })
	if i < 0 { // above the lowest gaps
		return fmt.Errorf("%d blocks are indexed without their traces: no node could trace", s.Unable)
	}
	g := &s.Gaps[i]
	return fmt.Errorf("%d blocks are indexed without their traces, from block %d on, since %s: %s",
		s.Unable, g.Height, g.Since.UTC().Format(time.RFC3339), g.Reason)
}

// Check returns how far the chain is and what is wrong with the way it is followed.
// ok is false as long as it is not served: err then says why, nil before its node
// was asked.
func (c *EVM) Check() (s ingest.Status, ok bool, err error) {
	if !c.served.Load() {
		if err := c.trouble.Load(); err != nil {
			return s, false, *err
		}
		return s, false, nil
	}
	s, err = c.check()
	return s, true, err
}
