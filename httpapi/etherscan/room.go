package etherscan

import (
	"context"
	"time"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/history"
	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

const (
	// Path is where the dialect is spoken, as in version 2 of the service that it is of.
	Path = "/v2/api"
	// ShortPath is where tools look for it on an explorer's own host. Browsers that name
	// no module have the console there.
	ShortPath = "/api"
	// KeyParam is the parameter with an API key.
	KeyParam = "apikey"
)

// Chain is an EVM chain that is asked about.
type Chain interface {
	Info() *view.ChainInfo
	ID() chain.ID
	// Down says why the chain's node does not answer; nil when it does.
	Down() error
	// Open returns the chain as it was at a height, or as it is now. The caller closes it.
	// The errors are those of [index.Chain.At].
	Open(tip *uint64) (View, error)
	// Past has the logs of the chain; nil: they are not at hand.
	Past() *history.History
	// NodeBalance asks the chain's node for a balance after the block at a height, and
	// NodeTokenBalances contracts for those of tokens.
	NodeBalance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error)
	NodeTokenBalances(ctx context.Context, holder evm.Address, tokens []evm.Address, after *evm.Head) ([]uint256.Int, error)
}

// View reads the rows of a chain, as *[index.View] does.
type View interface {
	Tip() evm.Head
	First() uint64
	Tx(hash evm.Hash) (*index.Tx, bool, error)
	WholeTxs(number uint64, take func(tx *index.Tx)) error
	BlockTxs(number uint64, p index.Page, take index.TxFunc) ([]byte, error)
	BlockAt(number uint64) (index.Block, bool, error)
	BlocksBefore(milli uint64) (uint64, error)
	AddressTxs(a evm.Address, p index.Page, take index.TxFunc) ([]byte, error)
	SignedTxs(a evm.Address, p index.Page, take index.TxFunc) ([]byte, error)
	AddressParts(a evm.Address, kind index.Part, p index.Page, take index.PartFunc) ([]byte, error)
	AddressTransfers(a evm.Address, kind index.TransferKind, p index.Page, take index.TransferFunc) ([]byte, error)
	TokenTransfers(token evm.Address, p index.Page, take index.TransferFunc) ([]byte, error)
	Maker(contract evm.Address) (tx *index.Tx, call int, found bool, err error)
	Token(a evm.Address) (index.TokenMeta, bool, error)
	TokenBalances(a evm.Address, contracts []evm.Address, p index.Page) ([]index.TokenBalance, []byte, error)
	Holders(token evm.Address, above uint256.Int, f index.Frame, p index.Page) ([]index.Holder, []byte, error)
	NFTHolders(token evm.Address, p index.Page) ([]index.Holder, []byte, error)
	NativeBalance(a evm.Address) (wei uint256.Int, known bool, err error)
	Close()
}

// Room answers in the dialect.
type Room struct {
	// Chain finds a chain by its number, the first one of all for no name, and has the
	// answer say how far it is. Nil serves nothing.
	Chain func(ctx *fasthttp.RequestCtx, name string) (Chain, bool)
	// Forward has a chain's RPC answer a call in JSON, and charges for it; nil: there is none.
	Forward func(ctx *fasthttp.RequestCtx, p *door.Params, c chain.ID, call []byte) *door.Failure
	// MethodName returns the signature of a function, and Price what one of the chain's coins
	// costs in US dollars; "" if it is not known.
	MethodName func(selector [4]byte) string
	Price      func(chainID string) string
	// Desk is what all rooms of data share.
	Desk *reply.Desk
	// NodeTimeout bounds the wait for a node.
	NodeTimeout time.Duration
}

// Routes are those of the dialect. Its other path is the same: see [Asked].
func (x *Room) Routes() []door.Route {
	r := door.Route{
		Method: fasthttp.MethodGet, Pattern: Path, Units: door.UnitsMedium, KeyParam: KeyParam,
		Doc: "answers tools that speak Etherscan's dialect, by module and action; also at " + ShortPath,
		Off: x.Chain == nil, Owned: true, Answer: shape.Any{}, Make: door.Plain(x.serve),
	}
	post := r
	post.Method = fasthttp.MethodPost
	return []door.Route{r, post}
}

// Asked reports whether a request to [ShortPath] is for the dialect rather than for the
// page there.
func Asked(ctx *fasthttp.RequestCtx, wantsPage bool) bool {
	return !wantsPage || !ctx.IsGet() && !ctx.IsHead() || ctx.QueryArgs().Has("module")
}

// AppendError appends the body of a failure.
func AppendError(dst []byte, message string) []byte {
	return append(view.AppendString(append(dst, `{"status":"0","message":"NOTOK","result":`...), message), '}')
}
