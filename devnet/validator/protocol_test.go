package validator

import (
	"crypto/elliptic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

func TestSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		for i := range uint64(2) { // the second answer comes from the cache
			message := f.world.Message(3).Bytes()
			if m := c.ask(c.request(f.world.CChainID(), message, nil)); !f.valid(m, message) {
				t.Errorf("answer %d: %+v", i, m)
			}
		}
		if n := f.v.RequestCount(); n != 2 {
			t.Errorf("counted %d requests, want 2", n)
		}
	})
}

// TestPipelined sends everything in one write before it reads anything.
func TestPipelined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.connect(newCertificate(t, elliptic.P256()))
		message := f.world.Message(0).Bytes()
		req := c.request(f.world.CChainID(), message, nil)
		c.send(c.hello().Append(nil), (&wire.PeerList{}).Append(nil), req.Append(nil))
		if m := c.until(wire.KindAppResponse); !f.valid(m, message) {
			t.Errorf("answer %+v", m)
		}
	})
}

// TestDropped are requests that get no answer and leave the connection open.
func TestDropped(t *testing.T) {
	cases := map[string]func(*client, *wire.AppRequest){
		"even request ID":  func(_ *client, r *wire.AppRequest) { r.RequestID++ },
		"no deadline":      func(_ *client, r *wire.AppRequest) { r.Deadline = 0 },
		"negative time":    func(_ *client, r *wire.AppRequest) { r.Deadline = 1<<63 + 5 },
		"chain not run":    func(_ *client, r *wire.AppRequest) { r.ChainID = chain.ID{1} },
		"asked of its own": func(c *client, _ *wire.AppRequest) { c.v.SetBehaviour(Silent) },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, nil)
				defer f.stop()
				c := f.join()
				message := f.world.Message(1).Bytes()
				req := c.request(f.world.CChainID(), message, nil)
				change(c, req)
				if m := c.ask(req); m != nil {
					t.Errorf("answered: %+v", m)
				}
				f.v.SetBehaviour(nil)
				if m := c.ask(c.request(f.world.CChainID(), message, nil)); !f.valid(m, message) {
					t.Error("the next request is not answered")
				}
			})
		})
	}
}

func TestRequestsWaitForThePeerList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.connect(newCertificate(t, elliptic.P256()))
		message := f.world.Message(1).Bytes()
		list := (&wire.PeerList{}).Append(nil)
		c.send(list, c.hello().Append(nil)) // a list before the handshake does not count
		if m := c.ask(c.request(f.world.CChainID(), message, nil)); m != nil {
			t.Errorf("answered before our peer list: %+v", m)
		}
		c.send((&wire.GetPeerList{}).Append(nil)) // would close the connection once finished
		c.send(list)
		if m := c.ask(c.request(f.world.CChainID(), message, nil)); !f.valid(m, message) {
			t.Errorf("not answered after our peer list: %+v", m)
		}
	})
}

func TestPingsAndIdleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		start := time.Now()
		c := f.join()
		for i := range 3 {
			if c.until(wire.KindPing) == nil {
				t.Fatal("the connection ended")
			}
			if since := time.Since(start); since != time.Duration(i+1)*pingEvery {
				t.Errorf("ping %d came after %s", i, since)
			}
			c.send(wire.Pong{}.Append(nil))
		}
		c.send(wire.Pong{}.Append(nil)) // one too many
		if _, open := c.pending(); open {
			t.Error("a second pong to one ping left the connection open")
		}

		c = f.join()
		start = time.Now()
		for c.until(wire.KindPing) != nil {
		}
		if since := c.closedAt.Sub(start); since != idleTimeout {
			t.Errorf("a peer that says nothing was dropped after %s, want %s", since, idleTimeout)
		}
	})
}

func TestPingIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		c.send(wire.Ping{}.Append(nil), wire.Ping{}.Append(nil))
		pongs := 0
		msgs, _ := c.pending()
		for _, m := range msgs {
			if m.Kind == wire.KindPong {
				pongs++
			}
		}
		if pongs != 2 {
			t.Errorf("%d pongs to 2 pings", pongs)
		}
	})
}

func TestGetPeerList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		salt := []byte("salt")
		known := wire.NewBloom(4, func() uint64 { return 12345 })
		c.send((&wire.GetPeerList{Filter: known.Append(nil), Salt: salt}).Append(nil))
		m := c.until(wire.KindPeerList)
		if m == nil || len(m.PeerList.Peers) != 2 || !m.Compressed {
			t.Fatalf("got %+v, want two addresses, compressed", m)
		}
		for i := range m.PeerList.Peers {
			if err := m.PeerList.Peers[i].Verify(); err != nil {
				t.Error(err)
			}
			known.Add(wire.ClaimHash(m.PeerList.Peers[i].NodeID(), m.PeerList.Peers[i].Timestamp, salt))
		}
		c.send((&wire.GetPeerList{Filter: known.Append(nil), Salt: salt}).Append(nil))
		if msgs, open := c.pending(); len(msgs) != 0 || !open {
			t.Errorf("%d messages about peers that we know", len(msgs))
		}
	})
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(c *Config) { c.Latency = 20 * time.Millisecond })
		defer f.stop()
		c := f.join()
		start := time.Now()
		f.v.SetBehaviour(Slow(time.Second))
		slow := c.request(f.world.CChainID(), f.world.Message(1).Bytes(), nil)
		c.send(slow.Append(nil))
		synctest.Wait()
		f.v.SetBehaviour(Honest)
		quick := c.request(f.world.CChainID(), f.world.Message(2).Bytes(), nil)
		c.send(quick.Append(nil))
		for _, want := range []struct {
			req   *wire.AppRequest
			after time.Duration
		}{{quick, 20 * time.Millisecond}, {slow, 1020 * time.Millisecond}} {
			m := c.until(wire.KindAppResponse)
			if m == nil || m.AppResponse.RequestID != want.req.RequestID || time.Since(start) != want.after {
				t.Errorf("after %s: %+v, want request %d after %s", time.Since(start), m, want.req.RequestID, want.after)
			}
		}
	})
}

