package validator

import (
	"context"
	"crypto/elliptic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// counter takes a number of batches from an attacker and then has no room.
type counter struct {
	room    int
	batches [][]byte
	stop    context.CancelFunc
}

func (p *counter) Send(raw []byte) bool {
	if len(p.batches) == p.room {
		p.stop()
		return false
	}
	p.batches = append(p.batches, raw)
	return true
}

func (p *counter) Close() {}

// TestAttacks: what each attacker sends is of its kind, and does not end.
func TestAttacks(t *testing.T) {
	t.Parallel()
	f := func(kind Kind, frames int, is func(m *wire.Message) bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			conduct, err := Lie(kind, Means{Certificate: newCertificate(t, elliptic.P256())})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			peer := &counter{room: 3, stop: cancel}
			conduct.Unasked(ctx, chain.ID{1}, peer)
			codec, err := wire.NewCodec()
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, batch := range peer.batches {
				for r := (&reader{batch}); len(r.rest) > 0; count++ {
					var m wire.Message
					if err := codec.Parse(r.frame(t), &m); err != nil || !is(&m) {
						t.Fatalf("%s sends %v, %v", kind, m.Kind, err)
					}
				}
			}
			if count < frames {
				t.Errorf("%s: %d frames in three batches", kind, count)
			}
		})
	}
	f(EmptyFrames, 10_000, func(m *wire.Message) bool { return m.Size == 0 })
	f(Pongs, 10_000, func(m *wire.Message) bool { return m.Kind == wire.KindPong })
	f(Pings, 10_000, func(m *wire.Message) bool { return m.Kind == wire.KindPing })
	f(UnknownIDs, 500, func(m *wire.Message) bool { return m.Kind == wire.KindAppResponse && m.AppResponse.RequestID%2 == 0 })
	seen := map[chain.NodeID]bool{}
	f(InventedPeers, 3, func(m *wire.Message) bool {
		for _, c := range m.PeerList.Peers {
			if seen[c.NodeID()] || c.Verify() != nil {
				return false // each is another node, and each signature is valid
			}
			seen[c.NodeID()] = true
		}
		return m.Kind == wire.KindPeerList
	})
}

type reader struct{ rest []byte }

func (r *reader) Read(b []byte) (int, error) {
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *reader) frame(t *testing.T) []byte {
	t.Helper()
	msg, err := wire.ReadFrame(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// TestTarpit: a connection is taken and nothing is ever said on it.
func TestTarpit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(cfg *Config) { cfg.Conduct.Tarpit = true })
		defer f.stop()
		closed := f.silentPipe()
		<-time.After(time.Hour)
		select {
		case <-closed:
			t.Error("the tarpit closes")
		default:
		}
	})
}

// TestLate: a message is refused until the validator has accepted its block,
// by the time since any validator was first asked.
func TestLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		emitted := NewEmissions()
		honest := func() Reply { return Reply{Outcome: Answered} }
		ask := func(d time.Duration, message string) Outcome {
			return Late(d, emitted)(&Request{Message: []byte(message)}, honest).Outcome
		}
		if got := ask(time.Second, "a"); got != Refused {
			t.Errorf("at first: %v", got)
		}
		<-time.After(500 * time.Millisecond)
		if ask(time.Second, "a") != Refused || ask(400*time.Millisecond, "a") != Answered || ask(time.Second, "b") != Refused {
			t.Error("after half a second the wrong ones sign")
		}
		<-time.After(500 * time.Millisecond)
		if ask(time.Second, "a") != Answered || ask(time.Second, "b") != Refused {
			t.Error("after a second the wrong ones sign")
		}
		refusal := func() Reply { return refuse(codeCVerify, "no") }
		if r := Late(0, emitted)(&Request{Message: []byte("a")}, refusal); r.Code != codeCVerify {
			t.Errorf("an honest refusal becomes %+v", r)
		}
	})
}

// TestJitterAndReadRate: answers are late by a random time, and requests above
// the rate are read late.
func TestJitterAndReadRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const jitter, rate = 100 * time.Millisecond, 1 << 20
		f := newFixture(t, func(cfg *Config) { cfg.Jitter, cfg.Conduct.ReadRate = jitter, rate })
		defer f.stop()
		c := f.join()
		message := f.world.Message(9).Bytes()
		ask := func() time.Duration {
			t.Helper()
			begin := time.Now()
			c.send(c.request(f.world.CChainID(), message, nil).Append(nil))
			if m := c.until(wire.KindAppResponse); !f.valid(m, message) {
				t.Fatalf("answer %+v", m)
			}
			return time.Since(begin)
		}
		times := map[time.Duration]bool{}
		for range 20 {
			took := ask()
			times[took] = true
			if took >= jitter {
				t.Errorf("an answer after %v", took)
			}
		}
		if len(times) < 10 {
			t.Errorf("%d different times", len(times))
		}
		begin := time.Now()
		for range 4 { // of which the burst is read at once
			c.send((&wire.AppRequest{Bytes: make([]byte, 1<<20)}).Append(nil))
		}
		ask()
		if took := time.Since(begin); took < 1900*time.Millisecond || took > 2200*time.Millisecond {
			t.Errorf("4 MiB at 1 MiB a second after a burst of 2 MiB took %v", took)
		}
	})
}
