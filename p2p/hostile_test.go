package p2p

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/metric"
	"quorate/p2p/wire"
)

// hostile connects to a remote that does attack when it gets a question, and to
// an honest one, asks both, and passes on the answers after a minute.
func hostile(t *testing.T, attack func(c *remoteConn, q *wire.AppRequest), check func(n *Network, bad *remote, answers []Answer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		bad, good := newRemote(t), newRemote(t)
		bad.handle = func(c *remoteConn, m *wire.Message) bool {
			if m.Kind == wire.KindAppRequest {
				attack(c, &m.AppRequest)
				return true
			}
			return false
		}
		w.connect(n, bad, good)
		var got, honest inbox
		ask := func(r *remote, box *inbox) *Request {
			q := open(t, n, "question", box.deliver)
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
			return q
		}
		defer ask(bad, &got).Close()
		synctest.Wait()
		defer ask(good, &honest).Close()
		synctest.Wait()
		if a := honest.take(); len(a) != 1 || a[0].Err != nil {
			t.Errorf("the honest node's answers: %+v", a)
		}
		check(n, bad, got.take())
	})
}

func disconnected(t *testing.T, answers []Answer) {
	t.Helper()
	if len(answers) != 1 || answers[0].Err != ErrDisconnected {
		t.Errorf("answers %+v", answers)
	}
}

func TestSecondHandshake(t *testing.T) {
	hostile(t, func(c *remoteConn, _ *wire.AppRequest) { c.sayHello(testNetwork) },
		func(n *Network, bad *remote, a []Answer) {
			disconnected(t, a)
			if s := n.Status(bad.id); s.Connected || !s.Down {
				t.Errorf("status %+v", s)
			}
		})
}

func TestOversizedFrame(t *testing.T) {
	hostile(t, func(c *remoteConn, _ *wire.AppRequest) { c.raws([]byte{0, 0x20, 0, 1, 'x'}) },
		func(_ *Network, _ *remote, a []Answer) { disconnected(t, a) })
}

func TestCloseInMidAnswer(t *testing.T) {
	hostile(t, func(c *remoteConn, q *wire.AppRequest) {
		a := wire.AppResponse{ChainID: q.ChainID, RequestID: q.RequestID, Bytes: make([]byte, 98)}
		frame := wire.AppendFrame(nil, a.Append(nil))
		c.raws(frame[:len(frame)-1])
		c.raw.Close()
	}, func(_ *Network, _ *remote, a []Answer) { disconnected(t, a) })
}

func TestBombs(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	stream := enc.EncodeAll(make([]byte, 100<<20), nil)
	bomb := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), stream)
	hostile(t, func(c *remoteConn, q *wire.AppRequest) {
		c.send(bomb) // skipped
		c.answer(q)
	}, func(n *Network, _ *remote, a []Answer) {
		if len(a) != 1 || a[0].Err != nil || metric.Value(n.ins.malformed) != 1 {
			t.Errorf("answers %+v, malformed %v", a, metric.Value(n.ins.malformed))
		}
	})
	hostile(t, func(c *remoteConn, q *wire.AppRequest) {
		for range toleranceBurst/violationCost + 1 {
			c.send(bomb)
		}
		c.answer(q)
	}, func(_ *Network, _ *remote, a []Answer) { disconnected(t, a) })
}

// Answers that nobody waits for are dropped and do no harm.
func TestUnexpectedAnswers(t *testing.T) {
	hostile(t, func(c *remoteConn, q *wire.AppRequest) {
		other := wire.AppRequest{ChainID: q.ChainID, RequestID: q.RequestID + 2}
		c.answer(&other) // the ID that the honest node is asked with next
		other.RequestID = q.RequestID - 1
		c.answer(&other)
		other.RequestID, other.ChainID[0] = q.RequestID, 99
		c.answer(&other) // right ID, wrong chain
		c.answer(q)
		c.answer(q) // twice
		c.send((&wire.AppError{ChainID: q.ChainID, RequestID: q.RequestID, Code: 1}).Append(nil))
		for range 1000 {
			c.answer(&other)
		}
	}, func(n *Network, bad *remote, a []Answer) {
		if len(a) != 1 || a[0].Err != nil || string(a[0].Bytes) != string(bad.id[:])+"question" {
			t.Errorf("answers %+v", a)
		}
		if got := metric.Value(n.ins.unexpected); got != 1005 {
			t.Errorf("%v unexpected answers", got)
		}
		if s := n.Status(bad.id); !s.Ready {
			t.Errorf("status %+v", s)
		}
	})
}

