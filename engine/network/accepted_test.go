package network

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// TestAccepted: a message is known once, from its first block on, and the
// P-Chain's state from its last block on, while somebody watches.
func TestAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAccepted()
		m, err := warp.New(12345, chain.ID{0xc}, []byte("payload"))
		if err != nil {
			t.Fatal(err)
		}
		state, err := warp.L1ValidatorRegistration(12345, chain.ID{1}, true)
		if err != nil {
			t.Fatal(err)
		}
		want := func(m *warp.Unsigned, ago time.Duration) {
			t.Helper()
			at, ok := a.Accepted(m)
			if ok != (ago >= 0) || ok && time.Since(at) != ago {
				t.Errorf("accepted %v ago, %v; want %v", time.Since(at), ok, ago)
			}
		}
		want(m, -1)
		want(state, -1)
		a.message(m.ID(), time.Now())
		a.observe(7)
		<-time.After(time.Second)
		want(m, time.Second)
		want(state, time.Second)
		a.message(m.ID(), time.Now()) // in another block
		a.observe(7)
		want(m, time.Second)
		want(state, time.Second)
		a.observe(6) // of another node, which is behind
		want(state, time.Second)
		a.observe(8)
		want(state, 0)
		<-time.After(platformStale)
		want(state, -1)
		for i := range maxAccepted + 10 {
			var id chain.ID
			binary.BigEndian.PutUint64(id[:], uint64(i))
			a.message(id, time.Now())
		}
		if n := a.messages.Len(); n != maxAccepted {
			t.Errorf("%d messages are remembered", n)
		}
		want(m, -1)
	})
}
