package oracle

import (
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/ava-labs/libevm/common"
)

// MetricNames are the metrics of the contract.
var MetricNames = []string{
	"activeAddresses", "activeSenders", "cumulativeTxCount", "cumulativeAddresses", "cumulativeContracts", "cumulativeDeployers",
	"contracts", "deployers", "gasUsed", "txCount", "avgGps", "maxGps", "avgTps", "maxTps", "avgGasPrice", "maxGasPrice", "feesPaid",
}

// Intervals are those that a metric may be asked for by.
var Intervals = []string{"hour", "day", "week", "month"}

// tracedMetrics are those that a chain's blocks and receipts do not tell.
var tracedMetrics = []string{"contracts", "deployers", "cumulativeContracts", "cumulativeDeployers"}

// dayOnly reports whether a metric has no interval but the day.
func dayOnly(name string) bool {
	for _, start := range []string{"cumulative", "max", "avg"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return name == "contracts" || name == "deployers"
}

// Metrics are the metrics of one chain, or of several together.
type Metrics struct{ lines []*timeline }

// NewMetrics works out when what happened on some chains.
func NewMetrics(chains ...*Chain) *Metrics {
	m := &Metrics{}
	for _, c := range chains {
		m.lines = append(m.lines, newTimeline(c))
	}
	return m
}

// Point is the value of a metric in the interval that begins at a time.
type Point struct {
	Time  int64 // Unix seconds
	Value *big.Rat
}

// Points returns a whole series, newest first. It is not known when no chain knows
// it; that of no chain is empty.
func (m *Metrics) Points(name, interval string) (points []Point, known bool) {
	some := &Metrics{}
	for _, l := range m.lines {
		if l.traced || !slices.Contains(tracedMetrics, name) {
			some.lines = append(some.lines, l)
		}
	}
	if len(some.lines) == 0 {
		return nil, len(m.lines) == 0
	}
	first, last, any := some.span()
	if !any {
		return nil, true
	}
	for t := bucket(first, interval); !t.After(last); t = following(t, interval) {
		v := some.value(name, t.UnixMilli(), following(t, interval).UnixMilli())
		points = append(points, Point{t.Unix(), v})
	}
	slices.Reverse(points)
	return points, true
}

// span returns the times of the first and the last block of all chains.
func (m *Metrics) span() (first, last time.Time, any bool) {
	for _, l := range m.lines {
		if len(l.blocks) == 0 {
			continue
		}
		from, to := time.UnixMilli(l.blocks[0].at).UTC(), time.UnixMilli(l.blocks[len(l.blocks)-1].at).UTC()
		if !any || from.Before(first) {
			first = from
		}
		if !any || to.After(last) {
			last = to
		}
		any = true
	}
	return first, last, any
}

// bucket returns the start of the interval with a time in UTC.
func bucket(t time.Time, interval string) time.Time {
	switch interval {
	case "hour":
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), 0, 0, 0, time.UTC)
	case "week":
		sinceMonday := (int(t.Weekday()) + 6) % 7
		return time.Date(t.Year(), t.Month(), t.Day()-sinceMonday, 0, 0, 0, 0, time.UTC)
	case "month":
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// following returns the start of the interval after the one that begins at t.
func following(t time.Time, interval string) time.Time {
	switch interval {
	case "hour":
		return t.Add(time.Hour)
	case "week":
		return t.AddDate(0, 0, 7)
	case "month":
		return t.AddDate(0, 1, 0)
	}
	return t.AddDate(0, 0, 1)
}

// value puts together what the chains tell of an interval, in Unix milliseconds.
func (m *Metrics) value(name string, from, to int64) *big.Rat {
	out, txs := new(big.Rat), new(big.Rat)
	for _, l := range m.lines {
		v := l.value(name, from, to)
		txs.Add(txs, l.value("txCount", from, to))
		switch {
		case !strings.HasPrefix(name, "max"):
			out.Add(out, v)
		case v.Cmp(out) > 0:
			out = v
		}
	}
	if name == "avgGasPrice" && txs.Sign() > 0 {
		return out.Quo(out, txs)
	}
	return out
}

// parties returns who has part in a transaction as the metrics count it.
func parties(t *Tx) (senders, all []common.Address) {
	senders = append(senders, t.From)
	all = append(all, t.From)
	if t.rawTx.To != nil {
		all = append(all, *t.rawTx.To)
	}
	for _, tr := range t.Transfers {
		senders = append(senders, tr.From)
		all = append(all, tr.From, tr.To)
	}
	return senders, all
}

// creators returns who made a contract in a transaction, once for each.
func creators(t *Tx) (list []common.Address) {
	if t.rawTx.To == nil && !t.Failed() {
		list = append(list, t.From)
	}
	for _, c := range t.Calls {
		if (c.Type == "CREATE" || c.Type == "CREATE2") && c.To != nil && !c.Reverted {
			list = append(list, c.From)
		}
	}
	return list
}
