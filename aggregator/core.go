package aggregator

import (
	"math"
	"math/bits"
	"time"
)

// never is the wake-up time of a core that waits for nothing but events.
const never = time.Duration(math.MaxInt64)

// Timing bounds how long a collection waits for what. Times inside the core
// are durations since its start: it never reads a clock.
type Timing struct {
	// Window bounds the wait for the buffer once the quorum has answered.
	Window time.Duration
	// AskTimeout is when a validator that does not answer counts as silent.
	AskTimeout time.Duration
	// ConnectWait is how long a collection hopes for validators that are not connected.
	ConnectWait time.Duration
	// Retries are the waits before a validator that refused is asked again: right
	// after a message is emitted some have not accepted its block yet.
	Retries []time.Duration
	// MarginPercent of the total weight is asked beyond what is needed, and up to
	// twice that to cover the heaviest asked, so that one late answer costs nothing.
	MarginPercent int
}

// voterState is what a collection knows of one entry of the validator set.
type voterState uint8

const (
	idle     voterState = iota // not asked yet
	asked                      // asked, answer expected
	late                       // asked, answer overdue: others are asked in its place
	deferred                   // refused, busy or not connected, to be asked again when due
	answered                   // well-formed signature received

	// Final states: these will not sign.
	refused
	invalid
	silent
	unreachable
	excluded // must not be asked
)

type voter struct {
	weight  uint64
	state   voterState
	suspect bool // quarantined: asked only when the quorum cannot be had without it
	refusal bool // of deferred: refused
	busy    bool // of deferred: could not take the question yet, but is connected
	tries   uint8
	waits   uint8         // times it was busy
	code    int32         // last refusal's code
	due     time.Duration // asked: becomes late; late: becomes silent; deferred: is asked again
	since   time.Duration // asked at
}

// party is one caller's demand on a collection.
type party struct {
	id           int
	quorum       uint64 // weight that must sign
	target       uint64 // weight to try for: quorum and buffer
	deadline     time.Duration
	windowCloses time.Duration // never until the quorum has answered
}

// outcome ends a party: with a verified signer set, or without.
type outcome struct {
	party int
	ok    bool
}

// core is the pure state machine of one collection: events in, effects out. It
// does no I/O, knows no clock and no cryptography; signatures are opaque to it.
// After each batch of events call advance, then carry out the effects.
type core struct {
	timing Timing
	total  uint64
	margin uint64 // between MarginPercent and twice that
	voters []voter
	order  []int32 // indices in order of preference
	scan   int     // order[:scan] holds no idle voter

	sums      [excluded + 1]uint64 // weight by state
	suspectW  uint64               // part of sums[idle] that is suspect
	againW    uint64               // part of sums[deferred] that is connected
	verifiedW uint64               // weight of the last signer set that passed the check
	changed   bool                 // answered set differs from the last one checked
	checking  bool
	parties   []party
	nextID    int
	timer     time.Duration // no voter is due before

	// Effects of the last advance, valid until the next event.
	asks    []int32   // voters to ask now; report failures with askFailed
	check   bool      // verify the sum of all answered signatures, report with checked
	results []outcome // parties that ended
}

// need is the least weight that is at least percent of total, and at least 1:
// nothing is signed by nobody.
func need(total uint64, percent int) uint64 {
	hi, lo := bits.Mul64(total, uint64(percent)) // 0..100
	lo, carry := bits.Add64(lo, 99, 0)
	q, _ := bits.Div64(hi+carry, lo, 100)
	return max(q, 1)
}

// newCore starts a collection over voters of the given weights; total also
// counts those that cannot sign.
func newCore(timing Timing, total uint64, weights []uint64, order []int32) *core {
	c := &core{timing: timing, total: total, order: order, timer: never}
	c.margin = need(total, timing.MarginPercent)
	c.voters = make([]voter, len(weights))
	for i, w := range weights {
		c.voters[i].weight = w
		c.sums[idle] += w
	}
	return c
}

func (c *core) move(i int, to voterState) {
	v := &c.voters[i]
	c.sums[v.state] -= v.weight
	if v.state == idle && v.suspect {
		c.suspectW -= v.weight
	}
	if v.state == deferred && (v.refusal || v.busy) {
		c.againW -= v.weight
	}
	v.state = to
	c.sums[to] += v.weight
	if to == deferred && (v.refusal || v.busy) {
		c.againW += v.weight
	}
	if to == answered || to == invalid {
		c.changed = true
	}
}

