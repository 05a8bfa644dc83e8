package etherscan

import (
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
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

// Room answers in the dialect.
type Room struct {
	// Chain finds a chain by its number, the first one of all for no name, and has the
	// answer say how far it is. Nil serves nothing.
	Chain func(ctx *fasthttp.RequestCtx, name string) (*evmapi.Chain, bool)
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
