package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/goccy/go-json"
)

// Report is what a run has measured. Its JSON form is stable: members may be
// added, and keep their meaning.
type Report struct {
	Style       Style   `json:"style"`
	Concurrency int     `json:"concurrency"`
	Rate        float64 `json:"rate"` // 0: closed loop
	Repeat      bool    `json:"repeat"`
	Quorum      int     `json:"quorum"`
	Buffer      int     `json:"buffer"`
	// Messages is the number of messages at hand.
	Messages int `json:"messages"`
	// Exhausted says that the run ended early because nothing was left to ask for.
	Exhausted bool `json:"exhausted"`
	// Servers has the server and, in a comparison, the second one.
	Servers []Server `json:"servers"`
	// Ratio is set in a comparison of at least one whole pair of slices.
	Ratio *Ratio `json:"ratio,omitempty"`
}

// Server is what was measured of one server.
type Server struct {
	URL    string `json:"url"`
	OK     int64  `json:"ok"`
	Failed int64  `json:"failed"`
	// Seconds is the time under load; PerSecond counts good answers.
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"`
	// LatencyMs covers good answers, and requests that got none with the time
	// until they were given up. Answers with an error are left out.
	LatencyMs Latency `json:"latencyMs"`
	// LateMs, in the open loop, is how long after their time requests were sent.
	// It is part of LatencyMs; up to 1 ms is the client's own clock.
	LateMs  *Latency     `json:"lateMs,omitempty"`
	Errors  []ErrorCount `json:"errors"`
	Process *Process     `json:"process,omitempty"`
}

// Process is what a server's process took while its server was under load.
type Process struct {
	PID             int     `json:"pid"`
	CPUMs           float64 `json:"cpuMs"`
	CPUMsPerRequest float64 `json:"cpuMsPerRequest"`
	// StartRSS and PeakRSS are resident memory in bytes, before the load and at
	// its highest. GrowthPerRequest is the difference for each request.
	StartRSS         int64   `json:"startRss"`
	PeakRSS          int64   `json:"peakRss"`
	GrowthPerRequest float64 `json:"growthPerRequest"`
}

// Pair is the first server's figures divided by the second's in one pair of
// slices: PerSecond above 1 and latencies below 1 speak for the first. 0: no figure.
type Pair struct {
	PerSecond float64 `json:"perSecond"`
	P50       float64 `json:"p50"`
	P99       float64 `json:"p99"`
}

// Spread sums up the pairs.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Ratio is a comparison, pair by pair.
type Ratio struct {
	Pairs     []Pair `json:"pairs"`
	PerSecond Spread `json:"perSecond"`
	P50       Spread `json:"p50"`
	P99       Spread `json:"p99"`
}

// fill takes over what the sides have counted. open tells that it was the open loop.
func (r *Report) fill(sides []*side, pairs []Pair, open bool) error {
	for _, s := range sides {
		m := s.meter
		out := Server{
			URL: s.url, OK: m.ok, Failed: m.failed, Seconds: s.busy.Seconds(),
			PerSecond: quotient(float64(m.ok), s.busy.Seconds()),
			LatencyMs: latencyOf(m.latency), Errors: m.errors(),
		}
		if open {
			late := latencyOf(m.late)
			out.LateMs = &late
		}
		if u := s.usage; u != nil {
			if u.err != nil {
				return fmt.Errorf("the server's process: %w", u.err)
			}
			cpu, n := float64(u.cpuTime.Microseconds())/1000, float64(m.ok+m.failed)
			out.Process = &Process{
				PID: u.pid, CPUMs: cpu, CPUMsPerRequest: quotient(cpu, n),
				StartRSS: u.firstRSS, PeakRSS: u.peak, GrowthPerRequest: quotient(float64(u.peak-u.firstRSS), n),
			}
		}
		r.Servers = append(r.Servers, out)
	}
	if len(pairs) > 0 {
		r.Ratio = &Ratio{
			Pairs:     pairs,
			PerSecond: spreadOf(pairs, func(p Pair) float64 { return p.PerSecond }),
			P50:       spreadOf(pairs, func(p Pair) float64 { return p.P50 }),
			P99:       spreadOf(pairs, func(p Pair) float64 { return p.P99 }),
		}
	}
	return nil
}

