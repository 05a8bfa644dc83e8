package evm

import (
	"context"
	"time"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/icm"
	"quorate/engine/index"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// Chains returns the EVM chains that are followed. It is called for each request.
type Chains interface {
	// Chain finds a chain by its EVM chain number in decimal, by blockchain ID or
	// by an alias.
	Chain(name string) (Chain, bool)
	// Chains returns all chains, always in the same order. The list is shared: do not
	// change it.
	Chains() []Chain
}

// Chain is one chain that is followed.
type Chain interface {
	// Info returns what is told about the chain. It is shared: do not change it.
	Info() *view.ChainInfo
	// View returns the chain as it was at a height, or as it is now if tip is nil.
	// The caller closes it. The error wraps index.ErrEmpty when no block is
	// indexed yet and index.ErrAbove or index.ErrBelow when none at that height.
	View(tip *uint64) (View, error)
	// NodeBalance asks the chain's node for a balance in wei after the block at
	// height, or after the node's latest if it is nil.
	NodeBalance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error)
	// NodeTokenBalances asks contracts what a holder has of ERC-20 tokens after a block.
	NodeTokenBalances(ctx context.Context, holder evm.Address, tokens []evm.Address, after *evm.Head) ([]uint256.Int, error)
	// Cursor returns the last block that is indexed, ok false if there is none yet.
	// It costs next to nothing.
	Cursor() (number uint64, hash evm.Hash, ok bool)
	// TokenVersion changes whenever what tokens say of themselves does.
	TokenVersion() uint64
	// Down says why the chain's node does not answer; nil when it does.
	Down() error
	// Syncing returns how far the chain's nodes are, 0 if that is not known, and
	// reports whether the index is empty, or so far behind that it shows the past. It
	// costs next to nothing.
	Syncing() (height uint64, behind bool)
	// Gaps returns what is missing of the chain, and as the text of a header those gaps
	// that rows are missing in or not certain; empty if there are none. It costs next
	// to nothing.
	Gaps() (gaps []view.Gap, header string)
	// Settled returns the height of the last block whose results are proven, where blocks
	// are executed after they were accepted; else it is empty. It costs next to nothing.
	Settled() string
	// ID returns the blockchain ID.
	ID() chain.ID
	// RollupState reports how far the metrics of the chain are made, and their
	// edition: metrics of another one were made again. The error wraps
	// index.ErrEmpty when no block is indexed yet and index.ErrRollup while the
	// metrics are not complete; its text says how far they are.
	RollupState() (s rollup.State, edition uint32, err error)
	// Buckets yields the metrics of the buckets from newest down to oldest, also
	// of those without blocks and of those after the last block, but not before the
	// first one. What take gets is good until it returns.
	Buckets(i rollup.Interval, newest, oldest uint32, take func(number uint32, r *rollup.Record)) error
	// Windows returns the metrics of the blocks from each of some hours on, the latest
	// first, as if they were one bucket; those of distinct addresses, deployers and senders
	// only if distinct is set. The errors are those of RollupState.
	Windows(hours []uint32, distinct bool) ([]rollup.Record, error)
	// Updated reports when a block was indexed last, or when it turned out that there
	// is none to index; the zero time if not since the start.
	Updated() time.Time
}