// exclude keeps a voter from being asked. Call before the first advance.
func (c *core) exclude(i int) { c.move(i, excluded) }

// quarantine marks a voter as asked only in need. Call before the first advance.
func (c *core) quarantine(i int) {
	if v := &c.voters[i]; !v.suspect && v.state == idle {
		v.suspect = true
		c.suspectW += v.weight
	}
}

// setAside takes back the answer of voter i, which was caught lying elsewhere
// meanwhile: it is asked again only in need.
func (c *core) setAside(i int) {
	v := &c.voters[i]
	if v.state != answered {
		return
	}
	c.move(i, idle)
	v.suspect = true
	c.suspectW += v.weight
	c.changed = true
	c.scan = 0
}

// join adds a party and gives its number.
func (c *core) join(now time.Duration, quorum, buffer int, deadline time.Duration) int {
	c.nextID++
	c.parties = append(c.parties, party{
		id: c.nextID, quorum: need(c.total, quorum), target: need(c.total, quorum+buffer),
		deadline: now + deadline, windowCloses: never,
	})
	return c.nextID
}

// leave removes a party whose caller has gone.
func (c *core) leave(id int) {
	for k := range c.parties {
		if c.parties[k].id == id {
			c.parties = append(c.parties[:k], c.parties[k+1:]...)
			return
		}
	}
}

// answer records a well-formed signature of voter i. It tells whether the
// signature is news.
func (c *core) answer(i int) bool {
	v := &c.voters[i]
	if v.state == answered || v.state == invalid || v.state == excluded {
		return false
	}
	c.move(i, answered)
	return true
}

// bad records that voter i sent something that is no valid signature.
func (c *core) bad(i int) { c.move(i, invalid) }

// refuse records that voter i declined with code.
func (c *core) refuse(now time.Duration, i int, code int32) {
	v := &c.voters[i]
	if v.state != asked && v.state != late {
		return
	}
	v.code = code
	if int(v.tries) > len(c.timing.Retries) {
		c.move(i, refused)
		return
	}
	v.refusal, v.busy = true, false
	c.postpone(i, now+c.timing.Retries[v.tries-1])
}

// askFailed records that voter i could not be asked, or that the connection
// was lost before it answered.
func (c *core) askFailed(now time.Duration, i int) {
	v := &c.voters[i]
	if v.state != asked && v.state != late {
		return
	}
	if now >= c.timing.ConnectWait {
		c.move(i, unreachable)
		return
	}
	v.refusal, v.busy = false, false
	wait := 50 * time.Millisecond << min(v.tries, 4)
	c.postpone(i, min(now+wait, max(c.timing.ConnectWait, now+1)))
}

// askBusy records that voter i, just asked, is connected but has as many
// questions as it may have. Unlike one that is away it is waited for to the end.
func (c *core) askBusy(now time.Duration, i int) {
	v := &c.voters[i]
	if v.state != asked {
		return
	}
	v.tries--
	v.refusal, v.busy = false, true
	wait := 10 * time.Millisecond << min(v.waits, 4)
	v.waits = min(v.waits+1, 4)
	c.postpone(i, now+wait)
}

func (c *core) postpone(i int, at time.Duration) {
	c.voters[i].due = at
	c.move(i, deferred)
	c.scan = 0
	c.timer = min(c.timer, at)
}

// checked reports the verdict on the sum of all signatures that were answered
// when check was last set: weight is theirs when it is valid; otherwise bads
// are those found invalid.
func (c *core) checked(ok bool, weight uint64, bads []int32) {
	c.checking = false
	if ok {
		c.verifiedW = weight
		return
	}
	c.changed = true
	for _, i := range bads {
		c.move(int(i), invalid)
	}
}

// expect tells after how long the answer of voter i, just asked, is late.
func (c *core) expect(i int, patience time.Duration) {
	v := &c.voters[i]
	v.due = v.since + min(patience, c.timing.AskTimeout)
	c.timer = min(c.timer, v.due)
}

// advance works out what follows from the events since the last call.
func (c *core) advance(now time.Duration) {
	c.asks, c.results, c.check = c.asks[:0], c.results[:0], false
	if now >= c.timer {
		c.expire(now)
	}
	c.settle(now)
	if len(c.parties) > 0 {
		c.ask(now)
	}
}

