package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/events"
	"quorate/engine/index"
	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/openapi"
	"quorate/httpapi/shape"
)

// Events knows what happens on the chains that are followed.
type Events interface {
	// Hub returns the events of a chain, false if it is not followed.
	Hub(id chain.ID) (*events.Hub, bool)
}

const (
	// maxEventChains bounds the chains of one stream, maxEventDestinations the chains
	// that its messages may be for.
	maxEventChains       = 8
	maxEventDestinations = 32
	// maxLastEventID bounds the length of a position of a stream.
	maxLastEventID = maxEventChains * 160
)

// eventsQuery holds the parameters of a stream of events.
type eventsQuery struct {
	topics       topicSet
	chains       []string
	addresses    map[evm.Address]bool
	tokens       map[evm.Address]bool
	destinations []string
	quorum       int
	after        map[string]events.Position // by EVM chain number: a Last-Event-ID for clients that cannot send the header
	start        *uint64
}

// ofStream returns the parameters that only these routes know.
func ofStream(q *door.Query) *eventsQuery { return q.Own.(*eventsQuery) }

// topicSet is a set of topics.
type topicSet uint8

const (
	topicBlocks topicSet = 1 << iota
	topicTransactions
	topicTransfers
	topicMessages
	topicValidators
	topicHealth

	chainTopics = topicBlocks | topicTransactions | topicTransfers | topicMessages
)

var topicNames = map[string]topicSet{
	"blocks": topicBlocks, "transactions": topicTransactions, "transfers": topicTransfers, "messages": topicMessages,
	"validators": topicValidators, "health": topicHealth,
}

// topicList returns the names of the topics.
func topicList() []string { return slices.Sorted(maps.Keys(topicNames)) }

// namesOf is the schema of a list of names of chains.
func namesOf(most int) *openapi.Schema {
	return &openapi.Schema{Type: "array", Items: door.TextLike("^[0-9A-Za-z._-]+$", "C"), MinItems: 1, MaxItems: most}
}

// percent is the schema of a share of the stake.
func percent() *openapi.Schema {
	s := door.Whole()
	*s.Minimum, *s.Maximum = 1, 100
	s.Default = aggregator.DefaultQuorum
	return s
}

var (
	paramTopics = door.Needed(door.Param{Name: "topics", Doc: "which events are sent", Schema: door.ListOf(&openapi.Schema{Type: "string", Enum: topicList()}), Set: func(q *door.Query, v []byte) string {
		for item := range bytes.SplitSeq(v, door.Comma) {
			topic, ok := topicNames[string(item)]
			if !ok {
				return "must be of blocks, transactions, transfers, messages, validators and health, separated by commas, not " + door.Excerpt(item)
			}
			ofStream(q).topics |= topic
		}
		return ""
	}})
	paramEventChains = door.Param{Name: "chainId", Doc: "the chains of blocks, transactions, transfers and messages, by number, blockchain ID or alias; for messages they are the sources", Schema: namesOf(maxEventChains), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).chains, problem = nameList(v, maxEventChains)
		return problem
	}}
	paramEventAddresses = door.Param{Name: "addresses", Doc: "those that transactions and transfers concern", Schema: door.ListOf(door.AddressLike()), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).addresses, problem = addressSet(v)
		return problem
	}}
	paramEventTokens = door.Param{Name: "contractAddresses", Doc: "the tokens whose transfers are sent", Schema: door.ListOf(door.AddressLike()), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).tokens, problem = addressSet(v)
		return problem
	}}
	paramDestinations = door.Param{Name: "destinationBlockchainId", Doc: "the chains that messages are for", Schema: namesOf(maxEventDestinations), Set: func(q *door.Query, v []byte) (problem string) {
		ofStream(q).destinations, problem = nameList(v, maxEventDestinations)
		return problem
	}}
	paramEventQuorum = door.Param{Name: "quorumPercentage", Doc: "the share of the stake that signs a message", Schema: percent(), Set: func(q *door.Query, v []byte) string {
		n, ok := door.ParseUint(v)
		if ofStream(q).quorum = int(n); !ok || n < 1 || n > 100 {
			return "must be a whole number from 1 to 100, not " + door.Excerpt(v)
		}
		return ""
	}}
	paramLastEventID = door.Param{Name: "lastEventId", Doc: "the ID of the event after which to go on, for clients that cannot send the header Last-Event-ID", Schema: door.TextLike(eventIDPattern, "43114:1200..hCqF4Ra-wPg_ONd8"), Set: func(q *door.Query, v []byte) string {
		if ofStream(q).after = parseEventID(string(v)); ofStream(q).after == nil {
			return "is not the ID of an event of this server: " + door.Excerpt(v)
		}
		return ""
	}}
	paramEventStart = door.Param{Name: "startBlock", Doc: "the block to begin with, of one chain", Schema: door.Whole(), Set: func(q *door.Query, v []byte) string {
		ofStream(q).start = new(uint64)
		return door.SetUint(ofStream(q).start, v)
	}}
)

// nameList reads names that are separated by commas.
func nameList(v []byte, most int) (list []string, problem string) {
	for item := range bytes.SplitSeq(v, door.Comma) {
		for _, c := range item {
			if ok := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '.' || c == '_' || c == '-'; !ok {
				return nil, "has an item that is no name of a chain: " + door.Excerpt(item)
			}
		}
		if len(item) == 0 {
			return nil, "has an empty item"
		}
		if !slices.Contains(list, string(item)) {
			list = append(list, string(item))
		}
	}
	if len(list) > most {
		return nil, "has more than " + strconv.Itoa(most) + " items"
	}
	return list, ""
}

