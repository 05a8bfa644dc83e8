package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/rollup"
)

// State says whether pages were asked for before.
type State string

const (
	// Warm pages are few, and are asked for again and again.
	Warm State = "warm"
	// Cold pages were not asked for before in this run: each request has another
	// combination of metric, interval and range.
	Cold State = "cold"
)

// MaxPoints bounds the points of a page, as the API does.
const MaxPoints = 2160

// MetricsConfig says which pages of metrics to ask for. Zero values take the
// defaults given with each field. Duration is that of each kind of page; it is
// shared with a bare HTTP server that answers the same bytes.
type MetricsConfig struct {
	Load
	// Chain is the chain's ID as it is in paths, also total, mainnet or testnet. Required.
	Chain string
	// Points are the sizes of pages, 1 to [MaxPoints]. Default 1, 100 and 2160.
	Points []int
	// States are the kinds of pages. Default both.
	States []State
}

func (c *MetricsConfig) fill() error {
	if len(c.Points) == 0 {
		c.Points = []int{1, 100, MaxPoints}
	}
	if len(c.States) == 0 {
		c.States = []State{Warm, Cold}
	}
	if c.Chain == "" {
		return fmt.Errorf("%w: no chain", ErrConfig)
	}
	for _, n := range c.Points {
		if n < 1 || n > MaxPoints {
			return fmt.Errorf("%w: pages of %d points, want 1 to %d", ErrConfig, n, MaxPoints)
		}
	}
	for _, s := range c.States {
		if s != Warm && s != Cold {
			return fmt.Errorf("%w: %q pages, want %q or %q", ErrConfig, s, Warm, Cold)
		}
	}
	return c.Load.fill(true)
}

// RunMetrics loads a server's pages of metrics and, in turns, a bare HTTP server
// in this process that answers the bytes of one of those pages. It ends as [Run] does.
func RunMetrics(ctx context.Context, cfg MetricsConfig) (*MetricsReport, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	how := pagesOf{path: "/v2/chains/" + url.PathEscape(cfg.Chain) + "/metrics/"}
	probe, err := newServer(ctx, &cfg.Load, cfg.URL, how)
	if err != nil {
		return nil, err
	}
	defer probe.close()
	defer context.AfterFunc(ctx, probe.close)()
	span, metrics, err := explore(probe)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	r := &MetricsReport{Chain: cfg.Chain, Concurrency: cfg.Concurrency, Rate: cfg.Rate, FirstDay: span.first, LastDay: span.last, Metrics: len(metrics)}
	load, all := cfg.Load, len(cfg.Points)*len(cfg.States)
	for i, points := range cfg.Points {
		for k, state := range cfg.States {
			load.Progress = part(cfg.Progress, i*len(cfg.States)+k, all, load.Duration)
			page, err := runPages(ctx, &load, how, probe, newPageSet(span, metrics, points), state)
			if page != nil {
				r.Pages = append(r.Pages, *page)
			}
			if err != nil {
				return r, causeOf(ctx, err)
			}
		}
	}
	return r, nil
}

// part reports the progress of one part of several that are equally long.
func part(tell func(Progress), i, of int, length time.Duration) func(Progress) {
	if tell == nil {
		return nil
	}
	return func(p Progress) {
		p.Elapsed = min(p.Elapsed, length) + time.Duration(i)*length
		p.Total = time.Duration(of) * length
		tell(p)
	}
}

// causeOf puts the reason for which ctx ended in place of what came of it.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// runPages loads pages of one size and kind.
func runPages(ctx context.Context, load *Load, how form, probe *server, set *pageSet, state State) (_ *MetricsPage, err error) {
	samples, items, before := set.samples(), set.cold, []string(nil)
	if state == Warm {
		before = set.warm()
		samples, items = before, again(before)
	}
	page := &MetricsPage{Points: set.points, State: state}
	bodies := make([][]byte, len(samples))
	for i, sample := range samples {
		if bodies[i], err = probe.fetch(sample); err != nil {
			return nil, err
		}
		page.Bytes += float64(len(bodies[i]))
		page.PointsGiven += float64(countPoints(bodies[i]))
	}
	page.Bytes /= float64(len(samples))
	page.PointsGiven /= float64(len(samples))
	b, err := newBare(bodies)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stop()) }()
	ours, err := newSide(ctx, load, load.URL, load.PID, how)
	if err != nil {
		return nil, err
	}
	floor, err := newSide(ctx, load, b.url, 0, how)
	if err != nil {
		return nil, err
	}
	measured, err := measure(ctx, load, []*side{ours, floor}, items, before)
	if measured == nil {
		return nil, err
	}
	page.Measured = *measured
	page.Servers[1].URL = bareName
	return page, err
}

// bareName stands for the URL of the bare server, which is another in each run.
const bareName = "bare HTTP server"

// pagesOf is the form of requests for pages of metrics. An item is what follows
// on path.
type pagesOf struct{ path string }

func (f pagesOf) request(req *fasthttp.Request, base, item string) {
	req.SetRequestURI(base + f.path + item)
}

// kind returns "" for a page with at least one point; they are not looked at.
func (f pagesOf) kind(_ string, status int, body []byte) string {
	if status != fasthttp.StatusOK {
		return errorKind(status, body)
	}
	if !isPage(body) {
		return kindNoPage
	}
	return ""
}

// history is the time of which a chain has points, as Unix seconds of the first
// and of the last known day.
type history struct{ first, last int64 }

// explore asks for the days of which there are transaction counts, as many as
// one page has, and for each metric once: those that a chain does not have, such
// as contracts where blocks are not traced, are left out.
func explore(s *server) (h history, known []rollup.Metric, err error) {
	days := fmt.Sprintf("%s?timeInterval=day&pageSize=%d", rollup.TxCount, MaxPoints)
	body, err := s.fetch(days)
	if err != nil {
		return h, nil, err
	}
	var page struct {
		Results []struct {
			Timestamp int64 `json:"timestamp"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return h, nil, fmt.Errorf("%s%s: %w", s.base, days, err)
	}
	stamps := make([]int64, len(page.Results))
	for i, p := range page.Results {
		stamps[i] = p.Timestamp
	}
	h = history{slices.Min(stamps), slices.Max(stamps)} // a page has a point
	for m := range rollup.Metric(rollup.Metrics) {
		_, err := s.fetch(fmt.Sprintf("%s?timeInterval=day&pageSize=1", m))
		var answer *answerError
		switch {
		case errors.As(err, &answer):
		case err != nil:
			return h, nil, err
		default:
			known = append(known, m)
		}
	}
	return h, known, nil
}
