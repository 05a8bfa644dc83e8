package ui

import (
	"encoding/csv"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
	"quorate/httpapi/ui/plot"
)

func (s *Site) metricPages() []Page {
	return []Page{
		{Pattern: "/chain/{chain}/metrics", Units: 200, Serve: serveMetrics},
		{Pattern: "/chain/{chain}/metrics/{metric}", Units: 40, Serve: serveMetric},
		{Pattern: "/chain/{chain}/metrics/{metric}/csv", Units: 20, Serve: serveMetricCSV},
	}
}

// unit says how a metric's figures are written.
type unit uint8

const (
	whole unit = iota // whole numbers
	rate              // numbers with a fraction
	wei               // base units of the chain's coin
	gwei              // the same, shown in thousands of millions
)

// metricInfo is what pages know of a metric.
type metricInfo struct {
	Name, Title, Doc string
	unit             unit
	line             bool // drawn as a line: it is no count of its interval
	DayOnly          bool
	total            bool // a running total, which has no windows
}

// metricList are a chain's metrics, in the order of the page.
var metricList = []metricInfo{
	{Name: "txCount", Title: "Transactions", Doc: "Transactions, failed ones too."},
	{Name: "activeAddresses", Title: "Active addresses", Doc: "Distinct addresses in from or to of transactions and token transfers."},
	{Name: "activeSenders", Title: "Active senders", Doc: "Distinct addresses in from of transactions and token transfers."},
	{Name: "gasUsed", Title: "Gas used", Doc: "Gas that transactions used."},
	{Name: "feesPaid", Title: "Fees paid", Doc: "Gas used times its price.", unit: wei},
	{Name: "avgTps", Title: "Transactions a second, mean", Doc: "From the last block before the day to the last of the day.", unit: rate, line: true, DayOnly: true},
	{Name: "maxTps", Title: "Transactions a second, highest", Doc: "Of a block, by the time since the block before.", unit: rate, line: true, DayOnly: true},
	{Name: "avgGps", Title: "Gas a second, mean", Doc: "From the last block before the day to the last of the day.", unit: rate, line: true, DayOnly: true},
	{Name: "maxGps", Title: "Gas a second, highest", Doc: "Of a block, by the time since the block before.", unit: rate, line: true, DayOnly: true},
	{Name: "avgGasPrice", Title: "Gas price, mean", Doc: "Mean over the transactions.", unit: gwei, line: true, DayOnly: true},
	{Name: "maxGasPrice", Title: "Gas price, highest", Doc: "The highest of a transaction.", unit: gwei, line: true, DayOnly: true},
	{Name: "contracts", Title: "Contracts created", Doc: "By transactions and by calls.", DayOnly: true},
	{Name: "deployers", Title: "Deployers", Doc: "Distinct addresses that created contracts.", DayOnly: true},
	{Name: "cumulativeTxCount", Title: "Transactions so far", Doc: "From genesis to the end of the day.", line: true, DayOnly: true, total: true},
	{Name: "cumulativeAddresses", Title: "Addresses so far", Doc: "Distinct ones from genesis to the end of the day.", line: true, DayOnly: true, total: true},
	{Name: "cumulativeContracts", Title: "Contracts so far", Doc: "From genesis to the beginning of the day.", line: true, DayOnly: true, total: true},
	{Name: "cumulativeDeployers", Title: "Deployers so far", Doc: "Distinct ones from genesis to the end of the day.", line: true, DayOnly: true, total: true},
}

// metricOf returns what is known of a metric; one that is not known is all name.
func metricOf(name string) metricInfo {
	if i := slices.IndexFunc(metricList, func(m metricInfo) bool { return m.Name == name }); i >= 0 {
		return metricList[i]
	}
	return metricInfo{Name: name, Title: plain.Text(name, 60), unit: rate, line: true}
}

// Unit returns the unit of the figures on a chain, empty for counts.
func (m metricInfo) Unit(c *evmChain) string {
	switch m.unit {
	case wei:
		return plain.Text(c.NetworkToken.Symbol, 12)
	case gwei:
		return "n" + plain.Text(c.NetworkToken.Symbol, 12)
	}
	return ""
}

// figure writes a value of the API: whole ones with all digits, in the metric's unit.
func (m metricInfo) figure(v json.Number, decimals int) string {
	digits := string(v)
	if _, ok := new(big.Int).SetString(digits, 10); ok {
		switch m.unit {
		case wei:
			return plain.Amount(digits, decimals)
		case gwei:
			return nano(digits, decimals)
		}
		return plain.Digits(digits)
	}
	if _, err := v.Float64(); err != nil {
		return plain.Text(digits, 40)
	}
	return strconv.FormatFloat(m.value(v, decimals), 'g', 6, 64)
}

// value returns a value of the API as it is drawn.
func (m metricInfo) value(v json.Number, decimals int) float64 {
	f, err := v.Float64()
	if err != nil {
		return 0
	}
	switch m.unit {
	case wei:
		return f / pow10(decimals)
	case gwei:
		return f / pow10(decimals-9) * pow10(9-decimals)
	}
	return f
}

func pow10(n int) float64 {
	f, _ := new(big.Float).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, 0))), nil)).Float64()
	return f
}

