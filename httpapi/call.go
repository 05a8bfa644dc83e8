package httpapi

import (
	"context"
	"errors"
	"strconv"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/view"
)

// call is one request to a route of EVM chains.
type call struct {
	reply.Request
	s   *Server
	icm icmQuery // of the query, what only routes of interchain messages know

	chain Chain
	info  *view.ChainInfo
	v     View
	// tokens is the version of what the chain's tokens say of themselves, which v
	// has at least.
	tokens uint64

	// The pattern's second parameter.
	addr    evm.Address
	hash    evm.Hash
	third   []byte // its third parameter, which aliases the request
	hasHash bool
	number  uint64
}

// newCalls returns the calls of a server.
func newCalls(s *Server) *reply.Calls[call, *call] {
	return &reply.Calls[call, *call]{Desk: s.desk, New: func() *call {
		c := &call{s: s}
		c.Q.Own = &c.icm
		return c
	}}
}

// Forget implements [reply.Call].
func (c *call) Forget() { *c = call{Request: c.Emptied(), s: c.s} }

// onChain makes the handler of a route that reads one chain. item reads the
// pattern's second parameter; nil if there is none. run writes the body.
func onChain(s *Server, item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) door.Maker {
	return s.calls.Make(func(c *call) *door.Failure { return c.serve(item, run) })
}

// serve checks the request and writes the body.
func (c *call) serve(item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) *door.Failure {
	if f := c.Parse(); f != nil {
		return f
	}
	p := &c.Params
	var ok bool
	if c.chain, ok = c.s.cfg.Chains.Chain(string(p.Values[0])); !ok {
		return noChain(p.Values[0])
	}
	c.info = c.chain.Info()
	c.About(c.chain)
	if settled := c.chain.Settled(); settled != "" {
		c.Ctx.Response.Header.Set(headerSettled, settled)
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
	c.W.Currency = c.Q.Currency
	c.W.Chain, c.W.Source = c.info, c
	if f := run(c); f != nil {
		return f
	}
	if c.Err != nil {
		return c.readFailure(c.Err)
	}
	return nil
}

// openPage reads the page token, if there is one.
func (c *call) openPage() *door.Failure {
	b := append(c.Scratch[:0], c.info.BlockchainID...)
	b = append(append(b, '/'), c.info.ChainID...)
	b = append(b, c.addr[:]...)
	b = append(b, c.hash[:]...)
	b = strconv.AppendUint(append(b, door.Bit(c.hasHash)), c.number, 10)
	return c.ReadToken(c.Q.Canonical(b))
}

// openView opens the chain at the height of the first page, at the height that
// was asked for, or at its tip.
func (c *call) openView() (f *door.Failure) {
	var at *uint64
	switch {
	case c.After != nil:
		at = &c.Tip
	case c.Q.AtBlock:
		at = &c.Q.Block
	}
	c.tokens = c.chain.TokenVersion()
	v, err := c.chain.View(at)
	switch {
	case errors.Is(err, index.ErrAbove) && c.After != nil:
		return door.BadRequest("pageToken is not valid: it belongs to a block that is not indexed here")
	case errors.Is(err, index.ErrAbove):
		return c.absent("block " + strconv.FormatUint(*at, 10) + " does not exist or is not indexed yet")
	case errors.Is(err, index.ErrBelow):
		return c.below(*at)
	case err != nil:
		return c.readFailure(err)
	}
	c.v, c.Tip = v, v.Tip().Number
	if at == nil {
		c.Mark(reply.Mark{Chain: c.chain, Tip: v.Tip().Hash})
	}
	return nil
}

// page says which rows to read. Data routes without bounds of heights take the
// defaults, which are none.
func (c *call) page() index.Page {
	return index.Page{After: c.After, Limit: c.Q.PageSize, Ascending: c.Q.Ascending, From: c.Q.Start, To: c.Q.End}
}

// end closes the body of a list; next is the position of its last row, nil on the
// last page.
func (c *call) end(next []byte, err error) *door.Failure {
	if err != nil {
		return c.readFailure(err)
	}
	c.W.Raw("]")
	c.NextPage(next, c.Tip)
	c.W.Raw("}")
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
	return door.NotFound(message)
}

// below is the answer about a block below the first one that is indexed.
func (c *call) below(number uint64) *door.Failure {
	return door.NotFound("block " + strconv.FormatUint(number, 10) +
		" is not indexed: the index of chain " + c.info.ChainID + " begins above it")
}

func (c *call) down(err error) *door.Failure {
	c.s.log.Debug("chain cannot answer: it is not followed now", "chain", c.info.ChainID, "err", err)
	return door.Unavailable("chain " + c.info.ChainID + " cannot answer this now: " + reply.Standstill(err))
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
		return door.Unavailable("chain " + c.info.ChainID + " is not indexed yet: its first block is awaited")
	}
	c.s.log.Error("a chain's rows cannot be read", "chain", c.info.ChainID, "path", door.Excerpt(c.Ctx.Path()), "err", err)
	return door.Internal()
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
	got, err := c.chain.NodeBalance(ctx, c.addr, &c.Tip)
	if err != nil && !c.Q.AtBlock {
		// A node that keeps no old states may have dropped that of the view's height.
		got, err = c.chain.NodeBalance(ctx, c.addr, nil)
	}
	if err != nil {
		c.s.log.Debug("a chain's node does not give a balance", "chain", c.info.ChainID, "err", err)
		return wei, door.Unavailable("chain " + c.info.ChainID + " cannot answer this now: the balance at block " +
			strconv.FormatUint(c.Tip, 10) + " is not indexed and its node does not give it")
	}
	return *got, nil
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
			c.Note(err)
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
		c.Note(err)
	}
	return uri
}

// Owner implements view.Source.
func (c *call) Owner(t *evm.Address, id *uint256.Int) (evm.Address, bool) {
	c.Shows.Still = nil // any block may bring another owner
	block := c.v.Tip().Hash
	if e := c.s.owners.get(c.info.ChainID, &block, t, id); e != nil {
		return e.owner, true
	}
	owner, found, err := c.v.NFTOwner(index.NFT{Token: *t, ID: *id})
	if err != nil {
		c.Note(err)
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
		c.Note(err)
	}
	return m
}

// Price implements view.Source.
func (c *call) Price(t *evm.Address) string {
	if c.s.cfg.Prices == nil {
		return ""
	}
	return c.s.cfg.Prices.Price(c.info.ChainID, t, c.Q.Currency)
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
