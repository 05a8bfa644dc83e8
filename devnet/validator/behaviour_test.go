package validator

import (
	"testing"
	"testing/synctest"
	"time"

	"quorate/p2p/wire"
)

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

// TestStall: a connection on which a frame stops stays open, and nothing more comes on it.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(cfg *Config) {
			cfg.Conduct.Reply = func(*Request, func() Reply) Reply {
				return Reply{Outcome: Written, Raw: []byte{0, 0, 0, 9, 1}, After: Stall}
			}
		})
		defer f.stop()
		c, message := f.join(), f.world.Message(9).Bytes()
		for range 4 { // requests keep the connection open; nothing more comes, not even a Pong or a Ping
			c.send(c.request(f.world.CChainID(), message, nil).Append(nil), wire.Ping{Uptime: 100}.Append(nil))
			<-time.After(20 * time.Second)
		}
		if msgs, open := c.pending(); len(msgs) != 0 || !open {
			t.Errorf("%d messages, open: %v", len(msgs), open)
		}
		_ = c.tls.NetConn().Close()
		synctest.Wait()
		if n := f.v.Connections(); n != 0 {
			t.Errorf("%d connections after the client's end", n)
		}
	})
}

func TestFlapping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(cfg *Config) { cfg.Conduct.Unasked = Flapping(3 * time.Second) })
		defer f.stop()
		message := f.world.Message(9).Bytes()
		for range 3 {
			begin := time.Now()
			c := f.join()
			if m := c.ask(c.request(f.world.CChainID(), message, nil)); !f.valid(m, message) {
				t.Errorf("answer %+v", m)
			}
			if c.until(wire.KindAppResponse) != nil {
				t.Error("a second answer")
			}
			if up := c.closedAt.Sub(begin); up != 3*time.Second {
				t.Errorf("cut after %s", up)
			}
		}
	})
}
