package aggregator

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/valset"
	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// conduct is what a validator of the table below does.
type conduct int

const (
	doesSign     conduct = iota
	refusesEarly         // with a code that only means "not yet"
	refusesFinal         // with a code that will not change
	staysSilent          // connected, never answers
	isAway               // not connected
	hasNoKey             // part of the total, cannot be asked
	sendsGarbage         // what it sends is no signature
	conductKinds
)

func (c conduct) String() string {
	return [...]string{"signs", "early", "final", "silent", "away", "keyless", "invalid"}[c]
}

// futures returns what a validator may do when it is asked another time: each
// entry is whether it signs then. repents and changes say who may change its mind.
func futures(c conduct, repents, changes bool) []bool {
	switch c {
	case doesSign:
		return []bool{true}
	case refusesEarly, staysSilent, isAway:
		return []bool{false, true}
	case sendsGarbage:
		return []bool{false, true}[:1+count(repents)]
	case refusesFinal:
		return []bool{false, true}[:1+count(changes)]
	}
	return []bool{false}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// someFuture reports whether in some future the signers have percent of the
// weight. It tries them all.
func someFuture(mix []conduct, weights []int, percent int, repents, changes bool) bool {
	total := 0
	for _, w := range weights {
		total += w
	}
	var try func(i, signed int) bool
	try = func(i, signed int) bool {
		if i == len(mix) {
			return signed > 0 && float64(signed)/float64(total) >= float64(percent)/100-1e-12
		}
		for _, signs := range futures(mix[i], repents, changes) {
			if try(i+1, signed+count(signs)*weights[i]) {
				return true
			}
		}
		return false
	}
	return try(0, 0)
}

// wantStatus is the answer that docs/sign.md promises for a mix.
func wantStatus(mix []conduct, weights []int, percent int) string {
	now := make([]conduct, len(mix))
	for i, c := range mix {
		now[i] = hasNoKey
		if c == doesSign {
			now[i] = doesSign
		}
	}
	switch {
	case someFuture(now, weights, percent, false, false):
		return "signed"
	case someFuture(mix, weights, percent, false, false):
		return "503"
	case someFuture(mix, weights, percent, true, false):
		return "502"
	case someFuture(mix, weights, percent, true, true):
		return "400 refused"
	}
	return "400 keyless"
}

// playMix lets a core collect from a mix and returns the status that follows,
// the time it took, and the mix as far as it was found out: who was never asked
// may sign another time, like one who is silent.
func playMix(mix []conduct, weights []int, percent, margin int) (status string, took time.Duration, known []conduct) {
	cfg := Config{Sets: &fakeSets{}, Peers: &fakePeers{}, Timing: Timing{MarginPercent: margin}}
	if err := cfg.fill(); err != nil {
		return err.Error(), 0, mix
	}
	known = append([]conduct(nil), mix...)
	var total uint64
	var voters []uint64
	var order []int32
	var acts []conduct
	var place []int
	for i, c := range mix {
		total += uint64(weights[i])
		if c != hasNoKey {
			order = append(order, int32(len(voters)))
			voters, acts, place = append(voters, uint64(weights[i])), append(acts, c), append(place, i)
		}
	}
	c := newCore(cfg.Timing, total, voters, order)
	c.join(0, percent, 0, 8*time.Second)
	now := time.Duration(0)
	for range 1000 {
		c.advance(now)
		for _, o := range c.results {
			for k := range acts {
				if c.voters[k].tries == 0 {
					known[place[k]] = staysSilent
				}
			}
			if o.ok {
				return "signed", now, known
			}
			switch k := quorumError(c.stake(), percent).Kind; k {
			case NotYet, Unreachable:
				return "503", now, known
			case Invalid:
				return "502", now, known
			default:
				return "400 " + k.String(), now, known
			}
		}
		if c.check {
			c.checked(true, nil)
			continue
		}
		asked := false
		for _, i := range append([]int32(nil), c.asks...) {
			asked = true
			switch acts[i] {
			case doesSign:
				c.answer(int(i))
			case refusesEarly:
				c.refuse(now, int(i), 2, whenSettled)
			case refusesFinal:
				c.refuse(now, int(i), codeNoHandler, certain)
			case isAway:
				c.askFailed(now, int(i), false)
			case sendsGarbage:
				c.bad(int(i))
			case staysSilent:
				c.expect(int(i), 250*time.Millisecond)
			}
		}
		if !asked {
			now = max(now+1, c.wake(now))
		}
	}
	return "no end", now, known
}

// TestVerdicts: every mix of what validators of unlike weight can do gets the status
// that follows from what could still reach the quorum, and what is certain is told at
// once. They are four in short, and five.
func TestVerdicts(t *testing.T) {
	weights := []int{30, 25, 20, 15, 10}[:torture.Pick(4, 5)]
	mix := make([]conduct, len(weights))
	seen := make(map[string]int)
	var each func(i int)
	each = func(i int) {
		if i < len(mix) {
			for c := range conductKinds {
				mix[i] = c
				each(i + 1)
			}
			return
		}
		for _, percent := range []int{33, 67, 100} {
			signed := wantStatus(mix, weights, percent) == "signed"
			for _, margin := range []int{10, 100} { // with 100 all are asked at once
				got, took, known := playMix(mix, weights, percent, margin)
				want := wantStatus(known, weights, percent)
				seen[want]++
				if got != want || (got == "signed") != signed {
					t.Errorf("%v, of which is known %v, at %d%%: %s, want %s", mix, known, percent, got, want)
				}
				if strings.HasPrefix(want, "400") && took > 0 && !slices.Contains(mix, staysSilent) && !slices.Contains(mix, isAway) && !slices.Contains(mix, refusesEarly) {
					t.Errorf("%v at %d%%: it was certain, but took %v", mix, percent, took)
				}
				if took > 4*time.Second {
					t.Errorf("%v at %d%%: %s only after %v", mix, percent, got, took)
				}
			}
		}
	}
	each(0)
	if len(seen) != 5 {
		t.Errorf("the table has %v", seen)
	}
	t.Log(seen)
}

// fakeHistory says when a followed node executed a message's block.
type fakeHistory map[chain.ID]time.Time

func (h fakeHistory) Executed(msg *warp.Unsigned) (time.Time, bool) {
	at, ok := h[msg.ID()]
	return at, ok
}

func (h fakeHistory) Later(chain.ID) bool { return false }

// laterChains is the same of chains that execute blocks after they accepted them.
type laterChains struct{ fakeHistory }

func (laterChains) Later(source chain.ID) bool { return source != chain.PlatformChainID }

// TestRefusals: what refusals lead to and how soon, by what the followed nodes
// know of the message.
func TestRefusals(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		name     string
		code     int32
		platform bool
		accepted time.Duration // before the request; negative: not at all
		kind     Kind
		most     time.Duration
		least    time.Duration
	}{
		{"unknown to the followed nodes", 2, false, -1, NotYet, 1500 * ms, 1500 * ms},
		{"accepted long ago", 2, false, time.Hour, Refused, 0, 0},
		{"accepted 2 s ago", 2, false, 2 * time.Second, Refused, 0, 0},
		{"accepted a second ago", 2, false, time.Second, Refused, time.Second, time.Second},
		{"no handler", codeNoHandler, false, -1, Refused, 0, 0},
		{"only for validators", codeNotValidator, false, -1, Refused, 0, 0},
		{"throttled", codeThrottled, false, time.Hour, NotYet, 1500 * ms, 1500 * ms},
		{"empty", 0, false, time.Hour, Refused, 0, 0},
		{"P-Chain, the message is wrong", 5, true, -1, Refused, 0, 0},
		{"P-Chain, against the state", 11, true, -1, Refused, platformSettle, platformSettle},
		{"P-Chain, against a state that seems to have settled", 11, true, time.Hour, Refused, platformSettle, platformSettle},
		{"P-Chain, against a state just changed", 11, true, 0, Refused, 2 * time.Second, 2 * time.Second},
		{"later: not known, and unknown to the followed nodes", 3, false, -1, NotYet, 1500 * ms, 1500 * ms},
		{"later: not known, executed just now", 3, false, 0, Refused, 2 * time.Second, 2 * time.Second},
		{"later: not known, executed long ago", 3, false, time.Hour, Refused, 0, 0},
		{"later: a block that is not accepted", 4, false, -1, NotYet, 1500 * ms, 1500 * ms},
		{"later: cannot be parsed", 2, false, -1, Refused, 0, 0},
		{"later: its storage fails", 1, false, time.Hour, NotYet, 1500 * ms, 1500 * ms},
		{"later: no handler", codeNoHandler, false, -1, Refused, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				peers := newFakePeers(equal(5)...)
				for _, v := range peers.vals {
					v.set(refuses(c.code))
				}
				req := request(t, 1, 67, 0)
				if c.platform {
					m, err := warp.L1ValidatorRegistration(testNetwork, chain.ID{1}, true)
					if err != nil {
						t.Fatal(err)
					}
					req.Message = m.Bytes()
				}
				known := fakeHistory{}
				var history History = known
				if strings.HasPrefix(c.name, "later") {
					history = laterChains{known}
				}
				if m, err := warp.Parse(req.Message); err != nil {
					t.Fatal(err)
				} else if c.accepted >= 0 {
					known[m.ID()] = time.Now().Add(-c.accepted)
				}
				b := newBed(t, peers, func(cfg *Config) { cfg.History = history })
				start := time.Now()
				e := b.wantError(t, req, c.kind)
				if took := time.Since(start); took > c.most || took < c.least {
					t.Errorf("took %v, want %v to %v", took, c.least, c.most)
				}
				if c.kind == NotYet && e.RetryAfter == 0 {
					t.Error("no word on when to try again")
				}
				b.stop()
			})
		})
	}
}

