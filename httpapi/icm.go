package httpapi

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	events "quorate/engine/chain/icm"
	"quorate/engine/icm"
	"quorate/engine/index"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/openapi"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// oldICM is where the deprecated calls are.
const oldICM = "/v1/teleporter"

// icmRoutes are the interchain messages of all chains together. The SDKs know them by
// two names, the older of which is deprecated.
func icmRoutes(s *Server) []door.Route {
	routes := func(id uint8, prefix string) []door.Route {
		return []door.Route{
			{
				Method: fasthttp.MethodGet, Pattern: prefix + "/messages", Units: door.UnitsMedium,
				Doc: "lists interchain messages, the newest first",
				ID:  id, Size: reply.PagesOf100,
				Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramSourceChain, paramDestinationChain, paramEitherChain, paramICMTo, paramICMFrom, door.ParamNetwork},
				Off:   s.cfg.Chains == nil, Answer: shape.ICMMessages{}, Make: onChains(s, nil, (*call).icmList),
			},
			{
				Method: fasthttp.MethodGet, Pattern: prefix + "/messages/{messageId}", Units: door.UnitsMedium,
				Doc: "returns one interchain message",
				Off: s.cfg.Chains == nil, Answer: shape.ICMMessage{}, Refused: []int{fasthttp.StatusNotFound}, Make: onChains(s, (*call).itemICM, (*call).icmSingle),
			},
			{
				Method: fasthttp.MethodGet, Pattern: prefix + "/addresses/{address}/messages", Units: door.UnitsMedium,
				Doc: "lists the interchain messages that an address sent, or that are for it",
				ID:  id + 1, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamNetwork}, Size: reply.PagesOf100,
				Off: s.cfg.Chains == nil, Answer: shape.ICMMessages{}, Make: onChains(s, (*call).itemICMAddress, (*call).icmList),
			},
		}
	}
	return append(routes(110, "/v1/icm"), routes(112, oldICM)...)
}

// call is one request about interchain messages.
type call struct {
	evmapi.Request
	q      icmQuery
	signed func(id chain.ID) bool // reports whether the message with an ID is; nil: of none
	hash   evm.Hash
	addr   evm.Address
	number uint64
}

// newICMCalls returns the calls of a server.
func newICMCalls(s *Server) *reply.Calls[call, *call] {
	return &reply.Calls[call, *call]{Desk: s.desk, New: func() *call {
		c := &call{Request: evmapi.Request{EVM: &s.evm}, signed: s.cfg.Signed}
		c.Q.Own = &c.q
		return c
	}}
}

// Forget implements [reply.Call].
func (c *call) Forget() { *c = call{Request: c.Emptied(), signed: c.signed} }

// onChains makes the handler of a route that reads all chains. item reads the pattern's
// parameter; nil if there is none. run writes the body.
func onChains(s *Server, item func(c *call, v []byte) *door.Failure, run func(c *call) *door.Failure) door.Maker {
	return s.icmCalls.Make(func(c *call) *door.Failure {
		f := c.Parse()
		if f == nil && item != nil {
			f = item(c, c.Params.Values[0])
		}
		if f == nil {
			f = c.ReadAll(func() *door.Failure { return run(c) })
		}
		return f
	})
}

// icmQuery is what a list of interchain messages is restricted to.
type icmQuery struct {
	source, destination, either string // names of chains, "" for all
	from, to                    *evm.Address
	// who is the address whose messages are listed, whichever part it has.
	who  bool
	room [2]evm.Address
	// What figures are grouped by.
	bySource, byDestination bool
}

// ofICM returns the parameters that only these routes know.
func ofICM(q *door.Query) *icmQuery { return q.Own.(*icmQuery) }

var (
	paramSourceChain      = icmChain("sourceBlockchainId", "only messages from a chain", func(q *icmQuery) *string { return &q.source })
	paramDestinationChain = icmChain("destinationBlockchainId", "only messages to a chain", func(q *icmQuery) *string { return &q.destination })
	paramEitherChain      = icmChain("blockchainId", "only messages from a chain or to it", func(q *icmQuery) *string { return &q.either })
	paramICMFrom          = icmParty("from", "only messages that an address sent", 0)
	paramICMTo            = icmParty("to", "only messages for an address", 1)
)

