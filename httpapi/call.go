package httpapi

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/token"
	"quorate/httpapi/view"
)

// call is one request to a data route. Calls are used again.
type call struct {
	s     *Server
	ctx   *fasthttp.RequestCtx
	route *door.Route
	q     door.Query
	icm   icmQuery // of those, what only routes of interchain messages know

	chain Chain
	info  *view.ChainInfo
	v     View
	tip   uint64 // the height that v is pinned at
	// tokens is the version of what the chain's tokens say of themselves, which v
	// has at least.
	tokens uint64
	marks  []mark // what the answer changes with; none if it is pinned
	shows  shown  // of the chain, if that is less than all of it
	// looked counts what was read beyond the rows of the answer: who asks for few rows of
	// many pays for those, too.
	looked int
	// passing: the answer says what no block changes, so that it is not kept.
	passing bool

	// The pattern's second parameter.
	addr    evm.Address
	hash    evm.Hash
	third   []byte // its third parameter, which aliases the request
	hasHash bool
	number  uint64

	filters token.Filters
	after   []byte // position of the page before; nil on the first page

	w   view.Writer
	err error // the first one met while looking up what a row does not say

	// Room that is kept from request to request.
	scratch, position, spare []byte
}

// calls keeps calls that are not in use.
type calls struct{ pool sync.Pool }

func (p *calls) get(s *Server, ctx *fasthttp.RequestCtx, r *door.Route) *call {
	c, _ := p.pool.Get().(*call)
	if c == nil {
		c = &call{}
	}
	c.s, c.ctx, c.route, c.q.Own = s, ctx, r, &c.icm
	return c
}

// put takes a call back. It keeps nothing of the request.
func (p *calls) put(c *call) {
	clear(c.marks)
	*c = call{q: door.Query{Contracts: c.q.Contracts[:0]}, marks: c.marks[:0], scratch: c.scratch, position: c.position, spare: c.spare}
	p.pool.Put(c)
}

// onChain makes the handler of a route that reads one chain. item reads the
// pattern's second parameter; nil if there is none. run writes the body.
func onChain(s *Server, item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) door.Maker {
	return func(r *door.Route) door.Handler {
		return func(ctx *fasthttp.RequestCtx, p door.Params) {
			d := s.dialect(ctx)
			k := s.answers.key(ctx, d)
			if s.sendKept(ctx, &k) {
				return
			}
			c := s.calls.get(s, ctx, r)
			c.w.Dialect = d
			c.w.B = ctx.Response.SwapBody(nil)[:0]
			if f := c.serve(&p, item, run); f != nil {
				ctx.Response.SwapBody(c.w.B[:0])
				door.Fail(ctx, f)
			} else {
				s.answer(ctx, c)
				s.keep(ctx, &k, c)
			}
			s.calls.put(c)
		}
	}
}

// answer sends a complete body.
func (s *Server) answer(ctx *fasthttp.RequestCtx, c *call) {
	s.dataHeaders(ctx)
	c.q.Ignored.Tell(ctx)
	c.spare = s.packers.pack(ctx, c.w.B, c.spare)
}

// dataHeaders sets the status and the headers that all data have.
func (s *Server) dataHeaders(ctx *fasthttp.RequestCtx) {
	ctx.Response.SetStatusCode(fasthttp.StatusOK)
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderVary, s.vary)
}

// tellSync says in the headers that a chain's index is behind, and how far, and what
// is missing of it.
func tellSync(ctx *fasthttp.RequestCtx, c marked) {
	if _, gaps := c.Gaps(); gaps != "" {
		ctx.Response.Header.Set(headerGaps, gaps)
	}
	height, behind := c.Syncing()
	if !behind {
		return
	}
	// Before a first block, and before a node has answered, there is no height.
	if indexed, _, ok := c.Cursor(); ok {
		ctx.Response.Header.Set(headerIndexedHeight, strconv.FormatUint(indexed, 10))
	}
	if height > 0 {
		ctx.Response.Header.Set(headerChainHeight, strconv.FormatUint(height, 10))
	}
}

// serve checks the request and writes the body into c.w.
func (c *call) serve(p *door.Params, item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) *door.Failure {
	if f := c.q.Parse(c.ctx.URI().QueryString(), c.route.Query, c.route.Size); f != nil {
		return f
	}
	var ok bool
	if c.chain, ok = c.s.cfg.Chains.Chain(string(p.Values[0])); !ok {
		return noChain(p.Values[0])
	}
	c.info = c.chain.Info()
	tellSync(c.ctx, c.chain)
	if settled := c.chain.Settled(); settled != "" {
		c.ctx.Response.Header.Set(headerSettled, settled)
	}
	c.third = p.Values[2]
	if item != nil {
		if f := item(c, p.Values[1]); f != nil {
			return f
		}
	}
	f := c.openPage()
	if f == nil {
		f = c.openView()
	}
	if f != nil {
		return f
	}
	defer c.v.Close()
	c.w.Currency = c.q.Currency
	c.w.Chain, c.w.Source = c.info, c
	if f := run(c); f != nil {
		return f
	}
	if c.err != nil {
		return c.readFailure(c.err)
	}
	return nil
}

