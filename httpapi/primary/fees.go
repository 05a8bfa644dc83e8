package primary

import (
	"github.com/valyala/fasthttp"

	"quorate/engine/primary/pchain"
	"quorate/httpapi/door"
	"quorate/httpapi/shape"
)

// feesOf says of whom the fees of a route are.
type feesOf uint8

const (
	feesOfAll feesOf = iota
	feesOfNode
	feesOfSubnet
	feesOfValidation
)

// pagesOfFees has all days on one page unless fewer are asked for: the SDKs ask for one.
var pagesOfFees = door.PageSize{Min: 1, Max: 2160, Def: 2160}

// feeRoutes are the metrics of what validators of L1s pay. Their paths name no network:
// they are of mainnet if that is followed, and of the test network otherwise.
func (m *Room) feeRoutes() []door.Route {
	route := func(id uint8, pattern, doc string, of feesOf) door.Route {
		return door.Route{
			Method: fasthttp.MethodGet, Pattern: pattern + "/metrics/{metric}", Units: door.UnitsMedium, Key: door.KeyNever,
			Doc: doc, ID: id, Size: pagesOfFees,
			Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp},
			Answer: shape.Points{}, Choices: feeNames(of), Make: m.on(onPlatform,
				func(c *call) *door.Failure { return readFees(c, of) }, func(c *call) *door.Failure { return writeFees(c, of) }),
		}
	}
	return []door.Route{
		route(72, "/v2/validators", "returns a metric of the fees of all L1 validators, by days", feesOfAll),
		route(73, "/v2/validator/{nodeId}", "returns a metric of the fees of a node's L1 validators, by days", feesOfNode),
		route(74, "/v2/subnet/{subnetId}", "returns a metric of the fees of an L1's validators, by days", feesOfSubnet),
		route(75, "/v2/validation/{l1ValidationId}", "returns a metric of the fees of an L1 validator, by days", feesOfValidation),
	}
}

// Figures of a day's fees.
func paidSoFar(d *pchain.FeeDay) uint64   { return d.Paid }
func paidThatDay(d *pchain.FeeDay) uint64 { return d.Today }
func whoPaid(d *pchain.FeeDay) uint64     { return d.Paying }

type feeMetric struct {
	name   string
	figure func(d *pchain.FeeDay) uint64
}

// feeMetrics are the names that metrics have on each route, which are all others.
var feeMetrics = [...][]feeMetric{
	feesOfAll:        {{"totalCumulativeFeesDaily", paidSoFar}, {"totalValidatorFeesDaily", paidThatDay}, {"totalPayingValidatorsDaily", whoPaid}},
	feesOfNode:       {{"perNodeCumulativeFeesPaid", paidSoFar}, {"perNodeDailyFeesPaid", paidThatDay}},
	feesOfSubnet:     {{"perSubnetCumulativeFeesPaid", paidSoFar}, {"perSubnetDailyFeesPaid", paidThatDay}, {"perSubnetPayingValidators", whoPaid}},
	feesOfValidation: {{"validationCumulativeFeesDaily", paidSoFar}, {"validationFeesDaily", paidThatDay}},
}

// readFees reads whose fees the path names, and the metric.
func readFees(c *call, of feesOf) *door.Failure {
	var f *door.Failure
	switch of {
	case feesOfNode:
		f = readNode(c)
	case feesOfSubnet:
		f = readSubnet(c)
	case feesOfValidation:
		f = c.readID("l1ValidationId", &c.id)
	}
	if f != nil {
		return f
	}
	name := c.Params.Get("metric")
	for i, m := range feeMetrics[of] {
		if string(name) == m.name {
			c.number = uint64(i) // page tokens are bound to it
			return nil
		}
	}
	return door.BadRequest("metric must be one of " + door.Enumerated(feeNames(of)) + ", not " + door.Excerpt(name))
}

func feeNames(of feesOf) []string {
	names := make([]string, len(feeMetrics[of]))
	for i, m := range feeMetrics[of] {
		names[i] = m.name
	}
	return names
}

// writeFees lists the points of a metric in nAVAX, the newest first: what it was after the
// last block of each day, back to the first day on which one of them paid. The last day
// is not over.
func writeFees(c *call, of feesOf) *door.Failure {
	rows, f := platformOf(c)
	if f != nil {
		return f
	}
	if !rows.Exact() {
		return c.missing("the fees of L1 validators need all blocks since the genesis, which is not known here (--genesis-file)")
	}
	whose := &pchain.FeeFilter{}
	switch of {
	case feesOfNode:
		whose.Node = &c.node
	case feesOfSubnet:
		whose.Subnet = &c.id
	case feesOfValidation:
		whose.Validation = &c.id
	}
	figure := feeMetrics[of][c.number].figure
	return c.dayPoints(func(before uint64, point func(time, figure uint64) bool) error {
		return rows.FeeDays(whose, before, func(d *pchain.FeeDay) bool { return point(d.Time, figure(d)) })
	})
}
