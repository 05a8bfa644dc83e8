package reply

import (
	"context"
	"log/slog"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/token"
	"quorate/httpapi/view"
)

// Config is what a [Desk] is made of.
type Config struct {
	// Dialect says which form the answers have.
	Dialect view.Mode
	// Origins: only some origins' pages may read answers, so that these differ by origin.
	Origins bool
	// TokenKey is the secret that page tokens are signed with, at least token.MinKey bytes.
	// OlderTokenKeys are further ones whose tokens are taken.
	TokenKey       []byte
	OlderTokenKeys [][]byte
	// InFleet: there are other servers, which may be ahead.
	InFleet bool
	// CompressMin is the size in bytes from which on bodies are compressed.
	CompressMin int
	// AnswerBytes bounds the answers that are kept.
	AnswerBytes int64

	// Limits keeps clients within their rates; nil: there are none.
	Limits *limit.Limiter
	// Work is the context of all requests. It ends when a shutdown takes too long.
	Work context.Context
	Log  *slog.Logger
}

// Desk is what the rooms of a server share.
type Desk struct {
	Config
	Tokens  *token.Codec
	Packers *Packers
	Answers *Answers
	// Vary is the value of that header.
	Vary string
}

// New makes a desk.
func New(cfg Config) (*Desk, error) {
	d := &Desk{Config: cfg, Answers: newAnswers(cfg.AnswerBytes), Vary: fasthttp.HeaderAcceptEncoding}
	var err error
	if d.Tokens, err = token.New(cfg.TokenKey, cfg.OlderTokenKeys...); err != nil {
		return nil, err
	}
	if d.Packers, err = NewPackers(cfg.CompressMin); err != nil {
		return nil, err
	}
	if cfg.Dialect == view.Auto {
		d.Vary += ", " + strings.Join([]string{fasthttp.HeaderUserAgent, headerGlacierKey, headerAppComponent, fasthttp.HeaderOrigin}, ", ")
	} else if cfg.Origins {
		d.Vary += ", " + fasthttp.HeaderOrigin
	}
	return d, nil
}

const (
	// headerGlacierKey carries the API key of both official SDKs.
	headerGlacierKey = "X-Glacier-Api-Key"
	// headerAppComponent is sent by the first of them, also in browsers.
	headerAppComponent = "X-App-Component"
)

// DialectOf decides the form of an answer.
func (d *Desk) DialectOf(ctx *fasthttp.RequestCtx) view.Dialect {
	if Own(ctx) {
		return view.Contract
	}
	h := &ctx.Request.Header
	return view.Choose(d.Dialect, view.Signs{
		UserAgent: h.UserAgent(), GlacierKey: len(h.Peek(headerGlacierKey)) > 0,
		AppComponent: len(h.Peek(headerAppComponent)) > 0, Page: len(h.Peek(fasthttp.HeaderOrigin)) > 0,
	})
}

// headers sets the status and the headers that all data have.
func (d *Desk) headers(ctx *fasthttp.RequestCtx) {
	ctx.Response.SetStatusCode(fasthttp.StatusOK)
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderVary, d.Vary)
}

// sendKept answers from what is kept, and reports whether it did.
func (d *Desk) sendKept(ctx *fasthttp.RequestCtx, k *Key, awaits bool, least uint64) bool {
	found := d.Answers.Find(k, timeOf(ctx))
	if found == nil || least > 0 && (found.about == nil || !indexed(found.about, least)) {
		return false
	}
	d.headers(ctx)
	if found.about != nil {
		TellSync(ctx, found.about, awaits)
	}
	if found.encoding != "" {
		ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, found.encoding)
	}
	ctx.Response.SetBodyRaw(found.body)
	return true
}

// keep offers the answer that was just written. One that tells what was ignored is
// not worth it.
func (d *Desk) keep(ctx *fasthttp.RequestCtx, k *Key, r *Request) {
	if len(r.Q.Ignored.Names) > 0 || r.Passing {
		return
	}
	d.Answers.offer(k, ctx.Response.Body(), ctx.Response.Header.ContentEncoding(), r, timeOf(ctx))
}

// The headers of answers about a chain.
const (
	// HeaderIndexedHeight is how far a chain is indexed, and HeaderChainHeight how far
	// its node is, while the index is behind.
	HeaderIndexedHeight = "X-Indexed-Height"
	HeaderChainHeight   = "X-Chain-Height"
	// HeaderGaps names the ranges of blocks of which rows are missing or not certain.
	HeaderGaps = "X-Chain-Gaps"
)

// TellSync says in the headers that a chain's index is behind, and how far, and what
// is missing of it; with always it says how far the index is also when that is all there is.
func TellSync(ctx *fasthttp.RequestCtx, c Marked, always bool) {
	if _, gaps := c.Gaps(); gaps != "" {
		ctx.Response.Header.Set(HeaderGaps, gaps)
	}
	height, behind := c.Syncing()
	if !behind && !always {
		return
	}
	// Before a first block, and before a node has answered, there is no height.
	if indexed, _, ok := c.Cursor(); ok {
		ctx.Response.Header.Set(HeaderIndexedHeight, strconv.FormatUint(indexed, 10))
	}
	if behind && height > 0 {
		ctx.Response.Header.Set(HeaderChainHeight, strconv.FormatUint(height, 10))
	}
}
