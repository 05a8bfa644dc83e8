package p2p

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"quorate/p2p/wire"
)

func TestActivity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		if a := n.Activity(); a != (Activity{}) {
			t.Errorf("before anything happened: %+v", a)
		}
		quiet, other := newRemote(t), newRemote(t)
		quiet.handle = func(_ *remoteConn, m *wire.Message) bool { return m.Kind == wire.KindAppRequest }
		other.handle = quiet.handle
		w.connect(n, quiet, other)
		a := n.Activity()
		if a.Ready != 2 || a.Outstanding != 0 || a.Longest != 0 || a.LastReceived.IsZero() || a.LastSent.IsZero() {
			t.Errorf("connected: %+v", a)
		}

		var got inbox
		begin := time.Now()
		first := open(t, n, "first", got.deliver)
		defer first.Close()
		if err := first.Ask(quiet.id); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		second := open(t, n, "second", got.deliver)
		defer second.Close()
		for _, r := range []*remote{quiet, other} {
			if err := second.Ask(r.id); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		a = n.Activity()
		if a.Outstanding != 3 || a.Longest != time.Since(begin) || a.Longest < time.Second || a.SendFailRate != 0 {
			t.Errorf("asked: %+v", a)
		}
		if a.LastSent.Before(begin.Add(time.Second)) || a.LastSent.After(time.Now()) {
			t.Errorf("last sent at %v, now %v", a.LastSent, time.Now())
		}
		pass(5*time.Second + answerGrace + 2*keepEvery) // what expired is not outstanding
		if a := n.Activity(); a.Outstanding != 0 || a.Longest != 0 {
			t.Errorf("expired: %+v", a)
		}
	})
}

// The rate is that of the last minute, and counts what a broken link lost.
func TestSendFailRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		stuck := make(chan struct{})
		r.handle = func(_ *remoteConn, m *wire.Message) bool {
			if m.Kind == wire.KindAppRequest {
				<-stuck
			}
			return false
		}
		w.connect(n, r)
		var got inbox
		for i := range 100 { // the remote does not read: its link is given up
			q := open(t, n, fmt.Sprint(i), got.deliver)
			defer q.Close()
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		pass(writeTimeout + 2*time.Second)
		a := n.Activity()
		if want := float64(a.SendFailures) / float64(a.Sent+a.SendFailures); a.SendFailures == 0 || a.SendFailRate != want {
			t.Errorf("%+v, want a rate of %v", a, want)
		}
		close(stuck)
		pass(failWindow + 2*keepEvery)
		if b := n.Activity(); b.SendFailRate != 0 || b.SendFailures != a.SendFailures {
			t.Errorf("a minute later: %+v", b)
		}
	})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	var w window
	if got := w.rate(3, 1); got != 0.25 {
		t.Errorf("first second: %v", got)
	}
	for i := range uint64(150) {
		w.note(i, 3*i)
	}
	// The oldest of the 60 rounds kept is that of 90 and 270.
	if got := w.rate(190, 270); got != 0 {
		t.Errorf("no failures: %v", got)
	}
	if got := w.rate(91, 273); got != 0.75 {
		t.Errorf("got %v", got)
	}
	if got := w.rate(90, 275); got != 1 {
		t.Errorf("all failed: %v", got)
	}
}