// TestLateAcceptance: validators that accept the block 1.9 s after the followed
// node did sign in time.
func TestLateAcceptance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(refuses(2))
		}
		b := newBed(t, peers, func(c *Config) { c.History = fakeHistory{message(t, 1).ID(): time.Now()} })
		time.AfterFunc(1900*time.Millisecond, func() {
			for _, v := range peers.vals {
				v.set(signs)
			}
		})
		start := time.Now()
		b.want(t, request(t, 1, 67, 0))
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
		b.stop()
	})
}

// TestLearnsOfAcceptance: a message that becomes known while it is refused is
// collected to its end.
func TestLearnsOfAcceptance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		peers := newFakePeers(equal(5)...)
		for _, v := range peers.vals {
			v.set(refuses(2))
		}
		start := time.Now()
		h := laterHistory(start.Add(time.Second))
		b := newBed(t, peers, func(c *Config) { c.History = h })
		b.wantError(t, request(t, 1, 67, 0), Refused)
		if took := time.Since(start); took < 3*time.Second || took > 3100*time.Millisecond {
			t.Errorf("took %v: refusals are final 2 s after the block is accepted", took)
		}
		b.stop()
	})
}

type laterHistory time.Time

func (h laterHistory) Executed(*warp.Unsigned) (time.Time, bool) {
	return time.Time(h), !time.Now().Before(time.Time(h))
}

