package oracle

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"
)

const (
	// mostPoints and usualPoints are the largest and the default page size of a metric.
	mostPoints, usualPoints = 2160, 100
	// someMidRows bounds the rows that are walked in pages of midSize.
	someMidRows = 40 * midSize
	// oldestPoints are walked in the smallest pages to the end of a series.
	oldestPoints = 15
)

func metricPath(chain, name string) string { return "/v2/chains/" + chain + "/metrics/" + name }

func pointRows(points []Point) []any {
	rows := []any{}
	for _, p := range points {
		rows = append(rows, object{"timestamp": uint64(p.Time), "value": number(p.Value)})
	}
	return rows
}

// Depth says how much of a series is compared.
type Depth int

// Whole series in the largest pages; beginnings in small pages and parts of them
// too; and series of days in the smallest pages to their end.
const (
	Whole Depth = iota
	Pages
	AllPages
)

// Metrics compares endpoint 4 for all metrics at all intervals, of a chain or a
// group of chains.
func (k *Checker) Metrics(ctx context.Context, chain string, m *Metrics, depth Depth) {
	for _, name := range MetricNames {
		for _, interval := range Intervals {
			path, query := metricPath(chain, name), url.Values{"timeInterval": {interval}}
			if interval != "day" && dayOnly(name) {
				k.absent(ctx, path, query, http.StatusBadRequest)
				continue
			}
			points, known := m.Points(name, interval)
			if !known {
				k.absent(ctx, path, query, http.StatusNotFound)
				continue
			}
			if interval == "day" {
				k.metric(ctx, path, query, points, depth)
				k.metric(ctx, path, url.Values{}, points, Whole) // the day is what is meant
			} else {
				k.metric(ctx, path, query, points, min(depth, Pages))
			}
		}
	}
}

// metric compares one series, whole and in part.
func (k *Checker) metric(ctx context.Context, path string, query url.Values, points []Point, depth Depth) {
	l := list{path: path, query: query, name: "results", want: pointRows(points), most: mostPoints, usual: usualPoints}
	k.checkSize(ctx, l, mostPoints, math.MaxInt)
	if len(points) == 0 || depth == Whole {
		return
	}
	k.checkSize(ctx, l, usualPoints, math.MaxInt)
	k.checkSize(ctx, l, 0, math.MaxInt)
	mid, tiny := someMidRows, tinyRows
	if depth == AllPages {
		mid, tiny = math.MaxInt, math.MaxInt
	}
	k.checkSize(ctx, l, midSize, mid)
	k.checkSize(ctx, l, 1, tiny)
	for _, w := range frames(points) {
		var in []Point
		for _, p := range points {
			if p.Time >= w.start && (w.end < 0 || p.Time < w.end) {
				in = append(in, p)
			}
		}
		part := l
		part.query, part.want = w.query(query), pointRows(in)
		sizes := []int{mostPoints}
		if len(in) <= oldestPoints {
			sizes = append(sizes, 1, midSize)
		}
		for _, size := range sizes {
			k.checkSize(ctx, part, size, math.MaxInt)
		}
	}
}

// frame is a range of Unix seconds; end is exclusive, and neither counts when negative.
type frame struct{ start, end int64 }

// query adds the bounds to the parameters of a request.
func (f frame) query(more url.Values) url.Values {
	q := url.Values{}
	for name, values := range more {
		q[name] = values
	}
	if f.start >= 0 {
		q.Set("startTimestamp", strconv.FormatInt(f.start, 10))
	}
	if f.end >= 0 {
		q.Set("endTimestamp", strconv.FormatInt(f.end, 10))
	}
	return q
}

// frames are those that a series is asked for.
func frames(points []Point) []frame {
	newest, oldest, at := points[0].Time, points[len(points)-1].Time, points[len(points)/2].Time
	few := points[max(len(points)-oldestPoints, 0)].Time
	return []frame{
		{at, -1}, {at + 1, -1}, {-1, at}, {-1, at + 1}, {at, at + 1}, {at, at}, {at + 1, at}, {newest, -1}, {newest + 1, -1},
		{-1, oldest}, {-1, 0}, {0, newest + 1}, {-1, few + 1},
	}
}

