package p2p

import (
	"cmp"
	"crypto"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/metric"
	"quorate/p2p/wire"
)

// flood is one way of sending without end what nobody asked for.
type flood struct {
	name string
	// batch returns the frames that are sent again and again, and how many they are.
	batch func(r *remote) ([]byte, int)
	// most is how many frames may be read before the sender is dropped.
	most int
	// piece is how many bytes go into a TLS record; 0 means as many as fit.
	piece int
}

// many repeats a message until the frames fill a buffer.
func many(msg []byte) func(*remote) ([]byte, int) {
	return func(*remote) (batch []byte, count int) {
		for len(batch) < 32<<10 {
			batch = wire.AppendFrame(batch, msg)
			count++
		}
		return batch, count
	}
}

func floods() []flood {
	const byViolation = toleranceBurst/violationCost + 1
	return []flood{
		{"frames of no bytes", many(nil), byViolation, 0},
		{"pongs", many(wire.Pong{}.Append(nil)), byViolation, 0},
		{"pings", many(wire.Ping{}.Append(nil)), toleranceBurst/pingCost + 1, 0},
		{"messages of no known kind", many([]byte{0xfa, 0x03, 0x00}), toleranceBurst + 1, 0},
		{"garbage", many([]byte{0xff}), byViolation, 0},
		{"answers with unknown IDs", many((&wire.AppResponse{ChainID: testChain, RequestID: 2}).Append(nil)), byViolation, 0},
		{"refusals with unknown IDs", many((&wire.AppError{ChainID: testChain, RequestID: 2, Code: 1}).Append(nil)), byViolation, 0},
		{name: "records of a byte", batch: many(make([]byte, 1<<18)), most: 1, piece: 1},
		{"invented identities", invented, toleranceBurst/maxClaims + 1, 0},
		{"forged addresses of a wanted node", forged, byViolation, 0},
		{"frames of 2 MiB", filled(wire.MaxMessageSize - 16), 4, 0},
		{"frames above what is looked at", filled(maxInbound), toleranceBurst/(violationCost+maxInbound/unitBytes) + 1, 0},
		{"frames of 200 KiB", filled(200 << 10), toleranceBurst/(frameCost+(200<<10)/unitBytes) + 1, 0},
		{"frames of 8 KiB", filled(8 << 10), toleranceBurst/(frameCost+(8<<10)/unitBytes) + 1, 0},
		{"zstd of 250 KiB", packed(250 << 10), toleranceBurst/((250<<10)/unitBytes) + 1, 0},
		{"zstd above what is looked at", packed(1 << 20), byViolation, 0},
		{"unasked lists of addresses", many((&wire.PeerList{}).Append(nil)), toleranceBurst + 1, 0},
		{"handshakes", many((&wire.Handshake{NetworkID: testNetwork, MyTime: now(), Addr: claimedAddr, Client: testVersion()}).Append(nil)), 1, 0},
	}
}

// filled repeats a message of so many bytes that no compression makes smaller.
func filled(size int) func(*remote) ([]byte, int) {
	return many((&wire.GetPeerList{Filter: randomBytes(size)}).Append(nil))
}

// packed repeats a message that is small on the wire.
func packed(size int) func(*remote) ([]byte, int) {
	return func(r *remote) ([]byte, int) {
		return many(r.codec.Compress(nil, (&wire.GetPeerList{Filter: make([]byte, size)}).Append(nil)))(r)
	}
}

// invented claims one address with one signature for many certificates: the
// same one with other bytes behind it, which the key is not looked for in.
func invented(r *remote) ([]byte, int) {
	const lists = 8
	good := r.claim(netip.MustParseAddrPort("127.0.0.1:9999"), now())
	var batch []byte
	for i := range lists {
		var list wire.PeerList
		for j := range maxClaims {
			c := good
			c.Certificate = fmt.Appendf(append([]byte{}, good.Certificate...), "%d %d %d", time.Now().UnixNano(), i, j)
			list.Peers = append(list.Peers, c)
		}
		batch = wire.AppendFrame(batch, list.Append(nil))
	}
	return batch, lists
}

