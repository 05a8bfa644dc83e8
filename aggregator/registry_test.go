package aggregator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// TestFairByClient: a client that floods a chain or a subnet keeps out neither
// others on that chain nor others elsewhere.
func TestFairByClient(t *testing.T) {
	r := newRegistry(100_000, 100_000, 10)
	n := 0
	fill := func(client string, source, subnet byte, size, most int) (got int) {
		for ; got < most; got++ {
			n++
			j := &job{set: &valset.Set{SubnetID: chain.ID{subnet}, Validators: make([]valset.Validator, size)}, cost: size}
			j.holders = holdersOf(client, chain.ID{source}, j.set.SubnetID)
			if !r.admits(j) {
				return got
			}
			r.hold(j)
		}
		return got
	}
	if got := fill("flood", 1, 1, 1000, 1000); got != 80 {
		t.Errorf("one client got %d of 100", got)
	}
	if got := fill("flood", 2, 2, 5, 1); got != 0 {
		t.Error("a client beyond its share got more by naming another chain and subnet")
	}
	if got := fill("honest", 1, 1, 1000, 4); got != 4 {
		t.Errorf("another client on the same chain and subnet got %d of 4", got)
	}
	if got := fill("honest elsewhere", 3, 3, 1000, 4); got != 4 {
		t.Errorf("a client elsewhere got %d of 4", got)
	}
	// Forty clients over forty subnets, all at the same time, leave a fifth.
	r = newRegistry(100_000, 100_000, 10)
	for range 1000 {
		for i := range 40 {
			fill(fmt.Sprint("flood ", i), 1, byte(10+i), 50, 1)
		}
	}
	if free := r.room - r.used; free < r.room/5 {
		t.Errorf("they left %d of %d", free, r.room)
	}
	if got := fill("late", 1, 1, 200, 2); got != 2 {
		t.Errorf("somebody else got %d of 2", got)
	}
}

// invented returns a request for a message of a known chain that nobody signs.
func invented(t testing.TB, i int, client string) *Request {
	r := request(t, 1_000_000+i, 67, 0)
	r.Client = client
	return r
}

// signsKnown refuses messages that [invented] made up.
func signsKnown(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
	if b := msg.Bytes(); b[len(b)-6] != 0 || b[len(b)-3] >= 0xf { // 1,000,000 and more
		deliver(Answer{From: v.id, Refused: true, Code: 1})
		return
	}
	signs(v, msg, deliver)
}

// TestInventedMessagesCostLittle: once a client is known for messages that nobody
// signs, a few validators are asked about the next one, not all; and a message
// that is good after all is signed in spite of its client.
func TestInventedMessagesCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		peers := newFakePeers(equal(n)...)
		for _, v := range peers.vals {
			v.set(signsKnown)
		}
		b := newBed(t, peers, nil)
		asked := func() (sum int) {
			for _, k := range b.asks() {
				sum += k
			}
			return sum
		}
		for i := range 3 {
			if _, err := b.Aggregate(t.Context(), invented(t, i, "flood")); err == nil {
				t.Fatal("signed")
			}
		}
		before := asked()
		e := b.wantError(t, invented(t, 10, "flood"), Overloaded)
		if got := asked() - before; got == 0 || got > scoutNodes*(len(b.cfg.Timing.Retries)+1) || e.RetryAfter == 0 {
			t.Errorf("%d questions for a message that nobody signs: %v", got, e)
		}
		good := request(t, 1, 67, 0)
		good.Client = "flood"
		b.want(t, good)
		// Nobody else is any the worse for it.
		before = asked()
		other := request(t, 2, 67, 0)
		other.Client = "honest"
		b.want(t, other)
		if got := asked() - before; got < n*67/100 {
			t.Errorf("%d questions", got)
		}
		b.stop()
	})
}

// TestRefusalIsRemembered: asking again at once for what was refused for good
// asks no node.
func TestRefusalIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(refuses(1))
		}
		b := newBed(t, peers, func(c *Config) { c.History = executedBefore{time.Now().Add(-time.Hour)} })
		b.wantError(t, request(t, 1, 67, 0), Refused)
		before := fmt.Sprint(b.asks())
		b.wantError(t, request(t, 1, 67, 0), Refused)
		b.wantError(t, request(t, 1, 80, 0), Refused)
		if after := fmt.Sprint(b.asks()); after != before {
			t.Errorf("asked %s, then %s", before, after)
		}
		for _, v := range peers.vals {
			v.set(signs)
		}
		<-time.After(refusedFor + time.Millisecond)
		b.want(t, request(t, 1, 67, 0))
		b.stop()
	})
}

type executedBefore struct{ at time.Time }

func (a executedBefore) Executed(*warp.Unsigned) (time.Time, bool) { return a.at, true }
func (executedBefore) Later(chain.ID) bool                         { return false }

// twoSets has the set of an epoch beside the proposed one.
type twoSets struct {
	*fakeSets
	epoch *valset.Set
}

func (s twoSets) At(ctx context.Context, subnet chain.ID, height uint64) (*valset.Set, error) {
	if height == s.epoch.Height {
		return s.epoch, nil
	}
	return s.fakeSets.At(ctx, subnet, height)
}

// TestTurnOfEpoch: a message that was signed for the set of one height is not
// collected again for the set of another, when those who signed suffice there.
func TestTurnOfEpoch(t *testing.T) {
	peers := newFakePeers(equal(11)...)
	epoch := peers.validatorSet(t, 8)
	now, err := valset.New(chain.PrimaryNetworkID, 7, peers.members()[:10], nil) // one is gone
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, peers, func(c *Config) { c.Sets = twoSets{c.Sets.(*fakeSets), epoch} })
	b.sets.set.Store(now)
	b.want(t, request(t, 1, 67, 33))
	for len(b.results.getParts(message(t, 1).ID())) < 10 { // a collection keeps its signatures a moment after it has answered
		runtime.Gosched()
	}
	before := fmt.Sprint(b.asks())
	req := request(t, 1, 67, 33) // also the new one's, if that were asked
	req.PChainHeight = 8
	res, err := b.Aggregate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	verified(t, epoch, res.Signed, 67)
	if _, err := b.Aggregate(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if after := fmt.Sprint(b.asks()); after != before {
		t.Errorf("asked %s, then %s: the change of the set cost a second collection", before, after)
	}
	// A quorum of all needs the new one, and nobody else.
	req.Quorum, req.Buffer = 100, 0
	if _, err := b.Aggregate(t.Context(), req); err != nil {
		t.Error(err)
	}
	if after := b.asks(); after[10] != 1 || fmt.Sprint(after[:10]) != strings.TrimSuffix(before, " 0]")+"]" {
		t.Errorf("asked %s, then %v", before, after)
	}
}

// TestTrialGivenUp: who waits for another caller's trial of a message does not fail
// when that caller's time is over.
func TestTrialGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(after(300*time.Millisecond, signs))
		}
		b := newBed(t, peers, nil)
		at := &attempt{req: request(t, 1, 67, 0), msg: message(t, 1), set: b.sets.set.Load()}
		key := jobKey{collectionKey: collectionKey{at.msg.ID(), at.set.Digest}}
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := b.scout(short, at, key); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first: %v", err)
			}
		})
		synctest.Wait()
		if err := b.scout(t.Context(), at, key); err != nil {
			t.Errorf("the one who waits: %v", err)
		}
		wg.Wait()
		b.stop()
	})
}
