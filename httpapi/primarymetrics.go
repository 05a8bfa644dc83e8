package httpapi

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// stakingRoutes are the metrics of a network's stakers.
func stakingRoutes() []Route {
	return []Route{{
		Method: fasthttp.MethodGet, Pattern: "/v2/networks/{network}/metrics/{metric}", Units: unitsMedium, Key: KeyNever,
		Doc: "returns a metric of the stakers of a network, by days",
		id:  39, size: pagesOfPoints,
		query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp, paramSubnetID},
		needs: needsPrimary, answer: shape.Points{}, choices: stakingNames(), make: onPrimary(onPlatform, (*primaryCall).readMetric, (*primaryCall).stakingMetric),
	}}
}

// stakingMetrics are the metrics of stakers, in the order of the documentation.
var stakingMetrics = [...]struct {
	name string
	of   func(s *pchain.Sums) uint64
}{
	{"validatorCount", func(s *pchain.Sums) uint64 { return s.Validators }},
	{"validatorWeight", func(s *pchain.Sums) uint64 { return s.ValidatorWeight }},
	{"delegatorCount", func(s *pchain.Sums) uint64 { return s.Delegators }},
	{"delegatorWeight", func(s *pchain.Sums) uint64 { return s.DelegatorWeight }},
	{"totalStake", func(s *pchain.Sums) uint64 { return s.ValidatorWeight + s.DelegatorWeight }},
}

// readMetric reads the metric in the path.
func (c *primaryCall) readMetric() *failure {
	name := c.values.get("metric")
	for i := range stakingMetrics {
		if string(name) == stakingMetrics[i].name {
			c.number = uint64(i) // page tokens are bound to it
			return nil
		}
	}
	return badRequest("metric must be one of " + enumerated(stakingNames()) + ", not " + excerpt(name))
}

func stakingNames() []string {
	names := make([]string, len(stakingMetrics))
	for i := range stakingMetrics {
		names[i] = stakingMetrics[i].name
	}
	return names
}

// stakingMetric lists the points of a metric, the newest first: what it was after the
// last block of each day. The last day is not over. Without a subnet it is that of the
// primary network.
func (c *primaryCall) stakingMetric() *failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	if !rows.Exact() {
		return c.missing("the metrics of " + c.name + " need all stakers since the genesis, which is not known here (--genesis-file)")
	}
	subnet := chain.PrimaryNetworkID
	if c.q.primary.subnet != nil {
		subnet = *c.q.primary.subnet
	}
	figure := stakingMetrics[c.number].of
	return c.dayPoints(func(before uint64, point func(time, figure uint64) bool) error {
		return rows.Days(subnet, before, func(time uint64, s pchain.Sums) bool { return point(time, figure(&s)) })
	})
}

// dayPoints writes a page of the points that days hands over, from the day before a time
// on, the newest first.
func (c *primaryCall) dayPoints(days func(before uint64, point func(time, figure uint64) bool) error) *failure {
	before := c.q.until
	if before == math.MaxUint64 {
		before = 0
	}
	if len(c.after) == 8 {
		before = binary.BigEndian.Uint64(c.after)
	} else if len(c.after) > 0 {
		return c.unreadable(primary.ErrPosition)
	}
	c.list("results")
	var next primary.Position
	n, last := 0, uint64(0)
	var digits [20]byte
	err := days(before, func(time, figure uint64) bool {
		switch {
		case time < c.q.since:
			return false
		case n == c.q.pageSize:
			next = binary.BigEndian.AppendUint64(nil, last)
			return false
		}
		c.w.Comma()
		c.w.B = view.AppendPoint(c.w.B, view.ValueFirst, strconv.AppendUint(digits[:0], figure, 10), int64(time))
		n, last = n+1, time
		return true
	})
	return c.finish(next, err, nil)
}