// forged claims, of a node that is wanted, what it did not sign.
func forged(r *remote) ([]byte, int) {
	var batch []byte
	sig, err := wire.SignClaim(newIdentity(r.t).PrivateKey.(crypto.Signer), claimedAddr, 1)
	if err != nil {
		r.t.Fatal(err)
	}
	const lists = 32
	for i := range lists {
		batch = wire.AppendFrame(batch, (&wire.PeerList{Peers: []wire.ClaimedIP{{
			Certificate: r.cert.Certificate[0], Addr: netip.MustParseAddrPort("127.0.0.1:9999"),
			Timestamp: uint64(i + 1), Signature: sig,
		}}}).Append(nil))
	}
	return batch, lists
}

// TestFlood: whoever sends what nobody asked for is dropped after few frames,
// whatever their size, at once, and is not dialed again for a minute. Nothing of
// it is kept.
func TestFlood(t *testing.T) {
	for _, f := range floods() {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f.run(t) })
		})
	}
}

func (f flood) run(t *testing.T) {
	w := newWorld(t)
	n := w.run(nil)
	bad, good := newRemote(t), newRemote(t)
	w.connect(n, bad, good)
	begin := time.Now()
	before := metric.Value(n.ins.bytesIn)
	batch, count := f.batch(bad)
	var flooding *remoteConn
	bad.each(func(c *remoteConn) { flooding = c })
	go func() {
		for {
			if f.send(flooding, batch) != nil {
				return
			}
		}
	}()
	synctest.Wait()
	if s := n.Status(bad.id); s.Connected || !s.Down || time.Since(begin) > time.Second {
		t.Fatalf("status after %v: %+v", time.Since(begin), s)
	}
	if got := metric.Value(n.ins.dropped); got != 1 {
		t.Errorf("%v peers dropped", got)
	}
	// What was read, up to a record and what lies in the reader's buffer.
	most := f.most*len(batch)/count + 64<<10
	if got := int(metric.Value(n.ins.bytesIn) - before); got > most {
		t.Errorf("%d bytes were read, want at most %d", got, most)
	}
	n.book.mu.Lock()
	for id := range n.book.entries {
		if id != bad.id && id != good.id {
			t.Errorf("the book holds %v", id)
		}
	}
	if e := n.book.entries[bad.id]; e.claimed != 0 {
		t.Errorf("the book holds the claim %+v", e)
	}
	n.book.mu.Unlock()
	// Nobody else is any the worse for it, and the peer stays away for a while.
	var got inbox
	q := open(t, n, "x", got.deliver)
	defer q.Close()
	if err := q.Ask(good.id); err != nil {
		t.Error(err)
	}
	for range 50 {
		if err := q.Ask(bad.id); err != ErrNotConnected {
			t.Errorf("asking the dropped peer: %v", err)
		}
		pass(time.Second)
	}
	if links := bad.accepted(); len(got.take()) != 1 || links != 1 {
		t.Errorf("%d links to the dropped peer", links)
	}
	pass(banTerm)
	if links := bad.accepted(); links != 2 || !n.Status(bad.id).Ready {
		t.Errorf("%d links after the ban", links)
	}
}

// A second drop without a good link in between costs twice the time.
func TestBanDoubles(t *testing.T) {
	var b backoff
	at := time.Unix(1000, 0)
	for i, want := range []time.Duration{1, 2, 4, 8, 16, 16} {
		if got := b.ban(at); got != want*time.Minute {
			t.Errorf("ban %d lasts %v", i, got)
		}
	}
	b.dial(at)
	local := netip.MustParseAddr("127.0.0.1")
	if got := b.next(local, true).Sub(at); got != 16*time.Minute {
		t.Errorf("dialed after %v, however urgent", got)
	}
	b.end(local, true, at)
	if got := b.ban(at); got != banTerm {
		t.Errorf("after a good link a ban lasts %v", got)
	}
}