// windowNames are the windows, in the order of a table.
var windowNames = []struct{ Name, Title string }{
	{"lastHour", "Hour"}, {"lastDay", "Day"}, {"lastWeek", "Week"}, {"lastMonth", "Month"},
	{"last90Days", "90 days"}, {"lastYear", "Year"}, {"allTime", "All time"},
}

// Cells returns the figures in the order of windowNames, "unknown" for those that are not there.
func (w windowed) Cells(c *evmChain) []string {
	f := &w.Windows.Result
	cells := make([]string, len(windowNames))
	for i, v := range []json.Number{f.LastHour, f.LastDay, f.LastWeek, f.LastMonth, f.Last90Days, f.LastYear, f.AllTime} {
		cells[i] = "unknown"
		if v != "" {
			cells[i] = w.figure(v, c.NetworkToken.Decimals)
		}
	}
	return cells
}

// Cell returns one of the figures.
func (w windowed) Cell(c *evmChain, name string) string {
	return w.Cells(c)[slices.IndexFunc(windowNames, func(n struct{ Name, Title string }) bool { return n.Name == name })]
}

// windows asks for a metric over windows of time.
func (r *Request) windows(c *evmChain, name string) (w windowed, err error) {
	w.metricInfo = metricOf(name)
	w.Refused, err = r.part(join("/v2/chains", string(c.ChainID), "rollingWindowMetrics", name), &w.Windows)
	return w, err
}

// span is what a plot shows of a metric.
type span struct {
	Interval string
	From, To int64 // Unix seconds, To excluded; 0 is open
	Points   int
}

// metricPlot is a plot with what it is of.
type metricPlot struct {
	metricInfo
	plot.Plot
	Table    []metricRow // newest first
	Refused  *Error
	Unit     string
	Interval string
	Asked    bool  // for a range, which may have nothing while there are points outside it
	More     bool  // there are older points in the span
	From, To int64 // of the points: the first one's beginning, the last one's end
}

// metricRow is a point in the table.
type metricRow struct {
	Start  int64
	Figure string
	raw    json.Number
}

// metricPlot asks for the points of a metric and plots them.
func (r *Request) metricPlot(c *evmChain, m metricInfo, s span) (*metricPlot, error) {
	p := &metricPlot{metricInfo: m, Interval: s.Interval, Unit: m.Unit(c), Asked: s.From > 0 || s.To > 0}
	var q query
	q.add("timeInterval", s.Interval)
	q.add("pageSize", strconv.Itoa(s.Points))
	if s.From > 0 {
		q.add("startTimestamp", strconv.FormatInt(s.From, 10))
	}
	if s.To > 0 {
		q.add("endTimestamp", strconv.FormatInt(s.To, 10))
	}
	var answer shape.Points
	refused, err := r.part(q.of(join("/v2/chains", string(c.ChainID), "metrics", m.Name)), &answer)
	if err != nil || refused != nil {
		p.Refused = refused
		return p, err
	}
	p.More = answer.NextPageToken != ""
	points := make([]plot.Point, len(answer.Results))
	for i, v := range answer.Results {
		points[len(points)-1-i] = plot.Point{Start: int64(v.Timestamp), Value: m.value(v.Value, c.NetworkToken.Decimals)}
		p.Table = append(p.Table, metricRow{int64(v.Timestamp), m.figure(v.Value, c.NetworkToken.Decimals), v.Value})
	}
	if n := len(points); n > 0 {
		p.From, p.To = points[0].Start, after(points[n-1].Start, s.Interval)
	}
	p.Plot = plot.New(points, plot.Options{Bars: !m.line, Whole: m.unit == whole, Hours: s.Interval == "hour"})
	return p, nil
}

// after returns the end of an interval.
func after(start int64, interval string) int64 {
	t := time.Unix(start, 0).UTC()
	switch interval {
	case "hour":
		t = t.Add(time.Hour)
	case "week":
		t = t.AddDate(0, 0, 7)
	case "month":
		t = t.AddDate(0, 1, 0)
	default:
		t = t.AddDate(0, 0, 1)
	}
	return t.Unix()
}

// metricsPage has plots of all metrics of a chain.
type metricsPage struct {
	Chain   *evmChain
	Plots   []*metricPlot
	Windows []windowed
	Names   []struct{ Name, Title string }
}

func serveMetrics(r *Request) error {
	c, err := r.chain()
	if err != nil {
		return err
	}
	p := metricsPage{Chain: c, Names: windowNames}
	for _, m := range metricList {
		one, err := r.metricPlot(c, m, span{Interval: "day", Points: 90})
		if err != nil {
			return err
		}
		p.Plots = append(p.Plots, one)
		if m.total {
			continue
		}
		w, err := r.windows(c, m.Name)
		if err != nil {
			return err
		}
		p.Windows = append(p.Windows, w)
	}
	return r.Render("metrics", "Metrics of "+c.Title(), &p)
}

// csvOf writes points as a table: when each begins, and the figure as the API has it.
func csvOf(m *metricInfo, rows []metricRow) ([]byte, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	records := [][]string{{"timestamp", "time", m.Name}}
	for _, row := range rows {
		records = append(records, []string{
			strconv.FormatInt(row.Start, 10), time.Unix(row.Start, 0).UTC().Format(time.RFC3339), string(row.raw),
		})
	}
	if err := w.WriteAll(records); err != nil {
		return nil, fmt.Errorf("csv: %w", err)
	}
	return []byte(b.String()), nil
}
