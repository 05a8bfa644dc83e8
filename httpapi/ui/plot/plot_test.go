package plot

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/quick"
)

func series(values ...float64) []Point {
	points := make([]Point, len(values))
	for i, v := range values {
		points[i] = Point{Start: 1735689600 + 86400*int64(i), Value: v}
	}
	return points
}

func TestBars(t *testing.T) {
	t.Parallel()
	p := New(series(0, 3, 8), Options{Bars: true, Whole: true})
	if want := []string{"8", "6", "4", "2"}; !slices.Equal(p.Rows, want) {
		t.Errorf("rows %q, want %q", p.Rows, want)
	}
	if want := []string{"2025-01-01", "2025-01-02", "2025-01-03"}; !slices.Equal(p.Columns, want) {
		t.Errorf("columns %q, want %q", p.Columns, want)
	}
	if want := "M366.7 240V150h266.7V240zM700 240V0h266.7V240z"; p.Path != want || !p.Bars || p.Points != 3 {
		t.Errorf("%+v, want the path %s", p, want)
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	p := New(series(1, 0.5, 0, 2), Options{Hours: true})
	if want := "M125 120L375 180L625 240L875 0"; p.Path != want {
		t.Errorf("path %s, want %s", p.Path, want)
	}
	if want := []string{"2", "1.5", "1", "0.5"}; !slices.Equal(p.Rows, want) {
		t.Errorf("rows %q, want %q", p.Rows, want)
	}
	if want := "01-01 00:00"; p.Columns[0] != want {
		t.Errorf("columns %q, want %s first", p.Columns, want)
	}
}

func TestFewPoints(t *testing.T) {
	t.Parallel()
	if p := New(nil, Options{}); p.Path != "" || p.Rows != nil || p.Columns != nil {
		t.Errorf("no points: %+v", p)
	}
	if p := New(series(5), Options{}); !strings.HasSuffix(p.Path, "h1") {
		t.Errorf("one point: %s", p.Path)
	}
	if p := New(series(0, 0), Options{Bars: true, Whole: true}); p.Path != "" || p.Rows[0] != "4" {
		t.Errorf("nothing but zeros: %+v", p)
	}
}

// TestWholeLabels: no label of whole numbers has a fraction.
func TestWholeLabels(t *testing.T) {
	t.Parallel()
	for highest := range 100 {
		p := New(series(float64(highest)), Options{Whole: true})
		if strings.Contains(strings.Join(p.Rows, ""), ".") {
			t.Errorf("up to %d: %q", highest, p.Rows)
		}
	}
}

var isPath = regexp.MustCompile(`^[MLVhz0-9. ]*$`)

// TestAnyFigures: whatever the figures are, the path is one and stays in the box.
func TestAnyFigures(t *testing.T) {
	t.Parallel()
	check := func(values []float64, bars, whole bool) bool {
		values = append(values, math.NaN(), math.Inf(1), math.MaxFloat64, -1, math.SmallestNonzeroFloat64)
		p := New(series(values...), Options{Bars: bars, Whole: whole})
		return isPath.MatchString(p.Path) && len(p.Rows) == Rows
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 0.25: "0.25", 999: "999", 1000: "1k", 1500: "1.5k", 2.5e6: "2.5M", 3e9: "3G", 4e12: "4T", 1e15: "1e+15",
	} {
		if got := Compact(v); got != want {
			t.Errorf("%g is %s, want %s", v, got, want)
		}
	}
}
