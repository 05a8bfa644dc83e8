package p2p

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/p2p/wire"
)

func ids(remotes ...*remote) []chain.NodeID {
	var list []chain.NodeID
	for _, r := range remotes {
		list = append(list, r.id)
	}
	return list
}

// A remote that pings as a real one keeps the link for ever, with one pong for
// each ping, and our own pings are rare.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		w.connect(n, r)
		const rounds = 40
		for range rounds {
			pass(22500 * time.Millisecond)
			r.each(func(c *remoteConn) { c.send(wire.Ping{}.Append(nil)) })
			synctest.Wait()
		}
		if got := r.count(wire.KindPong); got != rounds {
			t.Errorf("%d pongs for %d pings", got, rounds)
		}
		if got := r.count(wire.KindPing); got < rounds/2 || got > rounds+1 {
			t.Errorf("%d pings of ours in %d rounds", got, rounds)
		}
		if s := n.Status(r.id); !s.Ready || r.accepted() != 1 {
			t.Errorf("status %+v, %d links", s, r.accepted())
		}
	})
}

// Our ping alone keeps a link to a remote that never speaks first.
func TestPingKeepsQuietLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		w.connect(n, r)
		pass(10 * time.Minute)
		if got := r.count(wire.KindPing); got < 25 || got > 41 || r.accepted() != 1 {
			t.Errorf("%d pings in ten minutes, %d links", got, r.accepted())
		}
	})
}

// silent checks that a link ends after 30 s without a whole message.
func silent(t *testing.T, last func(c *remoteConn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		r.handle = func(_ *remoteConn, m *wire.Message) bool {
			return m.Kind == wire.KindPing || m.Kind == wire.KindAppRequest || m.Kind == wire.KindGetPeerList
		}
		w.connect(n, r)
		var got inbox
		start := time.Now()
		r.each(last)
		pass(deadAfter - 2*keepEvery)
		q := open(t, n, "x", func(a Answer) {
			got.deliver(a)
			if d := time.Since(start); a.Err != ErrDisconnected || d < deadAfter || d > deadAfter+2*keepEvery {
				t.Errorf("answer after %v: %v", d, a.Err)
			}
		})
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		pass(5 * keepEvery)
		if len(got.take()) != 1 {
			t.Error("the link was kept")
		}
		if got := r.count(wire.KindPing); got != 1 {
			t.Errorf("%d pings", got)
		}
	})
}

func TestNoPong(t *testing.T) { silent(t, func(*remoteConn) {}) }

func TestStallInMidFrame(t *testing.T) {
	silent(t, func(c *remoteConn) { c.raws([]byte{0, 0, 1, 0, 'x', 'y'}) })
}

// A Pong of the remote that we did not ask for is no harm.
func TestUnaskedPong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		w.connect(n, r)
		r.each(func(c *remoteConn) { c.send(wire.Pong{}.Append(nil)) })
		synctest.Wait()
		if !n.Status(r.id).Ready {
			t.Error("link ended")
		}
	})
}

func TestReconnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		r.handle = func(_ *remoteConn, m *wire.Message) bool { return m.Kind == wire.KindAppRequest }
		w.connect(n, r)
		var got inbox
		const questions = 50
		for range questions {
			q := open(t, n, "x", got.deliver)
			defer q.Close()
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		r.cut()
		synctest.Wait()
		if a := got.take(); len(a) != questions || a[0].Err != ErrDisconnected {
			t.Errorf("%d answers", len(a))
		}
		if s := n.Status(r.id); s.Connected || !s.Down || s.Waiting != 0 {
			t.Errorf("status %+v", s)
		}
		pass(2 * minRedialLocal)
		if s := n.Status(r.id); !s.Ready || s.Down {
			t.Errorf("status %+v", s)
		}
	})
}

// TestRefusedDials checks the times of dials: doubling from the least wait to
// the longest, and no faster when somebody asks all the time.
func TestRefusedDials(t *testing.T) {
	f := func(addr string, least time.Duration) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			n := w.run(nil)
			r := newRemote(t)
			n.AddAddresses([]Address{w.put(addr, r)})
			w.put(addr, nil)
			n.SetWanted(ids(r))
			pass(10 * time.Minute)
			times := w.dialed(addr)
			for i := 1; i < len(times); i++ {
				if gap := times[i] - times[i-1]; gap < least || gap > maxRedial {
					t.Errorf("dial %d after %v", i, gap)
				}
			}
			if len(times) < 20 || len(times) > 60 {
				t.Errorf("%d dials in ten minutes", len(times))
			}
			if s := n.Status(r.id); !s.Down || s.Connected {
				t.Errorf("status %+v", s)
			}
			// Asked all the time, it is dialed more often, but not all the time.
			q := open(t, n, "x", func(Answer) {})
			defer q.Close()
			before := len(times)
			for range 600 {
				if err := q.Ask(r.id); err != ErrNotConnected {
					t.Fatal(err)
				}
				pass(100 * time.Millisecond)
			}
			if more := len(w.dialed(addr)) - before; more < 10 || more > 40 {
				t.Errorf("%d dials in a minute of asking", more)
			}
			// That is over when nobody asks any more.
			before = len(w.dialed(addr))
			pass(10 * time.Minute)
			if more := len(w.dialed(addr)) - before; more < 15 || more > 45 {
				t.Errorf("%d dials in ten quiet minutes", more)
			}
		})
	}
	f("127.0.0.1:9000", minRedialLocal)
	f("192.0.2.1:9000", minRedial)
}

