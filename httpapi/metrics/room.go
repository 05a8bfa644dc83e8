package metrics

import (
	"cmp"
	"math"

	"github.com/valyala/fasthttp"

	"quorate/engine/metric"
	"quorate/httpapi/door"
	"quorate/httpapi/evm"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
	"quorate/rollup"
)

// defaultBytes bounds the points that are kept by default: five years of all metrics of a busy
// chain take some 12 MiB.
const defaultBytes = 32 << 20

// Room answers about metrics. The zero value only has routes.
type Room struct {
	// EVM has the chains.
	EVM *evm.Room

	calls  reply.Calls[call, *call]
	points *points
}

// Use readies the room for requests. size bounds the points that are kept, in bytes; 0 is
// the default.
func (m *Room) Use(desk *reply.Desk, set *metric.Set, size int64) {
	m.points = newPoints(set, cmp.Or(size, defaultBytes))
	m.calls.Desk, m.calls.OneForm = desk, true
	m.calls.New = func() *call {
		return &call{Request: evm.Request{EVM: m.EVM}, kept: m.points, before: math.MaxUint32}
	}
}

// Bytes returns how many bytes of points are kept.
func (m *Room) Bytes() int64 { return m.points.kept.Bytes() }

// Names returns the names of a chain's metrics.
func Names() []string {
	names := make([]string, rollup.Metrics)
	for m := range names {
		names[m] = rollup.Metric(m).String()
	}
	return names
}

// WindowNames returns the names of the metrics that are not running totals.
func WindowNames() (names []string) {
	for m := range rollup.Metric(rollup.Metrics) {
		if !m.Cumulative() {
			names = append(names, m.String())
		}
	}
	return names
}

var nameList, windowList = door.Enumerated(Names()), door.Enumerated(WindowNames())

// Routes are all that is served of metrics.
func (m *Room) Routes() []door.Route {
	off := m.EVM == nil || m.EVM.Chains == nil
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/metrics/{metric}", Units: door.UnitsMedium,
			Key: door.KeyNever, Chain: "chainId",
			Doc: "lists the points of a metric",
			ID:  11, Size: reply.PagesOfPoints,
			Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp, door.ParamTimeInterval},
			Off:   off, Answer: shape.Points{}, Choices: Names(), Make: m.calls.Make((*call).metric),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/rollingWindowMetrics/{metric}", Units: door.UnitsMedium,
			Key: door.KeyNever, Chain: "chainId",
			Doc: "returns what a metric is over the last hour, day, week, month, 90 days, year, and over all time",
			Off: off, Answer: shape.Windows{}, Choices: WindowNames(), Make: m.calls.Make((*call).rollingWindows),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/avg_tps/{chainId}", Units: door.UnitsMedium, Key: door.KeyNever, Chain: "chainId",
			Doc: "lists transactions a second by day, in the form of the API's first version",
			ID:  12, Query: []door.Param{door.ParamPageToken},
			Off: off, Answer: shape.AvgTPS{}, Refusal: &door.Refusal{Body: shape.ListError{}, Append: appendListError}, Make: m.calls.Make((*call).avgTPS),
		},
	}
}
