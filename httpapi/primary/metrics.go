package primary

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/httpapi/view"
)

// stakingRoutes are the metrics of a network's stakers, and of the fees that its
// transactions burn.
func (m *Room) stakingRoutes() []door.Route {
	return []door.Route{{
		Method: fasthttp.MethodGet, Pattern: "/v2/subnets/{subnetId}/validators:getAddresses", Units: door.UnitsMedium, Key: door.KeyNever,
		Doc: "lists the addresses that get the rewards of a subnet's validators, the latest start first",
		ID:  117, Size: pagesOfAddresses,
		Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp, door.ParamNetwork},
		Answer: shape.StakerAddresses{}, Refused: []int{fasthttp.StatusNotFound}, Make: m.on(onPlatform, readSubnet, validatorAddresses),
	}, {
		Method: fasthttp.MethodGet, Pattern: "/v2/networks/{network}/metrics/{metric}", Units: door.UnitsMedium, Key: door.KeyNever,
		Doc: "returns a metric of the stakers of a network, or of the fees that its transactions burn, by days",
		ID:  39, Size: reply.PagesOfPoints,
		Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp, paramSubnetID},
		Answer: shape.Points{}, Choices: networkMetricNames(), Make: m.on(onPlatform, readMetric, networkMetric),
	}}
}

// pagesOfAddresses is that of the addresses of validators.
var pagesOfAddresses = door.PageSize{Min: 1, Max: 5000, Def: 1000}

// validatorAddresses lists who gets the rewards of the validators that validate at some
// time of a frame, with the time of their start.
func validatorAddresses(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	if _, found, err := rows.Subnet(c.id); err != nil {
		return c.unreadable(err)
	} else if !found && c.id != chain.PrimaryNetworkID {
		return c.missing("there is no subnet " + c.id.String() + " on " + c.name)
	}
	c.List("addresses")
	times, ok := c.frame()
	if !ok {
		return c.finish(nil, nil, nil)
	}
	of := primary.StakerFilter{Subnet: &c.id, During: times, Rewarded: true}
	next, err := rows.Stakers(&of, c.page(), fits(c, c.W.StakerAddresses))
	return c.finish(next, err, nil)
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
	{"totalStake", func(s *pchain.Sums) uint64 { return chain.AddSaturated(s.ValidatorWeight, s.DelegatorWeight) }},
}

// burnedMetrics are the metrics of fees, behind those of stakers.
var burnedMetrics = [...]struct {
	name string
	kind primary.Kind
	of   func(d *primary.BurnedDay) uint64
}{
	{"pChainFeesBurned", primary.PChain, burnedThatDay},
	{"pChainCumulativeFeesBurned", primary.PChain, burnedSoFar},
	{"xChainFeesBurned", primary.XChain, burnedThatDay},
	{"xChainCumulativeFeesBurned", primary.XChain, burnedSoFar},
	{"cChainAtomicFeesBurned", primary.CChain, burnedThatDay},
	{"cChainCumulativeAtomicFeesBurned", primary.CChain, burnedSoFar},
}

// Figures of a day's burned fees.
func burnedThatDay(d *primary.BurnedDay) uint64 { return d.Today }
func burnedSoFar(d *primary.BurnedDay) uint64   { return d.Total }

// readMetric reads the metric in the path. One of fees is read of its own chain.
func readMetric(c *call) *door.Failure {
	name := c.Params.Get("metric")
	for i := range stakingMetrics {
		if string(name) == stakingMetrics[i].name {
			c.number = uint64(i) // page tokens are bound to it
			return nil
		}
	}
	for i := range burnedMetrics {
		m := &burnedMetrics[i]
		if string(name) != m.name {
			continue
		}
		if c.own.subnet != nil {
			return door.BadRequest("subnetId goes with the metrics of stakers, not with " + m.name)
		}
		c.number = uint64(len(stakingMetrics) + i)
		if c.kind == m.kind {
			return nil
		}
		var ok bool
		if c.on, ok = c.network.Chain(m.kind); !ok {
			return door.NotFound("the " + m.kind.String() + " of " + c.name + " is not followed here")
		}
		c.kind = m.kind
		c.About(mark{c.on})
		return nil
	}
	return door.BadRequest("metric must be one of " + door.Enumerated(networkMetricNames()) + ", not " + door.Excerpt(name))
}

func networkMetricNames() (names []string) {
	for i := range stakingMetrics {
		names = append(names, stakingMetrics[i].name)
	}
	for i := range burnedMetrics {
		names = append(names, burnedMetrics[i].name)
	}
	return names
}

// networkMetric lists the points of a metric.
func networkMetric(c *call) *door.Failure {
	if c.number >= uint64(len(stakingMetrics)) {
		return burnedMetric(c)
	}
	return stakingMetric(c)
}

// burnedMetric lists the points of a metric of fees in nAVAX, the newest first, back to
// the first day on which a transaction paid one. The last day is not over.
func burnedMetric(c *call) *door.Failure {
	m := &burnedMetrics[c.number-uint64(len(stakingMetrics))]
	if c.rows.First() > 1 {
		return c.missing("the fees that the " + m.kind.String() + " of " + c.name + " has burned need all of its blocks; here it begins at block " +
			strconv.FormatUint(c.rows.First(), 10))
	}
	asset := c.network.AVAX()
	if asset.IsZero() {
		return c.missing("no node has answered yet which asset of " + c.name + " is AVAX")
	}
	known := true
	f := c.dayPoints(func(before uint64, point func(time, figure uint64) bool) (err error) {
		known, err = c.rows.BurnedDays(asset, before, func(d *primary.BurnedDay) bool { return point(d.Time, m.of(d)) })
		return err
	})
	if f == nil && !known {
		return c.missing("the rows of the " + m.kind.String() + " of " + c.name + " are of an older version, which had no fees: they are being made again")
	}
	return f
}

// stakingMetric lists the points of a metric, the newest first: what it was after the
// last block of each day. The last day is not over. Without a subnet it is that of the
// primary network.
func stakingMetric(c *call) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	if !rows.Exact() {
		return c.missing("the metrics of " + c.name + " need all stakers since the genesis, which is not known here (--genesis-file)")
	}
	subnet := chain.PrimaryNetworkID
	if c.own.subnet != nil {
		subnet = *c.own.subnet
	}
	figure := stakingMetrics[c.number].of
	return c.dayPoints(func(before uint64, point func(time, figure uint64) bool) error {
		return rows.Days(subnet, before, func(time uint64, s pchain.Sums) bool { return point(time, figure(&s)) })
	})
}

// dayPoints writes a page of the points that days hands over, from the day before a time
// on, the newest first.
func (c *call) dayPoints(days func(before uint64, point func(time, figure uint64) bool) error) *door.Failure {
	before := c.Q.Until
	if before == math.MaxUint64 {
		before = 0
	}
	if len(c.After) == 8 {
		before = binary.BigEndian.Uint64(c.After)
	} else if len(c.After) > 0 {
		return c.unreadable(primary.ErrPosition)
	}
	c.List("results")
	var next primary.Position
	n, last := 0, uint64(0)
	var digits [20]byte
	err := days(before, func(time, figure uint64) bool {
		switch {
		case time < c.Q.Since:
			return false
		case n == c.Q.PageSize:
			next = binary.BigEndian.AppendUint64(nil, last)
			return false
		}
		c.W.Comma()
		c.W.B = view.AppendPoint(c.W.B, view.ValueFirst, strconv.AppendUint(digits[:0], figure, 10), int64(time))
		n, last = n+1, time
		return true
	})
	return c.finish(next, err, nil)
}
