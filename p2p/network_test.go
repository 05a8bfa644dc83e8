package p2p

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/p2p/wire"
)

// Every test in a synctest bubble is a leak check too: the bubble fails when a
// goroutine is left after Run has returned.

func TestAskAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		remotes := []*remote{newRemote(t), newRemote(t), newRemote(t)}
		w.connect(n, remotes...)
		s := n.Stats()
		if s.Wanted != 3 || s.Connected != 3 || s.Ready != 3 {
			t.Fatalf("stats %+v", s)
		}
		var got inbox
		r := open(t, n, "sign this", got.deliver)
		for _, rem := range remotes {
			if err := r.Ask(rem.id); err != nil {
				t.Fatal(err)
			}
			if err := r.Ask(rem.id); err != ErrAsked {
				t.Errorf("asked again before the answer: %v", err)
			}
		}
		synctest.Wait()
		from := map[chain.NodeID]bool{}
		for _, a := range got.take() {
			if want := string(a.From[:]) + "sign this"; a.Err != nil || string(a.Bytes) != want {
				t.Errorf("answer %+v", a)
			}
			from[a.From] = true
		}
		if len(from) != 3 {
			t.Errorf("answers of %d nodes", len(from))
		}
		// After its answer a node may be asked again.
		if err := r.Ask(remotes[0].id); err != nil {
			t.Errorf("asked again after the answer: %v", err)
		}
		synctest.Wait()
		if len(got.take()) != 1 {
			t.Error("no second answer")
		}
		st := n.Status(remotes[0].id)
		if !st.Connected || !st.Ready || st.Down || !st.HasAddress || st.Latency <= 0 || st.Waiting != 0 {
			t.Errorf("status %+v", st)
		}
		if s = n.Stats(); s.OpenRequests != 1 || s.LastReceived.IsZero() || s.LastSent.IsZero() || s.Sent != 4 || s.SendFailures != 0 {
			t.Errorf("stats %+v", s)
		}
		r.Close()
		r.Close()
		if err := r.Ask(remotes[0].id); err != ErrClosed {
			t.Errorf("asked after Close: %v", err)
		}
		if s = n.Stats(); s.OpenRequests != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// Requests may be pipelined behind our handshake: a remote that says nothing
// before it has answered is served all the same.
func TestAskBeforeRemoteHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		r.hello = func(*remoteConn) {}
		w.connect(n, r)
		if s := n.Status(r.id); !s.Connected || s.Ready {
			t.Fatalf("status %+v", s)
		}
		var got inbox
		q := open(t, n, "x", got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if a := got.take(); len(a) != 1 || a[0].Err != nil {
			t.Fatalf("answers %+v", a)
		}
		// But such a link is given up in time.
		pass(handshakeTimeout + 2*keepEvery)
		if metric.Value(n.ins.dialFailures[failHandshake]) == 0 {
			t.Error("a link without a handshake was kept")
		}
	})
}

func TestRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		r.handle = func(c *remoteConn, m *wire.Message) bool {
			if m.Kind != wire.KindAppRequest {
				return false
			}
			c.send((&wire.AppError{ChainID: m.AppRequest.ChainID, RequestID: m.AppRequest.RequestID, Code: -2, Message: "no"}).Append(nil))
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
		if a := got.take(); len(a) != 1 || a[0].Err != ErrRefused || a[0].Code != -2 || a[0].From != r.id {
			t.Errorf("answers %+v", a)
		}
	})
}

func TestWindowAndExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(func(c *Config) { c.Window = 3 })
		r := newRemote(t)
		var held []wire.AppRequest
		r.handle = func(c *remoteConn, m *wire.Message) bool {
			if m.Kind != wire.KindAppRequest {
				return false
			}
			held = append(held, wire.AppRequest{ChainID: m.AppRequest.ChainID, RequestID: m.AppRequest.RequestID})
			return true
		}
		w.connect(n, r)
		var got inbox
		for i := range 4 {
			q := open(t, n, fmt.Sprint(i), got.deliver)
			defer q.Close()
			want := error(nil)
			if i == 3 {
				want = ErrBusy
			}
			if err := q.Ask(r.id); err != want {
				t.Fatalf("question %d: %v, want %v", i, err, want)
			}
		}
		if s := n.Status(r.id); s.Waiting != 3 {
			t.Fatalf("status %+v", s)
		}
		// Without an answer they make room in time, and the answer is too late then.
		pass(5*time.Second + answerGrace + 2*keepEvery)
		if s := n.Status(r.id); s.Waiting != 0 || s.Missed != 3 || metric.Value(n.ins.expired) != 3 {
			t.Fatalf("status %+v, expired %v", s, metric.Value(n.ins.expired))
		}
		r.each(func(c *remoteConn) { c.answer(&held[0]) })
		synctest.Wait()
		if a := got.take(); len(a) != 0 || metric.Value(n.ins.unexpected) != 1 {
			t.Errorf("late answers %+v, unexpected %v", a, metric.Value(n.ins.unexpected))
		}
		q := open(t, n, "again", got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Errorf("after expiry: %v", err)
		}
		synctest.Wait()
		r.each(func(c *remoteConn) { c.answer(&held[3]) })
		synctest.Wait()
		if s := n.Status(r.id); len(got.take()) != 1 || s.Missed != 0 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestByteBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(func(c *Config) { c.BytesPerSecond, c.Burst = 1000, 4000 })
		r := newRemote(t)
		w.connect(n, r)
		var got inbox
		noise := string(randomBytes(300))
		asked := 0
		for {
			q := open(t, n, noise, got.deliver)
			defer q.Close()
			if err := q.Ask(r.id); err != nil {
				if err != ErrBusy {
					t.Fatal(err)
				}
				break
			}
			asked++
		}
		probe := open(t, n, noise, got.deliver)
		defer probe.Close()
		if asked != 4000/len(probe.frame) {
			t.Errorf("%d questions within the burst", asked)
		}
		pass(time.Second)
		q := open(t, n, noise, got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Errorf("a second later: %v", err)
		}
		if _, err := n.Open(testChain, randomBytes(5000), time.Second, got.deliver); !errors.Is(err, wire.ErrTooLarge) {
			t.Errorf("a request above the burst: %v", err)
		}
		synctest.Wait()
	})
}

// randomBytes returns bytes that do not compress.
func randomBytes(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func TestOpenErrors(t *testing.T) {
	n, err := New(func() Config { c := testConfig(t, nil); c.MaxRequests = 1; return c }())
	if err != nil {
		t.Fatal(err)
	}
	ignore := func(Answer) {}
	if _, err := n.Open(testChain, nil, 0, ignore); err == nil {
		t.Error("a request of no time was opened")
	}
	if _, err := n.Open(testChain, make([]byte, maxPayload+1), time.Second, ignore); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	r, err := n.Open(testChain, nil, time.Second, ignore)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Open(testChain, nil, time.Second, ignore); !errors.Is(err, ErrBusy) {
		t.Errorf("above the bound: %v", err)
	}
	if err := r.Ask(chain.NodeID{1}); err != ErrNotConnected {
		t.Errorf("asking an unknown node: %v", err)
	}
	r.Close()
	if r, err = n.Open(testChain, nil, time.Second, ignore); err != nil {
		t.Errorf("after Close: %v", err)
	}
	r.Close()
}

func TestRequestIDs(t *testing.T) {
	var table requestTable
	table.init(3)
	table.next = 1<<32 - 1
	var ids []uint32
	for range 3 {
		id, err := table.take()
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if want := []uint32{1<<32 - 1, 1, 3}; !slices.Equal(ids, want) {
		t.Errorf("IDs %v, want %v", ids, want)
	}
	table.release(1)
	table.next = 1<<32 - 1 // around the world: the first is still open
	if id, err := table.take(); err != nil || id != 1 {
		t.Errorf("got %d, %v", id, err)
	}
}

func TestCloseWaitsForDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		a, b := newRemote(t), newRemote(t)
		w.connect(n, a, b)
		release := make(chan struct{})
		var mu sync.Mutex
		calls, running := 0, 0
		q := open(t, n, "x", func(Answer) {
			mu.Lock()
			calls++
			running++
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
		})
		if err := q.Ask(a.id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		closed := make(chan struct{})
		go func() { q.Close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("Close returned while deliver was running")
		default:
		}
		if err := q.Ask(b.id); err != ErrClosed {
			t.Errorf("asked while closing: %v", err)
		}
		close(release)
		<-closed
		mu.Lock()
		defer mu.Unlock()
		if calls != 1 || running != 0 {
			t.Errorf("%d calls, %d running", calls, running)
		}
	})
}

