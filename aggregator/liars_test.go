package aggregator

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"quorate/aggregator/bls"
	"quorate/devnet/torture"
	"quorate/engine/chain/warp"
	"quorate/engine/metric"
)

// cancellingPair makes two validators send s+d and s'-d: each is invalid, their sum is not.
func cancellingPair(t *testing.T, a, b *fakeValidator) {
	t.Helper()
	shift := bls.SecretKeyFromSeed([]byte("the shift that cancels, of 32 bytes"))
	with := func(negative bool) reply {
		return func(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
			own, d := v.sign(msg.Bytes()), shift.Sign(msg.Bytes())
			if negative {
				d[0] ^= 0x20 // the sign bit of a compressed point
			}
			x, err := bls.DecodeSignature(own[:])
			if err != nil {
				t.Error(err)
			}
			y, err := bls.DecodeSignature(d[:])
			if err != nil {
				t.Error(err)
			}
			sum := bls.SumSignatures([]*bls.Signature{x, y})
			raw := sum.Bytes()
			deliver(Answer{From: v.id, Signature: raw[:]})
		}
	}
	a.set(with(false))
	b.set(with(true))
}

// TestCancellingPair: two colluding validators send parts that are invalid but
// whose sum is valid. Whatever subset is answered with must verify; it fails
// when the final check of exactly that subset is left out.
func TestCancellingPair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(10)...)
		cancellingPair(t, peers.vals[2], peers.vals[7])
		b := newBed(t, peers, nil)
		b.want(t, request(t, 1, 67, 33))
		// Another set without one of the two: parts kept from the first must not spoil it.
		half := newFakePeers(equal(10)...)
		half.vals = append(half.vals[:7:7], half.vals[8:]...)
		b.sets.set.Store(half.validatorSet(t, 8))
		if _, signers := b.want(t, request(t, 1, 67, 33)); signers != 8 {
			t.Errorf("%d signers of 9 with one liar", signers)
		}
		b.want(t, request(t, 2, 67, 33))
		b.stop()
	})
}

func TestLiarIsQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		set := metric.NewSet()
		peers := newFakePeers(equal(5)...)
		liar := peers.vals[2]
		liar.set(signsWrongly)
		b := newBed(t, peers, func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(&logs, nil))
			c.Metrics = set
		})
		for i := range 5 {
			if _, signers := b.want(t, request(t, i, 67, 33)); signers != 4 {
				t.Errorf("%d signers", signers)
			}
		}
		if n := strings.Count(logs.String(), liar.id.String()); n != 1 {
			t.Errorf("liar is named %d times in %s", n, &logs)
		}
		if n := liar.asks(); n != 1 {
			t.Errorf("liar was asked %d times in its quarantine", n)
		}
		if n := set.Value("quorate_aggregator_invalid_total", "kind", "signature"); n != 1 {
			t.Errorf("counted %v times", n)
		}
		// It is asked again when its term is over, and in need at once; then its
		// signature counts only after a check of its own.
		peers.vals[0].set(keepsSilent)
		peers.vals[1].set(keepsSilent)
		b.wantError(t, request(t, 100, 67, 0), Unreachable)
		liar.set(signs)
		peers.vals[1].set(signs)
		if _, signers := b.want(t, request(t, 101, 80, 0)); signers != 4 {
			t.Errorf("%d signers with the repentant", signers)
		}
		b.stop()
	})
}

// outsideSubgroup is a point of the curve that is not in the subgroup.
func outsideSubgroup(t testing.TB) []byte {
	t.Helper()
	raw := make([]byte, bls.SignatureLen)
	raw[0] = 0x80
	for i := range 256 {
		raw[bls.SignatureLen-1] = byte(i)
		if s, err := bls.DecodeSignature(raw); err == nil && !s.InSubgroup() {
			return raw
		}
	}
	t.Fatal("no such point")
	return nil
}

// signsAnother signs another message than the one asked for.
func signsAnother(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
	sig := v.sign(append([]byte{0}, msg.Bytes()...))
	deliver(Answer{From: v.id, Signature: sig[:]})
}

