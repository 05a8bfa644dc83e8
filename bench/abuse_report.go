package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// kebab turns members of a request into the relayer's spelling.
var kebab = strings.NewReplacer("signingSubnetId", "signing-subnet-id", "pChainHeight", "pchain-height")

// Beside is what came of requests in one part of the run.
type Beside struct {
	OK        int64        `json:"ok"`
	Failed    int64        `json:"failed"`
	LatencyMs Latency      `json:"latencyMs"`
	Errors    []ErrorCount `json:"errors"`
}

// AbuseReport is what [RunAbuse] has measured.
type AbuseReport struct {
	Garbage float64 `json:"garbage"` // due each second
	Clients int     `json:"clients"`
	Honest  float64 `json:"honest"` // due each second
	Factor  float64 `json:"factor"`
	// Quiet is without the flood, Flooded beside it, and Bare a bare server beside it.
	Quiet   Beside `json:"quiet"`
	Flooded Beside `json:"flooded"`
	Bare    Beside `json:"bare"`
	// Answers are those to the garbage.
	Answers []ErrorCount `json:"answers"`
}

// Ratio is the 99th percentile beside the flood in units of that without.
func (r *AbuseReport) Ratio() float64 {
	return quotient(r.Flooded.LatencyMs.P99, r.Quiet.LatencyMs.P99)
}

// BareRatio is the same in units of a bare server's beside the flood.
func (r *AbuseReport) BareRatio() float64 {
	return quotient(r.Flooded.LatencyMs.P99, r.Bare.LatencyMs.P99)
}

// Broken says how the bound is broken, or nil: no honest request may fail, and
// the 99th percentile may be Factor times that without the flood or, where the
// cores are full, that of a bare server.
func (r *AbuseReport) Broken() error {
	switch {
	case r.Quiet.OK == 0:
		return fmt.Errorf("no request was answered before the flood")
	case r.Flooded.Failed > 0 || r.Flooded.OK == 0:
		return fmt.Errorf("%d of %d honest requests failed beside the flood", r.Flooded.Failed, r.Flooded.Failed+r.Flooded.OK)
	case r.Ratio() > r.Factor && r.BareRatio() > r.Factor:
		return fmt.Errorf("the 99th percentile beside the flood is %.1f times that without and %.1f times a bare server's; the bound is %g",
			r.Ratio(), r.BareRatio(), r.Factor)
	}
	return nil
}

// WriteJSON writes the report as indented JSON.
func (r *AbuseReport) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteText writes the report for people.
func (r *AbuseReport) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%g garbage requests a second from %d addresses, beside %g honest ones\n\n", r.Garbage, r.Clients, r.Honest)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "honest requests\tsigned\tfailed\tp50 ms\tp90 ms\tp99 ms\tmax ms\t")
	for _, l := range []struct {
		name string
		Beside
	}{{"without the flood", r.Quiet}, {"beside the flood", r.Flooded}, {"a bare server beside it", r.Bare}} {
		m := l.LatencyMs
		fmt.Fprintf(t, "%s\t%d\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t\n", l.name, l.OK, l.Failed, m.P50, m.P90, m.P99, m.Max)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdict := "held"
	if r.Broken() != nil {
		verdict = "broken"
	}
	fmt.Fprintf(&b, "\np99 beside the flood: %.2f times that without, %.2f times a bare server's; bound %g: %s\n",
		r.Ratio(), r.BareRatio(), r.Factor, verdict)
	for _, part := range []Beside{r.Quiet, r.Flooded} {
		for _, e := range part.Errors {
			fmt.Fprintf(&b, "honest, failed  %d times %s\n", e.Count, e.Kind)
		}
	}
	for _, e := range r.Answers {
		fmt.Fprintf(&b, "garbage  %d times %s\n", e.Count, e.Kind)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
