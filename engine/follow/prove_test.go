package follow

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/metric"
	evmsource "quorate/engine/source/evm"
)

// A lie is told by health, counted, and held against the node; what nobody proves is
// counted, and costs nothing but a pause.
func TestProofLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := metric.NewSet()
		l := newProofLane(slog.New(slog.DiscardHandler), set, new(evmsource.Client))
		var blamed []uint64
		l.found = func(height uint64) { blamed = append(blamed, height) }
		asked := 0
		l.prove = func(_ context.Context, some []evmsource.Doubt, judge func(*evmsource.Doubt, error)) error {
			asked++
			for i := range some {
				switch d := &some[i]; {
				case d.Height == 1:
					judge(d, nil)
				case d.Height == 2:
					judge(d, evmsource.ErrFalse)
				case d.Height == 3:
					judge(d, evmsource.ErrUnproven)
				default:
					return errors.New("no node")
				}
			}
			return nil
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = l.run(ctx) // it has no errors
		}()
		send := func(heights ...uint64) {
			for _, h := range heights {
				if err := l.doubts.TrySend(evmsource.Doubt{Height: h}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		if send(1, 1); l.err() != nil || set.Value("quorate_balances_proven_total") != 2 {
			t.Error(l.err())
		}
		if send(2, 1, 2); !errors.Is(l.err(), evmsource.ErrFalse) || len(blamed) != 2 || set.Value("quorate_balances_refuted_total") != 2 {
			t.Error(l.err(), blamed)
		}
		before := asked
		send(3)
		send(1) // waits
		if asked != before+1 || set.Value("quorate_balances_unproven_total") != 1 {
			t.Errorf("asked %d times", asked-before)
		}
		<-time.After(proofPauseMost)
		synctest.Wait()
		if send(4); set.Value("quorate_balances_proven_total") != 4 || set.Value("quorate_balances_unproven_total") != 2 {
			t.Errorf("%v proven", set.Value("quorate_balances_proven_total"))
		}
		for range 2 * maxDoubts { // it drops what is too much
			_ = l.doubts.TrySend(evmsource.Doubt{Height: 1})
		}
		if l.doubts.Shed() == 0 || l.doubts.Len() > maxDoubts {
			t.Errorf("%d wait", l.doubts.Len())
		}
		stop()
		<-done
	})
	if (*proofLane)(nil).err() != nil {
		t.Error("no lane has found a lie")
	}
}
