package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// MetricsReport is what [RunMetrics] has measured. Its JSON form is stable:
// members may be added, and keep their meaning.
type MetricsReport struct {
	Chain       string  `json:"chain"`
	Concurrency int     `json:"concurrency"`
	Rate        float64 `json:"rate"` // 0: closed loop
	// FirstDay and LastDay are the first and the last day asked for, in Unix
	// seconds, and Metrics is the number of metrics that the chain has.
	FirstDay int64         `json:"firstDay"`
	LastDay  int64         `json:"lastDay"`
	Metrics  int           `json:"metrics"`
	Pages    []MetricsPage `json:"pages"`
}

// MetricsPage is what was measured of pages of one size and kind. The second
// server is the bare one.
type MetricsPage struct {
	// Points is the number of points asked for, PointsGiven the mean of those in
	// an answer, Bytes that of its length.
	Points      int     `json:"points"`
	State       State   `json:"state"`
	PointsGiven float64 `json:"pointsGiven"`
	Bytes       float64 `json:"bytes"`
	Measured
}

// WriteJSON writes the report as indented JSON.
func (r *MetricsReport) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteText writes the report for people.
func (r *MetricsReport) WriteText(w io.Writer) error {
	var b strings.Builder
	loop := fmt.Sprintf("%d at a time", r.Concurrency)
	if r.Rate > 0 {
		loop = fmt.Sprintf("%g due each second, %d at a time at most", r.Rate, r.Concurrency)
	}
	day := func(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.DateOnly) }
	fmt.Fprintf(&b, "%d metrics of chain %s, %s to %s, %s, in turns with a bare HTTP server\n\n",
		r.Metrics, r.Chain, day(r.FirstDay), day(r.LastDay), loop)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "points\tpages\tbytes\tanswers/s\tfailed\tp50 ms\tp99 ms\tmax ms\tbare/s\tbare p99\trate/bare\tp99/bare\t")
	for i := range r.Pages {
		r.Pages[i].write(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for i := range r.Pages {
		p := &r.Pages[i]
		for _, e := range p.Servers[0].Errors {
			fmt.Fprintf(&b, "%d points, %s: error %d times %s\n", p.Points, p.State, e.Count, e.Kind)
		}
		if c := p.Servers[0].Process; c != nil {
			fmt.Fprintf(&b, "%d points, %s: %.3f ms of CPU for each request, %.1f MiB at most\n",
				p.Points, p.State, c.CPUMsPerRequest, float64(c.PeakRSS)/(1<<20))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *MetricsPage) write(w io.Writer) {
	ours, bare := p.Servers[0], p.Servers[1]
	rate, p99 := "-", "-"
	if r := p.Ratio; r != nil {
		rate = fmt.Sprintf("%.3f (%.2f-%.2f)", r.PerSecond.Median, r.PerSecond.Min, r.PerSecond.Max)
		p99 = fmt.Sprintf("%.2f", r.P99.Median)
	}
	fmt.Fprintf(w, "%d\t%s\t%.0f\t%.0f\t%d\t%.3f\t%.3f\t%.3f\t%.0f\t%.3f\t%s\t%s\t\n",
		p.Points, p.State, p.Bytes, ours.PerSecond, ours.Failed, ours.LatencyMs.P50, ours.LatencyMs.P99, ours.LatencyMs.Max,
		bare.PerSecond, bare.LatencyMs.P99, rate, p99)
}
