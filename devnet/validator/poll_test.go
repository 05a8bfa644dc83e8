package validator

import (
	"testing"
	"testing/synctest"
	"time"

	"quorate/p2p/wire"
)

// TestPoll: no block is accepted while a peer is there, nor until the vote of one that has left
// is given up.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		defer f.stop()
		id := f.world.CChainID()
		if !f.v.Poll(id, 1) {
			t.Error("no block is accepted by a node alone")
		}
		c := f.join()
		synctest.Wait()
		for range 3 {
			for range 2 {
				if f.v.Poll(id, 2) {
					t.Error("a block is accepted without the peer's vote")
				}
			}
			if msgs, open := c.pending(); len(msgs) != 1 || msgs[0].Kind != wire.KindQuery || !open {
				t.Errorf("%d messages to the peer", len(msgs))
			}
			<-time.After(voteTimeout)
		}
		if f.v.Poll(id, 2) {
			t.Error("a block is accepted without the peer's vote")
		}
		_ = c.tls.Close()
		synctest.Wait()
		if f.v.Poll(id, 2) {
			t.Error("a block is accepted while the vote of a peer that left is waited for")
		}
		<-time.After(voteTimeout)
		if !f.v.Poll(id, 2) {
			t.Error("no block is accepted once the peer has left")
		}
	})
}
