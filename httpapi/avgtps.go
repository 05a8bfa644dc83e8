package httpapi

import (
	"strconv"
	"time"

	"quorate/httpapi/door"
	"quorate/httpapi/token"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// avgTPSPage is how many points a page has: no parameter says it.
const avgTPSPage = 100

// avgTPS is endpoint 19: the metric of the same name by day, in the form of the
// first version of the API.
func (c *metricCall) avgTPS(p *door.Params) *door.Failure {
	if f := c.q.Parse(c.ctx.URI().QueryString(), c.route.Query, c.route.Size); f != nil {
		return f
	}
	if f := c.find(p.Values[0]); f != nil {
		return f
	}
	c.series.metric, c.series.interval, c.series.form = rollup.AvgTps, rollup.Day, view.TimeFirst
	now := time.Now()
	c.filters = c.boundTo(false)
	if c.q.PageToken != nil {
		var err error
		if c.before, err = c.s.tokens.ParseUUID(c.q.PageToken, c.route.ID, c.filters, now); err != nil {
			return door.BadRequest("pageToken is not valid: " + err.Error())
		}
	}
	if f := c.load(); f != nil {
		return f
	}
	if f := c.read(avgTPSPage); f != nil {
		return f
	}
	c.w.Raw("{")
	if c.more {
		c.w.Raw(`"nextPageToken":"`)
		c.w.B = c.s.tokens.AppendUUID(c.w.B, &token.UUID{Route: c.route.ID, Filters: c.filters, Position: c.oldest}, now)
		c.w.Raw(`"`)
	}
	c.rows("results")
	c.points()
	c.w.Raw(`],"status":200,"lastRun":`)
	c.w.B = strconv.AppendInt(c.w.B, c.lastRun(), 10)
	c.fleeting = true
	c.w.Raw("}")
	return nil
}

// lastRun returns when the chains' data were brought up to date last, in Unix
// seconds: since the start of the server, or else the time of their last block, as
// also while their index is far behind.
func (c *metricCall) lastRun() (unix int64) {
	for i := range c.series.sources {
		src := &c.series.sources[i]
		_, behind := src.chain.Syncing()
		if at := src.chain.Updated(); !at.IsZero() && !behind {
			unix = max(unix, at.Unix())
		} else {
			unix = max(unix, int64(src.time))
		}
	}
	return unix
}
