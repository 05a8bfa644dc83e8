package httpapi

import (
	"errors"
	"math"
	"strconv"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/evm"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/view"
)

// primaryCall is one request to a route of the primary network.
type primaryCall struct {
	reply.Request
	s       *Server
	name    string // of the network, as the path has it
	network PrimaryNetwork
	kind    primary.Kind // whose blocks the answer changes with
	on      PrimaryChain
	rows    PrimaryView
	genesis int // bytes of genesis data that the page was made of

	others map[primary.Kind]PrimaryView // rows of other chains that are open
	texts  *view.Texts                  // what an ID is written as never changes

	own primaryQuery
	// What the path names besides.
	number uint64
	id     chain.ID
	hasID  bool
	node   chain.NodeID
}

// newPrimaryCalls returns the calls of a server.
func newPrimaryCalls(s *Server) *reply.Calls[primaryCall, *primaryCall] {
	return &reply.Calls[primaryCall, *primaryCall]{Desk: s.desk, New: func() *primaryCall {
		c := &primaryCall{s: s, texts: &view.Texts{}}
		c.Q.Own = &c.own
		return c
	}}
}

// Forget implements [reply.Call].
func (c *primaryCall) Forget() {
	*c = primaryCall{
		Request: c.Emptied(), s: c.s, texts: c.texts, own: primaryQuery{nodes: c.own.nodes[:0], addresses: c.own.addresses[:0]},
	}
}

// onPrimary makes the handler of a route of the primary network. kinds are the chains
// that its blockchainId may name; of a pattern without one, the chain that it reads.
// check looks at the parameters once the network is known; nil if there is nothing to
// look at. run writes the body.
func onPrimary(s *Server, kinds []primary.Kind, check, run func(c *primaryCall) *door.Failure) door.Maker {
	return s.primaryCalls.Make(func(c *primaryCall) *door.Failure { return c.serve(kinds, check, run) })
}

// unitsPerAddress is what each address of a list costs but the first: their rows are merged.
const unitsPerAddress = 5

// serve checks the request and writes the body.
func (c *primaryCall) serve(kinds []primary.Kind, check, run func(c *primaryCall) *door.Failure) *door.Failure {
	p := &c.Params
	f := c.Parse()
	if f == nil {
		f = c.find(p, kinds)
	}
	if f != nil {
		return f
	}
	c.About(primaryMark{c.on})
	if c.Route.Method == fasthttp.MethodPost {
		if f = c.readBody(); f != nil {
			return f
		}
	}
	if f = c.own.readAddresses(c.network.NetworkID(), c.kind == primary.CChain); f != nil {
		return f
	}
	if f = c.More(c.Ctx, p, (len(c.own.addresses)-1)*unitsPerAddress); f != nil {
		return f
	}
	if check != nil {
		f = check(c)
	}
	if f == nil {
		f = c.openPage()
	}
	if f == nil {
		f = c.openRows()
	}
	if f != nil {
		return f
	}
	defer c.rows.Close()
	defer c.closeOthers()
	c.W.Currency = c.Q.Currency
	c.W.Primary = view.Primary{
		Network: c.name, Prefix: address.Prefix(c.network.NetworkID()), AVAX: c.network.AVAX(), Chain: c.on.ID(),
		Genesis: c.chainGenesis, Asset: c.asset, Texts: c.texts,
	}
	if f := run(c); f != nil {
		return f
	}
	if c.Err != nil {
		return c.unreadable(c.Err)
	}
	return nil
}

// find finds the network and the chain that the path names.
func (c *primaryCall) find(p *door.Params, kinds []primary.Kind) *door.Failure {
	name := p.Get("network")
	if name == nil && c.Q.Network != "" {
		name = []byte(c.Q.Network)
	}
	if f := c.findNetwork(name); f != nil {
		return f
	}
	var ok bool
	c.kind = kinds[0]
	if id := p.Get("blockchainId"); id != nil && !c.Route.AnyChain {
		if f := c.findKind(id, kinds); f != nil {
			return f
		}
	}
	if c.on, ok = c.network.Chain(c.kind); !ok {
		return door.NotFound("the " + aliasKind(c.kind).String() + " of " + c.name + " is not followed here")
	}
	return nil
}

// findNetwork finds the network of a name; nil is mainnet, or where that is not followed
// the test network.
func (c *primaryCall) findNetwork(name []byte) *door.Failure {
	var ok bool
	if name == nil {
		for _, c.name = range [...]string{"mainnet", "fuji"} {
			if c.network, ok = c.s.cfg.Primary.Primary(c.name); ok {
				return nil
			}
		}
		return door.NotFound("no primary network is followed here")
	}
	if _, f := c.s.network(name); f != nil {
		return f
	}
	c.name = string(name)
	if c.network, ok = c.s.cfg.Primary.Primary(c.name); !ok {
		return door.NotFound("the primary network of " + c.name + " is not followed here")
	}
	return nil
}

