package aggregator

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quorate/devnet/torture"
)

// habits of a simulated voter.
const (
	honest  = iota
	slow    // answers after the window
	mute    // never answers
	absent  // cannot be asked
	liar    // sends a signature that spoils the sum
	garbage // sends something that is no signature
	refuser
	learner  // refuses twice, then signs
	crowded  // cannot take the question a few times, then signs
	exposed  // signs wrongly, and is caught elsewhere after it has answered
	denier   // refuses for good
	gone     // cannot be asked, and is not expected back
	twoFaced // has a second node, which signs; the first keeps silent or refuses
	simHabits
)

// TestRandomCollections plays random validator sets against the core and holds
// it to what it promises whatever the validators do.
func TestRandomCollections(t *testing.T) {
	for seed := range uint64(torture.Pick(1000, 3000)) {
		s := newSim(seed)
		s.run(t)
		if t.Failed() {
			t.Fatalf("seed %d: habits %v, held %v, settled at %v", seed, s.habit, s.held, s.c.settled)
		}
	}
}

type simEvent struct {
	at    time.Duration
	voter int // -1: the verdict
	what  string
}

type sim struct {
	rnd    *rand.Rand
	c      *core
	now    time.Duration
	habit  []int
	queue  []simEvent
	sum    []int32      // voters in the sum under check
	passed [][]int32    // those in each that was valid, as the core's proofs
	wishes map[int]wish // of the demands that have no outcome yet
	held   []bool       // asked in need alone
}

func newSim(seed uint64) *sim {
	s := &sim{rnd: rand.New(rand.NewPCG(seed, 7))}
	n := 1 + s.rnd.IntN(12)
	weights := make([]uint64, n)
	order := make([]int32, n)
	total := uint64(s.rnd.IntN(20)) // keyless
	kinds := 1 + s.rnd.IntN(simHabits)
	for i := range weights {
		weights[i] = 1 + uint64(s.rnd.IntN(100))
		total += weights[i]
		order[i] = int32(i)
		s.habit = append(s.habit, s.rnd.IntN(kinds))
	}
	s.rnd.Shuffle(n, func(a, b int) { order[a], order[b] = order[b], order[a] })
	cfg := Config{Sets: &fakeSets{}, Peers: &fakePeers{}}
	if err := cfg.fill(); err != nil {
		panic(err)
	}
	s.c = newCore(cfg.Timing, total, weights, order)
	s.held = make([]bool, n)
	for i, h := range s.habit {
		if h == twoFaced {
			s.c.voters[i].twins = 1
		}
		if s.rnd.IntN(6) == 0 {
			s.held[i] = true
			s.c.hold(i)
			if s.rnd.IntN(2) == 0 {
				s.c.probe(i)
			}
		}
	}
	if s.rnd.IntN(2) == 0 {
		s.c.settle(0, time.Duration(s.rnd.IntN(4))*time.Second)
	}
	s.wishes = make(map[int]wish)
	s.join()
	for range s.rnd.IntN(3) {
		s.queue = append(s.queue, simEvent{time.Duration(s.rnd.IntN(40)) * time.Millisecond, -1, "join"})
	}
	return s
}

func (s *sim) join() {
	var w wish
	w.quorum = s.rnd.IntN(101)
	w.buffer = s.rnd.IntN(101 - w.quorum)
	s.wishes[s.c.join(s.now, w.quorum, w.buffer, 8*time.Second)] = w
}

func (s *sim) run(t *testing.T) {
	for steps := 0; ; steps++ {
		if steps > 5000 {
			t.Fatal("no end")
		}
		if done := s.step(t); done {
			return
		}
		next := s.c.wake(s.now)
		for _, e := range s.queue {
			next = min(next, max(e.at, s.now))
		}
		if next == never {
			t.Fatal("waits for nothing")
		}
		s.now = next
		s.deliver()
	}
}

func (s *sim) step(t *testing.T) bool {
	s.c.advance(s.now)
	for _, i := range s.c.asks {
		s.asked(int(i))
	}
	if s.c.check {
		s.sum = slices.Clone(s.c.picked)
		s.fewest(t)
		s.queue = append(s.queue, simEvent{s.now + time.Millisecond, -1, "verdict"})
	}
	for _, o := range s.c.results {
		s.judge(t, o)
		delete(s.wishes, o.demand)
	}
	return len(s.wishes) == 0
}

