package httpapi

import (
	"fmt"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/shape"
	"quorate/rollup"
)

// rollingRoute is that of metrics over windows that end now.
func rollingRoute(s *Server) door.Route {
	return door.Route{
		Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/rollingWindowMetrics/{metric}", Units: door.UnitsMedium,
		Key: door.KeyNever, Chain: "chainId",
		Doc: "returns what a metric is over the last hour, day, week, month, 90 days, year, and over all time",
		Off: s.cfg.Chains == nil, Answer: shape.Windows{}, Choices: rollingNames(), Make: onMetric(s, (*metricCall).rollingWindows),
	}
}

// rollingNames returns the names of the metrics that are not running totals.
func rollingNames() (names []string) {
	for m := range rollup.Metric(rollup.Metrics) {
		if !m.Cumulative() {
			names = append(names, m.String())
		}
	}
	return names
}

var rollingList = door.Enumerated(rollingNames())

// rollingWindows returns a metric over windows that end now. They begin with full hours,
// so that distinct addresses can be counted: that in which the time so long ago lies.
func (c *metricCall) rollingWindows() *door.Failure {
	p := &c.Params
	if f := c.Parse(); f != nil {
		return f
	}
	if f := c.find(p.Values[0]); f != nil {
		return f
	}
	m, ok := rollup.ParseMetric(string(p.Values[1]))
	if !ok || m.Cumulative() {
		return door.BadRequest("metric must be one of " + rollingList + ", not " + door.Excerpt(p.Values[1]))
	}
	c.Passing = true // time goes on without blocks
	c.series.metric, c.series.interval = m, rollup.Hour
	if f := c.load(); f != nil {
		return f
	}
	if s := &c.series; s.held != nil {
		return c.metricFailure(s.held, fmt.Errorf("%w: after blocks were given up they are made again", index.ErrRollup))
	}
	hours := make([]uint32, 0, len(rolling)+1)
	now := time.Now()
	for _, w := range rolling {
		hours = append(hours, rollup.Hour.Number(milliBefore(now, w.hours)/1000))
	}
	figures, f := c.windows(append(hours, 0))
	if f != nil {
		return f
	}
	c.W.Raw(`{"result":{`)
	for i, text := range figures {
		name := "allTime"
		if i < len(rolling) {
			name = rolling[i].name
		}
		if text != nil {
			c.W.Member(name)
			c.W.B = append(c.W.B, text...)
		}
	}
	c.W.Raw(`},"since":{`)
	for i, w := range rolling {
		c.W.Member(w.name)
		c.W.B = strconv.AppendInt(c.W.B, rollup.Hour.Start(hours[i]), 10)
	}
	c.W.Raw("}}")
	return nil
}

// windows returns the figures of the series from several hours on, the latest first. One
// is nil if a chain's first blocks are not indexed and the window needs them.
func (c *metricCall) windows(hours []uint32) (figures [][]byte, f *door.Failure) {
	s := &c.series
	totals, unknown := make([]rollup.Total, len(hours)), make([]bool, len(hours))
	var alone []rollup.Record // of the only chain
	for i := range s.sources {
		src := &s.sources[i]
		list, err := src.chain.Windows(hours, s.metric.Distinct())
		if err != nil {
			return nil, c.metricFailure(src.chain, err)
		}
		above := beginsAbove(src.chain)
		for k := range list {
			totals[k].Add(s.metric, &list[k])
			unknown[k] = unknown[k] || above && hours[k] <= src.first
		}
		alone = list
	}
	for k := range totals {
		var text []byte
		switch {
		case unknown[k]:
		case len(s.sources) == 1:
			v := s.metric.Of(&alone[k])
			text = v.Append([]byte{})
		default:
			text = totals[k].Append(s.metric, []byte{})
		}
		figures = append(figures, text)
	}
	return figures, nil
}