// findKind finds the chain that a path names by its alias or its ID.
func (c *primaryCall) findKind(name []byte, kinds []primary.Kind) *door.Failure {
	kind, ok := chainKind(name)
	if !ok {
		id, err := chain.ParseID(string(name))
		if err != nil {
			return door.BadRequest("blockchainId must be " + aliases(kinds) + ", or the ID of that chain in CB58, not " + door.Excerpt(name))
		}
		if kind, ok = kindOf(c.network, id); !ok {
			return door.NotFound("blockchain " + door.Excerpt(name) + " is not a chain of the primary network of " + c.name)
		}
	}
	for _, k := range kinds {
		if aliasKind(k) == kind {
			c.kind = k
			return nil
		}
	}
	return door.BadRequest("blockchainId must be " + aliases(kinds) + " here, not " + door.Excerpt(name))
}

// kindOf returns which chain of a network has an ID.
func kindOf(network PrimaryNetwork, id chain.ID) (primary.Kind, bool) {
	for _, k := range [...]primary.Kind{primary.PChain, primary.XChain, primary.CChain} {
		if on, ok := network.Chain(k); ok && on.ID() == id {
			return k, true
		}
	}
	return 0, false
}

// aliasKind returns the chain whose name stands for k: what is followed as the
// X-Chain's vertices goes by the name of the X-Chain.
func aliasKind(k primary.Kind) primary.Kind {
	if k == primary.XVertices {
		return primary.XChain
	}
	return k
}

// aliases lists the names of chains for a message.
func aliases(kinds []primary.Kind) string {
	text := ""
	for i, k := range kinds {
		switch {
		case i > 0 && i == len(kinds)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += aliasKind(k).String()
	}
	return text
}

// openPage reads the page token, if there is one.
func (c *primaryCall) openPage() *door.Failure {
	b := strconv.AppendUint(c.Scratch[:0], uint64(c.network.NetworkID()), 10)
	b = append(b, '/', byte(c.kind))
	b = append(append(append(b, door.Bit(c.hasID)), c.id[:]...), c.node[:]...)
	b = strconv.AppendUint(append(b, '#'), c.number, 10)
	return c.ReadToken(c.own.canonical(c.Q.Canonical(b)))
}

// openRows opens the rows. The answer changes with the chain's next block.
func (c *primaryCall) openRows() *door.Failure {
	rows, err := c.on.View()
	switch {
	case isEmpty(err):
		return c.empty()
	case err != nil:
		return c.unreadable(err)
	}
	tip := rows.Tip()
	c.rows, c.Tip = rows, tip.Height
	c.Mark(reply.Mark{Chain: primaryMark{c.on}, Tip: evm.Hash(tip.ID)})
	return nil
}

func isEmpty(err error) bool { return errors.Is(err, primary.ErrEmpty) }

// empty is the answer about a chain without a block.
func (c *primaryCall) empty() *door.Failure {
	if err := c.on.Down(); err != nil {
		return c.unavailable(err)
	}
	return door.Unavailable("the " + aliasKind(c.kind).String() + " of " + c.name + " is not indexed yet: its first block is awaited")
}

func (c *primaryCall) unavailable(err error) *door.Failure {
	c.s.log.Debug("a chain of the primary network cannot answer: it is not followed now", "network", c.name, "chain", aliasKind(c.kind).String(), "err", err)
	return door.Unavailable("the " + aliasKind(c.kind).String() + " of " + c.name + " cannot answer this now: " + reply.Standstill(err))
}

// missing is the answer about something that is not indexed. While the chain's node is
// down it may well exist.
func (c *primaryCall) missing(message string) *door.Failure {
	if err := c.on.Down(); err != nil {
		return c.unavailable(err)
	}
	if height, behind := c.on.Syncing(); behind {
		message += "; the " + aliasKind(c.kind).String() + " of " + c.name + " is indexed up to " + strconv.FormatUint(c.Tip, 10) +
			" of " + strconv.FormatUint(height, 10)
	}
	return door.NotFound(message)
}

// unreadable is the answer when rows could not be read.
func (c *primaryCall) unreadable(err error) *door.Failure {
	if errors.Is(err, primary.ErrPosition) {
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	}
	c.s.log.Error("rows of the primary network cannot be read", "network", c.name, "path", door.Excerpt(c.Ctx.Path()), "err", err)
	return door.Internal()
}

// page says which rows to read.
func (c *primaryCall) page() primary.Page {
	return primary.Page{After: c.After, Limit: c.Q.PageSize, Asc: c.Q.Ascending}
}

// frame returns the times that are asked for, ok false if there are none between them.
func (c *primaryCall) frame() (r primary.TimeRange, ok bool) {
	r = primary.TimeRange{From: c.Q.Since, To: c.Q.Until}
	if r.From >= r.To {
		return r, false
	}
	if r.To == math.MaxUint64 {
		r.To = 0
	}
	return r, true
}

// finish closes the list of a body and the body; next is the position of the last row,
// nil on the last page.
func (c *primaryCall) finish(next primary.Position, err error, tail func()) *door.Failure {
	if err != nil {
		return c.unreadable(err)
	}
	c.W.Raw("]")
	if tail != nil {
		tail()
	}
	c.NextPage(next, 0)
	c.W.Raw("}")
	return nil
}

// primaryMark makes a chain of the primary network fit for a mark.
type primaryMark struct{ PrimaryChain }

// Cursor implements [reply.Marked].
func (m primaryMark) Cursor() (uint64, evm.Hash, bool) {
	height, id, ok := m.PrimaryChain.Cursor()
	return height, evm.Hash(id), ok
}