// icmChain makes a parameter that names a chain, which need not be followed.
func icmChain(name, doc string, at func(q *icmQuery) *string) door.Param {
	return door.Param{Name: name, Doc: doc + ", by blockchain ID, or by number or alias of one that is followed",
		Schema: &openapi.Schema{Type: "string", MinLength: 1}, Set: func(q *door.Query, v []byte) string {
			*at(ofICM(q)) = string(v)
			return ""
		}}
}

func icmParty(name, doc string, which int) door.Param {
	return door.Param{Name: name, Doc: doc, Schema: door.AddressLike(), Set: func(q *door.Query, v []byte) string {
		a := &ofICM(q).room[which]
		if !door.ParseAddress(v, a) {
			return door.NotAddress(v)
		}
		if which == 0 {
			ofICM(q).from = a
		} else {
			ofICM(q).to = a
		}
		return ""
	}}
}

// itemICM reads a message's ID, which contracts write in hex and the SDKs' vendor in
// either form.
func (c *call) itemICM(v []byte) *door.Failure {
	if door.ParseHex(v, c.hash[:]) {
		return nil
	}
	id, err := chain.ParseID(string(v))
	if err != nil {
		return door.BadRequest("messageId must be 0x and 64 hex digits, or 32 bytes in CB58, not " + door.Excerpt(v))
	}
	c.hash = evm.Hash(id)
	return nil
}

func (c *call) itemICMAddress(v []byte) *door.Failure {
	c.q.who = true
	if !door.ParseAddress(v, &c.addr) {
		return door.BadRequest("address " + door.NotAddress(v))
	}
	return nil
}

// icmChains are the chains that messages are joined over, all open at once.
type icmChains struct {
	c    *call
	list []icmOpen
}

type icmOpen struct {
	evmapi.Open
	id chain.ID
}

// openICM opens the chains of the network that is asked for. Those without a block have
// logged nothing yet.
func (c *call) openICM() (*icmChains, *door.Failure) {
	o := &icmChains{c: c}
	for _, ch := range c.EVM.Chains.Chains() {
		if !c.Wanted(ch.Info()) {
			continue
		}
		open, ok, f := c.OpenAt(ch)
		if f != nil {
			o.close()
			return nil, f
		}
		if !ok {
			continue
		}
		o.list = append(o.list, icmOpen{open, ch.ID()})
		if !open.V.HasICM() {
			o.close()
			return nil, door.Unavailable("the interchain messages of chain " + open.Info.ChainID + " are being indexed")
		}
	}
	return o, nil
}

func (o *icmChains) close() {
	for i := range o.list {
		o.list[i].V.Close()
	}
}

// find returns the chain with an ID, nil if it is not open.
func (o *icmChains) find(id *chain.ID) *icmOpen {
	for i := range o.list {
		if o.list[i].id == *id {
			return &o.list[i]
		}
	}
	return nil
}

// enter makes a chain the one that the call reads.
func (o *icmChains) enter(open *icmOpen) { o.c.Enter(&open.Open) }

// join returns what the chains know of a message together.
func (o *icmChains) join(id evm.Hash) (m icm.Message, ok bool, f *door.Failure) {
	found := make([]icm.Found, 0, 2)
	for i := range o.list {
		list, err := o.list[i].V.ICMEvents(id)
		if err != nil {
			o.enter(&o.list[i])
			return m, false, o.c.Unreadable(err)
		}
		if len(list) > 0 {
			found = append(found, icm.Found{Chain: o.list[i].id, Events: list})
		}
	}
	m, ok = icm.Join(id, found)
	return m, ok, nil
}

