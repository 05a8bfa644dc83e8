package metrics

import (
	"encoding/binary"
	"fmt"
	"math"

	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/evm"
	"quorate/rollup"
)

// call is one request for points of a metric.
type call struct {
	evm.Request
	kept   *points
	series series
	before uint32 // the bucket of the page before's last point; MaxUint32 on the first page

	// Of the page: the chunks that its points are in, the newest first.
	chunks         []*chunk
	newest, oldest uint32
	more           bool // there are older points

	lastName string // of a chain, kept from request to request
}

// Forget implements [reply.Call]. It keeps the chain's name.
func (c *call) Forget() {
	clear(c.chunks)
	clear(c.series.sources)
	*c = call{
		Request: c.Emptied(), kept: c.kept, before: math.MaxUint32,
		series: series{sources: c.series.sources[:0]}, chunks: c.chunks[:0], lastName: c.lastName,
	}
}

// metric is endpoint 4.
func (c *call) metric() *door.Failure {
	p := &c.Params
	if f := c.Parse(); f != nil {
		return f
	}
	if f := c.find(p.Values[0]); f != nil {
		return f
	}
	m, ok := rollup.ParseMetric(string(p.Values[1]))
	if !ok {
		return door.BadRequest("metric must be one of " + nameList + ", not " + door.Excerpt(p.Values[1]))
	}
	if m.DayOnly() && c.Q.Interval != rollup.Day {
		return door.BadRequest("timeInterval must be day for the metric " + m.String() + ", not " + c.Q.Interval.String())
	}
	c.series.metric, c.series.interval = m, c.Q.Interval
	if f := c.openToken(); f != nil {
		return f
	}
	if f := c.load(); f != nil {
		return f
	}
	if f := c.read(c.Q.PageSize); f != nil {
		return f
	}
	c.List("results")
	c.points()
	if !c.more {
		return c.End(nil, nil)
	}
	return c.End(binary.BigEndian.AppendUint32(nil, c.oldest), nil)
}

// boundTo appends what a page token belongs to besides its route.
func (c *call) boundTo(query bool) []byte {
	b := append(c.Scratch[:0], byte(c.series.metric), byte(c.series.group))
	if c.series.group == noGroup {
		id := c.Chain.ID()
		b = append(b, id[:]...)
	}
	if query {
		b = c.Q.Canonical(b)
	}
	return b
}

// openToken reads the page token. Its tip is not used: buckets that begin later
// change none of the walk.
func (c *call) openToken() *door.Failure {
	if f := c.ReadToken(c.boundTo(true)); f != nil || c.After == nil {
		return f
	}
	if len(c.After) != 4 {
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	}
	c.before = binary.BigEndian.Uint32(c.After)
	return nil
}

// read finds the chunks of the page: the newest points below before.
func (c *call) read(size int) *door.Failure {
	newest, oldest, ok := c.series.window(c.Q.Since, c.Q.Until, c.before)
	if s := &c.series; !ok && s.held != nil && newest == s.last && oldest > newest {
		return c.failure(s.held, fmt.Errorf("%w: after blocks were removed those of this time are computed again", index.ErrRollup))
	}
	if !ok {
		return nil
	}
	if left := newest - oldest; left >= uint32(size) {
		oldest, c.more = newest-uint32(size)+1, true
	}
	c.newest, c.oldest = newest, oldest
	var err error
	var broken *evm.Chain
	if c.chunks, broken, err = c.kept.find(&c.series, c.chunks, newest, oldest); err != nil {
		return c.failure(broken, err)
	}
	return nil
}

// points writes the points of the page.
func (c *call) points() {
	size := 0
	for _, k := range c.chunks {
		size += len(k.between(c.newest, c.oldest))
	}
	if size == 0 {
		return
	}
	c.W.B = grown(c.W.B, size+metricTail)
	for _, k := range c.chunks {
		c.W.B = append(c.W.B, k.between(c.newest, c.oldest)...)
	}
	c.W.B = c.W.B[:len(c.W.B)-1] // the last comma
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