// View reads the rows of a chain as they were at one height, as *index.View
// does. Lists give at most Limit rows and the position to go on from, which is
// nil on the last page. It is used by one goroutine. Transactions are shared: do
// not change them.
type View interface {
	Tip() evm.Head
	// First returns the height of the first block that is indexed.
	First() uint64
	Tx(hash evm.Hash) (*index.Tx, bool, error)
	BlockNumber(hash evm.Hash) (uint64, bool, error)
	// Lists yield their rows one by one, as far as there is room, and return the
	// position to go on from, nil after the last row. What is handed over is good until
	// the function returns.
	BlockTxs(number uint64, p index.Page, take index.TxFunc) ([]byte, error)
	// LatestTxs takes failed transactions only, or successful ones only, if failed
	// is not nil.
	LatestTxs(p index.Page, failed *bool, take index.TxFunc) ([]byte, error)
	AddressTxs(a evm.Address, p index.Page, take index.TxFunc) ([]byte, error)
	// SignedTxs leaves out those that only move tokens of the address, or only call it.
	SignedTxs(a evm.Address, p index.Page, take index.TxFunc) ([]byte, error)
	// AddressParts yields transfers or calls one by one, each with its transaction.
	AddressParts(a evm.Address, kind index.Part, p index.Page, take index.PartFunc) ([]byte, error)
	// Maker returns the transaction that made a contract, and the call that did, -1 if
	// it was the transaction itself.
	Maker(contract evm.Address) (tx *index.Tx, call int, found bool, err error)
	// Blocks and BlockAt read blocks with what lists show of them.
	Blocks(p index.Page, take index.BlockFunc) ([]byte, error)
	BlockAt(number uint64) (index.Block, bool, error)
	// BlocksBefore returns the height of the first block at or after a time in Unix
	// milliseconds.
	BlocksBefore(milli uint64) (uint64, error)
	AddressTransfers(a evm.Address, kind index.TransferKind, p index.Page, take index.TransferFunc) ([]byte, error)
	TokenTransfers(token evm.Address, p index.Page, take index.TransferFunc) ([]byte, error)
	TokenBalances(a evm.Address, contracts []evm.Address, p index.Page) ([]index.TokenBalance, []byte, error)
	NFTs(a evm.Address, contract *evm.Address, p index.Page) ([]index.ItemBalance, []byte, error)
	// SumsNFTs reports whether what follows is known of the view's height: balances of
	// ERC-1155 tokens, the tokens of contracts and who holds them.
	SumsNFTs() bool
	Items(a evm.Address, contract *evm.Address, p index.Page) ([]index.ItemBalance, []byte, error)
	Minted(token evm.Address, p index.Page) ([]index.SeenNFT, []byte, error)
	NFTKind(nft index.NFT) (kind index.TransferKind, found bool, err error)
	NFTHolders(token evm.Address, p index.Page) ([]index.Holder, []byte, error)
	Collection(token evm.Address) (index.Collection, bool, error)
	// Holders returns those that had more than above of a token in a frame.
	Holders(token evm.Address, above uint256.Int, f index.Frame, p index.Page) ([]index.Holder, []byte, error)
	// NativeBalance returns false if it is not known.
	NativeBalance(a evm.Address) (wei uint256.Int, known bool, err error)
	Token(a evm.Address) (index.TokenMeta, bool, error)
	// MayBeToken reports false, for next to nothing, of most addresses that Token
	// knows nothing of.
	MayBeToken(a *evm.Address) bool
	TokenURI(token evm.Address, id uint256.Int) (string, bool, error)
	// NFTOwner returns the owner of an ERC-721 token, the zero address if it was
	// burnt.
	NFTOwner(nft index.NFT) (owner evm.Address, found bool, err error)
	WarpMessages(txHash evm.Hash) ([][]byte, error)
	// HasWarpIDs reports whether messages are indexed by their IDs, and WarpMessage returns
	// the one with an ID, nil if there is none.
	HasWarpIDs() bool
	WarpMessage(id chain.ID) ([]byte, error)
	// HasICM reports whether interchain messages are indexed.
	HasICM() bool
	// ICMEvents returns what the chain logged about an interchain message, in its order.
	ICMEvents(id evm.Hash) ([]index.ICMEvent, error)
	// ICMRows yields the times that messages were sent or received, the newest first.
	ICMRows(of index.ICMList, p index.Page, take func(r *index.ICMRow) bool) ([]byte, error)
	// HasICMCounts reports whether interchain messages are counted, ICMPeers which chains
	// they were sent to or received from, and ICMCount how many up to a block.
	HasICMCounts() bool
	ICMPeers(kind icm.Kind) ([]chain.ID, error)
	ICMCount(kind icm.Kind, peer *chain.ID, height uint64) (uint64, error)
	// ICMInTx returns the first message that a transaction sent or received.
	ICMInTx(number uint64, index uint32) (index.ICMRow, bool, error)
	// Newest returns the height of the newest row of a list.
	Newest(l index.List, a evm.Address) (height uint64, found bool, err error)
	Close()
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