// lies are the kinds of lies, with what the metrics call them.
func lies(t testing.TB) (kinds []string, replies []reply) {
	add := func(kind string, r reply) { kinds, replies = append(kinds, kind), append(replies, r) }
	add("signature", signsWrongly)
	add("signature", signsAnother)
	add("length", sends(make([]byte, 1)))
	add("length", sends(make([]byte, 95)))
	add("length", sends(make([]byte, 97)))
	add("subgroup", sends(outsideSubgroup(t)))
	add("infinity", sends(append([]byte{0xc0}, make([]byte, bls.SignatureLen-1)...)))
	add("encoding", sends(bytes.Repeat([]byte{0xff}, bls.SignatureLen)))
	return kinds, replies
}

// TestEveryLie: a share of 100 validators lies in every way at once. Messages
// are signed as long as a quorum of honest stake is left, and not longer.
func TestEveryLie(t *testing.T) {
	for _, c := range []struct {
		liars, quorum, messages int
		ok                      bool
	}{{20, 67, torture.Pick(12, 150), true}, {20, 80, torture.Pick(6, 50), true}, {33, 67, torture.Pick(6, 50), true}, {34, 67, 3, false}} {
		t.Run(fmt.Sprint(c.liars, " of 100 at ", c.quorum), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { everyLie(t, c.liars, c.quorum, c.messages, c.ok) })
		})
	}
}

func everyLie(t *testing.T, liars, quorum, messages int, ok bool) {
	var logs bytes.Buffer
	set := metric.NewSet()
	peers := newFakePeers(equal(100)...)
	kinds, replies := lies(t)
	want := make(map[string]int)
	for k := range liars - 2 {
		peers.vals[3*k].set(replies[k%len(replies)])
		want[kinds[k%len(kinds)]]++
	}
	if ok {
		cancellingPair(t, peers.vals[98], peers.vals[97])
	} else { // the sum of a pair is valid, and may make up a quorum
		peers.vals[98].set(signsWrongly)
		peers.vals[97].set(signsWrongly)
	}
	b := newBed(t, peers, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&logs, nil))
		c.Metrics = set
	})
	var wg sync.WaitGroup
	gate := make(chan struct{}, 16)
	for i := range messages {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			req := request(t, i, quorum, i%3*(100-quorum)/2)
			if ok {
				b.want(t, req)
			} else if e := b.wantError(t, req, Invalid); !strings.Contains(e.Msg, "invalid 3") {
				t.Error(e)
			}
		})
	}
	wg.Wait()
	for k := range liars - 2 {
		id := peers.vals[3*k].id.String()
		if n := strings.Count(logs.String(), id); n > 1 || n == 0 && quorum+liars >= 100 {
			t.Errorf("liar %d, %s, is named %d times", k, kinds[k%len(kinds)], n)
		}
	}
	for kind, n := range want {
		got := int(set.Value("quorate_aggregator_invalid_total", "kind", kind))
		if got < n && quorum+liars >= 100 {
			t.Errorf("%s: %d counted, %d liars", kind, got, n)
		}
	}
	for _, v := range peers.vals {
		if n := strings.Count(logs.String(), v.id.String()); n > 1 {
			t.Errorf("validator %v is named %d times", v.id, n)
		}
	}
	b.stop()
}

// TestLiarIsSearchedForOnce: what is under way when a liar is found leaves it
// out without a search of its own.
func TestLiarIsSearchedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(20)...)
		liar := peers.vals[7]
		liar.set(signsWrongly)
		// The second message waits for two validators until the first is done.
		slow := peers.vals[3:5]
		b := newBed(t, peers, nil)
		first, second := request(t, 1, 95, 0), request(t, 2, 90, 0)
		for _, v := range slow {
			v.set(func(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
				if bytes.Equal(msg.Bytes(), second.Message) {
					after(b.cfg.Timing.Window/10, signs)(v, msg, deliver)
					return
				}
				signs(v, msg, deliver)
			})
		}
		var wg sync.WaitGroup
		wg.Go(func() { b.want(t, second) })
		synctest.Wait()
		b.want(t, first)
		wg.Wait()
		if n := metric.Value(b.count.batches.checks); n != 3 {
			t.Errorf("%v checks, want one that fails and two that pass", n)
		}
		b.stop()
	})
}