// MetricRefusals checks what is refused for a chain or a group of chains.
func (k *Checker) MetricRefusals(ctx context.Context, chain string) {
	for text, status := range map[string]int{
		"timeInterval=year": 400, "timeInterval=": 400, "pageSize=0": 400, "pageSize=2161": 400, "pageSize=x": 400,
		"startTimestamp=-1": 400, "endTimestamp=1.5": 400, "startTimestamp=x": 400, "pageToken=forged": 400,
	} {
		query, err := url.ParseQuery(text)
		if err != nil {
			k.report(text, err.Error())
			continue
		}
		k.absent(ctx, metricPath(chain, "txCount"), query, status)
	}
	k.absent(ctx, metricPath("1234567890123", "txCount"), nil, http.StatusNotFound)
	k.otherToken(ctx, chain)
}

// otherToken checks that the token of one series leads into no other.
func (k *Checker) otherToken(ctx context.Context, chain string) {
	body, err := k.client.ok(ctx, metricPath(chain, "txCount"), url.Values{"pageSize": {"1"}})
	if err != nil {
		k.report("the first page", err.Error())
		return
	}
	token, more := body["nextPageToken"].(string)
	if !more {
		return
	}
	k.absent(ctx, metricPath(chain, "gasUsed"), url.Values{"pageSize": {"1"}, "pageToken": {token}}, http.StatusBadRequest)
	k.absent(ctx, metricPath(chain, "txCount"), url.Values{"pageSize": {"1"}, "pageToken": {token}, "timeInterval": {"week"}}, http.StatusBadRequest)
}

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// AvgTPS compares endpoint 19 with avgTps of a chain, page by page.
func (k *Checker) AvgTPS(ctx context.Context, chain string, m *Metrics) {
	path := "/v1/avg_tps/" + chain
	points, _ := m.Points("avgTps", "day")
	var rows []any
	query, size := url.Values{}, 0
	for page := 1; ; page++ {
		body, err := k.client.ok(ctx, path, query)
		if err != nil {
			k.report(path, err.Error())
			return
		}
		where := fmt.Sprintf("%s page %d", path, page)
		list, isList := body["results"].([]any)
		token, more := body["nextPageToken"].(string)
		rest := object{"status": 200, "lastRun": rule(recent)}
		if more {
			rest["nextPageToken"] = token
		}
		if page == 1 {
			size = len(list)
		}
		if !isList || page > 1 && len(list) == 0 || more && (len(list) != size || !uuid.MatchString(token)) {
			k.report(where, fmt.Sprintf("%d rows where the first page has %d, token %q", len(list), size, token))
			return
		}
		delete(body, "results")
		k.report(where, diff(nil, "the page", rest, body)...)
		rows = append(rows, list...)
		k.tally.Pages++
		if !more {
			break
		}
		query.Set("pageToken", token)
	}
	k.tally.Lists, k.tally.Rows = k.tally.Lists+1, k.tally.Rows+len(rows)
	if rows == nil {
		rows = []any{}
	}
	k.report(path, diff(nil, "results", pointRows(points), rows)...)
	for text, status := range map[string]int{"forged": 400, "00000000-0000-4000-8000-000000000000": 400} {
		k.absent(ctx, path, url.Values{"pageToken": {text}}, status)
	}
	k.absent(ctx, "/v1/avg_tps/1234567890123", nil, http.StatusNotFound)
}

// recent accepts Unix seconds of the last hour.
func recent(got any, _ bool) string {
	var at int64
	if _, err := fmt.Sscan(fmt.Sprint(got), &at); err != nil {
		return fmt.Sprintf("server %s, want Unix seconds", show(got))
	}
	if age := time.Since(time.Unix(at, 0)); age < -time.Second || age > time.Hour {
		return fmt.Sprintf("server %s, which is %s ago", show(got), age)
	}
	return ""
}

// WaitMetrics waits until the server's metrics have a chain's last block.
func (k *Checker) WaitMetrics(ctx context.Context, chain string, m *Metrics) error {
	points, _ := m.Points("txCount", "hour")
	if len(points) == 0 {
		return nil
	}
	newest := slices.Clone(points[:1])
	return poll(ctx, "the metrics of "+chain, func() (bool, error) {
		body, err := k.client.ok(ctx, metricPath(chain, "txCount"), url.Values{"timeInterval": {"hour"}, "pageSize": {"1"}})
		if err != nil {
			return false, err
		}
		if d := diff(nil, "newest", pointRows(newest), body["results"]); len(d) > 0 {
			return false, fmt.Errorf("%s", d[0])
		}
		return true, nil
	})
}
