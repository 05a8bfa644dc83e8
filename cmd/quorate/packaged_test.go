package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"go.yaml.in/yaml/v3"
)

var (
	// packagedMetric is a metric with the matchers of its labels.
	packagedMetric = regexp.MustCompile(`\b((?:quorate|go|process)_[a-z0-9_]+|up)\b(?:\{([^}]*)\})?`)
	matcher        = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"`)
	grouping       = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	templated      = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)`)
	plainValues    = regexp.MustCompile(`^[a-z0-9_|]+$`)
)

// added are the labels that Prometheus adds, and that of the buckets of histograms.
var added = []string{"instance", "job", "le"}

// checkPackaged holds the dashboards and alerts that are shipped against what a server
// tells: each metric, label and value of a label that they name is there.
func checkPackaged(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	exprs := 0
	check := func(where, expr string, texts ...string) {
		exprs++
		checkExpr(t, where, expr, texts, families)
	}
	files, err := filepath.Glob(filepath.Join(repoRoot, "packaging", "grafana", "dashboards", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dashboards, %v", len(files), err)
	}
	for _, file := range files {
		var d struct {
			UID        string
			Templating struct{ List []struct{ Definition string } }
			Panels     []struct {
				Title   string
				Targets []struct{ Expr, LegendFormat string }
			}
		}
		unpack(t, file, json.Unmarshal, &d)
		if d.UID+".json" != filepath.Base(file) {
			t.Errorf("%s has the ID %s", file, d.UID)
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				check(d.UID+": "+p.Title, target.Expr, target.LegendFormat)
			}
		}
		for _, v := range d.Templating.List {
			if v.Definition != "" {
				check(d.UID+": variable", v.Definition)
			}
		}
	}
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations map[string]string
			}
		}
	}
	unpack(t, filepath.Join(repoRoot, "packaging", "prometheus", "alerts.yaml"), yaml.Unmarshal, &rules)
	tests, err := os.ReadFile(filepath.Join(repoRoot, "packaging", "prometheus", "alerts_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(repoRoot, "docs", "monitor.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			check(r.Alert, r.Expr, slices.Collect(maps.Values(r.Annotations))...)
			if !strings.Contains(string(tests), `alertname="`+r.Alert+`"`) {
				t.Errorf("no test in alerts_test.yaml has the alert %s fire", r.Alert)
			}
			if !strings.Contains(string(page), "`"+r.Alert+"`") {
				t.Errorf("docs/monitor.md does not say what to do about the alert %s", r.Alert)
			}
		}
	}
	if exprs < 100 {
		t.Errorf("%d expressions only", exprs)
	}
}

func unpack(t *testing.T, file string, unmarshal func([]byte, any) error, into any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = unmarshal(b, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// checkExpr holds an expression, and the texts that show its labels, against families.
func checkExpr(t *testing.T, where, expr string, texts []string, families map[string]*dto.MetricFamily) {
	t.Helper()
	labels := slices.Clone(added)
	named := packagedMetric.FindAllStringSubmatch(expr, -1)
	for _, m := range named {
		name := m[1]
		if name == "up" {
			continue
		}
		f := families[name]
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			if base, ok := strings.CutSuffix(name, part); ok && f == nil && families[base].GetType() == dto.MetricType_HISTOGRAM {
				f = families[base]
			}
		}
		if f == nil {
			t.Errorf("%s: no metric %s", where, name)
			continue
		}
		values := labelValues(f)
		labels = slices.AppendSeq(labels, maps.Keys(values))
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if slices.Contains(added, l[1]) {
				continue
			}
			if values[l[1]] == nil {
				t.Errorf("%s: %s has no label %s", where, name, l[1])
			} else if plainValues.MatchString(l[2]) {
				for _, v := range strings.Split(l[2], "|") {
					if !slices.Contains(values[l[1]], v) {
						t.Errorf("%s: %s is never %s of %s", where, v, l[1], name)
					}
				}
			}
		}
	}
	if len(named) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	used := templated.FindAllStringSubmatch(strings.Join(texts, " "), -1)
	for _, by := range grouping.FindAllStringSubmatch(expr, -1) {
		for _, l := range strings.Split(by[1], ",") {
			used = append(used, []string{"", strings.TrimSpace(l)})
		}
	}
	for _, l := range used {
		if l[1] != "" && !slices.Contains(labels, l[1]) {
			t.Errorf("%s: nothing in %s has the label %s", where, expr, l[1])
		}
	}
}

// labelValues returns the values of each label of a family.
func labelValues(f *dto.MetricFamily) map[string][]string {
	values := map[string][]string{}
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			values[l.GetName()] = append(values[l.GetName()], l.GetValue())
		}
	}
	return values
}
