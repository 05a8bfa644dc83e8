package httpapi

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/token"
	"quorate/httpapi/view"
	"quorate/rollup"
)

var metricList = enumerated(metricNames())

// metricNames returns the names of a chain's metrics.
func metricNames() []string {
	names := make([]string, rollup.Metrics)
	for m := range names {
		names[m] = rollup.Metric(m).String()
	}
	return names
}

// enumerated joins names for a message.
func enumerated(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// metricCall is one request for points of a metric.
type metricCall struct {
	call
	series series
	before uint32 // the bucket of the page before's last point; MaxUint32 on the first page

	// Of the page: the chunks that its points are in, the newest first.
	chunks         []*chunk
	newest, oldest uint32
	more           bool // there are older points
	fleeting       bool // the answer changes without a block, so it is not kept

	lastName string // of a chain, kept from request to request
}

// metricCalls keeps calls that are not in use.
type metricCalls struct{ pool sync.Pool }

func (p *metricCalls) get(s *Server, ctx *fasthttp.RequestCtx, r *door.Route) *metricCall {
	c, _ := p.pool.Get().(*metricCall)
	if c == nil {
		c = &metricCall{}
	}
	c.s, c.ctx, c.route = s, ctx, r
	c.before = math.MaxUint32
	return c
}

// put takes a call back. It keeps nothing of the request but its chain's name.
func (p *metricCalls) put(c *metricCall) {
	clear(c.marks)
	clear(c.chunks)
	clear(c.series.sources)
	*c = metricCall{
		call:   call{q: door.Query{Contracts: c.q.Contracts[:0]}, marks: c.marks[:0], scratch: c.scratch, position: c.position, spare: c.spare},
		series: series{sources: c.series.sources[:0]}, chunks: c.chunks[:0], lastName: c.lastName,
	}
	p.pool.Put(c)
}

// onMetric makes the handler of a route that reads a metric. It reads no view of a
// chain, but what was counted of its blocks.
func onMetric(s *Server, serve func(c *metricCall, p *door.Params) *door.Failure) door.Maker {
	return func(r *door.Route) door.Handler {
		return func(ctx *fasthttp.RequestCtx, p door.Params) {
			k := s.answers.key(ctx, view.Contract) // points have one form
			if s.sendKept(ctx, &k) {
				return
			}
			c := s.metricCalls.get(s, ctx, r)
			c.w.B = ctx.Response.SwapBody(nil)[:0]
			if f := serve(c, &p); f != nil {
				ctx.Response.SwapBody(c.w.B[:0])
				door.Fail(ctx, f)
			} else {
				s.answer(ctx, &c.call)
				if !c.fleeting {
					s.keep(ctx, &k, &c.call)
				}
			}
			s.metricCalls.put(c)
		}
	}
}

// metric is endpoint 4.
func (c *metricCall) metric(p *door.Params) *door.Failure {
	if f := c.q.Parse(c.ctx.URI().QueryString(), c.route.Query, c.route.Size); f != nil {
		return f
	}
	if f := c.find(p.Values[0]); f != nil {
		return f
	}
	m, ok := rollup.ParseMetric(string(p.Values[1]))
	if !ok {
		return door.BadRequest("metric must be one of " + metricList + ", not " + door.Excerpt(p.Values[1]))
	}
	if m.DayOnly() && c.q.Interval != rollup.Day {
		return door.BadRequest("timeInterval must be day for the metric " + m.String() + ", not " + c.q.Interval.String())
	}
	c.series.metric, c.series.interval = m, c.q.Interval
	c.filters = c.boundTo(true)
	if c.q.PageToken != nil {
		if f := c.openToken(); f != nil {
			return f
		}
	}
	if f := c.load(); f != nil {
		return f
	}
	if f := c.read(c.q.PageSize); f != nil {
		return f
	}
	c.list("results")
	c.points()
	if !c.more {
		return c.end(nil, nil)
	}
	return c.end(binary.BigEndian.AppendUint32(nil, c.oldest), nil)
}

// boundTo hashes what a page token belongs to besides its route.
func (c *metricCall) boundTo(query bool) token.Filters {
	b := append(c.scratch[:0], byte(c.series.metric), byte(c.series.group))
	if c.series.group == noGroup {
		id := c.chain.ID()
		b = append(b, id[:]...)
	}
	if query {
		b = c.q.Canonical(b)
	}
	c.scratch = b
	return token.HashFilters(b)
}

// openToken reads the page token. Its tip is not used: buckets that begin later
// change none of the walk.
func (c *metricCall) openToken() *door.Failure {
	if c.position == nil {
		c.position = make([]byte, 0, token.MaxLen)
	}
	t, err := c.s.tokens.Parse(c.position, c.q.PageToken, c.route.ID, c.filters)
	if err != nil {
		return door.BadRequest("pageToken is not valid: " + err.Error())
	}
	if len(t.Position) != 4 {
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	}
	c.before = binary.BigEndian.Uint32(t.Position)
	return nil
}

// read finds the chunks of the page: the newest points below before.
func (c *metricCall) read(size int) *door.Failure {
	newest, oldest, ok := c.series.window(c.q.Since, c.q.Until, c.before)
	if s := &c.series; !ok && s.held != nil && newest == s.last && oldest > newest {
		return c.metricFailure(s.held, fmt.Errorf("%w: after blocks were given up those of this time are made again", index.ErrRollup))
	}
	if !ok {
		return nil
	}
	if left := newest - oldest; left >= uint32(size) {
		oldest, c.more = newest-uint32(size)+1, true
	}
	c.newest, c.oldest = newest, oldest
	var err error
	var broken Chain
	if c.chunks, broken, err = c.s.points.find(&c.series, c.chunks, newest, oldest); err != nil {
		return c.metricFailure(broken, err)
	}
	return nil
}

// points writes the points of the page.
func (c *metricCall) points() {
	size := 0
	for _, k := range c.chunks {
		size += len(k.between(c.newest, c.oldest))
	}
	if size == 0 {
		return
	}
	c.w.B = grown(c.w.B, size+metricTail)
	for _, k := range c.chunks {
		c.w.B = append(c.w.B, k.between(c.newest, c.oldest)...)
	}
	c.w.B = c.w.B[:len(c.w.B)-1] // the last comma
}

// metricTail is room for what follows on the points.
const metricTail = 64

// grown returns a buffer with room for n more bytes. What is larger than it was
// before is likely to stay so.
func grown(b []byte, n int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, len(b)+n+n/8), b...)
}
