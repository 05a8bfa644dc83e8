package verdict

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/metric"
	evmsource "quorate/engine/source/evm"
)

// A lie is counted and passed on; what nobody proves is
// counted, and costs nothing but a pause.
func TestProofLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := metric.NewSet()
		var blamed []uint64
		l := NewProofs(slog.New(slog.DiscardHandler), set, new(evmsource.Client), func(_, height uint64, err error) {
			if blamed = append(blamed, height); !errors.Is(err, evmsource.ErrFalse) {
				t.Error(err)
			}
		})
		var asked atomic.Int64 // that a clock moves on orders nothing
		l.prove = func(_ context.Context, some []evmsource.Doubt, judge func(*evmsource.Doubt, error)) error {
			asked.Add(1)
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
			_ = l.Run(ctx) // it has no errors
		}()
		send := func(heights ...uint64) {
			for _, h := range heights {
				if err := l.doubts.TrySend(evmsource.Doubt{Height: h}); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		if send(1, 1); len(blamed) > 0 || set.Value("quorate_balances_proven_total") != 2 {
			t.Error(blamed)
		}
		if send(2, 1, 2); len(blamed) != 2 || set.Value("quorate_balances_refuted_total") != 2 {
			t.Error(blamed)
		}
		before := asked.Load()
		send(3)
		send(1) // waits
		if asked.Load() != before+1 || set.Value("quorate_balances_unproven_total") != 1 {
			t.Errorf("asked %d times", asked.Load()-before)
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
}