func (s *sim) asked(i int) {
	soon := s.now + time.Duration(1+s.rnd.IntN(20))*time.Millisecond
	s.c.expect(i, 40*time.Millisecond)
	switch s.habit[i] {
	case honest, liar:
		s.queue = append(s.queue, simEvent{soon, i, "answer"})
	case slow:
		s.queue = append(s.queue, simEvent{s.now + 600*time.Millisecond, i, "answer"})
	case absent:
		s.c.askFailed(s.now, i, false)
	case gone:
		s.c.askFailed(s.now, i, true)
	case denier:
		s.queue = append(s.queue, simEvent{soon, i, "deny"})
	case twoFaced:
		switch {
		case s.c.voters[i].twins == 0:
			s.queue = append(s.queue, simEvent{soon, i, "answer"})
		case i%2 == 0:
			s.queue = append(s.queue, simEvent{soon, i, "deny"})
		}
	case crowded:
		if s.c.voters[i].waits < 3 {
			s.c.askBusy(s.now, i)
			return
		}
		s.queue = append(s.queue, simEvent{soon, i, "answer"})
	case exposed:
		if s.c.voters[i].reserve { // then its signature is checked alone
			s.queue = append(s.queue, simEvent{soon, i, "garbage"})
			return
		}
		s.queue = append(s.queue, simEvent{soon, i, "answer"}, simEvent{soon + time.Millisecond/2, i, "exposed"})
	case garbage:
		s.queue = append(s.queue, simEvent{soon, i, "garbage"})
	case refuser:
		s.queue = append(s.queue, simEvent{soon, i, "refuse"})
	case learner:
		what := "refuse"
		if s.c.voters[i].tries > 2 {
			what = "answer"
		}
		s.queue = append(s.queue, simEvent{soon, i, what})
	}
}

func (s *sim) deliver() {
	left := s.queue[:0]
	due := make([]simEvent, 0, len(s.queue))
	for _, e := range s.queue {
		if e.at <= s.now {
			due = append(due, e)
		} else {
			left = append(left, e)
		}
	}
	s.queue = left
	for _, e := range due {
		switch e.what {
		case "answer":
			s.c.answer(e.voter)
		case "garbage":
			s.c.bad(e.voter)
		case "exposed":
			s.c.setAside(e.voter)
		case "refuse":
			s.c.refuse(s.now, e.voter, 2, whenSettled)
		case "deny":
			s.c.refuse(s.now, e.voter, codeNoHandler, certain)
		case "verdict":
			s.verdict()
		case "join":
			s.join()
		}
	}
}

func (s *sim) verdict() {
	var bads []int32
	for _, i := range s.sum {
		if s.habit[i] == liar || s.habit[i] == exposed {
			bads = append(bads, i)
		}
	}
	if len(bads) == 0 {
		s.passed = append(s.passed, s.sum)
	}
	s.c.checked(len(bads) == 0, bads)
}

// fewest holds that no smaller set of those who answered weighs what the sum under check does it for.
func (s *sim) fewest(t *testing.T) {
	var weights []uint64
	var have, most uint64
	for i := range s.c.voters {
		if s.c.voters[i].state == answered {
			weights = append(weights, s.c.voters[i].weight)
		}
	}
	for _, i := range s.sum {
		if s.c.voters[i].state != answered {
			t.Errorf("voter %d is picked and has not answered", i)
		}
		have += s.c.voters[i].weight
	}
	slices.Sort(weights)
	for _, w := range weights[len(weights)-len(s.sum)+1:] { // the heaviest of one less
		most += w
	}
	if goal := s.c.goal.weight; have < goal || most >= goal {
		t.Errorf("%d signers of weight %d are picked for %d; one less could weigh %d", len(s.sum), have, goal, most)
	}
}

func (s *sim) judge(t *testing.T, o outcome) {
	var will, might, prompt uint64 // stake that signs in time, that may, and that signs at once
	for i := range s.c.voters {
		w := s.c.voters[i].weight
		switch s.habit[i] {
		case honest:
			if !s.held[i] {
				prompt += w
			}
			will += w
		case slow, crowded, twoFaced:
			will += w
		case learner: // unless its refusals are final before it has learned
			might += w
			if s.c.settled == never {
				will += w
				might -= w
			}
		}
	}
	might += will
	wish := s.wishes[o.demand]
	q := need(s.c.total, wish.quorum)
	if will >= q && !o.ok || might < q && o.ok {
		t.Errorf("quorum %d of %d, willing %d to %d: ok is %v", q, s.c.total, will, might, o.ok)
	}
	var given uint64
	var signers []int32
	if o.ok {
		given, signers = s.c.proofs[o.proof].weight, s.passed[o.proof]
		var weight uint64
		for _, i := range signers {
			weight += s.c.voters[i].weight
		}
		if given < q || weight != given {
			t.Errorf("answered with %d of weight %d, quorum %d", given, weight, q)
		}
	}
	for _, i := range signers {
		if s.habit[i] == liar || s.habit[i] == exposed {
			t.Errorf("liar %d in the answer", i)
		}
	}
	if s.now > s.c.timing.AskTimeout+5*time.Second {
		t.Errorf("took %v", s.now)
	}
	if all := need(s.c.total, wish.quorum+wish.buffer); o.ok && prompt >= all && given < all && s.now < s.c.timing.Window {
		t.Errorf("answered with %d before the window closed, %d were to be had", given, all)
	}
	st := s.c.stake()
	if sum := st.Signed + st.Refused + st.Invalid + st.Silent + st.Unreachable + st.Pending + st.Underfunded + st.Keyless; sum != st.Total {
		t.Errorf("parts of the stake sum to %d of %d", sum, st.Total)
	}
}
