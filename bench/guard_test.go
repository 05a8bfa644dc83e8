package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// The guard compares what the product costs now with what it cost when the
// baseline was written. It looks at allocations, which hardly vary, and at
// ratios to something that is measured in the same moment, which vary much less
// than times do: so the baseline of one machine serves on another.

var (
	guard  = flag.Bool("guard", false, "run the guard against regressions, see make bench-guard")
	strict = flag.Bool("strict", false, "with -guard: hold what is promised, see make bench-guard STRICT=1")
)

// slack is what the guard leaves to a promise unless it is strict: on a machine that others
// use a ratio now and then comes out higher than what is measured stands for.
const slack = 1.3

const baselineFile = "baseline.json"

// figure is one number to watch; a lower one is better.
type figure struct {
	name    string
	kind    kind
	measure func() float64
}

// kind says how much worse than its baseline a figure may be.
type kind struct {
	name          string
	factor, extra float64
	most          float64 // what is promised, whatever the baseline is; 0: nothing is
	firm          bool    // most is the same on all machines, see yardstick_test.go
}

var (
	// A little room, because a garbage collection or a timer may come in between.
	allocs = kind{name: "allocations", factor: 1.05, extra: 0.5}
	// Of what costs less than an allocation each time.
	fewAllocs = kind{name: "allocations", factor: 1.1, extra: 0.02}
	// CPU ratios were within 15% and ratios of times within 25% of their median
	// on a machine with other work.
	cpuRatio  = kind{name: "CPU ratio", factor: 1.3}
	timeRatio = kind{name: "time ratio", factor: 1.5}
	// What reads much of the memory suffers more than the bare HTTP server from
	// others that use the processor's caches: it was seen to double.
	readRatio = kind{name: "read ratio", factor: 2}
	// What costs as much as something of the same make and another size.
	flatRatio = kind{name: "flat ratio", factor: 1.25}
)

// atMost is the kind with a bound that is promised.
func (k kind) atMost(v float64) kind {
	k.most = v
	return k
}

// everywhere is the kind with a bound that no machine loosens.
func (k kind) everywhere() kind {
	k.firm = true
	return k
}

func (k kind) limit(baseline float64) float64 {
	room := slack
	if *strict {
		room = 1
	}
	return k.within(baseline, room)
}

// within is the limit with room above what is promised. Without room the baseline counts
// as well: with it what is promised is all that a change has to keep.
func (k kind) within(baseline, room float64) float64 {
	limit := baseline*k.factor + k.extra
	switch {
	case k.most == 0:
		return limit
	case room > 1:
		return k.most * room
	}
	return min(limit, k.most)
}

// figures hands everything that is watched to each, group by group: what a
// group stands on is taken down before the next one is measured.
func figures(t *testing.T, each func(figure)) {
	for _, n := range []int{5, 100, 1000} {
		t.Run(fmt.Sprint("fresh N=", n), func(t *testing.T) { freshFigures(t, n, each) })
	}
	for _, n := range []int{5, 1000} {
		t.Run(fmt.Sprint("repeat N=", n), func(t *testing.T) { repeatFigures(t, n, each) })
	}
	t.Run("index", func(t *testing.T) { indexFigures(t, each) })
	t.Run("head", func(t *testing.T) { headFigures(t, each) })
	t.Run("archive", func(t *testing.T) { archiveFigures(t, each) })
	t.Run("pages", func(t *testing.T) { pageFigures(t, each) })
	t.Run("metrics", func(t *testing.T) { metricFigures(t, each) })
	t.Run("answers", func(t *testing.T) { answerFigures(t, each) })
	t.Run("primary", func(t *testing.T) { primaryFigures(t, each) })
	t.Run("primary history", func(t *testing.T) { primaryHistoryFigures(t, each) })
	t.Run("catch-up", func(t *testing.T) { catchUpFigures(t, each) })
	t.Run("rollup", func(t *testing.T) { rollupFigures(t, each) })
}

func freshFigures(t *testing.T, n int, each func(figure)) {
	name := fmt.Sprintf("fresh N=%d ", n)
	r := newRig(t, n, false)
	ours, floor := func() { r.fresh(t) }, func() { r.byHand(t) }
	calls := max(3, 500/n) // some 30 ms
	each(figure{name + "allocations", allocs, func() float64 { return allocations(5, calls, ours) }})
	each(figure{name + "CPU / bare cryptography", cpuRatio, func() float64 {
		return against(cpu, 5, repeated(calls, ours), repeated(calls, floor))
	}})
	if n == 100 {
		each(figure{name + "CPU / one by one", cpuRatio, func() float64 {
			return against(cpu, 1, repeated(calls, ours), func() { r.oneByOne(t) }) / float64(calls)
		}})
	}
}