func (laterHistory) Later(chain.ID) bool { return false }

// TestCertainAbsence: stake that has been away for long is not hoped for, stake
// that has just gone is.
func TestCertainAbsence(t *testing.T) {
	for _, c := range []struct{ away, took time.Duration }{{time.Hour, 0}, {2 * time.Second, 0}, {time.Second, 2 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			peers := newFakePeers(equal(5)...)
			for _, v := range peers.vals[:2] {
				v.down, v.awayFor = true, c.away
			}
			b := newBed(t, peers, nil)
			start := time.Now()
			b.wantError(t, request(t, 1, 67, 0), Unreachable)
			if took := time.Since(start); took != c.took {
				t.Errorf("away for %v: took %v, want %v", c.away, took, c.took)
			}
			b.want(t, request(t, 1, 60, 0))
			b.stop()
		})
	}
}

// TestMixedVerdicts plays the mixes that once got the wrong answer through the
// whole aggregator.
func TestMixedVerdicts(t *testing.T) {
	type part struct {
		weight uint64
		set    func(*fakeValidator)
	}
	honest := func(*fakeValidator) {}
	refuser := func(v *fakeValidator) { v.reply = refuses(2) }
	absent := func(v *fakeValidator) { v.down = true }
	for _, c := range []struct {
		name    string
		parts   []part
		keyless uint64
		kind    Kind
	}{
		{"the absent would do", []part{{60, honest}, {25, refuser}, {15, absent}}, 0, Unreachable},
		{"the absent would not do", []part{{25, honest}, {35, refuser}, {40, absent}}, 0, Refused},
		{"no key", []part{{60, honest}}, 40, Keyless},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var weights []uint64
				for _, p := range c.parts {
					weights = append(weights, p.weight)
				}
				peers := newFakePeers(weights...)
				for i, p := range c.parts {
					p.set(peers.vals[i])
				}
				b := newBed(t, peers, func(cfg *Config) { cfg.History = fakeHistory{message(t, 1).ID(): time.Now().Add(-time.Hour)} })
				if c.keyless > 0 {
					b.sets.set.Store(peers.validatorSet(t, 9, valset.Member{NodeID: chain.NodeID{1, 2}, Weight: c.keyless}))
				}
				_, err := b.Aggregate(t.Context(), request(t, 1, 67, 0))
				var e *Error
				if !errors.As(err, &e) || e.Kind != c.kind {
					t.Errorf("got %v, want kind %v", err, c.kind)
				}
				b.stop()
			})
		})
	}
}
