package metric

import (
	"strings"
	"testing"
)

// Two sets have series of one name, kept apart by a constant label, and are
// written as one family.
func TestWrite(t *testing.T) {
	t.Parallel()
	a, b := NewSet("network", "1"), NewSet("network", "5")
	a.Counter("quorate_test_total", "Things.", "kind", `a "b\`).Add(3)
	b.Counter("quorate_test_total", "Things.", "kind", "c").Inc()
	b.GaugeFunc("quorate_test_waiting", "Waiting.", func() float64 { return 7 })
	b.Histogram("quorate_test_seconds", "Time.").Observe(0.3)
	var out strings.Builder
	if err := Write(&out, a, b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"# HELP quorate_test_total Things.\n# TYPE quorate_test_total counter\n" +
			`quorate_test_total{kind="a \"b\\",network="1"} 3` + "\n" + `quorate_test_total{kind="c",network="5"} 1` + "\n",
		"# TYPE quorate_test_waiting gauge\n" + `quorate_test_waiting{network="5"} 7` + "\n",
		`quorate_test_seconds_bucket{network="5",le="0.25"} 0` + "\n" + `quorate_test_seconds_bucket{network="5",le="0.5"} 1` + "\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want\n%s\nin\n%s", want, out.String())
		}
	}
}

// A component that is opened again goes on counting, and its functions replace
// those of the one before.
func TestOpenedAgain(t *testing.T) {
	t.Parallel()
	s := NewSet()
	open := func(chain string, height float64) {
		c := s.With("chain", chain)
		c.Counter("quorate_test_opened_total", "Opened.").Inc()
		c.GaugeFunc("quorate_test_height", "Height.", func() float64 { return height })
	}
	open("C", 1)
	open("D", 2)
	open("C", 3)
	for series, want := range map[[2]string]float64{
		{"quorate_test_opened_total", "C"}: 2, {"quorate_test_opened_total", "D"}: 1,
		{"quorate_test_height", "C"}: 3, {"quorate_test_height", "D"}: 2,
	} {
		if got := s.Value(series[0], "chain", series[1]); got != want {
			t.Errorf("%s: %v, want %v", series, got, want)
		}
	}
	s.Drop("chain", "C")
	if text := s.String(); strings.Contains(text, `"C"`) || !strings.Contains(text, `quorate_test_height{chain="D"} 2`) {
		t.Errorf("after the drop:\n%s", text)
	}
}

// What is read when the set is written may make metrics itself, and a series that
// is emitted twice spoils nothing but itself.
func TestReadings(t *testing.T) {
	t.Parallel()
	s := NewSet("network", "5")
	s.With("chain", "C").Gauges("quorate_test_stake", "Stake.", []string{"subnet"}, func(emit func(float64, ...string)) {
		s.Counter("quorate_test_reads_total", "Reads.").Inc()
		emit(0.5, "one")
		emit(0.9, "two\xff")
	})
	s.Gauges("quorate_test_twice", "Twice.", nil, func(emit func(float64, ...string)) { emit(1); emit(2) })
	s.GaugeFunc("quorate_test_other", "Other.", func() float64 { return 1 })
	text := s.String()
	for _, want := range []string{
		`quorate_test_stake{chain="C",network="5",subnet="one"} 0.5`, `quorate_test_stake{chain="C",network="5",subnet="two�"} 0.9`,
		`quorate_test_other{network="5"} 1`, `quorate_test_twice{network="5"} 1`, "was collected before",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
}

func TestProcessSet(t *testing.T) {
	t.Parallel()
	text := NewProcessSet("v1").String()
	for _, want := range []string{`quorate_build_info{goversion="go`, `version="v1"} 1`, "\nprocess_open_fds ", "\ngo_goroutines ", "\nprocess_cpu_seconds_total "} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s in\n%s", want, text)
		}
	}
}

// Counting must cost no more than a few atomic additions.
func TestAllocations(t *testing.T) {
	s := NewSet("network", "5")
	c, h := s.Counter("quorate_test_total", "Things.", "kind", "a"), s.Histogram("quorate_test_seconds", "Time.")
	if n := testing.AllocsPerRun(100, func() { c.Inc(); c.Add(3); h.Observe(0.02) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCount(b *testing.B) {
	s := NewSet("network", "5")
	c, h := s.Counter("quorate_test_total", "Things.", "kind", "a"), s.Histogram("quorate_test_seconds", "Time.")
	for b.Loop() {
		c.Inc()
		h.Observe(0.02)
	}
}
