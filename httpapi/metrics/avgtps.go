package metrics

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
func (c *call) avgTPS() *door.Failure {
	p := &c.Params
	if f := c.Parse(); f != nil {
		return f
	}
	if f := c.find(p.Values[0]); f != nil {
		return f
	}
	c.series.metric, c.series.interval, c.series.form = rollup.AvgTps, rollup.Day, view.TimeFirst
	now := time.Now()
	c.Scratch = c.boundTo(false)
	c.Filters = token.HashFilters(c.Scratch)
	if c.Q.PageToken != nil {
		var err error
		if c.before, err = c.Tokens.ParseUUID(c.Q.PageToken, c.Route.ID, c.Filters, now); err != nil {
			return door.BadRequest("pageToken is not valid: " + err.Error())
		}
	}
	if f := c.load(); f != nil {
		return f
	}
	if f := c.read(avgTPSPage); f != nil {
		return f
	}
	c.W.Raw("{")
	if c.more {
		c.W.Raw(`"nextPageToken":"`)
		c.W.B = c.Tokens.AppendUUID(c.W.B, &token.UUID{Route: c.Route.ID, Filters: c.Filters, Position: c.oldest}, now)
		c.W.Raw(`"`)
	}
	c.Rows("results")
	c.points()
	c.W.Raw(`],"status":200,"lastRun":`)
	c.W.B = strconv.AppendInt(c.W.B, c.lastRun(), 10)
	c.Passing = true
	c.W.Raw("}")
	return nil
}

// lastRun returns when the chains' data were brought up to date last, in Unix
// seconds: since the start of the server, or else the time of their last block, as
// also while their index is far behind.
func (c *call) lastRun() (unix int64) {
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

// appendListError appends the body of an error of endpoint 19, the only one whose
// message is a list.
func appendListError(dst []byte, status int, message string) []byte {
	dst = append(dst, `{"message":[`...)
	return door.AppendStatus(append(view.AppendString(dst, message), ']'), status)
}
