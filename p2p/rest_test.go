package p2p

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"quorate/p2p/wire"
)

// poll has a remote ask for our vote on all links.
func (r *remote) poll() {
	r.each(func(c *remoteConn) { c.send((&wire.PullQuery{ChainID: testChain, RequestID: 1}).Append(nil)) })
	synctest.Wait()
}

// open returns how many links a remote has at the moment.
func (r *remote) open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.conns)
}

// resting is a network whose only node has polled it.
func resting(t *testing.T, change func(*Config)) (*world, *Network, *remote) {
	t.Helper()
	w := newWorld(t)
	n := w.run(change)
	r := newRemote(t)
	w.connect(n, r)
	if s := n.Status(r.id); !s.Ready || s.OnRequest || r.open() != 1 {
		t.Fatalf("before the first poll: %+v, %d links", s, r.open())
	}
	r.poll()
	return w, n, r
}

// wantResting checks that a node is left alone, and counts as one that can be asked.
func wantResting(t *testing.T, n *Network, r *remote) {
	t.Helper()
	synctest.Wait()
	if s := n.Status(r.id); r.open() != 0 || !s.Connected || !s.Ready || !s.OnRequest || s.Down || s.AwayFor != 0 || s.LinksRefused || s.Waiting != 0 {
		t.Errorf("%d links, status %+v", r.open(), s)
	}
	if s := n.Stats(); s.Connected != 1 || s.Ready != 1 || s.OnRequest != 1 {
		t.Errorf("stats %+v", s)
	}
}

// TestRest: the link to a node that polls us is closed, and open only while somebody waits
// for an answer.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, n, r := resting(t, nil)
		wantResting(t, n, r)
		pass(time.Hour)
		if wantResting(t, n, r); r.accepted() != 1 {
			t.Errorf("%d links although nobody asks anything", r.accepted())
		}
		var got inbox
		for i := range 5 {
			var asked []*Request
			for range 3 {
				q := open(t, n, "x", got.deliver)
				if err := q.Ask(r.id); err != nil {
					t.Fatal(err)
				}
				asked = append(asked, q)
			}
			pass(minRedialLocal)
			answers := got.take()
			if len(answers) != 3 || answers[0].Err != nil || string(answers[0].Bytes) != string(r.id[:])+"x" || r.accepted() != 2+i {
				t.Errorf("%d answers over %d links: %v", len(answers), r.accepted(), answers)
			}
			wantResting(t, n, r)
			for _, q := range asked {
				q.Close()
			}
		}
	})
}

// TestRestWhileAsked: a poll does not end a link on which somebody waits.
func TestRestWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		held := make(chan *wire.AppRequest, 1)
		var to *remoteConn
		r.handle = func(c *remoteConn, m *wire.Message) bool {
			if m.Kind != wire.KindAppRequest {
				return false
			}
			req := m.AppRequest
			to = c
			held <- &req
			return true
		}
		w.connect(n, r)
		var got inbox
		q := open(t, n, "x", got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.poll()
		if r.open() != 1 {
			t.Error("the link ended before the answer")
		}
		to.answer(<-held)
		if wantResting(t, n, r); len(got.take()) != 1 {
			t.Error("no answer")
		}
		// One that nobody waits for any more keeps no link open either.
		silent := open(t, n, "x", got.deliver)
		if err := silent.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		pass(minRedialLocal)
		if <-held; r.open() != 1 {
			t.Error("no link for a question")
		}
		silent.Close()
		wantResting(t, n, r)
	})
}

// TestRestForgotten: a question that is given up before there is a link does not keep the
// next one from being asked.
func TestRestForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, n, r := resting(t, nil)
		var got inbox
		for range 3 {
			q := open(t, n, "x", got.deliver)
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
			q.Close()
			pass(time.Minute)
			wantResting(t, n, r)
		}
		q := open(t, n, "x", got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		pass(minRedialLocal)
		if a := got.take(); len(a) != 1 || a[0].Err != nil {
			t.Errorf("answers %v", a)
		}
		wantResting(t, n, r)
	})
}

// TestRestGone: who asks a node that has left meanwhile hears of it, and it is dialed until
// it is back.
func TestRestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, n, r := resting(t, nil)
		w.put("127.0.0.1:9000", nil)
		var got inbox
		q := open(t, n, "x", got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		pass(2 * minRedialLocal)
		if a := got.take(); len(a) != 1 || !errors.Is(a[0].Err, ErrDisconnected) {
			t.Errorf("answers %v", a)
		}
		if s := n.Status(r.id); s.Connected || s.Ready || !s.Down || s.AwayFor == 0 || s.Waiting != 0 {
			t.Errorf("status %+v", s)
		}
		if err := q.Ask(r.id); !errors.Is(err, ErrNotConnected) {
			t.Errorf("asked again: %v", err)
		}
		w.put("127.0.0.1:9000", r)
		pass(2 * maxRedial)
		wantResting(t, n, r)
	})
}

// TestRestStopped: what waits for a link is answered when the network stops.
func TestRestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, n, r := resting(t, nil)
		var got inbox
		q := open(t, n, "x", got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		n.SetWanted(nil)
		synctest.Wait()
		if a := got.take(); len(a) != 1 || !errors.Is(a[0].Err, ErrDisconnected) {
			t.Errorf("answers %v", a)
		}
	})
}

// TestRestElsewhere: a node that is not on this machine may have no pause between links, and
// is dialed for each question as soon as politeness allows.
func TestRestElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		n.AddAddresses([]Address{w.put("10.0.0.7:9651", r)})
		n.SetWanted(ids(r))
		synctest.Wait()
		r.poll()
		var got inbox
		for range 3 {
			q := open(t, n, "x", got.deliver)
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
			pass(minRedial)
			if a := got.take(); len(a) != 1 || a[0].Err != nil {
				t.Errorf("answers %v", a)
			}
			q.Close()
			wantResting(t, n, r)
		}
	})
}

// TestPollOnPublicNetwork: no node of mainnet or fuji runs without sybil protection, so that
// one that polls us changes nothing.
func TestPollOnPublicNetwork(t *testing.T) {
	for _, id := range []uint32{1, 5} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			n := w.run(func(c *Config) { c.NetworkID, c.AllowPrivate = id, true })
			r := newRemote(t)
			r.network = id
			w.connect(n, r)
			for range 3 {
				r.poll()
				pass(10 * time.Second)
			}
			if s := n.Status(r.id); !s.Ready || s.OnRequest || r.open() != 1 || r.accepted() != 1 {
				t.Errorf("network %d: status %+v, %d links", id, s, r.open())
			}
		})
	}
}