// quotient returns a/b to six decimals, 0 if there is none.
func quotient(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(a/b*1e6) / 1e6
}

func pairOf(a, b slice) Pair {
	x, y := latencyOf(a.meter.latency), latencyOf(b.meter.latency)
	return Pair{
		PerSecond: quotient(quotient(float64(a.meter.ok), a.took.Seconds()), quotient(float64(b.meter.ok), b.took.Seconds())),
		P50:       quotient(x.P50, y.P50), P99: quotient(x.P99, y.P99),
	}
}

func spreadOf(pairs []Pair, of func(Pair) float64) Spread {
	var v []float64
	for _, p := range pairs {
		v = append(v, of(p))
	}
	return Spread{Min: slices.Min(v), Median: median(v), Max: slices.Max(v)}
}

// median of at least one value.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// WriteJSON writes the report as indented JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	kind, loop := "fresh messages", fmt.Sprintf("%d at a time", r.Concurrency)
	if r.Repeat {
		kind = fmt.Sprintf("the same %d messages again and again", r.Messages)
	}
	if r.Rate > 0 {
		loop = fmt.Sprintf("%g due each second, %d at a time at most", r.Rate, r.Concurrency)
	}
	fmt.Fprintf(&b, "%s, %s, quorum %d%% and buffer %d%%\n", kind, loop, r.Quorum, r.Buffer)
	for i := range r.Servers {
		r.Servers[i].write(&b)
	}
	if err := r.writeRatio(&b); err != nil {
		return err
	}
	if r.Exhausted {
		fmt.Fprintf(&b, "\nended early: all %d messages were asked for; more come from \"quorate devnet --scenario '{messages: N}'\"\n", r.Messages)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRatio writes the comparison, if there is one.
func (r *Report) writeRatio(b *strings.Builder) error {
	if r.Ratio == nil {
		return nil
	}
	fmt.Fprintf(b, "\n%s against %s, %d pairs of slices\n", r.Servers[0].URL, r.Servers[1].URL, len(r.Ratio.Pairs))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tmin\tmedian\tmax\t")
	for _, l := range []struct {
		name string
		Spread
	}{{"rate", r.Ratio.PerSecond}, {"p50", r.Ratio.P50}, {"p99", r.Ratio.P99}} {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t\n", l.name, l.Min, l.Median, l.Max)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	b.WriteString("rate above 1 and latencies below 1 speak for the first\n")
	return nil
}

func (s *Server) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", s.URL)
	fmt.Fprintf(b, "  answers   %d in %.1f s, %.1f a second; %d failed\n", s.OK, s.Seconds, s.PerSecond, s.Failed)
	line := func(name string, l Latency) {
		fmt.Fprintf(b, "  %-8s  p50 %.2f  p90 %.2f  p99 %.2f  max %.2f  mean %.2f ms\n", name, l.P50, l.P90, l.P99, l.Max, l.Mean)
	}
	line("latency", s.LatencyMs)
	if s.LateMs != nil {
		line("sent late", *s.LateMs)
	}
	if p := s.Process; p != nil {
		fmt.Fprintf(b, "  process   %d: %.3f ms of CPU for each request; %.1f MiB before, %.1f MiB at most, %.0f bytes more for each request\n",
			p.PID, p.CPUMsPerRequest, float64(p.StartRSS)/(1<<20), float64(p.PeakRSS)/(1<<20), p.GrowthPerRequest)
	}
	for _, e := range s.Errors {
		fmt.Fprintf(b, "  error     %d times %s\n", e.Count, e.Kind)
	}
}
