package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// IngestReport is what [Ingest] has measured. Its JSON form is stable: members may
// be added, and keep their meaning.
type IngestReport struct {
	Blocks   int `json:"blocks"`
	Txs      int `json:"txs"`
	Accounts int `json:"accounts"`
	// Rounds are those that were carried out.
	Rounds int `json:"rounds"`
	// Events is the number of addresses in transactions, transfers and creations
	// that the rollup counts.
	Events int `json:"events"`
	// Rows and RowBytes are what the index with metrics has written, in so many
	// Commits, and DiskBytes the size of its tables.
	Rows      int   `json:"rows"`
	RowBytes  int   `json:"rowBytes"`
	Commits   int   `json:"commits"`
	DiskBytes int64 `json:"diskBytes"`
	// EventsPerSecond is the rollup alone, in memory on one core.
	EventsPerSecond Spread `json:"eventsPerSecond"`
	// PlainPerSecond and PerSecond are transactions without metrics and with them,
	// FloorPerSecond those whose rows the database alone writes.
	PlainPerSecond Spread `json:"plainPerSecond"`
	PerSecond      Spread `json:"perSecond"`
	FloorPerSecond Spread `json:"floorPerSecond"`
	// MetricsRatio is the time with metrics divided by that without, FloorRatio
	// the rate with metrics divided by that of the database alone, round by round.
	MetricsRatio Spread `json:"metricsRatio"`
	FloorRatio   Spread `json:"floorRatio"`
}

// report returns nil without a whole round.
func (r *ingestRun) report(took [4][]time.Duration) *IngestReport {
	rounds := len(took[0])
	if rounds == 0 {
		return nil
	}
	txs := r.cfg.Blocks * r.cfg.TxsPerBlock
	out := &IngestReport{
		Blocks: r.cfg.Blocks, Txs: txs, Accounts: r.cfg.Accounts, Rounds: rounds, Events: r.count,
		Rows: r.written.rows, RowBytes: r.written.bytes, Commits: r.written.commits, DiskBytes: r.written.disk,
	}
	each := func(of func(round int) float64) Spread {
		v := make([]float64, rounds)
		for i := range v {
			v[i] = of(i)
		}
		return spread(v)
	}
	rate := func(which, n int) Spread {
		return each(func(i int) float64 { return quotient(float64(n), took[which][i].Seconds()) })
	}
	ratio := func(a, b int) Spread {
		return each(func(i int) float64 { return quotient(float64(took[a][i]), float64(took[b][i])) })
	}
	out.EventsPerSecond, out.PlainPerSecond, out.PerSecond, out.FloorPerSecond = rate(0, r.count), rate(1, txs), rate(2, txs), rate(3, txs)
	out.MetricsRatio, out.FloorRatio = ratio(2, 1), ratio(3, 2)
	return out
}

// WriteJSON writes the report as indented JSON.
func (r *IngestReport) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

// WriteText writes the report for people.
func (r *IngestReport) WriteText(w io.Writer) error {
	var b strings.Builder
	per := func(n float64) float64 { return n / float64(r.Txs) }
	fmt.Fprintf(&b, "%d transactions of %d accounts in %d blocks, %d rounds in turns\n", r.Txs, r.Accounts, r.Blocks, r.Rounds)
	fmt.Fprintf(&b, "for each: %.1f addresses in events, %.1f rows of %.0f bytes together in %d commits, %.0f bytes on disk\n\n",
		per(float64(r.Events)), per(float64(r.Rows)), per(float64(r.RowBytes)), r.Commits, per(float64(r.DiskBytes)))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tmin\tmedian\tmax\t")
	for _, l := range []struct {
		name, format string
		Spread
	}{
		{"rollup alone, events/s", "%.0f", r.EventsPerSecond},
		{"index without metrics, txs/s", "%.0f", r.PlainPerSecond},
		{"index with metrics, txs/s", "%.0f", r.PerSecond},
		{"database alone, txs/s", "%.0f", r.FloorPerSecond},
		{"time with metrics / without", "%.3f", r.MetricsRatio},
		{"rate with metrics / database alone", "%.3f", r.FloorRatio},
	} {
		fmt.Fprintf(t, "%s\t"+l.format+"\t"+l.format+"\t"+l.format+"\t\n", l.name, l.Min, l.Median, l.Max)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
}