// Who is wanted no more and then again is still banned.
func TestBanOutlastsWanting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		bad, good := newRemote(t), newRemote(t)
		w.connect(n, bad, good)
		batch, _ := many(nil)(bad)
		bad.each(func(c *remoteConn) { c.raws(batch) })
		synctest.Wait()
		if n.Status(bad.id).Connected {
			t.Fatal("not dropped")
		}
		for range 3 {
			n.SetWanted(ids(good))
			synctest.Wait()
			n.SetWanted(nil)
			synctest.Wait()
			n.SetWanted(ids(bad, good))
			pass(5 * time.Second)
		}
		if bad.accepted() != 1 {
			t.Errorf("%d links during the ban", bad.accepted())
		}
		pass(banTerm)
		if !n.Status(bad.id).Ready {
			t.Errorf("after the ban: %+v", n.Status(bad.id))
		}
		n.SetWanted(nil)
		synctest.Wait()
		n.SetWanted(ids(good))
		n.SetWanted(nil)
		if len(n.leaving) > 1 {
			t.Errorf("%d peers are remembered", len(n.leaving))
		}
	})
}

// A validator that was stalled sends all its answers too late and at once, and
// gossips meanwhile: that is no attack.
func TestLateAnswersAreTolerated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r, questions := held(t)
		w.connect(n, r)
		for i := range defaultWindow {
			q := open(t, n, fmt.Sprint(i), func(Answer) {})
			defer q.Close()
			if err := q.Ask(r.id); err != nil {
				t.Fatal(err)
			}
		}
		pass(5*time.Second + answerGrace + 2*keepEvery)
		r.each(func(c *remoteConn) {
			for i := range *questions {
				c.answer(&(*questions)[i])
			}
			for range 500 {
				c.send((&wire.GetPeerList{Filter: []byte{1}}).Append(nil))
			}
		})
		for range 120 { // and goes on for two minutes
			r.each(func(c *remoteConn) {
				for range 20 {
					c.send((&wire.GetPeerList{Filter: []byte{1}}).Append(nil))
				}
			})
			pass(time.Second)
		}
		if s := n.Status(r.id); !s.Ready || r.accepted() != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

// A slow validator of a busy server answers after the quorum was reached, as
// often as it is asked. Each question entitles it to one answer, whatever the
// answer's time: only further ones are charged.
func TestSlowValidatorIsTolerated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r, questions := held(t)
		r.loose = true
		w.connect(n, r)
		for range 12 { // more than toleranceBurst in all
			for range 2 * maxAbandoned {
				q := open(t, n, "x", func(Answer) {})
				if err := q.Ask(r.id); err != nil {
					t.Fatal(err)
				}
				q.Close()
				synctest.Wait()
			}
			r.each(func(c *remoteConn) {
				for i := range *questions {
					c.answer(&(*questions)[i])
				}
			})
			synctest.Wait()
			last := (*questions)[len(*questions)-1]
			*questions = append((*questions)[:0], last)
		}
		if s := n.Status(r.id); !s.Ready || r.accepted() != 1 {
			t.Fatalf("status %+v", s)
		}
		r.each(func(c *remoteConn) {
			for range toleranceBurst + 1 {
				c.answer(&(*questions)[0])
			}
		})
		synctest.Wait()
		if s := n.Status(r.id); s.Ready || metric.Value(n.ins.dropped) != 1 {
			t.Errorf("after a flood of the same answer: %+v", s)
		}
	})
}

// A message above what we look at is read past and costs no memory.
func TestLargeMessagesAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.run(nil)
		r := newRemote(t)
		w.connect(n, r)
		large := wire.GetPeerList{Filter: randomBytes(1 << 20)}
		zeros := wire.GetPeerList{Filter: make([]byte, 1<<20)}
		r.each(func(c *remoteConn) {
			c.send(large.Append(nil))
			c.send(c.codec.Compress(nil, zeros.Append(nil)))
			c.send(wire.Ping{}.Append(nil))
		})
		synctest.Wait()
		if s := n.Status(r.id); !s.Ready || r.count(wire.KindPong) != 1 || metric.Value(n.ins.malformed) != 0 {
			t.Errorf("status %+v, %d pongs", s, r.count(wire.KindPong))
		}
	})
}

