package ui

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"quorate/httpapi/shape"
)

// TestTree: calls stand below those that made them.
func TestTree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		calls string // KIND from to, in order
		want  []int
	}{
		{"siblings", "CALL 1 2,CALL 1 3", []int{1, 1}},
		{"nested", "CALL 1 2,CALL 2 3,CALL 3 4,CALL 2 5,CALL 1 6", []int{1, 2, 3, 2, 1}},
		{"back to where it began", "CALL 1 2,CALL 2 1,CALL 1 3,CALL 2 4", []int{1, 2, 3, 2}},
		{"delegated code acts as its caller", "DELEGATECALL 1 9,CALL 1 2,CALL 2 3", []int{1, 2, 3}},
		{"in another case of letters", "CALL 1 aB,CALL Ab 3", []int{1, 2}},
		{"a caller that is not in the list", "CALL 7 8,CALL 8 9", []int{1, 2}},
		{"deeper than a page shows", strings.TrimSuffix(strings.Repeat("CALL 1 1,", 20), ","), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 12, 12, 12, 12, 12, 12, 12}},
		{"none", "", nil},
	} {
		var calls []evmCall
		for line := range strings.SplitSeq(c.calls, ",") {
			if f := strings.Fields(line); len(f) == 3 {
				var c evmCall
				c.InternalTxType, c.From.Address, c.To.Address = f[0], shape.Address(f[1]), shape.Address(f[2])
				calls = append(calls, c)
			}
		}
		var depths []int
		for _, n := range tree("1", calls) {
			depths = append(depths, n.Depth)
		}
		if !slices.Equal(depths, c.want) {
			t.Errorf("%s: %v, want %v", c.name, depths, c.want)
		}
	}
}

// TestSpan: what a plot shows follows from the query.
func TestSpan(t *testing.T) {
	t.Parallel()
	const jan = 1735689600 // 2025-01-01
	api := sampleEVM()
	for _, c := range []struct{ metric, query, asks string }{
		{"txCount", "", "timeInterval=day&pageSize=90"},
		{"txCount", "interval=hour", "timeInterval=hour&pageSize=168"},
		{"txCount", "interval=month&all=1", "timeInterval=month&pageSize=750"},
		{"avgTps", "interval=hour", "timeInterval=day&pageSize=90"},
		{"txCount", "from=2025-01-01&to=2025-01-01", "timeInterval=day&pageSize=750&startTimestamp=1735689600&endTimestamp=1735776000"},
		{"txCount", "from=1735689601", "timeInterval=day&pageSize=750&startTimestamp=1735689601"},
		{"txCount", "to=2024-12-31", "timeInterval=day&pageSize=90&endTimestamp=1735689600"},
	} {
		path := "/v2/chains/43112/metrics/" + c.metric + "?" + c.asks
		api[path] = `{"results":[{"value":7,"timestamp":1735689600}]}`
		out := visit(t, evmSite(t, fakeAPI{onC: chainJSON, path: api[path]}), "/chain/43112/metrics/"+c.metric+"?"+c.query, false)
		if _, text := parsed(t, &out); !strings.Contains(text, " Transactions") || !strings.HasSuffix(text, " 7") {
			t.Errorf("%s?%s does not ask for %s: %s", c.metric, c.query, c.asks, text)
		}
	}
	for name, want := range map[string]int64{"hour": jan + 3600, "day": jan + 86400, "week": jan + 7*86400, "month": jan + 31*86400} {
		if got := after(jan, name); got != want {
			t.Errorf("a %s ends at %d, want %d", name, got, want)
		}
	}
}

// TestPlotLinks: the page of a metric leads to the spans around its own.
func TestPlotLinks(t *testing.T) {
	t.Parallel()
	results := `{"value":7,"timestamp":1735689600}`
	for day := range int64(9) {
		results += `,{"value":1,"timestamp":` + string(must(json.Marshal(1735689600-86400*(day+1)))) + `}`
	}
	api := fakeAPI{onC: chainJSON, "/v2/chains/43112/metrics/txCount?timeInterval=day&pageSize=750&startTimestamp=1734912000&endTimestamp=1735776000": `{"results":[` + results + `]}`}
	at := "/chain/43112/metrics/txCount"
	out := visit(t, evmSite(t, api), at+"?from=2024-12-23&to=2025-01-01", false)
	main, text := parsed(t, &out)
	for _, want := range []string{
		at + "?interval=day&from=1734048000&to=1734912000", at + "?interval=day&from=1735776000&to=1736640000",
		at + "?interval=day&from=1735128000&to=1735560000", at + "?interval=day&from=1734480000&to=1736208000", at + "?interval=hour",
		at + "/csv?interval=day&from=1734912000&to=1735776000", at + "?interval=day&from=1735171200&to=1735776000",
	} {
		if !slices.Contains(links(main), want) {
			t.Errorf("no link to %s: %q %s", want, links(main), text)
		}
	}
	for n := range main.Descendants() {
		if n.Data == "path" && strings.Count(attr(n.Attr, "d"), "M") != 10 {
			t.Errorf("the plot has not ten bars: %v", n.Attr)
		}
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	api := fakeAPI{onC: chainJSON, "/v2/chains/43112/metrics/feesPaid?timeInterval=day&pageSize=90": `{"results":[{"value":2668058736486846940123,"timestamp":1735689600},{"value":0.25,"timestamp":1735603200}]}`}
	out := visit(t, evmSite(t, api), "/chain/43112/metrics/feesPaid/csv", false)
	want := "timestamp,time,feesPaid\n1735689600,2025-01-01T00:00:00Z,2668058736486846940123\n1735603200,2024-12-31T00:00:00Z,0.25\n"
	if string(out.HTML) != want || out.Type != "text/csv; charset=utf-8" || out.File != "43112-feesPaid-day.csv" {
		t.Errorf("%s %s\n%s", out.Type, out.File, out.HTML)
	}
	api = fakeAPI{onC: chainJSON, "/v2/chains/43112/metrics/x?timeInterval=day&pageSize=90": Answer{Status: 400, Body: []byte(`{"message":"no such metric"}`)}}
	if out := visit(t, evmSite(t, api), "/chain/43112/metrics/x/csv", false); out.Status != 400 || out.Type != "" {
		t.Errorf("a metric that does not exist: %d %s", out.Status, out.Type)
	}
}

// TestFigures: whole figures have all digits, in the metric's unit.
func TestFigures(t *testing.T) {
	t.Parallel()
	c := evmChain{NetworkToken: shape.NetworkToken{Symbol: "AVAX", Decimals: 18}}
	for _, v := range []struct{ metric, value, want, unit string }{
		{"txCount", "1234567", "1\u202f234\u202f567", ""}, {"feesPaid", "2668058736486846940", "2.66805873648684694", "AVAX"},
		{"avgGasPrice", "31251038687.273224", "31.251", "nAVAX"}, {"maxGasPrice", "31251038687", "31.251038687", "nAVAX"},
		{"avgTps", "0.00044744548013758267", "0.000447445", ""}, {"gasUsed", "1e400", "1e400", ""},
	} {
		m := metricOf(v.metric)
		if got := m.figure(json.Number(v.value), c.NetworkToken.Decimals); got != v.want || m.Unit(&c) != v.unit {
			t.Errorf("%s of %s is %q in %q, want %q in %q", v.metric, v.value, got, m.Unit(&c), v.want, v.unit)
		}
	}
}
