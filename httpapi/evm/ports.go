package evm

import (
	"context"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/history"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// Chains returns the EVM chains that are followed. It is called for each request.
type Chains interface {
	// Chain finds a chain by its EVM chain number in decimal, by blockchain ID or
	// by an alias.
	Chain(name string) (*Chain, bool)
	// Chains returns all chains, always in the same order. The list is shared: do not
	// change it.
	Chains() []*Chain
}

// Chain is an EVM chain that is followed: its index, and what its nodes say.
type Chain struct {
	*index.Chain
	Nodes
	// Info is what is told about the chain. It is shared: do not change it.
	Info *view.ChainInfo
}

// Gaps returns those of [Nodes].
func (c *Chain) Gaps() (gaps []view.Gap, header string) { return c.Nodes.Gaps() }

// Nodes are the nodes that a chain is followed by. All but the first two cost next to nothing.
type Nodes interface {
	// Balance asks for a balance in wei after the block at height, or after the node's
	// latest if it is nil.
	Balance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error)
	// TokenBalances asks contracts what a holder has of ERC-20 tokens after a block.
	TokenBalances(ctx context.Context, holder evm.Address, tokens []evm.Address, after *evm.Head) ([]uint256.Int, error)
	// Past answers what is asked of the chain's archive, such as logs, which the index does
	// not have; nil where it is not at hand.
	Past() *history.History
	// Down says why the chain's node does not answer; nil when it does.
	Down() error
	// Syncing returns how far the chain's nodes are, 0 if that is not known, and
	// reports whether the index is empty, or so far behind that it shows the past.
	Syncing() (height uint64, behind bool)
	// Gaps returns what is missing of the chain, and as the text of a header those gaps
	// that rows are missing in or not certain; empty if there are none.
	Gaps() (gaps []view.Gap, header string)
	// Settled returns the height of the last block whose results are proven, where blocks
	// are executed after they were accepted; else it is empty.
	Settled() string
	// Updated reports when a block was indexed last, or when it turned out that there
	// is none to index; the zero time if not since the start.
	Updated() time.Time
}

// Prices knows the prices of coins and tokens.
type Prices interface {
	// Price returns the price of one whole token in a currency as a string that
	// view.CheckPrice accepts, or "". A nil token is the chain's own coin.
	Price(chainID string, token *evm.Address, currency string) string
}

// Logos knows the logos of coins and tokens.
type Logos interface {
	// Logo returns the URI of a token's logo, or "". A nil token is the chain's own
	// coin.
	Logo(chainID string, token *evm.Address) string
}

// NFTMetadata knows the metadata of NFTs.
type NFTMetadata interface {
	// Metadata returns nil if they are not known. They are shared: do not change them.
	Metadata(chainID string, token *evm.Address, id *uint256.Int) *view.Metadata
}

// NFTs fetches the metadata of NFTs. Chains go by their blockchain IDs.
type NFTs interface {
	// Metadata returns nil if they were not looked for yet.
	Metadata(blockchainID string, token *evm.Address, id *uint256.Int) (*view.Metadata, error)
	// Reindex has those of a token fetched again, soon; see
	// [quorate/engine/nftmeta.Metadata.Reindex].
	Reindex(ctx context.Context, blockchainID string, token evm.Address, id uint256.Int) error
}

// Reputation knows malicious and benign tokens.
type Reputation interface {
	Reputation(chainID string, token *evm.Address) view.Reputation
}

// MethodNames knows the signatures of functions.
type MethodNames interface {
	// MethodName returns the signature of a selector, "" if it is not known.
	MethodName(selector [4]byte) string
}