// write writes a message.
func (o *icmChains) write(m *icm.Message) {
	c := o.c
	more := view.ICM{Teleporter: strings.HasPrefix(c.Route.Pattern, oldICM)}
	if source := o.find(&m.Source); source != nil {
		o.enter(source)
		more.Source = source.Info
	}
	if destination := o.find(&m.Destination); destination != nil {
		more.Destination = destination.Info
	}
	if m.Sent != nil && !m.Sent.Carrier.IsZero() && c.signed != nil {
		more.Signed = c.signed(m.Sent.Carrier)
		if !more.Signed {
			c.Passing = true // it may be signed at any time
		}
	}
	c.W.ICMMessage(m, &more)
}

func (c *call) icmSingle() *door.Failure {
	o, f := c.openICM()
	if f != nil {
		return f
	}
	defer o.close()
	m, ok, f := o.join(c.hash)
	if f != nil {
		return f
	}
	if !ok {
		for i := range o.list {
			if o.enter(&o.list[i]); c.Chain.Down() != nil {
				return c.Absent("message " + c.hash.String() + " does not exist or is not indexed yet")
			}
		}
		return door.NotFound("message " + c.hash.String() + " does not exist or is not indexed yet")
	}
	o.write(&m)
	return nil
}

// icmFilter is what a list of messages is restricted to, with the chains' IDs.
type icmFilter struct {
	source, destination, either *chain.ID
	from, to, who               *evm.Address
}

// named returns the ID of a chain that a parameter names, nil for no name.
func (c *call) named(param, name string) (*chain.ID, *door.Failure) {
	if name == "" {
		return nil, nil
	}
	if ch, ok := c.EVM.Chains.Chain(name); ok {
		id := ch.ID()
		return &id, nil
	}
	id, err := chain.ParseIDHexOrCB58(name)
	if err != nil {
		return nil, door.BadRequest(param + " must be a blockchain ID, or the number or an alias of a chain that is followed, not " + door.Excerpt([]byte(name)))
	}
	return &id, nil
}

func (c *call) icmFilter() (l icmFilter, f *door.Failure) {
	q := &c.q
	if l.source, f = c.named("sourceBlockchainId", q.source); f != nil {
		return l, f
	}
	if l.destination, f = c.named("destinationBlockchainId", q.destination); f != nil {
		return l, f
	}
	if l.either, f = c.named("blockchainId", q.either); f != nil {
		return l, f
	}
	l.from, l.to = q.from, q.to
	if q.who {
		l.who = &c.addr
	}
	return l, nil
}

// canonical appends what selects the list.
func (l *icmFilter) canonical(b []byte) []byte {
	for i, id := range []*chain.ID{l.source, l.destination, l.either} {
		if id != nil {
			b = append(append(b, 's'+byte(i)), id[:]...)
		}
	}
	for i, a := range []*evm.Address{l.from, l.to, l.who} {
		if a != nil {
			b = append(append(b, 'f'+byte(i)), a[:]...)
		}
	}
	return b
}

// reads returns the list of a chain that has what the filter lets through, and false if
// the chain has nothing of it.
func (l *icmFilter) reads(self *chain.ID) (of index.ICMList, ok bool) {
	for _, id := range []*chain.ID{l.source, l.destination, l.either} {
		if id == nil || *id == *self {
			continue
		}
		if of.Peer != nil && *of.Peer != *id {
			return of, false // it is neither end
		}
		of.Peer = id
	}
	for _, a := range []*evm.Address{l.who, l.from, l.to} {
		if a != nil {
			return index.ICMList{Address: a}, true
		}
	}
	return of, true
}

// passes reports whether a row of the chain self belongs to the list.
func (l *icmFilter) passes(self *chain.ID, r *index.ICMRow) bool {
	source, destination := self, &r.Peer
	if r.Kind == events.Received {
		source, destination = destination, source
	}
	return (l.source == nil || *l.source == *source) && (l.destination == nil || *l.destination == *destination) &&
		(l.either == nil || *l.either == *source || *l.either == *destination) &&
		(l.from == nil || *l.from == r.From) && (l.to == nil || *l.to == r.To) &&
		(l.who == nil || *l.who == r.From || *l.who == r.To)
}

// icmPage is a page of messages in the making. Each chain hands over rows, the newest
// first, until it has as many as the page can need or has passed over too many: then no
// row behind its last one may be on the page.
type icmPage struct {
	o     *icmChains
	l     icmFilter
	after *evmapi.Place
	rows  []icmRow
	cut   *evmapi.Place
}

