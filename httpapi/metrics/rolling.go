package metrics

import (
	"fmt"
	"strconv"
	"time"

	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/rollup"
)

// Windows are those that end now.
var Windows = []struct {
	Name  string
	Hours uint64
}{{"lastHour", 1}, {"lastDay", 24}, {"lastWeek", 7 * 24}, {"lastMonth", 30 * 24}, {"last90Days", 90 * 24}, {"lastYear", 365 * 24}}

// MilliBefore returns the time so many hours ago in Unix milliseconds.
func MilliBefore(now time.Time, hours uint64) uint64 {
	return uint64(max(now.Add(-time.Duration(hours)*time.Hour).UnixMilli(), 0)) // not negative
}

// rollingWindows returns a metric over windows that end now. They begin with full hours,
// so that distinct addresses can be counted: that in which the time so long ago lies.
func (c *call) rollingWindows() *door.Failure {
	p := &c.Params
	if f := c.Parse(); f != nil {
		return f
	}
	if f := c.find(p.Values[0]); f != nil {
		return f
	}
	m, ok := rollup.ParseMetric(string(p.Values[1]))
	if !ok || m.Cumulative() {
		return door.BadRequest("metric must be one of " + windowList + ", not " + door.Excerpt(p.Values[1]))
	}
	c.Passing = true // time goes on without blocks
	c.series.metric, c.series.interval = m, rollup.Hour
	if f := c.load(); f != nil {
		return f
	}
	if s := &c.series; s.held != nil {
		return c.failure(s.held, fmt.Errorf("%w: after blocks were removed they are computed again", index.ErrRollup))
	}
	hours := make([]uint32, 0, len(Windows)+1)
	now := time.Now()
	for _, w := range Windows {
		hours = append(hours, rollup.Hour.Number(MilliBefore(now, w.Hours)/1000))
	}
	figures, f := c.windows(append(hours, 0))
	if f != nil {
		return f
	}
	c.W.Raw(`{"result":{`)
	for i, text := range figures {
		name := "allTime"
		if i < len(Windows) {
			name = Windows[i].Name
		}
		if text != nil {
			c.W.Member(name)
			c.W.B = append(c.W.B, text...)
		}
	}
	c.W.Raw(`},"since":{`)
	for i, w := range Windows {
		c.W.Member(w.Name)
		c.W.B = strconv.AppendInt(c.W.B, rollup.Hour.Start(hours[i]), 10)
	}
	c.W.Raw("}}")
	return nil
}

// windows returns the figures of the series from several hours on, the latest first. One
// is nil if a chain's first blocks are not indexed and the window needs them.
func (c *call) windows(hours []uint32) (figures [][]byte, f *door.Failure) {
	s := &c.series
	totals, unknown := make([]rollup.Total, len(hours)), make([]bool, len(hours))
	var alone []rollup.Record // of the only chain
	for i := range s.sources {
		src := &s.sources[i]
		list, err := src.chain.Windows(hours, s.metric.Distinct())
		if err != nil {
			return nil, c.failure(src.chain, err)
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