// expire moves voters whose time is up and finds the next time to look.
func (c *core) expire(now time.Duration) {
	c.timer = never
	for i := range c.voters {
		v := &c.voters[i]
		if v.state == asked && now >= v.due {
			c.move(i, late)
			v.due = v.since + c.timing.AskTimeout
		}
		if v.state == late && now >= v.due {
			c.move(i, silent)
		}
		if v.state == deferred && !v.refusal && !v.busy && now >= c.timing.ConnectWait {
			c.move(i, unreachable)
		}
		if (v.state == asked || v.state == late || v.state == deferred) && v.due > now {
			c.timer = min(c.timer, v.due)
		}
	}
}

// settle ends the parties that can be ended and decides whether to check.
func (c *core) settle(now time.Duration) {
	have := c.sums[answered]
	soon := have + c.sums[asked] + c.sums[idle] - c.suspectW + c.againW
	ever := have + c.sums[asked] + c.sums[idle] + c.sums[late] + c.sums[deferred]
	kept := c.parties[:0]
	for _, p := range c.parties {
		if have >= p.quorum && p.windowCloses == never {
			p.windowCloses = now + c.timing.Window
		}
		// A target out of reach is replaced by what can be had soon.
		closed := have >= max(p.quorum, min(p.target, soon)) || now >= min(p.windowCloses, p.deadline)
		switch {
		case c.verifiedW >= p.target, c.verifiedW >= p.quorum && closed:
			c.results = append(c.results, outcome{p.id, true})
			continue
		case ever < p.quorum, now >= p.deadline && have < p.quorum:
			c.results = append(c.results, outcome{p.id, false})
			continue
		case !c.checking && c.changed && (have >= p.target || have >= p.quorum && closed):
			c.checking, c.changed, c.check = true, false, true
		}
		kept = append(kept, p)
	}
	clear(c.parties[len(kept):])
	c.parties = kept
}

// ask picks the voters to ask so that enough weight is expected.
func (c *core) ask(now time.Duration) {
	have := c.sums[answered]
	soon := have + c.sums[asked] + c.sums[idle] - c.suspectW + c.againW
	var want, must uint64
	for _, p := range c.parties {
		must = max(must, p.quorum)
		want = max(want, p.quorum, min(p.target, soon))
	}
	if have >= want {
		return
	}
	expected := have + c.sums[asked]
	for pos := c.scan; pos < len(c.order) && expected < want+c.margin; pos++ {
		i := int(c.order[pos])
		v := &c.voters[i]
		switch {
		case v.state != idle && v.state != deferred:
			if pos == c.scan {
				c.scan++
			}
			continue
		case v.state == deferred && now < v.due,
			v.suspect && expected >= must:
			continue
		}
		v.tries++
		c.move(i, asked)
		v.since, v.due = now, now+c.timing.AskTimeout
		c.timer = min(c.timer, v.due)
		c.asks = append(c.asks, c.order[pos])
		expected += v.weight
		c.margin = max(c.margin, min(v.weight, need(c.total, 2*c.timing.MarginPercent)))
	}
}

// wake gives the next time after now at which advance must be called though
// nothing happened.
func (c *core) wake(now time.Duration) time.Duration {
	at := c.timer
	for _, p := range c.parties {
		if p.windowCloses > now {
			at = min(at, p.windowCloses)
		}
		if p.deadline > now {
			at = min(at, p.deadline)
		}
	}
	return at
}

// stake sums up what became of the voters' weight. Connected is not the core's to know.
func (c *core) stake() *Stake {
	s := &Stake{Total: c.total, Keyless: c.total}
	for i := range c.voters {
		v := &c.voters[i]
		s.Keyless -= v.weight
		switch v.state {
		case answered:
			s.Signed += v.weight
		case refused:
			s.addRefusal(v.code, v.weight)
		case invalid:
			s.Invalid += v.weight
		case late, silent:
			s.Silent += v.weight
		case unreachable:
			s.Unreachable += v.weight
		case deferred:
			switch {
			case v.refusal:
				s.addRefusal(v.code, v.weight)
			case v.busy:
				s.Pending += v.weight
			default:
				s.Unreachable += v.weight
			}
		case idle, asked:
			s.Pending += v.weight
		case excluded:
			s.Underfunded += v.weight
		}
	}
	return s
}

func (s *Stake) addRefusal(code int32, weight uint64) {
	if s.Codes == nil {
		s.Codes = make(map[int32]uint64)
	}
	s.Codes[code] += weight
	s.Refused += weight
}
