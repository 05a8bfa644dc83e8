package validator

import (
	"crypto/elliptic"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/p2p/wire"
)

// fakeCChain is at Helicon, or past it.
type fakeCChain struct {
	at                time.Time
	swapped, active   atomic.Bool
	waiting, accepted chain.ID
}

func (c *fakeCChain) Swapped() (time.Time, bool)   { return c.at, c.swapped.Load() }
func (c *fakeCChain) Activated() bool              { return c.active.Load() }
func (c *fakeCChain) Waits(message chain.ID) bool  { return message == c.waiting }
func (c *fakeCChain) Accepted(block chain.ID) bool { return block == c.accepted }

// TestLateCodes: what a C-Chain refuses that executes blocks after their acceptance, and
// that L1s go on as before.
func TestLateCodes(t *testing.T) {
	s := newSigner(t)
	w := s.world
	c := &fakeCChain{waiting: w.Message(7).ID(), accepted: chain.ID{8}}
	s.cChain = c
	hash := func(source chain.ID, block byte) []byte {
		return unsigned(t, world.NetworkID, source, warp.HashPayload(chain.ID{block}))
	}
	l1 := w.L1s()[0]
	for name, tc := range map[string]struct {
		asked         chain.ID
		message       []byte
		before, after int32 // 0: signed
	}{
		"executed":           {w.CChainID(), w.Message(6).Bytes(), 0, 0},
		"not executed yet":   {w.CChainID(), w.Message(7).Bytes(), 0, 3},
		"never sent":         {w.CChainID(), w.Message(1000).Bytes(), 1, 3},
		"not a payload":      {w.CChainID(), unsigned(t, world.NetworkID, w.CChainID(), nil), 1, 2},
		"accepted block":     {w.CChainID(), hash(w.CChainID(), 8), 2, 0},
		"unknown block":      {w.CChainID(), hash(w.CChainID(), 9), 2, 4},
		"another's block":    {w.CChainID(), hash(l1.ChainID, 8), 2, 4},
		"never sent by L1":   {l1.ChainID, w.L1Message(l1, 1000).Bytes(), 1, 1},
		"block of an L1":     {l1.ChainID, hash(l1.ChainID, 8), 2, 2},
		"nothing of the L1s": {l1.ChainID, unsigned(t, world.NetworkID, l1.ChainID, nil), 1, 1},
	} {
		for swapped, want := range map[bool]int32{false: tc.before, true: tc.after} {
			c.swapped.Store(swapped)
			s.signed.Purge()
			r := s.reply(&Request{ChainID: tc.asked, Message: tc.message})
			if r.Code != want || (want == 0) != (r.Outcome == Answered) {
				t.Errorf("%s, after the swap: %v: code %d %q, want %d", name, swapped, r.Code, r.Text, want)
			}
		}
	}
}

// TestLateBehaviour: a validator that is late refuses by the code of its software.
func TestLateBehaviour(t *testing.T) {
	t.Parallel()
	late := Late(time.Hour, NewEmissions())
	signs := func() Reply { return Reply{Outcome: Answered} }
	if before, after := late(&Request{}, signs), late(&Request{Late: true}, signs); before.Code != 1 || after.Code != 3 {
		t.Errorf("codes %d and %d", before.Code, after.Code)
	}
}

// TestSwap: requests to the C-Chain wait while its software is replaced, others do not.
func TestSwap(t *testing.T) {
	for name, wait := range map[string]time.Duration{"quick": 0, "with a WebSocket": 15 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &fakeCChain{at: time.Now()}
				f := newFixture(t, func(cfg *Config) { cfg.CChain, cfg.SwapTime = c, wait })
				defer f.stop()
				peer := f.join()
				ask := func(source chain.ID, m *warp.Unsigned) time.Duration {
					start := time.Now()
					peer.send(peer.request(source, m.Bytes(), nil).Append(nil))
					answer := peer.until(wire.KindAppResponse)
					if !f.valid(answer, m.Bytes()) {
						t.Fatalf("answer %+v", answer)
					}
					return time.Since(start)
				}
				l1 := f.world.L1s()[0]
				if took := ask(f.world.CChainID(), f.world.Message(1)); took != 0 {
					t.Errorf("before: %s", took)
				}
				c.swapped.Store(true)
				if took := ask(l1.ChainID, f.world.L1Message(l1, 1)); took != 0 {
					t.Errorf("an L1: %s", took)
				}
				want := max(wait, 14*time.Millisecond)
				if took := ask(f.world.CChainID(), f.world.Message(2)); took != want {
					t.Errorf("waited %s, want %s", took, want)
				}
				if took := ask(f.world.CChainID(), f.world.Message(3)); took != 0 {
					t.Errorf("after: %s", took)
				}
			})
		})
	}
}

// TestLeastVersion: from Helicon on peers of before are let in no more, and those that are
// connected have to go.
func TestLeastVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := new(fakeCChain)
		f := newFixture(t, func(cfg *Config) { cfg.CChain, cfg.Helicon = c, time.Unix(1735689600, 0) })
		defer f.stop()
		with := func(minor uint32) *client {
			peer := f.connect(newCertificate(t, elliptic.P256()))
			m := peer.until(wire.KindHandshake)
			if m == nil || m.Handshake.Client.String() != "avalanchego/1.15.0" || m.Handshake.UpgradeTime != 1735689600 {
				t.Fatalf("handshake %+v", m)
			}
			h := peer.hello()
			h.Client.Minor = minor
			peer.send(h.Append(nil))
			return peer
		}
		old, current := with(14), with(15)
		for _, peer := range []*client{old, current} {
			if _, open := peer.pending(); !open {
				t.Error("a peer is not let in before Helicon")
			}
		}
		c.active.Store(true)
		<-time.After(pingEvery)
		if _, open := old.pending(); open {
			t.Error("a peer of before stays")
		}
		if _, open := current.pending(); !open {
			t.Error("a peer has to go")
		}
		if _, open := with(14).pending(); open {
			t.Error("a peer of before is let in")
		}
	})
}
