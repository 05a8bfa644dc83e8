package icm

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"quorate/engine/chain"
	events "quorate/engine/chain/icm"
	"quorate/httpapi/door"
	"quorate/httpapi/metrics"
	"quorate/rollup"
)

var (
	paramSrc     = paramChain("srcBlockchainId", "only messages from a chain", func(q *query) *string { return &q.source })
	paramDest    = paramChain("destBlockchainId", "only messages to a chain", func(q *query) *string { return &q.destination })
	paramGroupBy = door.Choice("groupBy", "what there are figures of, each apart; else they are of all together", "",
		[]string{"srcBlockchainId", "destBlockchainId", "srcBlockchainId,destBlockchainId"}, func(q *door.Query, v string) {
			own(q).bySource, own(q).byDestination = v != "destBlockchainId", v != "srcBlockchainId"
		})
	teleporterMetrics = []string{"teleporterSourceTxnCount", "teleporterDestinationTxnCount", "teleporterTotalTxnCount"}
)

// teleporterMetric counts the messages of one chain.
func (c *call) teleporterMetric() *door.Failure {
	f := c.Parse()
	if f == nil {
		f = c.Find(c.Params.Values[0])
	}
	if f != nil {
		return f
	}
	which := slices.Index(teleporterMetrics, string(c.Params.Values[1]))
	if which < 0 {
		return door.BadRequest("metric must be one of " + door.Enumerated(teleporterMetrics) + ", not " + door.Excerpt(c.Params.Values[1]))
	}
	return c.Read(func() *door.Failure { return c.countAll(which) })
}

func (c *call) countAll(which int) *door.Failure {
	if !c.V.HasICMCounts() {
		return c.uncounted()
	}
	sum := uint64(0)
	for i, kind := range []events.Kind{events.Sent, events.Received} {
		if which != 2 && which != i {
			continue
		}
		peers, err := c.V.ICMPeers(kind)
		for j := range peers {
			n, failed := c.V.ICMCount(kind, &peers[j], c.Tip)
			sum, err = sum+n, cmp.Or(err, failed)
		}
		if err != nil {
			return c.Unreadable(err)
		}
	}
	c.W.Raw(`{"result":{`)
	c.Figure("value", sum)
	c.W.Raw("}}")
	return nil
}

func (c *call) uncounted() *door.Failure {
	return door.Unavailable("the interchain messages of chain " + c.Info.ChainID + " are being counted")
}

// pair is a source and a destination chain. The source counts its messages if it is
// followed, else the destination what it got.
type pair struct {
	source, destination chain.ID
	open                *openChain // that counts
	kind                events.Kind
	group               int
}

// counts are the numbers of messages of the chains that a request is about.
type counts struct {
	o      *chains
	pairs  []pair
	groups []ends
	// heights are those of the first blocks at or after times that were asked for.
	heights map[moment]uint64
}

type moment struct {
	open  *openChain
	milli uint64
}

// ends is what figures are of; an empty name stands for all chains.
type ends struct{ source, destination string }

// every is the name of all chains together.
const every = "all"

// count opens the chains, and finds the pairs that are asked for.
func (c *call) count() (*counts, filter, *door.Failure) {
	l, f := c.filter()
	if f != nil {
		return nil, l, f
	}
	o, f := c.openChains()
	if f != nil {
		return nil, l, f
	}
	n := &counts{o: o, heights: map[moment]uint64{}}
	for i := range o.list {
		if f := n.find(&o.list[i], &l); f != nil {
			o.close()
			return nil, l, f
		}
	}
	n.group(&l, c.q.bySource, c.q.byDestination)
	return n, l, nil
}

// find adds the pairs that a chain counts.
func (n *counts) find(open *openChain, l *filter) *door.Failure {
	n.o.enter(open)
	if !open.V.HasICMCounts() {
		return n.o.c.uncounted()
	}
	for _, kind := range []events.Kind{events.Sent, events.Received} {
		peers, err := open.V.ICMPeers(kind)
		if err != nil {
			return n.o.c.Unreadable(err)
		}
		for _, peer := range peers {
			p := pair{source: open.id, destination: peer, open: open, kind: kind}
			if kind == events.Received {
				p.source, p.destination = peer, open.id
				if n.o.find(&peer) != nil {
					continue // which counts it
				}
			}
			if (l.source == nil || *l.source == p.source) && (l.destination == nil || *l.destination == p.destination) {
				n.pairs = append(n.pairs, p)
			}
		}
	}
	return nil
}

// group puts the pairs into groups, in the order of their chains' names. Without
// grouping there is one, also if it is empty.
func (n *counts) group(l *filter, bySource, byDestination bool) {
	name := func(id *chain.ID, only *chain.ID, by bool) string {
		switch {
		case by:
			return id.String()
		case only != nil:
			return only.String()
		}
		return every
	}
	of := func(p *pair) ends {
		return ends{name(&p.source, l.source, bySource), name(&p.destination, l.destination, byDestination)}
	}
	if !bySource && !byDestination {
		n.groups = []ends{of(&pair{})}
	}
	for i := range n.pairs {
		n.groups = append(n.groups, of(&n.pairs[i]))
	}
	slices.SortFunc(n.groups, func(a, b ends) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.destination, b.destination))
	})
	n.groups = slices.Compact(n.groups)
	for i := range n.pairs {
		n.pairs[i].group = slices.Index(n.groups, of(&n.pairs[i]))
	}
}

// rowsPerCount is how many rows cost what a count of messages does.
const rowsPerCount = 10