type icmRow struct {
	evmapi.Place
	m icm.Message
}

// maxICMPassed bounds the rows of a chain that one page passes over.
const maxICMPassed = 2000

// icmList lists messages by the time that they were sent at, or else, where the source
// chain does not know them, received.
func (c *call) icmList() *door.Failure {
	p := icmPage{}
	var f *door.Failure
	if p.l, f = c.icmFilter(); f != nil {
		return f
	}
	if p.after, f = c.ReadPlace(p.l.canonical(append(append(c.Scratch[:0], c.Q.Network...), '/'))); f != nil {
		return f
	}
	if p.o, f = c.openICM(); f != nil {
		return f
	}
	defer p.o.close()
	for i := range p.o.list {
		if f := p.read(&p.o.list[i]); f != nil {
			return f
		}
	}
	return p.write(c)
}

// read takes the rows of a chain.
func (p *icmPage) read(open *icmOpen) *door.Failure {
	c, ch := p.o.c, binary.BigEndian.Uint64(open.id[:])
	of, ok := p.l.reads(&open.id)
	if !ok {
		return nil
	}
	p.o.enter(open)
	height, idx, err := c.Behind(p.after, ch)
	if err != nil {
		return c.Unreadable(err)
	}
	taken, passed := 0, 0
	var f *door.Failure
	_, err = open.V.ICMRows(of, index.Page{Limit: math.MaxInt, To: height}, func(r *index.ICMRow) bool {
		if height != math.MaxUint64 && r.Height == height-1 && r.LogIndex >= idx {
			return true
		}
		at := evmapi.Place{Second: r.TimeMilli / 1000, Chain: ch, Height: r.Height, Index: r.LogIndex}
		m, is, failed := p.message(open, r)
		if failed != nil {
			f = failed
			return false
		}
		if is {
			p.rows = append(p.rows, icmRow{at, m})
			taken++
		} else if passed++; passed >= maxICMPassed {
			p.end(at)
			return false
		}
		return taken <= c.Q.PageSize
	})
	if err != nil {
		return c.Unreadable(err)
	}
	return f
}

// end lets the page end behind a place at the latest.
func (p *icmPage) end(at evmapi.Place) {
	if p.cut == nil || at.Compare(*p.cut) < 0 {
		p.cut = &at
	}
}

// message returns the message that a row stands for in the list. One that was sent
// twice is there once, and one that was received only if the source chain does not know
// that it was sent.
func (p *icmPage) message(open *icmOpen, r *index.ICMRow) (m icm.Message, ok bool, f *door.Failure) {
	if !p.l.passes(&open.id, r) {
		return m, false, nil
	}
	if r.Kind == events.Received {
		if source := p.o.find(&r.Peer); source != nil && source.V.First() == 0 {
			return m, false, nil
		}
	}
	if m, ok, f = p.o.join(r.ID); !ok || f != nil {
		return m, false, f
	}
	first := m.Sent
	if r.Kind == events.Received {
		if m.Sent != nil {
			return m, false, nil
		}
		first = m.Received
	}
	return m, first != nil && first.ICMPlace == r.ICMPlace, nil
}

func (p *icmPage) write(c *call) *door.Failure {
	slices.SortFunc(p.rows, func(a, b icmRow) int { return a.Compare(b.Place) })
	n := 0
	for n < len(p.rows) && n < c.Q.PageSize && (p.cut == nil || p.rows[n].Compare(*p.cut) < 0) {
		n++
	}
	c.List("messages")
	for i := range p.rows[:n] {
		p.o.write(&p.rows[i].m)
		if i+1 < n && !c.Room() { // what a message says may be long
			return c.End(p.rows[i].Append(nil), nil)
		}
	}
	switch {
	case n == c.Q.PageSize && n < len(p.rows), n == c.Q.PageSize && p.cut != nil:
		return c.End(p.rows[n-1].Append(nil), nil)
	case p.cut != nil:
		return c.End(p.cut.Append(nil), nil)
	}
	return c.End(nil, nil)
}
