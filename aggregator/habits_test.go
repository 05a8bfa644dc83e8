package aggregator

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// jittery answers after 10 to 30 ms.
func jittery(rnd *rand.Rand, r reply) reply {
	return func(v *fakeValidator, msg *warp.Unsigned, deliver func(Answer)) {
		v.mu.Lock()
		wait := 10*time.Millisecond + time.Duration(rnd.Int64N(int64(20*time.Millisecond)))
		v.mu.Unlock()
		after(wait, r)(v, msg, deliver)
	}
}

// shares of the validators, in percent, that misbehave.
type shares struct{ refusing, silent, slow int }

// measureHabits has messages signed one after the other by n validators and
// returns the median time from the third on, and the share of questions from
// then on that brought no signature.
func measureHabits(t *testing.T, n, buffer int, bad shares) (p50 time.Duration, wasted float64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(n)...)
		rnd := rand.New(rand.NewPCG(uint64(n), 1))
		refusing, silent, slow := n*bad.refusing/100, n*bad.silent/100, n*bad.slow/100
		for i, k := range rnd.Perm(n) {
			v := peers.vals[k]
			own := rand.New(rand.NewPCG(uint64(k), 2))
			switch {
			case i < refusing:
				v.set(jittery(own, refuses(2)))
			case i < refusing+silent:
				v.set(keepsSilent)
			case i < refusing+silent+slow:
				v.set(after(700*time.Millisecond, signs))
			default:
				v.set(jittery(own, signs))
			}
			v.bad = i < refusing+silent+slow
		}
		b := newBed(t, peers, nil)
		const messages = 22
		var took []time.Duration
		asked, idle := 0, 0
		for i := range messages {
			if i == 2 {
				asked, idle = peers.questions()
			}
			start := time.Now()
			b.want(t, request(t, i, 67, buffer))
			took = append(took, time.Since(start))
			<-time.After(20 * time.Millisecond)
		}
		all, vain := peers.questions()
		wasted = float64(vain-idle) / float64(all-asked)
		took = took[2:]
		slices.Sort(took)
		p50 = took[len(took)/2]
		b.stop()
	})
	return p50, wasted
}

// questions returns how many were asked, and of them those of misbehaving validators.
func (p *fakePeers) questions() (all, vain int) {
	for _, v := range p.vals {
		n := v.asks()
		all += n
		if v.bad {
			vain += n
		}
	}
	return all, vain
}

// TestHabits: from the third message on, validators that refuse, keep silent or
// are slow cost next to nothing.
func TestHabits(t *testing.T) {
	for n := 20; n <= torture.Pick(20, 60); n += 40 {
		for _, buffer := range []int{0, 13} {
			good, _ := measureHabits(t, n, buffer, shares{})
			for _, bad := range []shares{{25, 0, 0}, {0, 20, 0}, {0, 0, 20}, {10, 10, 5}} {
				name := fmt.Sprintf("%d validators, buffer %d, %+v", n, buffer, bad)
				got, wasted := measureHabits(t, n, buffer, bad)
				t.Logf("%s: p50 %v against %v, %.1f%% wasted", name, got, good, 100*wasted)
				if got > good*13/10 {
					t.Errorf("%s: p50 %v, without them %v", name, got, good)
				}
				if wasted > 0.02 {
					t.Errorf("%s: %.1f%% of the questions were wasted", name, 100*wasted)
				}
			}
		}
	}
}

// TestRecovery: who signs again is found out by a probe, and counted on again.
func TestRecovery(t *testing.T) {
	for name, bad := range map[string]reply{"refuser": refuses(2), "silent": keepsSilent, "slow": after(700*time.Millisecond, signs)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peers := newFakePeers(equal(6)...)
				for _, v := range peers.vals {
					v.set(after(10*time.Millisecond, signs))
				}
				v := peers.vals[4]
				v.set(bad)
				b := newBed(t, peers, nil)
				i := 0
				sign := func(n int, pause time.Duration) (asked int) {
					before := v.asks()
					for range n {
						b.want(t, request(t, i, 67, 33))
						i++
						<-time.After(pause)
					}
					return v.asks() - before
				}
				sign(5, time.Second)
				if n := sign(50, time.Second); n > 6 {
					t.Errorf("asked %d times in 50 messages", n)
				}
				v.set(after(10*time.Millisecond, signs))
				sign(90, 10*time.Second) // longer than the longest wait for a probe
				if n := sign(20, time.Second); n != 20 {
					t.Errorf("recovered, but asked for %d of 20 messages", n)
				}
				b.stop()
			})
		})
	}
}

// TestNobodysFault: messages that nobody signs, and refusals that come so early
// that the block may just not be accepted, leave no mark.
func TestNobodysFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		b := newBed(t, peers, nil)
		for _, v := range peers.vals {
			v.set(refuses(2))
		}
		for i := range 5 {
			b.wantError(t, request(t, i, 67, 0), NotYet)
		}
		for _, v := range peers.vals {
			v.set(keepsSilent)
		}
		b.wantError(t, request(t, 10, 67, 0), Unreachable)
		if n := b.habits.unreliable(); n != 0 {
			t.Errorf("%d validators are said to be unreliable", n)
		}
		b.stop()
	})
}

