package icm

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	events "quorate/engine/chain/icm"
	"quorate/engine/icm"
	"quorate/engine/index"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/openapi"
	"quorate/httpapi/view"
)

// query is what a list of interchain messages is restricted to.
type query struct {
	source, destination, either string // names of chains, "" for all
	from, to                    *evm.Address
	// who is the address whose messages are listed, whichever part it has.
	who  bool
	room [2]evm.Address
	// What figures are grouped by.
	bySource, byDestination bool
}

// own returns the parameters that only these routes know.
func own(q *door.Query) *query { return q.Own.(*query) }

var (
	paramSourceChain      = paramChain("sourceBlockchainId", "only messages from a chain", func(q *query) *string { return &q.source })
	paramDestinationChain = paramChain("destinationBlockchainId", "only messages to a chain", func(q *query) *string { return &q.destination })
	paramEitherChain      = paramChain("blockchainId", "only messages from a chain or to it", func(q *query) *string { return &q.either })
	paramFrom             = paramParty("from", "only messages that an address sent", 0)
	paramTo               = paramParty("to", "only messages for an address", 1)
)

// paramChain makes a parameter that names a chain, which need not be followed.
func paramChain(name, doc string, at func(q *query) *string) door.Param {
	return door.Param{Name: name, Doc: doc + ", by blockchain ID, or by number or alias of one that is followed",
		Schema: &openapi.Schema{Type: "string", MinLength: 1}, Set: func(q *door.Query, v []byte) string {
			*at(own(q)) = string(v)
			return ""
		}}
}

func paramParty(name, doc string, which int) door.Param {
	return door.Param{Name: name, Doc: doc, Schema: door.AddressLike(), Set: func(q *door.Query, v []byte) string {
		a := &own(q).room[which]
		if !door.ParseAddress(v, a) {
			return door.NotAddress(v)
		}
		if which == 0 {
			own(q).from = a
		} else {
			own(q).to = a
		}
		return ""
	}}
}

// itemMessage reads a message's ID, which contracts write in hex and the SDKs' vendor in
// either form.
func (c *call) itemMessage(v []byte) *door.Failure {
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

func (c *call) itemAddress(v []byte) *door.Failure {
	c.q.who = true
	if !door.ParseAddress(v, &c.addr) {
		return door.BadRequest("address " + door.NotAddress(v))
	}
	return nil
}

// chains are the chains that messages are joined over, all open at once.
type chains struct {
	c    *call
	list []openChain
}

type openChain struct {
	evmapi.Open
	id chain.ID
}

// openChains opens the chains of the network that is asked for. Those without a block have
// logged nothing yet.
func (c *call) openChains() (*chains, *door.Failure) {
	o := &chains{c: c}
	for _, ch := range c.EVM.Chains.Chains() {
		if !c.Wanted(ch.Info) {
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
		o.list = append(o.list, openChain{open, ch.ID()})
		if !open.V.HasICM() {
			o.close()
			return nil, door.Unavailable("the interchain messages of chain " + open.Info.ChainID + " are being indexed")
		}
	}
	return o, nil
}

func (o *chains) close() {
	for i := range o.list {
		o.list[i].V.Close()
	}
}

// find returns the chain with an ID, nil if it is not open.
func (o *chains) find(id *chain.ID) *openChain {
	for i := range o.list {
		if o.list[i].id == *id {
			return &o.list[i]
		}
	}
	return nil
}

// enter makes a chain the one that the call reads.
func (o *chains) enter(open *openChain) { o.c.Enter(&open.Open) }

// join returns what the chains know of a message together.
func (o *chains) join(id evm.Hash) (m icm.Message, ok bool, f *door.Failure) {
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
func (o *chains) write(m *icm.Message) {
	c := o.c
	more := view.ICM{Teleporter: strings.HasPrefix(c.Route.Pattern, oldPrefix)}
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

func (c *call) message() *door.Failure {
	o, f := c.openChains()
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

// filter is what a list of messages is restricted to, with the chains' IDs.
type filter struct {
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

func (c *call) filter() (l filter, f *door.Failure) {
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
func (l *filter) canonical(b []byte) []byte {
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
func (l *filter) reads(self *chain.ID) (of index.ICMList, ok bool) {
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
func (l *filter) passes(self *chain.ID, r *index.ICMRow) bool {
	source, destination := self, &r.Peer
	if r.Kind == events.Received {
		source, destination = destination, source
	}
	return (l.source == nil || *l.source == *source) && (l.destination == nil || *l.destination == *destination) &&
		(l.either == nil || *l.either == *source || *l.either == *destination) &&
		(l.from == nil || *l.from == r.From) && (l.to == nil || *l.to == r.To) &&
		(l.who == nil || *l.who == r.From || *l.who == r.To)
}

// page is a page of messages in the making. Each chain yields rows, the newest
// first, until it has as many as the page can need or has passed over too many: then no
// row behind its last one may be on the page.
type page struct {
	o     *chains
	l     filter
	after *evmapi.Place
	rows  []row
	cut   *evmapi.Place
}

type row struct {
	evmapi.Place
	m icm.Message
}

// maxPassed bounds the rows of a chain that one page passes over.
const maxPassed = 2000

// messages lists messages by the time that they were sent at, or else, where the source
// chain does not know them, received.
func (c *call) messages() *door.Failure {
	p := page{}
	var f *door.Failure
	if p.l, f = c.filter(); f != nil {
		return f
	}
	if p.after, f = c.ReadPlace(p.l.canonical(append(append(c.Scratch[:0], c.Q.Network...), '/'))); f != nil {
		return f
	}
	if p.o, f = c.openChains(); f != nil {
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
func (p *page) read(open *openChain) *door.Failure {
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
			p.rows = append(p.rows, row{at, m})
			taken++
		} else if passed++; passed >= maxPassed {
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
func (p *page) end(at evmapi.Place) {
	if p.cut == nil || at.Compare(*p.cut) < 0 {
		p.cut = &at
	}
}

// message returns the message that a row stands for in the list. One that was sent
// twice is there once, and one that was received only if the source chain does not know
// that it was sent.
func (p *page) message(open *openChain, r *index.ICMRow) (m icm.Message, ok bool, f *door.Failure) {
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

func (p *page) write(c *call) *door.Failure {
	slices.SortFunc(p.rows, func(a, b row) int { return a.Compare(b.Place) })
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