// deliver may ask again from within, also while another goroutine closes.
func TestAskFromDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		w.connect(n, r)
		var q *Request
		ready := make(chan struct{})
		count := 0
		q = open(t, n, "x", func(a Answer) {
			<-ready
			if count++; count < 5 {
				if err := q.Ask(a.From); err != nil {
					t.Errorf("ask %d: %v", count, err)
				}
			}
		})
		close(ready)
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		q.Close()
		if count != 5 {
			t.Errorf("%d answers", count)
		}
	})
}

func TestSetWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		a, b := newRemote(t), newRemote(t)
		a.handle = func(_ *remoteConn, m *wire.Message) bool { return m.Kind == wire.KindAppRequest }
		w.connect(n, a, b)
		var got inbox
		q := open(t, n, "x", got.deliver)
		defer q.Close()
		if err := q.Ask(a.id); err != nil {
			t.Fatal(err)
		}
		n.SetWanted([]chain.NodeID{b.id, n.NodeID(), b.id}) // ourselves and doubles are left out
		synctest.Wait()
		if s := n.Stats(); s.Wanted != 1 || s.Ready != 1 {
			t.Errorf("stats %+v", s)
		}
		if got := got.take(); len(got) != 1 || got[0].Err != ErrDisconnected || got[0].From != a.id {
			t.Errorf("answers %+v", got)
		}
		if err := q.Ask(a.id); err != ErrNotConnected {
			t.Errorf("asked a node that is not wanted: %v", err)
		}
		if s := n.Status(a.id); s != (Status{}) {
			t.Errorf("status %+v", s)
		}
		// Wanted again, twice in between: one link at a time.
		n.SetWanted([]chain.NodeID{a.id, b.id})
		n.SetWanted([]chain.NodeID{b.id})
		n.SetWanted([]chain.NodeID{a.id, b.id})
		pass(5 * time.Second)
		if s := n.Stats(); s.Ready != 2 || len(a.conns) != 1 || b.accepted() != 1 {
			t.Errorf("stats %+v, %d links", s, len(a.conns))
		}
	})
}

func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n, err := New(testConfig(t, w.dial))
		if err != nil {
			t.Fatal(err)
		}
		r, slow := newRemote(t), newRemote(t)
		r.handle = func(_ *remoteConn, m *wire.Message) bool { return m.Kind == wire.KindAppRequest }
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- n.Run(ctx) }()
		w.connect(n, r)
		n.SetWanted([]chain.NodeID{r.id, slow.id}) // nobody knows where slow is
		var got inbox
		q := open(t, n, "x", got.deliver)
		defer q.Close()
		if err := q.Ask(r.id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := n.Run(ctx); err != ErrStopped {
			t.Errorf("a second Run: %v", err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := got.take(); len(got) != 1 || got[0].Err != ErrDisconnected {
			t.Errorf("answers %+v", got)
		}
		if err := q.Ask(r.id); err != ErrNotConnected {
			t.Errorf("asked after the end: %v", err)
		}
		n.SetWanted([]chain.NodeID{slow.id})
		n.AddAddresses([]Address{w.put("127.0.0.1:9100", slow)})
		synctest.Wait()
		if s := n.Stats(); s.Connected != 0 || len(w.dialed("127.0.0.1:9100")) != 0 {
			t.Errorf("after the end: %+v", s)
		}
		w.wg.Wait()
	})
}

// A node that is wanted again waits for its last actor's end, however long
// that takes: the node would refuse a second link.
func TestOneActorAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := newRemote(t)
		slow := make(chan struct{})
		var mu sync.Mutex
		dials := 0
		n := w.run(func(c *Config) {
			c.Dial = func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
				mu.Lock()
				dials++
				first := dials == 1
				mu.Unlock()
				if first {
					<-slow // whatever its context says
				}
				return w.dial(ctx, addr)
			}
		})
		w.connect(n, r)
		n.SetWanted(nil)
		n.SetWanted(ids(r))
		pass(time.Minute)
		mu.Lock()
		if dials != 1 {
			t.Errorf("%d dials at a time", dials)
		}
		mu.Unlock()
		close(slow)
		pass(time.Second)
		if !n.Status(r.id).Ready {
			t.Errorf("status %+v", n.Status(r.id))
		}
	})
}
