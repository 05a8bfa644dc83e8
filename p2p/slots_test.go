package p2p

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/metric"
	"quorate/p2p/wire"
)

// held is a remote that keeps all questions to itself.
func held(t *testing.T) (*remote, *[]wire.AppRequest) {
	r := newRemote(t)
	list := new([]wire.AppRequest)
	r.handle = func(_ *remoteConn, m *wire.Message) bool {
		if m.Kind != wire.KindAppRequest {
			return false
		}
		*list = append(*list, wire.AppRequest{ChainID: m.AppRequest.ChainID, RequestID: m.AppRequest.RequestID})
		return true
	}
	return r, list
}

// Close frees the places that a request had in the windows of peers: a flood
// of questions that nobody answers and nobody waits for keeps nobody out.
func TestCloseFreesPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(func(c *Config) { c.Window = 3 })
		r, questions := held(t)
		w.connect(n, r)
		var got inbox
		for i := range 500 {
			q := open(t, n, fmt.Sprint(i), got.deliver)
			if err := q.Ask(r.id); err != nil {
				t.Fatalf("question %d: %v", i, err)
			}
			q.Close()
			synctest.Wait()
		}
		if s := n.Status(r.id); s.Waiting != 0 {
			t.Errorf("status %+v", s)
		}
		if a := n.Activity(); a.Outstanding != 0 || a.Longest != 0 || a.OpenRequests != 0 {
			t.Errorf("activity %+v", a)
		}
		// Answers that come late are no violation, and nobody gets them.
		r.each(func(c *remoteConn) {
			for i := range *questions {
				c.answer(&(*questions)[i])
			}
		})
		synctest.Wait()
		if s := n.Status(r.id); !s.Ready || s.Missed != 0 || s.Latency != 0 && len(got.take()) != 0 {
			t.Errorf("status %+v", s)
		}
		if got := metric.Value(n.ins.violations[unknownID]); got != 0 {
			t.Errorf("%v violations", got)
		}
		var b Behaviour
		for p := range n.Peers() {
			b = p.Behaviour
		}
		if b.Asked != 500 || b.Answered != maxAbandoned || b.Violations != 0 {
			t.Errorf("behaviour %+v", b)
		}
	})
}

// A node that answers nothing is known to be silent, also when nobody waits
// long enough to see its questions expire.
func TestSilenceOfClosedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r, _ := held(t)
		w.connect(n, r)
		for range 3 {
			q := open(t, n, "x", func(Answer) {})
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
			q.Close()
		}
		pass(5*time.Second + answerGrace + 2*keepEvery)
		if s := n.Status(r.id); s.Missed != 3 || s.Waiting != 0 {
			t.Errorf("status %+v", s)
		}
		// A new link is a new chance; the totals stay.
		r.cut()
		pass(time.Second)
		if s := n.Status(r.id); !s.Ready || s.Missed != 0 {
			t.Errorf("status %+v after a reconnection", s)
		}
		for p := range n.Peers() {
			if p.Expired != 3 || p.Asked != 3 || p.Answered != 0 || p.NodeID != r.id {
				t.Errorf("%+v", p)
			}
		}
	})
}

// What a validator has not read is bounded even if nobody waits for it: it
// stops reading at 1024 messages. Its Pong shows what it has read.
func TestUnreadQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		var reads atomic.Bool
		reads.Store(true)
		r.handle = func(_ *remoteConn, m *wire.Message) bool {
			return m.Kind == wire.KindAppRequest || m.Kind == wire.KindPing && !reads.Load()
		}
		w.connect(n, r)
		ask := func() error {
			q := open(t, n, "x", func(Answer) {})
			defer q.Close()
			return q.Ask(r.id)
		}
		for i := range 3 * maxUnread {
			if err := ask(); err != nil {
				t.Fatalf("question %d to a node that reads: %v", i, err)
			}
			synctest.Wait()
		}
		if got := r.count(wire.KindPing); got > 3*maxUnread/probeEvery {
			t.Errorf("%d pings", got)
		}
		reads.Store(false)
		asked := 0
		for ; ask() == nil; asked++ {
			synctest.Wait()
		}
		if asked < maxUnread-probeEvery || asked > maxUnread {
			t.Errorf("%d questions to a node that answers no ping", asked)
		}
		// It is given up then, and a new link begins from nothing.
		reads.Store(true)
		pass(deadAfter + 5*keepEvery)
		if err := ask(); err != nil || r.accepted() != 2 {
			t.Errorf("after %d links: %v", r.accepted(), err)
		}
	})
}