// openPage reads the page token, if there is one.
func (c *call) openPage() *door.Failure {
	b := append(c.scratch[:0], c.info.BlockchainID...)
	b = append(append(b, '/'), c.info.ChainID...)
	b = append(b, c.addr[:]...)
	b = append(b, c.hash[:]...)
	b = strconv.AppendUint(append(b, door.Bit(c.hasHash)), c.number, 10)
	return c.readToken(c.q.Canonical(b))
}

// readToken reads the page token, if there is one. list stands for what is listed, and
// becomes the room for it.
func (c *call) readToken(list []byte) *door.Failure {
	c.scratch, c.filters = list, token.HashFilters(list)
	if c.q.PageToken == nil {
		return nil
	}
	if c.position == nil {
		c.position = make([]byte, 0, token.MaxLen)
	}
	t, err := c.s.tokens.Parse(c.position, c.q.PageToken, c.route.ID, c.filters)
	if err != nil {
		return door.BadRequest("pageToken is not valid: " + err.Error())
	}
	c.after, c.tip = t.Position, t.Tip
	return nil
}

// openView opens the chain at the height of the first page, at the height that
// was asked for, or at its tip.
func (c *call) openView() (f *door.Failure) {
	var at *uint64
	switch {
	case c.after != nil:
		at = &c.tip
	case c.q.AtBlock:
		at = &c.q.Block
	}
	c.tokens = c.chain.TokenVersion()
	v, err := c.chain.View(at)
	switch {
	case errors.Is(err, index.ErrAbove) && c.after != nil:
		return door.BadRequest("pageToken is not valid: it belongs to a block that is not indexed here")
	case errors.Is(err, index.ErrAbove):
		return c.absent("block " + strconv.FormatUint(*at, 10) + " does not exist or is not indexed yet")
	case errors.Is(err, index.ErrBelow):
		return c.below(*at)
	case err != nil:
		return c.readFailure(err)
	}
	c.v, c.tip = v, v.Tip().Number
	if at == nil {
		c.marks = append(c.marks, mark{c.chain, v.Tip().Hash})
	}
	return nil
}

// page says which rows to read. Data routes without bounds of heights take the
// defaults, which are none.
func (c *call) page() index.Page {
	return index.Page{After: c.after, Limit: c.q.PageSize, Ascending: c.q.Ascending, From: c.q.Start, To: c.q.End}
}

// list opens the body of a list.
func (c *call) list(name string) {
	c.w.Raw("{")
	c.rows(name)
}

func (c *call) rows(name string) {
	c.w.Member(name)
	c.w.Raw("[")
}

// end closes the body of a list; next is the position of its last row, nil on the
// last page.
func (c *call) end(next []byte, err error) *door.Failure {
	if err != nil {
		return c.readFailure(err)
	}
	c.w.Raw("]")
	if next != nil {
		c.w.Member("nextPageToken")
		c.w.Raw(`"`)
		c.w.B = c.s.tokens.Append(c.w.B, &token.Token{
			Route: c.route.ID, Filters: c.filters, Tip: c.tip, Ascending: c.q.Ascending, Position: next,
		})
		c.w.Raw(`"`)
	}
	c.w.Raw("}")
	return nil
}

// absent is the answer about something that is not indexed. While the chain's
// node is down it may well exist.
func (c *call) absent(message string) *door.Failure {
	if err := c.chain.Down(); err != nil {
		return c.down(err)
	}
	if height, behind := c.chain.Syncing(); behind {
		indexed, _, _ := c.chain.Cursor()
		message += "; chain " + c.info.ChainID + " is indexed up to block " + strconv.FormatUint(indexed, 10) +
			" of " + strconv.FormatUint(height, 10)
	}
	return &door.Failure{Status: fasthttp.StatusNotFound, Message: message}
}

// below is the answer about a block below the first one that is indexed.
func (c *call) below(number uint64) *door.Failure {
	return &door.Failure{Status: fasthttp.StatusNotFound, Message: "block " + strconv.FormatUint(number, 10) +
		" is not indexed: the index of chain " + c.info.ChainID + " begins above it"}
}

func (c *call) down(err error) *door.Failure {
	c.s.log.Debug("chain cannot answer: it is not followed now", "chain", c.info.ChainID, "err", err)
	return &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: door.DefaultRetry,
		Message: "chain " + c.info.ChainID + " cannot answer this now: " + standstill(err)}
}