// Answers that cost no tolerance are read no faster than the inbound rate.
func TestAnswersArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(func(c *Config) { c.BytesPerSecond = -1 })
		r := newRemote(t)
		const size, rounds = unitBytes - 100, 15
		r.handle = func(c *remoteConn, m *wire.Message) bool {
			if q := &m.AppRequest; m.Kind == wire.KindAppRequest {
				c.send((&wire.AppResponse{ChainID: q.ChainID, RequestID: q.RequestID, Bytes: make([]byte, size)}).Append(nil))
			}
			return m.Kind == wire.KindAppRequest
		}
		w.connect(n, r)
		start := time.Now()
		for range rounds {
			answers := make(chan struct{}, defaultWindow)
			for range defaultWindow {
				q := open(t, n, "x", func(Answer) { answers <- struct{}{} })
				defer q.Close()
				if err := q.Ask(r.id); err != nil {
					t.Fatal(err)
				}
			}
			for range defaultWindow {
				<-answers
			}
		}
		least := time.Duration(rounds*defaultWindow*size-inboundBurst) * time.Second / inboundRate
		if took := time.Since(start); took < least/2 || took > least*2 {
			t.Errorf("%d answers of %d bytes were read in %v, want about %v", rounds*defaultWindow, size, took, least)
		}
		if s := n.Status(r.id); !s.Ready {
			t.Errorf("status %+v", s)
		}
	})
}

func TestWrongNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		r.hello = func(c *remoteConn) { c.sayHello(1) }
		w.connect(n, r)
		if s := n.Status(r.id); s.Connected || s.Ready || !s.Down || metric.Value(n.ins.dialFailures[failHandshake]) != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestWrongNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		wanted, other := newRemote(t), newRemote(t)
		addr := w.put("127.0.0.1:9000", other).Addr
		n.AddAddresses([]Address{{NodeID: wanted.id, Addr: addr}})
		w.t.Helper()
		n.SetWanted(ids(wanted))
		synctest.Wait()
		if s := n.Status(wanted.id); s.Connected || !s.Down || !s.HasAddress {
			t.Errorf("status %+v", s)
		}
		if got := other.count(wire.KindHandshake); got != 0 || metric.Value(n.ins.dialFailures[failWrongNode]) != 1 {
			t.Errorf("the wrong node got %d handshakes", got)
		}
	})
}

// A remote that does not read blocks our writer: the link ends in time, and
// nobody else waits for it.
func TestRemoteDoesNotRead(t *testing.T) {
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
		defer close(stuck)
		var got inbox
		var err error
		asked := 0
		for ; err == nil; asked++ {
			q := open(t, n, "x", got.deliver)
			defer q.Close()
			err = q.Ask(r.id)
			synctest.Wait()
		}
		if err != ErrBusy || asked != defaultWindow+1 {
			t.Errorf("%d asked: %v", asked, err)
		}
		pass(writeTimeout + time.Second)
		// The questions expired before the link was given up, and dialed again.
		if s := n.Stats(); s.SendFailures == 0 || metric.Value(n.ins.expired) != defaultWindow || r.accepted() != 2 {
			t.Errorf("stats %+v, %v expired, %v links", s, metric.Value(n.ins.expired), r.accepted())
		}
	})
}

func TestPingFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		stuck := make(chan struct{})
		r.handle = func(_ *remoteConn, m *wire.Message) bool {
			if m.Kind == wire.KindPong {
				<-stuck // does not read what it asked for
			}
			return false
		}
		w.connect(n, r)
		defer close(stuck)
		r.each(func(c *remoteConn) {
			// The writer may get rid of up to two full mailboxes before it is stuck.
			for range 4 * (defaultWindow + controlRoom) {
				c.send(wire.Ping{}.Append(nil))
			}
		})
		synctest.Wait()
		if s := n.Status(r.id); s.Ready || metric.Value(n.ins.disconnects) != 1 {
			t.Errorf("status %+v", s)
		}
	})
}