// IDs go round: a question that still waits for an answer of the last round is
// not the new one's, and its answer does not free the new one's place twice.
func TestRequestIDComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r, _ := held(t)
		w.connect(n, r)
		old := open(t, n, "old", func(Answer) {})
		if err := old.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		old.Close()
		n.requests.next = old.id
		again := open(t, n, "new", func(Answer) {})
		if again.id != old.id {
			t.Fatalf("ID %d after %d", again.id, old.id)
		}
		if err := again.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		n.peer(r.id).abandon(old)
		if s := n.Status(r.id); s.Waiting != 1 {
			t.Errorf("status %+v", s)
		}
		again.Close()
		if s := n.Status(r.id); s.Waiting != 0 {
			t.Errorf("status %+v", s)
		}
		synctest.Wait()
	})
}

func TestLatencies(t *testing.T) {
	t.Parallel()
	var h latencies
	if got := h.quantile(0.5); got != 0 {
		t.Errorf("of nothing: %v", got)
	}
	f := func(q float64, want time.Duration) {
		t.Helper()
		if got := h.quantile(q); got < want || got > want*3/2 {
			t.Errorf("quantile %v: %v, want %v or a little more", q, got, want)
		}
	}
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Millisecond)
	}
	f(0.5, 500*time.Millisecond)
	f(0.99, 990*time.Millisecond)
	for range 20 * latencyMemory { // the past fades
		h.add(2 * time.Millisecond)
	}
	f(0.99, 2*time.Millisecond)
	h.add(time.Hour)
	h.add(0)
	f(0.001, latencyFrom)
}

// TestPeerMetrics: what a validator answers is told of it, and of no other.
func TestPeerMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		set := metric.NewSet()
		n := w.run(func(c *Config) { c.Metrics = set })
		good, refusing, idle := newRemote(t), newRemote(t), newRemote(t)
		silent, _ := held(t)
		refusing.handle = func(c *remoteConn, m *wire.Message) bool {
			if m.Kind != wire.KindAppRequest {
				return false
			}
			c.send((&wire.AppError{ChainID: m.AppRequest.ChainID, RequestID: m.AppRequest.RequestID, Code: 1}).Append(nil))
			return true
		}
		w.connect(n, good, refusing, idle, silent)
		q := open(t, n, "x", func(Answer) {})
		defer q.Close()
		for _, r := range []*remote{good, refusing, silent} {
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
		}
		good.each(func(c *remoteConn) { c.send(nil) })
		pass(5*time.Second + answerGrace + 2*keepEvery)
		for of, want := range map[*remote]string{good: "answered", refusing: "refused", silent: "silent"} {
			for _, outcome := range []string{"answered", "refused", "silent"} {
				got := set.Value("quorate_p2p_peer_questions_total", "node_id", of.id.String(), "outcome", outcome)
				if is := map[bool]float64{true: 1}[outcome == want]; got != is {
					t.Errorf("the %s one has %v times %s", want, got, outcome)
				}
			}
		}
		if got := set.Value("quorate_p2p_peer_latency_seconds", "node_id", good.id.String(), "percentile", "99"); got <= 0 || got > 1 {
			t.Errorf("latency %v", got)
		}
		if got := set.Value("quorate_p2p_peer_violations_total", "node_id", good.id.String()); got != 1 {
			t.Errorf("%v violations", got)
		}
		if text := set.String(); strings.Contains(text, idle.id.String()) {
			t.Errorf("a validator that was never asked is in\n%s", text)
		}
	})
}