// TestBackPressure: with the most requests in work, the validator reads no further.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(c *Config) { c.Latency = time.Second })
		defer f.stop()
		c := f.join()
		req := c.request(f.world.CChainID(), f.world.Message(1).Bytes(), nil).Append(nil)
		go func() {
			for range maxInFlight + 10 {
				c.send(req)
			}
		}()
		synctest.Wait()
		if n := f.v.RequestCount(); n != maxInFlight {
			t.Errorf("%d requests in work, want %d", n, maxInFlight)
		}
		for i := range maxInFlight + 10 {
			if c.until(wire.KindAppResponse) == nil {
				t.Fatalf("answer %d is missing", i)
			}
		}
	})
}

func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		message := f.world.Message(1).Bytes()
		f.v.gate.shut()
		late := f.connect(newCertificate(t, elliptic.P256())) // accepted, but TLS is not answered
		go c.send(c.request(f.world.CChainID(), message, nil).Append(nil))
		<-time.After(10 * time.Second) // of the bubble: nothing waits
		if msgs, open := c.pending(); len(msgs) != 0 || !open {
			t.Errorf("hanging: %d messages, open: %v", len(msgs), open)
		}
		if msgs, open := late.pending(); len(msgs) != 0 || !open {
			t.Errorf("new connection while hanging: %d messages, open: %v", len(msgs), open)
		}
		f.v.gate.release()
		if m := c.until(wire.KindAppResponse); !f.valid(m, message) {
			t.Errorf("after hanging: %+v", m)
		}
		if late.until(wire.KindHandshake) == nil {
			t.Error("the new connection does not go on")
		}
	})
}

func TestBehaviours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		message := f.world.Message(9).Bytes()
		f.v.SetBehaviour(func(req *Request, honest func() Reply) Reply {
			r := honest()
			if r.Outcome == Answered {
				sig := f.world.WrongKey(1).Sign(req.Message)
				r.Signature = sig[:]
			}
			return r
		})
		m := c.ask(c.request(f.world.CChainID(), message, nil))
		if m == nil || m.Kind != wire.KindAppResponse || f.valid(m, message) {
			t.Errorf("wrong key: %+v", m)
		}
		if m := c.ask(c.request(f.world.CChainID(), []byte("junk"), nil)); m == nil || m.Kind != wire.KindAppError {
			t.Errorf("wrong key, message not ours: %+v", m)
		}
		f.v.SetBehaviour(Refusing(-4, "throttled"))
		m = c.ask(c.request(f.world.CChainID(), message, nil))
		if m == nil || m.Kind != wire.KindAppError || m.AppError.Code != -4 || m.AppError.Message != "throttled" {
			t.Errorf("refusing: %+v", m)
		}
	})
}

func TestHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		message := f.world.Message(9).Bytes()
		for name, tc := range map[string]struct {
			chainID chain.ID
			bytes   []byte
			code    int32
		}{
			"X-Chain":         {f.world.XChainID(), wire.AppendSignatureRequest(nil, message, nil), -2},
			"other handler":   {f.world.CChainID(), append([]byte{3}, wire.AppendSignatureRequest(nil, message, nil)[1:]...), -2},
			"no handler":      {f.world.CChainID(), nil, -2},
			"bad protobuf":    {f.world.CChainID(), []byte{2, 0x0a, 0x7f, 1}, -1},
			"bad message":     {f.world.CChainID(), wire.AppendSignatureRequest(nil, []byte{1}, nil), -1},
			"no message":      {chain.PlatformChainID, wire.AppendSignatureRequest(nil, nil, nil), -1},
			"P-Chain's claim": {chain.PlatformChainID, wire.AppendSignatureRequest(nil, message, nil), codePSourceAddress},
		} {
			req := c.request(tc.chainID, nil, nil)
			req.Bytes = tc.bytes
			if m := c.ask(req); m == nil || m.Kind != wire.KindAppError || m.AppError.Code != tc.code {
				t.Errorf("%s: %+v, want code %d", name, m, tc.code)
			}
		}
	})
}

// TestEvenIDOnPlatform: only EVM chains drop even request IDs.
func TestEvenIDOnPlatform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		c := f.join()
		u, justification := expired(t, f.world)
		req := c.request(chain.PlatformChainID, u.Bytes(), justification)
		req.RequestID++
		if m := c.ask(req); !f.valid(m, u.Bytes()) {
			t.Errorf("%+v", m)
		}
	})
}

func TestStopEndsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		c := f.join()
		if n := f.v.Connections(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
		f.stop()
		if _, open := c.pending(); open {
			t.Error("open after the end")
		}
		if n := f.v.Connections(); n != 0 {
			t.Errorf("%d connections after the end", n)
		}
	})
}