// before returns how many messages there were before a time, by group.
func (n *counts) before(milli uint64) (sums []uint64, f *door.Failure) {
	sums = make([]uint64, len(n.groups))
	for i := range n.pairs {
		p := &n.pairs[i]
		at := moment{p.open, milli}
		height, ok := n.heights[at]
		if !ok {
			var err error
			if height, err = p.open.V.BlocksBefore(milli); err != nil {
				n.o.enter(p.open)
				return nil, n.o.c.Unreadable(err)
			}
			n.heights[at] = height
		}
		if height == 0 {
			continue
		}
		n.o.c.Looked += rowsPerCount
		peer := &p.destination
		if p.kind == events.Received {
			peer = &p.source
		}
		count, err := p.open.V.ICMCount(p.kind, peer, height-1)
		if err != nil {
			n.o.enter(p.open)
			return nil, n.o.c.Unreadable(err)
		}
		sums[p.group] += count
	}
	return sums, nil
}

// summary counts messages in windows that end now. The first result is that of all
// groups together, which the SDKs know alone.
func (c *call) summary() *door.Failure {
	n, l, f := c.count()
	if f != nil {
		return f
	}
	defer n.o.close()
	c.Passing = true // time goes on without blocks
	now := time.Now()
	all, f := n.before(math.MaxUint64)
	if f != nil {
		return f
	}
	windows := make([][]uint64, len(metrics.Windows))
	for i, w := range metrics.Windows {
		if windows[i], f = n.before(metrics.MilliBefore(now, w.Hours)); f != nil {
			return f
		}
	}
	write := func(g ends, in func(sums []uint64) uint64) {
		c.W.Raw("{")
		for i, w := range metrics.Windows {
			c.Figure(w.Name, in(all)-in(windows[i]))
		}
		c.Figure("allTime", in(all))
		c.ends(g)
		c.W.Raw("}")
	}
	c.W.Raw(`{"result":`)
	whole := counts{}
	whole.group(&l, false, false)
	write(whole.groups[0], func(sums []uint64) (sum uint64) {
		for _, v := range sums {
			sum += v
		}
		return sum
	})
	if c.q.bySource || c.q.byDestination {
		c.W.Member("results")
		c.W.Raw("[")
		for i, g := range n.groups {
			c.W.Comma()
			write(g, func(sums []uint64) uint64 { return sums[i] })
		}
		c.W.Raw("]")
	}
	c.W.Raw("}")
	return nil
}

func (c *call) ends(g ends) {
	c.Word("srcBlockchainId", g.source)
	c.Word("destBlockchainId", g.destination)
}

// series lists the numbers of messages by interval, down to that of the first one. An
// interval is never on two pages, so a page has more rows than it should if there are
// more groups than that.
func (c *call) series() *door.Failure {
	list := c.Q.Canonical(append(append(c.Scratch[:0], c.Q.Network...), '/'))
	for _, name := range []string{c.q.source, c.q.destination} {
		list = append(append(list, '|'), name...)
	}
	if f := c.ReadToken(append(list, door.Bit(c.q.bySource), door.Bit(c.q.byDestination))); f != nil {
		return f
	}
	if c.After != nil && len(c.After) != 4 {
		return door.BadRequest("pageToken is not valid: it belongs to another list")
	}
	after := bytes.Clone(c.After)
	n, _, f := c.count()
	if f != nil {
		return f
	}
	defer n.o.close()
	bucket, oldest, ok := c.buckets(n, after)
	c.List("results")
	if !ok || len(n.groups) == 0 {
		return c.End(nil, nil)
	}
	until := min(c.Q.Until, math.MaxUint64/1000) // what is above the interval's end does not count
	upto, f := n.before(min(until, uint64(c.Q.Interval.Start(bucket+1))) * 1000)
	if f != nil {
		return f
	}
	for left := max(1, c.Q.PageSize/len(n.groups)); ; bucket-- {
		since := max(c.Q.Since, uint64(max(c.Q.Interval.Start(bucket), 0))) // not negative
		from, f := n.before(since * 1000)
		if f != nil {
			return f
		}
		if !slices.ContainsFunc(upto, func(v uint64) bool { return v > 0 }) {
			return c.End(nil, nil) // nothing is older
		}
		for i, g := range n.groups {
			c.W.Comma()
			c.W.Raw("{")
			c.Figure("value", upto[i]-from[i])
			c.Figure("timestamp", uint64(max(c.Q.Interval.Start(bucket), 0)))
			c.ends(g)
			c.W.Raw("}")
		}
		if bucket == oldest {
			return c.End(nil, nil)
		}
		if left--; left == 0 {
			return c.End(binary.BigEndian.AppendUint32(nil, bucket), nil)
		}
		upto = from
	}
}

// buckets returns the newest and the oldest interval of a page, ok false if there is
// none.
func (c *call) buckets(n *counts, after []byte) (newest, oldest uint32, ok bool) {
	tip := uint64(0)
	for i := range n.o.list {
		tip = max(tip, n.o.list[i].V.Tip().TimeMilli/1000)
	}
	if c.Q.Until == 0 || c.Q.Since >= c.Q.Until {
		return 0, 0, false
	}
	newest, oldest = c.Q.Interval.Number(min(tip, c.Q.Until-1)), c.Q.Interval.Number(c.Q.Since)
	if after != nil {
		last := binary.BigEndian.Uint32(after)
		if last == 0 {
			return 0, 0, false
		}
		newest = min(newest, last-1)
	}
	return newest, oldest, newest >= oldest && c.Q.Interval < rollup.Intervals
}
