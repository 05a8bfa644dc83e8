package follow

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/feed/share"
	"quorate/engine/follow/verdict"
	"quorate/engine/history"
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
	// otherConns is how many connections to each node there may be besides those for
	// blocks and traces.
	otherConns = 32
	// maxEVMBody bounds an answer in bytes.
	maxEVMBody = 32 << 20
)

// wrappedAVAX are the contracts of WAVAX, by EVM chain number: mainnet's and
// fuji's. What is wrapped or unwrapped changes balances without a transfer.
var wrappedAVAX = map[uint64]evm.Address{
	43114: {0xB3, 0x1f, 0x66, 0xAA, 0x3C, 0x1e, 0x78, 0x53, 0x63, 0xF0, 0x87, 0x5A, 0x1B, 0x74, 0xE2, 0x7b, 0x85, 0xFD, 0x66, 0xc7},
	43113: {0xd0, 0x0a, 0xe0, 0x84, 0x03, 0xB9, 0xbb, 0xb9, 0x12, 0x4b, 0xB3, 0x05, 0xC0, 0x90, 0x58, 0xE3, 0x2C, 0x39, 0xA4, 0x8c},
}

// ErrNoNode is why nothing is known that no block says: the chain is followed without a node.
var ErrNoNode = errors.New("the chain is followed without a node, which alone knows this")

// unanswered stands for a node where there is none.
type unanswered struct{}

// ReadContracts implements [tokens.Node].
func (unanswered) ReadContracts(context.Context, *evm.Head, []evmsource.ContractCall) error {
	return ErrNoNode
}

// EVM is an EVM chain that is followed and indexed.
type EVM struct {
	base[*evm.Block]
	number   uint64
	cfg      Config
	onServed func(*EVM)

	// Set before the chain is served.
	socket bool
	from   EVMBlocks
	node   *evmsource.Client // what says what no block does; nil: nothing
	rows   *index.Chain
	tokens *tokens.Lane
	proofs *verdict.Proofs
	second *verdict.Lane
	notes  atomic.Pointer[share.Notes] // what is exchanged with the log; nil: nothing
	// settling checks the blocks that are committed at the head; its owner is the sink.
	settling *settling
	past     *history.History

	served     atomic.Bool
	traced     atomic.Bool                // a node had the debug API
	unverified atomic.Pointer[unverified] // nil: none
	noting     sync.Mutex                 // held while unverified changes
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

// Subnet returns the ID of the chain's subnet.
func (c *EVM) Subnet() chain.ID { return c.cfg.Subnet }

// VM returns the ID of the virtual machine, zero if it is not known.
func (c *EVM) VM() chain.ID { return c.cfg.VM }

// Number returns the EVM chain number.
func (c *EVM) Number() uint64 { return c.number }

// Details returns what was configured about the chain. Do not change it.
func (c *EVM) Details() *Details { return &c.cfg.Details }

// Index returns the chain's rows.
func (c *EVM) Index() *index.Chain { return c.rows }

// HasSocket reports whether the chain's node has a WebSocket for it, as far as it
// was configured.
func (c *EVM) HasSocket() bool { return c.socket }

// Balance asks the node for a balance in wei, at a height or the last one.
func (c *EVM) Balance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error) {
	if c.node == nil {
		return nil, ErrNoNode
	}
	return c.node.Balance(ctx, a, height)
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
	if s, err = c.check(); err == nil {
		err = c.second.Err()
	}
	return s, true, err
}
