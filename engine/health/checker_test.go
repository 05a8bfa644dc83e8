package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/actor"
)

func TestTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, named("global", passing), named("a", passing, "one", "both"), named("b", passing, "two", "both"),
			Check{Name: "ready", Readiness: true, Tags: []string{"two"}, Run: passing},
			named("bad", func(context.Context) (any, error) { return nil, errors.New("down") }, "three"))
		b.start()
		test := func(tags []string, healthy bool, want string, unknown ...string) {
			t.Helper()
			r := b.Health(tags)
			got := strings.Join(slices.Sorted(maps.Keys(r.Checks)), " ")
			if got != want || r.Healthy != healthy || !slices.Equal(r.UnknownTags, unknown) {
				t.Errorf("%q: got %s, healthy %v, unknown %q", tags, got, r.Healthy, r.UnknownTags)
			}
			plain := Report{Checks: r.Checks, Healthy: r.Healthy}
			if a, b := r.AppendJSON(nil), plain.AppendJSON(nil); string(a) != string(b) {
				t.Errorf("%q: cached %s, made on demand %s", tags, a, b)
			}
		}
		const all = "a b bad global ready"
		test(nil, false, all)
		test([]string{}, false, all)
		test([]string{"all"}, false, all)
		test([]string{"one", "all"}, false, all)
		test([]string{"one"}, true, "a global")
		test([]string{"both", "one"}, true, "a b global")
		test([]string{"three"}, false, "bad global")
		test([]string{"application"}, true, "global")
		test([]string{"application", "two"}, true, "b global ready")
		test([]string{"nope", "", "nope", "one"}, true, "a global", "nope", "")
		test([]string{"nope", "all"}, false, all, "nope")
		if r := b.Readiness([]string{"one"}); len(r.Checks) != 0 || !r.Healthy || r.UnknownTags != nil {
			t.Errorf("readiness of a tag without such checks: %+v", r)
		}
		if r := b.Readiness([]string{"two"}); len(r.Checks) != 1 || !r.Healthy {
			t.Errorf("readiness: %+v", r)
		}
	})
}

func TestRegister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		if r := b.Health(nil); !r.Healthy || string(r.AppendJSON(nil)) != `{"checks":{},"healthy":true}` {
			t.Errorf("without checks: %s", r.AppendJSON(nil))
		}
		b.start()
		pass(7 * time.Second)
		b.add(named("late", func(context.Context) (any, error) { <-time.After(time.Second); return nil, nil }))
		b.want("late", 0, notYetRun)
		if b.Health(nil).Healthy {
			t.Error("healthy with a check that has not run")
		}
		pass(time.Second)
		b.want("late", 0, "")
		for name, c := range map[string]struct {
			check Check
			want  error
		}{
			"again":      {named("late", passing), ErrDuplicate},
			"no name":    {named("", passing), ErrBadCheck},
			"control":    {named("a\nb", passing), ErrBadCheck},
			"not UTF-8":  {named("\xff", passing), ErrBadCheck},
			"long":       {named(strings.Repeat("x", 513), passing), ErrBadCheck},
			"no run":     {Check{Name: "x"}, ErrBadCheck},
			"all":        {named("x", passing, "all"), ErrReserved},
			"global":     {named("x", passing, "application"), ErrReserved},
			"empty tag":  {named("x", passing, ""), ErrBadCheck},
			"second tag": {named("x", passing, "fine", "\x00"), ErrBadCheck},
		} {
			if err := b.Register(c.check); !errors.Is(err, c.want) {
				t.Errorf("%s: got %v, want %v", name, err, c.want)
			}
		}
		if err := b.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("second Run: %v", err)
		}
		b.mustStop()
		if err := b.Register(named("after", passing)); !errors.Is(err, actor.ErrClosed) || len(b.Health(nil).Checks) != 1 {
			t.Errorf("after the end: %v, %v", err, b.Health(nil).Checks)
		}
	})
}

func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside atomic.Int64
		b := newBench(t, named("obedient", func(ctx context.Context) (any, error) {
			inside.Add(1)
			<-ctx.Done()
			<-time.After(time.Second)
			inside.Add(-1)
			return nil, errors.New("cut off")
		}))
		b.start()
		if inside.Load() != 1 {
			t.Fatal("not inside a run")
		}
		began := time.Now()
		b.mustStop() // the end of the bubble proves that no goroutine is left
		if inside.Load() != 0 || time.Since(began) != time.Second {
			t.Errorf("%d inside, stopped after %s", inside.Load(), time.Since(began))
		}
		b.want("obedient", 0, notYetRun) // the end of the program is no failure of the check

		release := make(chan struct{})
		b = newBench(t, named("deaf", func(context.Context) (any, error) { <-release; return nil, nil }), named("fine", passing))
		b.start()
		began = time.Now()
		if err := b.stop(); err == nil || !strings.Contains(err.Error(), `"deaf"`) || strings.Contains(err.Error(), "fine") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d != stopGrace {
			t.Errorf("waited %s", d)
		}
		close(release)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := newBench(t, named("c", passing)).Run(ctx); err != nil {
			t.Errorf("context ended before the start: %v", err)
		}
	})
}

func TestReadersWhileResultsChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flip atomic.Bool
		b := newBench(t)
		for i := range 20 {
			b.add(Check{Name: fmt.Sprint("c", i), Tags: []string{fmt.Sprint("t", i%3)}, Readiness: i%2 == 0,
				Run: func(context.Context) (any, error) {
					if flip.Load() {
						return map[string]int{"n": i}, errors.New("down")
					}
					return nil, nil
				}})
		}
		b.start()
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for range 300 {
					for _, r := range []Report{b.Health(nil), b.Health([]string{"t1"}), b.Readiness(nil)} {
						if !json.Valid(r.AppendJSON(nil)) {
							t.Error("not JSON")
						}
					}
					<-time.After(time.Second)
				}
			})
		}
		for range 10 {
			pass(31 * time.Second)
			flip.Store(!flip.Load())
		}
		readers.Wait()
	})
}