func repeatFigures(t *testing.T, n int, each func(figure)) {
	ours, answer := quorateServer(t, n)
	bare := bareServer(t, ours, answer)
	const count = 3200
	repeat, floor := func() { ours.ask(t, count, 1) }, func() { bare.ask(t, count, 1) }
	for _, encoding := range []string{"", "gzip"} {
		name := fmt.Sprintf("repeat N=%d ", n)
		if encoding != "" {
			// Signed messages are sent as they are: they are short, and half of one is hex
			// of random bytes.
			name += "in " + encoding + ", "
			ours.accept(encoding)
			bare.accept(encoding)
		}
		floor() // before its connections have been idle for too long
		each(figure{name + "allocations", allocs, func() float64 { return allocations(5, 1, repeat) / count }})
		each(figure{name + "time / bare HTTP server", timeRatio.atMost(1 / 0.7).everywhere(), func() float64 {
			return against(wall(), 5, repeat, floor)
		}})
	}
}

// repeated does f several times.
func repeated(n int, f func()) func() {
	return func() {
		for range n {
			f()
		}
	}
}

// attempts is how often a ratio that is too high is measured before it counts:
// noise passes, a regression stays.
const attempts = 5

func TestGuard(t *testing.T) {
	if !*guard {
		t.Skip("only with -guard: make bench-guard")
	}
	baseline := make(map[string]float64)
	if !*update {
		data, err := os.ReadFile(baselineFile)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &baseline); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]float64)
	exchange := exchangeWork(t)
	here := newMachine(exchange)
	t.Logf("an exchange with the bare server takes %.2f of the yardstick, %.2f where the limits were set: what they leave above it is taken %.2f times", exchange, exchangeThere, here.scale)
	figures(t, func(f figure) {
		seen[f.name] = f.measure()
		if *update { // a lucky baseline would make later runs fail
			seen[f.name] = median([]float64{seen[f.name], f.measure(), f.measure()})
		}
		base, known := baseline[f.name]
		for try := 1; try < attempts && known && seen[f.name] > here.limit(f, base); try++ {
			runtime.GC()
			seen[f.name] = min(seen[f.name], f.measure())
		}
		if known && seen[f.name] > here.limit(f, base) {
			t.Errorf("%s: %.3f, it was %.3f and may be %.3f: find out why, or accept it with make bench-guard UPDATE=1",
				f.name, seen[f.name], base, here.limit(f, base))
		}
		if !known && !*update {
			t.Errorf("%s is not in %s: make bench-guard UPDATE=1", f.name, baselineFile)
		}
		if *update {
			baseline[f.name] = seen[f.name]
			if f.kind.most > 0 && seen[f.name] > here.limit(f, math.Inf(1)) {
				t.Errorf("%s: %.3f, more than the %.3f that is promised", f.name, seen[f.name], f.kind.most)
			}
		}
	})
	for name := range baseline {
		if _, measured := seen[name]; !measured {
			t.Errorf("%s is in %s and is not measured any more: make bench-guard UPDATE=1", name, baselineFile)
		}
	}
	fmt.Print(table(slices.Sorted(maps.Keys(seen)), baseline, seen))
	if *update && !t.Failed() {
		writeBaseline(t, baseline)
	}
}

func table(names []string, baseline, seen map[string]float64) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "lower is better\tbaseline\tnow\tchange\t\n")
	for _, name := range names {
		fmt.Fprintf(w, "%s\t%.3f\t%.3f\t%+.1f%%\t\n", name, baseline[name], seen[name], 100*(seen[name]/baseline[name]-1))
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return b.String()
}

func writeBaseline(t *testing.T, baseline map[string]float64) {
	t.Helper()
	for name, v := range baseline {
		baseline[name] = float64(int(v*1000+0.5)) / 1000
	}
	data, err := json.MarshalIndent(baseline, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(baselineFile, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGuardLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind      kind
		base, now float64
		ok        bool
	}{
		{allocs, 3, 3.02, true},
		{allocs, 3, 4, false},
		{allocs, 172, 174, true},
		{allocs, 172, 190, false},
		{cpuRatio, 1, 1.25, true},
		{cpuRatio, 1, 1.4, false},
		{timeRatio, 1.6, 2.3, true},
		{timeRatio, 1.6, 3.2, false}, // twice as slow
		{timeRatio.atMost(2), 1.6, 1.9, true},
		{timeRatio.atMost(2), 1.6, 2.1, false},
		{timeRatio.atMost(1.5), 1.4, 1.6, false},
		{flatRatio.atMost(1.2), 0.9, 1.1, true},
		{flatRatio.atMost(1.2), 0.9, 1.15, false},
	} {
		if ok := c.now <= c.kind.within(c.base, 1); ok != c.ok {
			t.Errorf("%s: %v after %v: ok %v", c.kind.name, c.now, c.base, ok)
		}
	}
	for _, base := range []float64{1, 1.4, 3} {
		if k := timeRatio.atMost(1.5); k.within(base, slack) != k.most*slack {
			t.Errorf("what is promised has no slack after %v", base)
		}
	}
}
