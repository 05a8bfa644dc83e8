package aggregator

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// TestJustEnded: who joins a collection that ends at this moment gets its result from
// memory, where it is by then, and nobody is asked again.
func TestJustEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, newFakePeers(equal(5)...), nil)
		at := attempt{msg: message(t, 1), set: b.sets.set.Load()}
		j := &job{key: jobKey{collectionKey: at.key(0).collectionKey}, set: at.set, calls: actor.NewMailbox[event](8, actor.Shed)}
		b.jobs.byKey[j.key] = j
		b.jobs.hold(j)
		time.AfterFunc(time.Second, func() {
			signers := warp.NewBits(5)
			signers.Set(3)
			b.results.put(at.key(20), newKept(at.msg, at.set, signers, [bls.SignatureLen]byte{}, 20, time.Now()))
			for _, late := range b.jobs.end(j) {
				late.caller.reply.Answer(nil, errEnded)
			}
		})
		req := request(t, 1, 20, 0)
		res, err := b.Aggregate(t.Context(), req)
		if err != nil || res.Weight != 20 {
			t.Fatalf("%+v, %v", res, err)
		}
		for i, n := range b.asks() {
			if n != 0 {
				t.Errorf("validator %d was asked", i)
			}
		}
		b.stop()
	})
}

// downSets are those of a node that does not answer.
type downSets struct{ *fakeSets }

func (downSets) Current(chain.ID) (*valset.Set, bool) { return nil, false }
func (downSets) At(context.Context, chain.ID, uint64) (*valset.Set, error) {
	return nil, errNop
}

// TestLastKnown: while the node says nothing of validators, what is kept on disk is given
// out if the last set that was known has signed it with the quorum; nobody is asked.
func TestLastKnown(t *testing.T) {
	store := &mapStore{m: map[string][]byte{}}
	peers := newFakePeers(equal(5)...)
	first := newBed(t, peers, func(c *Config) { c.Store = store })
	want, _ := first.want(t, request(t, 1, 60, 20))
	first.stop()
	set := first.sets.set.Load()
	b := newBed(t, peers, func(c *Config) {
		c.Store, c.Sets = store, downSets{first.sets}
		c.LastKnown = func(subnet chain.ID) (*valset.Set, bool) { return set, subnet.IsZero() }
	})
	got, err := b.Aggregate(t.Context(), request(t, 1, 60, 0)) // which was made for more
	if err != nil || !bytes.Equal(got.Signed, want.Signed) || got.Height != set.Height {
		t.Errorf("%+v, %v", got, err)
	}
	b.wantError(t, request(t, 1, 90, 0), NodeFailed)
	b.wantError(t, request(t, 2, 60, 0), NodeFailed)
	exact := request(t, 1, 60, 0)
	exact.PChainHeight = 7
	b.wantError(t, exact, NodeFailed)
	elsewhere := request(t, 1, 60, 0)
	elsewhere.SigningSubnetID = &chain.ID{9}
	b.wantError(t, elsewhere, NodeFailed)
}

// TestPercentOf holds it against the weight that a percent needs.
func TestPercentOf(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		total := 1 + rng.Uint64N(math.MaxUint64)>>rng.IntN(64)
		weight := 1 + rng.Uint64N(total)
		for percent := range 101 {
			if weight >= need(total, percent) != (percentOf(weight, total) >= percent) {
				t.Fatalf("%d of %d is %d%%, and %d%% need %d", weight, total, percentOf(weight, total), percent, need(total, percent))
			}
		}
	}
}

// What nobody uses is forgotten after some minutes but for a few bytes of it, and the
// bound holds at any time.
func TestSizedForgets(t *testing.T) {
	t.Parallel()
	const each, most = 64 << 10, 3 * alwaysKept
	now := time.Unix(1e9, 0)
	s := newSized[int](most, func(int) int { return each })
	s.now = func() time.Time { return now }
	next := 0
	fill := func(n int) {
		for range n {
			s.put(next, next)
			next++
		}
	}
	fill(alwaysKept / each)
	now = now.Add(24 * time.Hour)
	if s.put(0, 0); s.used != alwaysKept {
		t.Fatalf("%d bytes of what was there for a day, want %d", s.used, alwaysKept)
	}
	fill(2 * most / each)
	if s.used != most {
		t.Fatalf("%d bytes, want %d", s.used, most)
	}
	now = now.Add(unusedFor / 2)
	kept := next - 1
	for i := next - 10; i < next; i++ {
		if v, ok := s.get(i); !ok || v != i {
			t.Fatalf("%d is missing", i)
		}
	}
	if now = now.Add(unusedFor / 2); s.used != most {
		t.Fatalf("%d bytes, want %d", s.used, most)
	}
	if fill(1); s.used != alwaysKept {
		t.Fatalf("%d bytes when nothing was used for long, want %d", s.used, alwaysKept)
	}
	if _, ok := s.get(kept); !ok {
		t.Error("what was used half the time ago is forgotten")
	}
	for fresh := 0; fresh < 2*alwaysKept/each; fresh++ {
		fill(1)
	}
	if s.used < 2*alwaysKept || s.used > most {
		t.Errorf("%d bytes, though %d of them are new", s.used, 2*alwaysKept)
	}
}
