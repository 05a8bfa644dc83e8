package ui

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"quorate/httpapi/ui/plain"
)

// maxPoints is how many points a plot has: an hour each of a month, a day each of two
// years. The API has at most 2160 in a page.
const maxPoints = 750

// metricPage is what the page of one metric shows.
type metricPage struct {
	Chain     *evmChain
	Plot      *metricPlot
	Intervals []tab
	Ranges    []tab
	FromDate  string // as fields of a form have them
	ToDate    string
	// Links to other spans, empty where there is none.
	Earlier, Later, In, Out string
	CSV                     string
	Cut                     bool // the range has more points than a plot
}

// intervals are the buckets of a metric, with how many of each a plot shows at first.
var intervals = []struct {
	name, title string
	points      int
}{{"hour", "Hours", 168}, {"day", "Days", 90}, {"week", "Weeks", 104}, {"month", "Months", 120}}

// spanOf reads what a plot should show: interval, from and to of the query.
func (r *Request) spanOf(m *metricInfo) (span, error) {
	s := span{Interval: "day", Points: maxPoints}
	if name := r.Query("interval"); name != "" {
		s.Interval = name
	}
	if m.DayOnly {
		s.Interval = "day"
	}
	i := slices.IndexFunc(intervals, func(v struct {
		name, title string
		points      int
	}) bool {
		return v.name == s.Interval
	})
	if i < 0 {
		return s, errorf(http.StatusBadRequest, "interval must be hour, day, week or month, not %q", plain.Text(s.Interval, 40))
	}
	var err error
	if s.From, err = instant(r.Query("from"), false); err != nil {
		return s, err
	}
	if s.To, err = instant(r.Query("to"), true); err != nil {
		return s, err
	}
	if s.From == 0 && r.Query("all") == "" {
		s.Points = intervals[i].points
	}
	return s, nil
}

// instant reads a date, which begins a day or, if it is the end of a span, ends one, or a
// number of Unix seconds. Nothing is 0.
func instant(text string, end bool) (int64, error) {
	if text == "" {
		return 0, nil
	}
	if t, err := time.Parse("2006-01-02", text); err == nil && t.Year() >= 1970 {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		return t.Unix(), nil
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 && n < 1<<36 {
		return n, nil
	}
	return 0, errorf(http.StatusBadRequest, "a time is a date such as 2025-01-31, or Unix seconds, not %q", plain.Text(text, 40))
}

// plotHere asks for the plot that the page is about, and for its chain.
func (r *Request) plotHere() (c *evmChain, p *metricPlot, s span, err error) {
	if c, err = r.chain(); err != nil {
		return nil, nil, s, err
	}
	m := metricOf(r.Param("metric"))
	if s, err = r.spanOf(&m); err == nil {
		p, err = r.metricPlot(c, m, s)
	}
	return c, p, s, err
}

func serveMetric(r *Request) error {
	c, plotted, s, err := r.plotHere()
	if err != nil {
		return err
	}
	p, m := metricPage{Chain: c, Plot: plotted}, plotted.metricInfo
	if refused := p.Plot.Refused; refused != nil && (refused.Status == http.StatusBadRequest || refused.Status == http.StatusTooManyRequests) {
		return refused
	}
	p.Cut = p.Plot.More && s.Points == maxPoints
	p.links(r, &m, s)
	return r.Render("metric", m.Title+" of "+c.Title(), &p)
}

// links makes the links to other spans of the same metric.
func (p *metricPage) links(r *Request, m *metricInfo, s span) {
	at := func(interval string, from, to int64, all bool) string {
		var q query
		q.add("interval", interval)
		if from > 0 {
			q.add("from", strconv.FormatInt(from, 10))
		}
		if to > 0 {
			q.add("to", strconv.FormatInt(to, 10))
		}
		if all {
			q.add("all", "1")
		}
		return r.here(&q)
	}
	for _, v := range intervals {
		if !m.DayOnly || v.name == "day" {
			p.Intervals = append(p.Intervals, tab{v.name, v.title, at(v.name, 0, 0, false), v.name == s.Interval})
		}
	}
	path, query, _ := strings.Cut(at(s.Interval, s.From, s.To, r.Query("all") != ""), "?")
	p.CSV = path + "/csv?" + query
	from, to := p.Plot.From, p.Plot.To
	if from == 0 {
		return
	}
	p.FromDate = time.Unix(from, 0).UTC().Format(time.DateOnly)
	p.ToDate = time.Unix(to-1, 0).UTC().Format(time.DateOnly)
	wide := to - from
	p.Earlier = at(s.Interval, max(from-wide, 1), from, false)
	if s.To > 0 && s.To <= time.Now().Unix() {
		p.Later = at(s.Interval, to, to+wide, false)
	}
	if p.Plot.Points > 8 {
		p.In = at(s.Interval, from+wide/4, to-wide/4, false)
	}
	p.Out = at(s.Interval, max(from-wide/2, 1), to+wide/2, false)
	for _, v := range []struct {
		title string
		days  int64
	}{{"7 days", 7}, {"30 days", 30}, {"90 days", 90}, {"1 year", 365}, {"2 years", 730}} {
		if s.Interval == "hour" && v.days > 30 || s.Interval != "hour" && s.Interval != "day" {
			continue
		}
		p.Ranges = append(p.Ranges, tab{"", v.title, at(s.Interval, max(to-v.days*86400, 1), s.To, false), wide == v.days*86400})
	}
	p.Ranges = append(p.Ranges, tab{"", "As far as fits", at(s.Interval, 0, 0, true), r.Query("all") != ""})
}

func serveMetricCSV(r *Request) error {
	c, p, s, err := r.plotHere()
	if err != nil {
		return err
	}
	if p.Refused != nil {
		return p.Refused
	}
	body, err := csvOf(&p.metricInfo, p.Table)
	if err != nil {
		return err
	}
	return r.Download("text/csv; charset=utf-8", string(c.ChainID)+"-"+p.Name+"-"+s.Interval+".csv", body)
}