// A remote that closes before TLS limits new links by address: it must be left
// alone for 10 s, whoever asks.
func TestBareClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		r.bare = true
		const addr = "192.0.2.1:9000"
		n.AddAddresses([]Address{w.put(addr, r)})
		n.SetWanted(ids(r))
		q := open(t, n, "x", func(Answer) {})
		defer q.Close()
		for range 1000 {
			_ = q.Ask(r.id)
			pass(100 * time.Millisecond)
		}
		times := w.dialed(addr)
		for i := 1; i < len(times); i++ {
			if gap := times[i] - times[i-1]; gap < upgradePause {
				t.Errorf("dial %d after %v", i, gap)
			}
		}
		if len(times) < 7 || int(metric.Value(n.ins.dialFailures[failBare])) != len(times) {
			t.Errorf("%v dials, %v counted", len(times), metric.Value(n.ins.dialFailures[failBare]))
		}
	})
}

func TestManyDialsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(func(c *Config) { c.MaxDials = 2 })
		var remotes []*remote
		for range 20 {
			remotes = append(remotes, newRemote(t))
		}
		w.connect(n, remotes...)
		if s := n.Stats(); s.Ready != 20 {
			t.Errorf("stats %+v", s)
		}
	})
}

func TestClockSkewIsNoError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		r.hello = func(c *remoteConn) {
			late := uint64(time.Now().Add(time.Hour).Unix())
			c.send((&wire.Handshake{NetworkID: testNetwork, MyTime: late, Addr: claimedAddr}).Append(nil))
		}
		w.connect(n, r)
		if !n.Status(r.id).Ready {
			t.Error("not ready")
		}
	})
}

func TestSetClientVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		var seen []wire.Version
		r.handle = func(_ *remoteConn, m *wire.Message) bool {
			if m.Kind == wire.KindHandshake {
				seen = append(seen, m.Handshake.Client)
			}
			return false
		}
		w.connect(n, r)
		newer := testVersion()
		newer.Minor++
		n.SetClientVersion(newer)
		r.cut()
		pass(time.Second)
		if want := []wire.Version{testVersion(), newer}; !slices.Equal(seen, want) {
			t.Errorf("versions %v, want %v", seen, want)
		}
	})
}

// TestOldVersion: nodes that do not let in the version that we show close the link when
// they have read it, before they have said a word or after. It is known of them, and they
// let us in when we show a newer one.
func TestOldVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		newer := testVersion()
		newer.Minor++
		silent, polite, lenient := newRemote(t), newRemote(t), newRemote(t)
		for _, r := range []*remote{silent, polite} {
			read := make(chan bool, 8) // whether the version will do
			r.handle = func(c *remoteConn, m *wire.Message) bool {
				if m.Kind != wire.KindHandshake {
					return false
				}
				does := m.Handshake.Client == newer
				if r == silent {
					read <- does
				} else if <-c.said; !does {
					c.raw.Close()
				}
				return !does
			}
			if r == silent {
				r.hello = func(c *remoteConn) {
					if <-read {
						c.sayHello(testNetwork)
						return
					}
					c.raw.Close()
				}
			}
		}
		w.connect(n, silent, polite, lenient)
		pass(time.Minute)
		for r, want := range map[*remote]bool{silent: true, polite: true, lenient: false} {
			if st := n.Status(r.id); st.LinksRefused != want || st.Ready == want || st.TurnedAway != (r == silent) {
				t.Errorf("%+v, refused %v", st, want)
			}
		}
		n.SetClientVersion(newer)
		pass(time.Minute)
		for _, r := range []*remote{silent, polite, lenient} {
			if st := n.Status(r.id); st.LinksRefused || !st.Ready || st.TurnedAway {
				t.Errorf("with a newer version: %+v", st)
			}
		}
	})
}
