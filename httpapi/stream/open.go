package stream

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/events"
	"quorate/engine/index"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
)

// streamEvents makes the handler of the route of events.
func (m *Room) streamEvents(r *door.Route) door.Handler {
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		q := door.Query{Own: &Query{}}
		f := q.Parse(ctx.URI().QueryString(), r.Query, r.Size)
		q.Ignored.Tell(ctx)
		var t *stream
		if f == nil {
			t, f = m.openStream(ctx, &p, &q)
		}
		if f == nil {
			f = m.streams.add(t, m)
		}
		if f != nil {
			if t != nil {
				t.release()
			}
			door.Fail(ctx, f)
			return
		}
		h := &ctx.Response.Header
		h.SetContentType("text/event-stream")
		h.Set(fasthttp.HeaderCacheControl, "no-store, no-transform")
		h.Set("X-Accel-Buffering", "no") // proxies must not wait for more
		if ctx.IsHead() {
			_ = t.Close()
			return
		}
		ctx.Response.ImmediateHeaderFlush = true
		ctx.Response.SetBodyStream(t, -1)
	}
}

// openStream checks what is asked for. Of what it returns nothing is sent yet.
func (m *Room) openStream(ctx *fasthttp.RequestCtx, p *door.Params, q *door.Query) (*stream, *door.Failure) {
	e := ofStream(q)
	switch ofChains := e.topics & chainTopics; {
	case ofChains != 0 && len(e.chains) == 0:
		return nil, door.BadRequest("chainId is required for blocks, transactions, transfers and messages")
	case e.topics&topicTransactions != 0 && len(e.addresses) == 0:
		return nil, door.BadRequest("addresses is required for transactions")
	case e.topics&topicTransfers != 0 && len(e.addresses)+len(e.tokens) == 0:
		return nil, door.BadRequest("addresses or contractAddresses is required for transfers")
	case e.start != nil && len(e.chains) != 1:
		return nil, door.BadRequest("startBlock needs exactly one chain in chainId")
	}
	t := &stream{room: m, conn: m.Conn(ctx), client: p.Client, dialect: m.desk.DialectOf(ctx), quorum: e.quorum, operator: p.Scope == door.ForOperators}
	if t.quorum == 0 {
		t.quorum = aggregator.DefaultQuorum
	}
	after, f := lastEventID(ctx, e)
	if f != nil {
		return nil, f
	}
	if e.topics&chainTopics != 0 {
		if f := t.openChains(e, after); f != nil {
			t.release()
			return nil, f
		}
	}
	if f := t.openStates(q, p); f != nil {
		t.release()
		return nil, f
	}
	return t, nil
}

// lastEventID returns the positions that a client has, by EVM chain number.
func lastEventID(ctx *fasthttp.RequestCtx, e *Query) (map[string]events.Position, *door.Failure) {
	text := ctx.Request.Header.Peek("Last-Event-ID")
	if len(text) == 0 {
		return e.after, nil
	}
	after := parseEventID(string(text))
	if after == nil {
		return nil, door.BadRequest("Last-Event-ID " + door.Excerpt(text) + " is not the ID of an event of this server")
	}
	return after, nil
}

// eventIDPattern is what parseEventID reads, but for bounds.
const eventIDPattern = "^[0-9]+:[0-9]+\\.[0-9]*\\.([0-9A-Za-z_-]{8})*(,[0-9]+:[0-9]+\\.[0-9]*\\.([0-9A-Za-z_-]{8})*)*$"

// parseEventID reads the positions in the ID of an event, nil if it is none.
func parseEventID(text string) map[string]events.Position {
	if len(text) > maxLastEventID {
		return nil
	}
	after := make(map[string]events.Position)
	for item := range strings.SplitSeq(text, ",") {
		number, rest, ok := strings.Cut(item, ":")
		at, err := events.ParsePosition(rest)
		if _, isNumber := door.ParseUint([]byte(number)); !ok || !isNumber || err != nil {
			return nil
		}
		after[number] = at
	}
	return after
}

// openChains finds the chains of a stream and where to begin on each.
func (t *stream) openChains(e *Query, after map[string]events.Position) *door.Failure {
	filter, f := t.room.filter(e)
	if f != nil {
		return f
	}
	continued := false
	for _, name := range e.chains {
		c, ok := t.room.EVM.Chains.Chain(name)
		if !ok {
			return evmapi.NoChain([]byte(name))
		}
		info := c.Info
		if !t.client.Permits(info.ChainID) {
			return &door.Failure{Status: fasthttp.StatusForbidden, Message: "the API key does not permit chain " + info.ChainID}
		}
		hub, ok := t.room.Events.Hub(c.ID())
		if !ok {
			return evmapi.NoChain([]byte(name))
		}
		if slices.ContainsFunc(t.chains, func(o *chainStream) bool { return o.info == info }) {
			continue // by another name
		}
		o := &chainStream{t: t, chain: c, info: info, hub: hub}
		o.snapshot = true
		at, known := after[info.ChainID]
		continued = continued || known
		switch {
		case known:
			o.snapshot = false
		case e.start != nil:
			at, o.snapshot = events.Before(*e.start), false
		default:
			var err error
			if at, o.tip, err = hub.Tip(); err != nil {
				return t.room.failure(info.ChainID, err)
			}
		}
		o.told, o.follower = at, hub.Follow(*filter, at)
		o.replay.on = !o.snapshot
		t.chains = append(t.chains, o)
		if !o.snapshot { // a position that is lost is better refused than told about
			if err := o.look(); err != nil {
				return t.room.failure(info.ChainID, err)
			}
		}
	}
	if len(after) > 0 && len(t.chains) > 0 && !continued {
		return &door.Failure{Status: fasthttp.StatusGone, Message: "Last-Event-ID is of no chain of this stream; begin without it"}
	}
	return nil
}

// filter returns which events of chains are wanted.
func (m *Room) filter(e *Query) (*events.Filter, *door.Failure) {
	f := &events.Filter{
		Blocks: e.topics&topicBlocks != 0, Txs: e.topics&topicTransactions != 0, Transfers: e.topics&topicTransfers != 0,
		Messages: e.topics&topicMessages != 0, Addresses: e.addresses, Tokens: e.tokens,
	}
	for _, name := range e.destinations {
		id, err := chain.ParseID(name)
		if err != nil {
			c, ok := m.EVM.Chains.Chain(name)
			if !ok {
				return nil, door.BadRequest("destinationBlockchainId " + door.Excerpt([]byte(name)) + " is neither a blockchain ID in CB58 nor a chain that is served here")
			}
			id = c.ID()
		}
		if f.Destinations == nil {
			f.Destinations = make(map[chain.ID]bool)
		}
		f.Destinations[id] = true
	}
	return f, nil
}

// failure is the answer when a stream cannot begin.
func (m *Room) failure(number string, err error) *door.Failure {
	switch {
	case errors.Is(err, events.ErrLost):
		return &door.Failure{Status: fasthttp.StatusGone, Message: fmt.Sprintf(
			"chain %s cannot be continued from there: %v; begin without Last-Event-ID", number, err)}
	case errors.Is(err, index.ErrEmpty):
		return door.Unavailable("chain " + number + " is not indexed yet: its first block is awaited")
	}
	m.desk.Log.Error("a chain's rows cannot be read for events", "chain", number, "err", err)
	return &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: time.Second, Message: "the events of chain " + number + " cannot be read now"}
}
