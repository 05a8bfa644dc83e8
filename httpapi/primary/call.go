package primary

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

// call is one request to a route of the primary network.
type call struct {
	reply.Request
	room    *Room
	name    string // of the network, as the path has it
	network Network
	kind    primary.Kind // whose blocks the answer changes with
	on      Chain
	rows    View
	genesis int // bytes of genesis data that the page was made of

	others map[primary.Kind]View // rows of other chains that are open
	texts  *view.Texts           // what an ID is written as never changes

	own Query
	// What the path names besides.
	number uint64
	id     chain.ID
	hasID  bool
	node   chain.NodeID
}

// Forget implements [reply.Call].
func (c *call) Forget() {
	*c = call{
		Request: c.Emptied(), room: c.room, texts: c.texts, own: Query{nodes: c.own.nodes[:0], addresses: c.own.addresses[:0]},
	}
}

// unitsPerAddress is what each address of a list costs but the first: their rows are merged.
const unitsPerAddress = 5

// serve checks the request and writes the body.
func (c *call) serve(kinds []primary.Kind, check, run func(c *call) *door.Failure) *door.Failure {
	p := &c.Params
	f := c.Parse()
	if f == nil {
		f = c.find(p, kinds)
	}
	if f != nil {
		return f
	}
	c.About(mark{c.on})
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
func (c *call) find(p *door.Params, kinds []primary.Kind) *door.Failure {
	name := p.Get("network")
	if name == nil && c.Q.Network != "" {
		name = []byte(c.Q.Network)
	}
	var f *door.Failure
	if c.name, c.network, f = c.room.Find(name); f != nil {
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

// findKind finds the chain that a path names by its alias or its ID.
func (c *call) findKind(name []byte, kinds []primary.Kind) *door.Failure {
	kind, ok := KindNamed(name)
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
func (c *call) openPage() *door.Failure {
	b := strconv.AppendUint(c.Scratch[:0], uint64(c.network.NetworkID()), 10)
	b = append(b, '/', byte(c.kind))
	b = append(append(append(b, door.Bit(c.hasID)), c.id[:]...), c.node[:]...)
	b = strconv.AppendUint(append(b, '#'), c.number, 10)
	return c.ReadToken(c.own.Canonical(c.Q.Canonical(b)))
}

// openRows opens the rows. The answer changes with the chain's next block.
func (c *call) openRows() *door.Failure {
	rows, err := c.on.View()
	switch {
	case isEmpty(err):
		return c.empty()
	case err != nil:
		return c.unreadable(err)
	}
	tip := rows.Tip()
	c.rows, c.Tip = rows, tip.Height
	c.Mark(reply.Mark{Chain: mark{c.on}, Tip: evm.Hash(tip.ID)})
	return nil
}

func isEmpty(err error) bool { return errors.Is(err, primary.ErrEmpty) }

// empty is the answer about a chain without a block.
func (c *call) empty() *door.Failure {
	if err := c.on.Down(); err != nil {
		return c.unavailable(err)
	}
	return door.Unavailable("the " + aliasKind(c.kind).String() + " of " + c.name + " is not indexed yet: its first block is awaited")
}

func (c *call) unavailable(err error) *door.Failure {
	c.Log.Debug("a chain of the primary network cannot answer: it is not followed now", "network", c.name, "chain", aliasKind(c.kind).String(), "err", err)
	return door.Unavailable("the " + aliasKind(c.kind).String() + " of " + c.name + " cannot answer this now: " + reply.Standstill(err))
}

// missing is the answer about something that is not indexed. While the chain's node is
// down it may well exist.
func (c *call) missing(message string) *door.Failure {
	if err := c.on.Down(); err != nil {
		return c.unavailable(err)
	}
	if f := c.AwaitAll(); f != nil {
		return f
	}
	if height, behind := c.on.Syncing(); behind {
		message += "; the " + aliasKind(c.kind).String() + " of " + c.name + " is indexed up to " + strconv.FormatUint(c.Tip, 10) +
			" of " + strconv.FormatUint(height, 10)
	}
	return door.NotFound(message)
}

// unreadable is the answer when rows could not be read.
func (c *call) unreadable(err error) *door.Failure {
	if errors.Is(err, primary.ErrPosition) {
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	}
	c.Log.Error("rows of the primary network cannot be read", "network", c.name, "path", door.Excerpt(c.Ctx.Path()), "err", err)
	return door.Internal()
}

// page says which rows to read.
func (c *call) page() primary.Page {
	return primary.Page{After: c.After, Limit: c.Q.PageSize, Asc: c.Q.Ascending}
}

// frame returns the times that are asked for, ok false if there are none between them.
func (c *call) frame() (r primary.TimeRange, ok bool) {
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
func (c *call) finish(next primary.Position, err error, tail func()) *door.Failure {
	if err != nil {
		return c.unreadable(err)
	}
	c.W.Raw("]")
	if tail != nil {
		tail()
	}
	c.NextPage(next, c.FleetTip())
	c.W.Raw("}")
	return nil
}

// mark makes a chain of the primary network fit for a mark.
type mark struct{ Chain }

// Cursor implements [reply.Marked].
func (m mark) Cursor() (uint64, evm.Hash, bool) {
	height, id, ok := m.Chain.Cursor()
	return height, evm.Hash(id), ok
}
