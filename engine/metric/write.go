package metric

import (
	"errors"
	"io"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"
)

// ContentType is that of what [Write] writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Write writes the sets as one text in the Prometheus format. A series may be in
// one set only. With an error, all that could be read was written.
func Write(w io.Writer, sets ...*Set) error {
	all := make(prometheus.Gatherers, len(sets))
	for i, s := range sets {
		all[i] = s.registry
	}
	families, err := all.Gather()
	for _, f := range families {
		if _, e := expfmt.MetricFamilyToText(w, f); e != nil {
			return errors.Join(err, e)
		}
	}
	return err
}

// String returns the set as text, for tests.
func (s *Set) String() string {
	var b strings.Builder
	if err := Write(&b, s); err != nil {
		return b.String() + "# " + err.Error()
	}
	return b.String()
}

// liveHeap is what the last collection of garbage found in use, which says more of
// what a process holds than what is on the heap between two of them.
var liveHeap = regexp.MustCompile("^/gc/heap/live:bytes$")

// NewProcessSet returns a set with the figures of the process and the Go runtime,
// among them memory, CPU time and open files, and which build this is.
func NewProcessSet(version string) *Set {
	s := NewSet()
	s.registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: liveHeap})),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	revision, goVersion := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = setting.Value
			}
		}
	}
	s.Gauge("quorate_build_info", "Always 1; the labels say which build this is.",
		"version", version, "revision", revision, "goversion", goVersion).Set(1)
	return s
}
