package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/pflag"

	"quorate/devnet"
	"quorate/engine/metric"
)

// TestMetricsFormat holds what a server writes against Prometheus's own parser and
// linter, the one in promtool.
func TestMetricsFormat(t *testing.T) {
	campaign(t)
	t.Parallel()
	dir := t.TempDir()
	fleet, ports := newFleet(t, 1)
	p := launch(t, "quorate ready", "serve", "--devnet", "--http-port", ports[0], "--data-dir", dir, "--log-display-level", "warn",
		"--archive", "file://"+t.TempDir(), "--fleet", fleet)
	facts, err := devnet.ReadFacts(filepath.Join(dir, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if code, _, errs := quorate(t, "", "aggregate", facts.Signature.Message, "--url", p.url); code != 0 {
		t.Fatalf("aggregate: exit %d, %s", code, errs)
	}
	poll(t, 20*time.Millisecond, "the C-Chain is followed", func() bool {
		return counters(t, p.url)[`quorate_ingest_height{chain="C"}`] > 0
	})
	text := metricsText(t, p.url)
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range families {
		checkFamily(t, name, f)
	}
	// A message was collected: the histogram has it in a bucket.
	if f := families["quorate_aggregator_collect_seconds"]; f == nil || f.GetMetric()[0].GetHistogram().GetSampleCount() == 0 {
		t.Errorf("no collection was measured: %v", f)
	}
	have := counters(t, p.url)
	for _, name := range []string{
		`quorate_stake_connected_ratio{subnet="11111111111111111111111111111111LpoYY"}`, `quorate_stake_validators{subnet="11111111111111111111111111111111LpoYY"}`,
		`quorate_source_node_up{node="` + facts.NodeURL + `"}`, "quorate_disk_free_bytes", "process_open_fds",
		`quorate_ingest_height{chain="C"}`, `quorate_ingest_block_age_seconds{chain="C"}`, "quorate_store_index_log_bytes",
	} {
		if have[name] <= 0 {
			t.Errorf("%s is %v", name, have[name])
		}
	}
	for _, name := range []string{
		"quorate_build_info", "quorate_chain_info", "quorate_aggregator_quarantined", "quorate_p2p_peer_latency_seconds",
		"quorate_p2p_peer_questions_total", "quorate_health_check_failing",
	} {
		if families[name] == nil {
			t.Errorf("no metric %s", name)
		}
	}
	named := 0
	for path, text := range pages(t) {
		named += checkPage(t, path, text, families)
	}
	if named < 100 {
		t.Errorf("the documentation names %d metrics and flags only", named)
	}
	maps.Copy(families, l1Families(t))
	checkPackaged(t, families)
}

// l1Families returns the metrics of a server that follows an L1.
func l1Families(t *testing.T) map[string]*dto.MetricFamily {
	t.Helper()
	d, p := hostileNet(t, devnet.Config{Validators: 5, L1s: 1, PrimaryBlocks: 240, HeightInterval: time.Hour}) // only it has fees
	if status, answer := post(t, p.url+endpoint1, fmt.Sprintf(`{"message":"%x"}`, d.L1Message(0, 1).Bytes())); status != http.StatusCreated {
		t.Fatalf("status %d: %v", status, answer)
	}
	left := `quorate_l1_seconds_left{subnet="` + d.World().L1s()[0].SubnetID.String() + `"}`
	poll(t, 20*time.Millisecond, "the balances are known", func() bool { return counters(t, p.url)[left] > 0 })
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(metricsText(t, p.url)))
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(families, func(name string, _ *dto.MetricFamily) bool { return !strings.HasPrefix(name, "quorate_l1_") })
	return families
}

func checkFamily(t *testing.T, name string, f *dto.MetricFamily) {
	t.Helper()
	if f.GetHelp() == "" || f.GetType() == dto.MetricType_UNTYPED {
		t.Errorf("%s: help %q, type %s", name, f.GetHelp(), f.GetType())
	}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			// One thing has one label, so that metrics can be joined.
			if l.GetName() == "path" || l.GetName() == "status" || l.GetName() == "blockchain" {
				t.Errorf("%s has the label %s", name, l)
			}
		}
		h := m.GetHistogram()
		if h == nil {
			continue
		}
		last := h.GetBucket()[len(h.GetBucket())-1]
		if !math.IsInf(last.GetUpperBound(), 1) || last.GetCumulativeCount() != h.GetSampleCount() || len(h.GetBucket()) < 10 {
			t.Errorf("%s: buckets %v", name, h.GetBucket())
		}
	}
}

func metricsText(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := new(http.Client).Get(url + "/ext/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), metric.ContentType) {
		t.Fatalf("status %d, content type %q, %v", resp.StatusCode, resp.Header.Get("Content-Type"), err)
	}
	return text
}

var (
	namedMetric = regexp.MustCompile(`(quorate_[a-z0-9_]+?)(_bucket)?\b(?:\{(\w+)="([^"]+)")?`)
	namedLimit  = regexp.MustCompile("`limits\\.([a-z0-9-]+[a-z0-9])[^a-z0-9-]")
	namedFlag   = regexp.MustCompile("(?m)`--([a-z0-9-]+)|quorate [a-z]+.* --([a-z0-9-]+)")
)

// checkPage holds what a page of the documentation names against the program: a metric
// or a flag that was renamed must not live on in it. It returns how many it names.
func checkPage(t *testing.T, path, text string, families map[string]*dto.MetricFamily) int {
	t.Helper()
	metrics, flags := namedMetric.FindAllStringSubmatch(text, -1), namedFlag.FindAllStringSubmatch(text, -1)
	for _, m := range metrics {
		if strings.HasPrefix(m[1], "quorate_nft_") || strings.HasPrefix(m[1], "quorate_feed_") {
			continue // only where --nft-metadata asks servers of others, or a fleet has a log
		}
		if f := families[m[1]]; f == nil {
			t.Errorf("%s: no metric %s", path, m[1])
		} else if m[3] != "" && !slices.ContainsFunc(f.GetMetric(), func(s *dto.Metric) bool {
			return slices.ContainsFunc(s.GetLabel(), func(l *dto.LabelPair) bool { return l.GetName() == m[3] && l.GetValue() == m[4] })
		}) {
			t.Errorf("%s: no series %s", path, m[0])
		}
	}
	known := map[string]bool{"version": true, "help": true}
	for _, name := range []string{"index-enabled", "sybil-protection-enabled", "network-initial-timeout", "network-inbound-connection-throttling-cooldown"} {
		known[name] = true // avalanchego's
	}
	for _, cmd := range shownCommands(rootCommand(streams{})) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known[f.Name] = known[f.Name] || !isOldName(f) })
	}
	for _, f := range flags {
		if name := f[1] + f[2]; !known[name] && !strings.HasSuffix(name, "-") { // which stands for several
			t.Errorf("%s: no flag --%s", path, name)
		}
	}
	for _, m := range namedLimit.FindAllStringSubmatch(text, -1) {
		if lookup(serveCommand().Flags(), limitsFlag+keyDelim+m[1]) == nil {
			t.Errorf("%s: no limit %s", path, m[1])
		}
	}
	return len(metrics) + len(flags)
}