// A first message above what is looked at is no handshake of a node.
func TestOversizedHandshake(t *testing.T) {
	for name, hello := range map[string]func(c *remoteConn, msg []byte){
		"as it is":   func(c *remoteConn, msg []byte) { c.send(msg) },
		"compressed": func(c *remoteConn, msg []byte) { c.send(c.codec.Compress(nil, msg)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				n := w.run(nil)
				r := newRemote(t)
				r.hello = func(c *remoteConn) {
					hello(c, (&wire.Handshake{NetworkID: testNetwork, MyTime: now(), Addr: claimedAddr, Client: testVersion(), Filter: make([]byte, 1<<20)}).Append(nil))
				}
				begin := time.Now()
				w.connect(n, r)
				if s := n.Status(r.id); s.Connected || time.Since(begin) > time.Second || metric.Value(n.ins.dropped) != 1 {
					t.Errorf("after %v: %+v", time.Since(begin), s)
				}
			})
		})
	}
}

// A peer that answers what it is asked, but always with as much as it can, is dropped too;
// one whose answers are of the usual size answers as often as it is asked.
func TestLargeAnswers(t *testing.T) {
	for size, tolerated := range map[int]bool{250 << 10: false, 1 << 10: true} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				n := w.run(nil)
				r := newRemote(t)
				r.handle = func(c *remoteConn, m *wire.Message) bool {
					if q := &m.AppRequest; m.Kind == wire.KindAppRequest {
						c.send((&wire.AppResponse{ChainID: q.ChainID, RequestID: q.RequestID, Bytes: make([]byte, size)}).Append(nil))
					}
					return m.Kind == wire.KindAppRequest
				}
				w.connect(n, r)
				for range toleranceBurst + 100 {
					q := open(t, n, "x", func(Answer) {})
					if err := q.Ask(r.id); err != nil && (tolerated || err != ErrNotConnected && err != ErrBusy) {
						t.Fatal(err)
					}
					synctest.Wait()
					q.Close()
				}
				pass(time.Second) // the pace of reading
				if s := n.Status(r.id); s.Ready != tolerated {
					t.Errorf("status %+v", s)
				}
			})
		})
	}
}

// send writes a batch in pieces.
func (f flood) send(c *remoteConn, batch []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	for piece := range slices.Chunk(batch, cmp.Or(f.piece, len(batch))) {
		if _, err := c.conn.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// flood makes the remote send without end once the client has greeted.
func (r *remote) flood(f flood) {
	r.handle = func(c *remoteConn, m *wire.Message) bool {
		if m.Kind != wire.KindHandshake {
			return false
		}
		<-c.said
		batch, _ := f.batch(r)
		for {
			if f.send(c, batch) != nil {
				return true
			}
		}
	}
}

// cpuTime returns the processor time that this process has used.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestFloodOverSockets: until it is dropped, a peer of each kind takes no more
// work than an honest one that answers as many questions as the tolerance has
// units, and no memory stays behind. The peers are another process.
func TestFloodOverSockets(t *testing.T) {
	const questions = toleranceBurst
	address, flooding := startRemotes(t, 1)
	honest := func() time.Duration {
		before := cpuTime(t)
		n, stop := start(t, address)
		defer stop()
		answers := make(chan struct{}, 1)
		for range questions {
			q, err := n.Open(testChain, make([]byte, 150), time.Minute, func(Answer) { answers <- struct{}{} })
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Ask(address[0].NodeID); err != nil {
				t.Fatal(err)
			}
			<-answers
			q.Close()
		}
		return cpuTime(t) - before
	}()
	for i, f := range floods() {
		t.Run(f.name, func(t *testing.T) {
			idle := inUse()
			before := cpuTime(t)
			n, stop := startUnready(t, flooding[i:i+1])
			defer stop()
			eventually(t, "dropped", func() bool { return metric.Value(n.ins.dropped) == 1 })
			took := cpuTime(t) - before
			if took > honest {
				t.Errorf("the flood took %v, %d answers of an honest peer %v", took, questions, honest)
			}
			if grown := inUse() - idle; grown > 2<<20 { // a decompressor among it
				t.Errorf("%d bytes more in use", grown)
			}
			t.Logf("%v of work, %v bytes read; %d honest answers take %v", took, metric.Value(n.ins.bytesIn), questions, honest)
		})
	}
}