// notesInMemory is a Notes.
type notesInMemory struct{ mapStore }

func (n *notesInMemory) Each(prefix []byte, f func(key, value []byte)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, v := range n.m {
		if len(k) >= len(prefix) && k[:len(prefix)] == string(prefix) {
			f([]byte(k), v)
		}
	}
	return nil
}

// TestMemorySurvivesRestart: the first message after a restart asks nobody who
// refused, kept silent or lied before it.
func TestMemorySurvivesRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		notes := &notesInMemory{mapStore{m: map[string][]byte{}}}
		peers := newFakePeers(equal(20)...)
		for i, v := range peers.vals {
			v.set(after(10*time.Millisecond, signs))
			switch {
			case i < 2:
				v.set(after(10*time.Millisecond, refuses(2)))
			case i < 4:
				v.set(keepsSilent)
			case i == 4:
				v.set(after(10*time.Millisecond, signsWrongly))
			}
			v.bad = i <= 4
		}
		first := newBed(t, peers, func(c *Config) { c.Notes = notes })
		for i := range 6 {
			first.want(t, request(t, i, 67, 13))
			<-time.After(time.Second)
		}
		first.stop()
		second := newBed(t, peers, func(c *Config) { c.Notes = notes })
		_, before := peers.questions()
		start := time.Now()
		second.want(t, request(t, 100, 67, 0))
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if _, vain := peers.questions(); vain != before {
			t.Errorf("%d questions to those who were known to misbehave", vain-before)
		}
		h, ok := second.habits.look(habitKey{chain.PrimaryNetworkID, peers.vals[10].id})
		if !ok || h.latency != 10*time.Millisecond {
			t.Errorf("latency %v", h.latency)
		}
		second.stop()
	})
}

// FuzzNotes: whatever lies on the disk is refused or reads back the same.
func FuzzNotes(f *testing.F) {
	h := habit{strikes: 4, term: time.Minute, probeAt: time.Unix(1_700_000_000, 0), latency: 5 * time.Millisecond, seen: time.Unix(1_700_000_000, 0)}
	s := quarantineTerm{until: time.Unix(1_700_000_000, 0), length: 10 * time.Minute}
	f.Add(h.note())
	f.Add(s.note())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, ok := parseHabit(b); ok && h.term < probeMax && string(h.note()) != string(b) {
			t.Errorf("%x reads back as %x", b, h.note())
		}
		if s, ok := parseTerm(b); ok && string(s.note()) != string(b) {
			t.Errorf("%x reads back as %x", b, s.note())
		}
	})
}

// TestHabitsAreBounded: neither they nor what waits to be saved grow without end.
func TestHabitsAreBounded(t *testing.T) {
	h := newHabits()
	now := time.Unix(1_700_000_000, 0)
	for i := range maxHabits + 1000 {
		var id chain.NodeID
		id[0], id[1], id[2] = byte(i), byte(i>>8), byte(i>>16)
		h.signed(now, habitKey{node: id}, time.Millisecond)
	}
	if n := h.entries.Len(); n != maxHabits {
		t.Errorf("%d entries", n)
	}
	if n := len(h.takeChanged()); n > maxHabits {
		t.Errorf("%d to be saved", n)
	}
	q := newQuarantine(time.Minute, time.Hour)
	for i := range maxQuarantined + 1000 {
		var key [bls.PublicKeyLen]byte
		key[0], key[1], key[2] = byte(i), byte(i>>8), byte(i>>16)
		q.add(now, key, "signature")
	}
	if n := len(q.takeChanged()); n > maxQuarantined {
		t.Errorf("%d terms to be saved", n)
	}
	if during, after := q.count(now), q.count(now.Add(time.Minute)); during != maxQuarantined || after != 0 {
		t.Errorf("%d keys are quarantined, and %d after their term", during, after)
	}
}

// TestRestoredAhead: what was saved under a clock that was a year ahead holds no longer
// than if the clock had been right.
func TestRestoredAhead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	year := now.AddDate(1, 0, 0)
	q := newQuarantine(time.Second, time.Hour)
	term := quarantineTerm{until: year, length: time.Minute}
	q.restore(now, [bls.PublicKeyLen]byte{1}, term)
	if s, ok := q.entries.Peek([bls.PublicKeyLen]byte{1}); !ok || s.until.Sub(now) != time.Minute {
		t.Errorf("quarantined for %v", s.until.Sub(now))
	}
	h := newHabits()
	h.restore(now, habitKey{}, habit{strikes: unreliableFrom, term: time.Minute, probeAt: year})
	if e, ok := h.entries.Peek(habitKey{}); !ok || e.probeAt.Sub(now) != time.Minute {
		t.Errorf("probed in %v", e.probeAt.Sub(now))
	}
	var j journal
	j.relisted.Store(year.UnixNano())
	if !j.seldom(now) || j.seldom(now) {
		t.Error("repeats are not listed until the clock is where it was")
	}
}

// unreliable returns the number of nodes that are.
func (h *habits) unreliable() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.entries.Values() {
		if e.unreliable() {
			n++
		}
	}
	return n
}