// addressSet reads addresses that are separated by commas.
func addressSet(v []byte) (map[evm.Address]bool, string) {
	set := make(map[evm.Address]bool)
	for item := range bytes.SplitSeq(v, door.Comma) {
		var a evm.Address
		if !door.ParseAddress(bytes.TrimSpace(item), &a) {
			return nil, "has an item that " + door.NotAddress(item)
		}
		if set[a] = true; len(set) > door.MaxListed {
			return nil, "has more than " + strconv.Itoa(door.MaxListed) + " addresses"
		}
	}
	return set, ""
}

func eventRoutes(s *Server) []door.Route {
	return []door.Route{{
		Method: fasthttp.MethodGet, Pattern: "/v1/events", Units: door.UnitsLarge, Cookie: true,
		Doc: "streams events of chains and of the server as Server-Sent Events",
		ID:  120, Query: []door.Param{
			paramTopics, paramEventChains, paramEventAddresses, paramEventTokens, paramDestinations, paramEventQuorum,
			paramEventStart, paramLastEventID, door.ParamNetwork,
		},
		Off: s.cfg.Events == nil || s.cfg.Chains == nil, Owned: true, Answer: shape.Events, Refused: []int{fasthttp.StatusNotFound}, Make: with(s, streamEvents),
	}}
}

// streamEvents makes the handler of the route of events.
func streamEvents(s *Server, r *door.Route) door.Handler {
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		q := door.Query{Own: &eventsQuery{}}
		f := q.Parse(ctx.URI().QueryString(), r.Query, r.Size)
		q.Ignored.Tell(ctx)
		var t *stream
		if f == nil {
			t, f = s.openStream(ctx, &p, &q)
		}
		if f == nil {
			f = s.streams.add(t, s.cfg.MaxStreams, s.cfg.MaxStreamsPerClient)
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
func (s *Server) openStream(ctx *fasthttp.RequestCtx, p *door.Params, q *door.Query) (*stream, *door.Failure) {
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
	t := &stream{s: s, client: p.Client, dialect: s.desk.DialectOf(ctx), quorum: e.quorum, operator: p.Scope == door.ForOperators}
	if t.quorum == 0 {
		t.quorum = aggregator.DefaultQuorum
	}
	if c, ok := ctx.Conn().(*conn); ok {
		t.conn = c
	}
	after, f := s.lastEventID(ctx, e)
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
func (s *Server) lastEventID(ctx *fasthttp.RequestCtx, e *eventsQuery) (map[string]events.Position, *door.Failure) {
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
func (t *stream) openChains(e *eventsQuery, after map[string]events.Position) *door.Failure {
	filter, f := t.s.eventFilter(e)
	if f != nil {
		return f
	}
	continued := false
	for _, name := range e.chains {
		c, ok := t.s.cfg.Chains.Chain(name)
		if !ok {
			return evmapi.NoChain([]byte(name))
		}
		info := c.Info()
		if !t.client.Permits(info.ChainID) {
			return &door.Failure{Status: fasthttp.StatusForbidden, Message: "the API key does not permit chain " + info.ChainID}
		}
		hub, ok := t.s.cfg.Events.Hub(c.ID())
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
				return t.s.eventFailure(info.ChainID, err)
			}
		}
		o.told, o.follower = at, hub.Follow(*filter, at)
		o.replay.on = !o.snapshot
		t.chains = append(t.chains, o)
		if !o.snapshot { // a position that is lost is better refused than told about
			if err := o.look(); err != nil {
				return t.s.eventFailure(info.ChainID, err)
			}
		}
	}
	if len(after) > 0 && len(t.chains) > 0 && !continued {
		return &door.Failure{Status: fasthttp.StatusGone, Message: "Last-Event-ID is of no chain of this stream; begin without it"}
	}
	return nil
}

// eventFilter returns which events of chains are wanted.
func (s *Server) eventFilter(e *eventsQuery) (*events.Filter, *door.Failure) {
	f := &events.Filter{
		Blocks: e.topics&topicBlocks != 0, Txs: e.topics&topicTransactions != 0, Transfers: e.topics&topicTransfers != 0,
		Messages: e.topics&topicMessages != 0, Addresses: e.addresses, Tokens: e.tokens,
	}
	for _, name := range e.destinations {
		id, err := chain.ParseID(name)
		if err != nil {
			c, ok := s.cfg.Chains.Chain(name)
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

// eventFailure is the answer when a stream cannot begin.
func (s *Server) eventFailure(number string, err error) *door.Failure {
	switch {
	case errors.Is(err, events.ErrLost):
		return &door.Failure{Status: fasthttp.StatusGone, Message: fmt.Sprintf(
			"chain %s cannot be continued from there: %v; begin without Last-Event-ID", number, err)}
	case errors.Is(err, index.ErrEmpty):
		return door.Unavailable("chain " + number + " is not indexed yet: its first block is awaited")
	}
	s.log.Error("a chain's rows cannot be read for events", "chain", number, "err", err)
	return &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: time.Second, Message: "the events of chain " + number + " cannot be read now"}
}