// readFailure is the answer when rows could not be read.
func (c *call) readFailure(err error) *door.Failure {
	switch {
	case errors.Is(err, index.ErrPosition):
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	case errors.Is(err, index.ErrEmpty):
		if down := c.chain.Down(); down != nil {
			return c.down(down)
		}
		return &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: door.DefaultRetry,
			Message: "chain " + c.info.ChainID + " is not indexed yet: its first block is awaited"}
	}
	c.s.log.Error("a chain's rows cannot be read", "chain", c.info.ChainID, "path", door.Excerpt(c.ctx.Path()), "err", err)
	return &door.Failure{Status: fasthttp.StatusInternalServerError, Message: "internal error"}
}

// native returns the balance of an address at the view's height, from the index or
// else from the node.
func (c *call) native() (uint256.Int, *door.Failure) {
	wei, known, err := c.v.NativeBalance(c.addr)
	if err != nil {
		return wei, c.readFailure(err)
	}
	if known {
		return wei, nil
	}
	if err := c.chain.Down(); err != nil {
		return wei, c.down(err)
	}
	ctx, cancel := context.WithTimeout(c.s.work, c.s.cfg.NodeTimeout)
	defer cancel()
	got, err := c.chain.NodeBalance(ctx, c.addr, &c.tip)
	if err != nil && !c.q.AtBlock {
		// A node that keeps no old states may have dropped that of the view's height.
		got, err = c.chain.NodeBalance(ctx, c.addr, nil)
	}
	if err != nil {
		c.s.log.Debug("a chain's node does not give a balance", "chain", c.info.ChainID, "err", err)
		return wei, &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: door.DefaultRetry,
			Message: "chain " + c.info.ChainID + " cannot answer this now: the balance at block " +
				strconv.FormatUint(c.tip, 10) + " is not indexed and its node does not give it"}
	}
	return *got, nil
}

// note keeps the first error of a look-up: the answer is an error then.
func (c *call) note(err error) {
	if c.err == nil {
		c.err = err
	}
}

// Token implements view.Source.
func (c *call) Token(a *evm.Address) (index.TokenMeta, bool) {
	if !c.v.MayBeToken(a) {
		return index.TokenMeta{}, false
	}
	e := c.s.tokenMeta.get(c.info.ChainID, c.tokens, a)
	if e == nil {
		e = &tokenEntry{chain: c.info.ChainID, version: c.tokens, address: *a}
		var err error
		if e.meta, e.known, err = c.v.Token(*a); err != nil {
			c.note(err)
			return index.TokenMeta{}, false
		}
		c.s.tokenMeta.put(e)
	}
	return e.meta, e.known
}

// TokenURI implements view.Source.
func (c *call) TokenURI(t *evm.Address, id *uint256.Int) string {
	uri, _, err := c.v.TokenURI(*t, *id)
	if err != nil {
		c.note(err)
	}
	return uri
}

// Owner implements view.Source.
func (c *call) Owner(t *evm.Address, id *uint256.Int) (evm.Address, bool) {
	c.shows.known = false // any block may bring another owner
	block := c.v.Tip().Hash
	if e := c.s.owners.get(c.info.ChainID, &block, t, id); e != nil {
		return e.owner, true
	}
	owner, found, err := c.v.NFTOwner(index.NFT{Token: *t, ID: *id})
	if err != nil {
		c.note(err)
	} else if found { // older blocks that come later may bring one where there was none
		c.s.owners.put(&ownerEntry{chain: c.info.ChainID, block: block, token: *t, id: *id, owner: owner})
	}
	return owner, found
}

// Logo implements view.Source.
func (c *call) Logo(t *evm.Address) string {
	if c.s.cfg.Logos == nil {
		return ""
	}
	return c.s.cfg.Logos.Logo(c.info.ChainID, t)
}

// Metadata implements view.Source.
func (c *call) Metadata(t *evm.Address, id *uint256.Int) *view.Metadata {
	if c.s.cfg.NFTMetadata != nil {
		if m := c.s.cfg.NFTMetadata.Metadata(c.info.ChainID, t, id); m != nil {
			return m
		}
	}
	if c.s.cfg.NFTs == nil {
		return nil
	}
	m, err := c.s.cfg.NFTs.Metadata(c.info.BlockchainID, t, id)
	if err != nil {
		c.note(err)
	}
	return m
}

// Price implements view.Source.
func (c *call) Price(t *evm.Address) string {
	if c.s.cfg.Prices == nil {
		return ""
	}
	return c.s.cfg.Prices.Price(c.info.ChainID, t, c.q.Currency)
}

// Reputation implements view.Source.
func (c *call) Reputation(t *evm.Address) view.Reputation {
	if c.s.cfg.Reputation == nil {
		return view.Unknown
	}
	return c.s.cfg.Reputation.Reputation(c.info.ChainID, t)
}

// MethodName implements view.Source.
func (c *call) MethodName(selector [4]byte) string {
	if c.s.cfg.Methods == nil {
		return ""
	}
	return c.s.cfg.Methods.MethodName(selector)
}
