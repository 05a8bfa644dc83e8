package e2e

import (
	"context"
	"regexp"
	"testing"
	"time"
)

const (
	// outageBound is far above the latency window of 250 ms: only a server that
	// waits for the missing validator's timeout exceeds it.
	outageBound = 5 * time.Second
	// failureBound is what a request may take that cannot succeed.
	failureBound = 30 * time.Second
	// recoveryWait bounds the time until a server works again when its validators are back.
	recoveryWait  = 90 * time.Second
	recoveryEvery = 500 * time.Millisecond

	// victim is a node that tests take down, with secondVictim beside it.
	victim, secondVictim = 4, 3
)

// connectedShare finds how an error names the stake of three validators of five.
var connectedShare = regexp.MustCompile(`(?i)\bconnected 60(\.0+)?\s?%`)

// TestOneNodeStopped takes one validator of five away while quorum and buffer ask
// for all: the answer has the other four and does not wait for the fifth.
func TestOneNodeStopped(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		testOneNodeAway(t, func(w *world) error { w.Stop(victim); return nil })
	})
	t.Run("paused", func(t *testing.T) {
		testOneNodeAway(t, func(w *world) error { return w.Pause(victim) })
	})
}

func testOneNodeAway(t *testing.T, takeAway func(*world) error) {
	w := useNetwork(t)
	s := w.serve(t)
	messages := w.emit(t, 5)
	if err := takeAway(w); err != nil {
		t.Fatal(err)
	}
	for i, m := range messages {
		signed, took := s.aggregate(t, m.Unsigned, fullBuffer)
		wantSigners(t, w, mustVerify(t, w.oracle, signed, m.Unsigned), victim)
		t.Logf("message %d: four of five signers after %v", i, took.Round(10*time.Microsecond))
		if took > outageBound {
			t.Errorf("message %d took %v, more than %v", i, took, outageBound)
		}
	}
}

// TestTwoStopped takes two validators of five away: the server says in bounded
// time what stake it has, and works again by itself when they are back.
func TestTwoStopped(t *testing.T) {
	w := useNetwork(t)
	s := w.serve(t)
	m := w.emit(t, 1)[0]
	w.Stop(victim)
	w.Stop(secondVictim)
	answer := s.post(t, request(m.Unsigned, 0))
	failure, err := answer.Failure()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d after %v: %s", answer.Status, answer.Took.Round(time.Millisecond), failure.Message)
	if answer.Status < 500 {
		t.Errorf("status %d: asking again later helps, so it must be a server error", answer.Status)
	}
	if !connectedShare.MatchString(failure.Message) {
		t.Errorf("the message does not name the connected stake of 60%%: %s", failure.Message)
	}
	if answer.Took > failureBound {
		t.Errorf("took %v, more than %v", answer.Took, failureBound)
	}

	ctx, cancel := context.WithTimeout(t.Context(), healWait)
	defer cancel()
	if err := w.Heal(ctx); err != nil {
		t.Fatal(err)
	}
	signed := s.recover(t, m.Unsigned)
	mustVerify(t, w.oracle, signed, m.Unsigned)
}

// recover asks until the message is signed.
func (s *server) recover(t *testing.T, unsigned []byte) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), recoveryWait)
	defer cancel()
	begin := time.Now()
	tick := time.NewTicker(recoveryEvery)
	defer tick.Stop()
	for {
		signed, err := s.post(t, request(unsigned, 0)).Signed()
		if err == nil {
			t.Logf("signed %v after the nodes were healthy again", time.Since(begin).Round(time.Millisecond))
			return signed
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("still not signed %v after the nodes are back: %v\n%s", recoveryWait, err, s.LogTail())
		}
	}
}
