package aggregator

import (
	"math"
	"slices"
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
	// after a message is emitted some have not executed its block yet.
	Retries []time.Duration
	// Settle is how long after a followed node has executed a message's block
	// every validator should have executed it too: what is refused then is final.
	Settle time.Duration
	// MarginPercent of the total weight is asked beyond what is needed, and up to
	// twice that to cover the heaviest asked, so that one late answer costs nothing.
	MarginPercent int
}

// demand is what one caller wants of a collection.
type demand struct {
	id           int
	percent      int    // the quorum
	quorum       uint64 // weight that must sign
	target       uint64 // weight to try for: quorum and buffer
	deadline     time.Duration
	windowCloses time.Duration // never until the quorum has answered
	aim          aim           // that was or is being checked for it; zero: none
}

// proof is a set of signers whose sum of signatures is valid.
type proof struct {
	aim    aim
	weight uint64
}

// outcome ends a demand: with a verified signer set, or without.
type outcome struct {
	demand int
	ok     bool
	proof  int // of ok: index of the core's proofs
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
	beside []weighing
	scan   int // order[:scan] holds no idle voter

	sums       [excluded + 1]uint64 // weight by state
	soonWeight uint64               // of voters whose answers can be expected shortly
	awayWeight uint64               // part of sums[deferred] that is not expected back soon
	proofs     []proof
	checking   bool
	demands    []demand
	nextID     int
	timer      time.Duration // no voter is due before
	settled    time.Duration // refusals of questions asked from then on are final
	probes     []int32       // reserve voters to ask beside the others, to see how they are

	// Effects of the last advance, valid until the next event.
	asks    []int32   // voters to ask now; report failures with askFailed
	check   bool      // verify the sum of the picked voters' signatures, report with checked
	picked  []int32   // in ascending order; valid until the next check
	goal    aim       // of picked
	results []outcome // demands that ended
}

// newCore starts a collection over voters of the given weights; total also
// counts those that cannot sign.
func newCore(timing Timing, total uint64, weights []uint64, order []int32) *core {
	c := &core{timing: timing, total: total, order: order, timer: never, settled: never}
	c.margin = need(total, timing.MarginPercent)
	c.voters = make([]voter, len(weights))
	c.picked = make([]int32, 0, len(weights))
	for i, w := range weights {
		c.voters[i].weight = w
		c.sums[idle] += w
		c.soonWeight += w
	}
	return c
}

// move changes the state of voter i and what is summed up over the voters.
func (c *core) move(i int, to voterState, why reason) {
	v := &c.voters[i]
	c.sums[v.state] -= v.weight
	if v.soon() {
		c.soonWeight -= v.weight
	}
	if v.why == away {
		c.awayWeight -= v.weight
	}
	v.state, v.why = to, why
	c.sums[to] += v.weight
	if v.soon() {
		c.soonWeight += v.weight
	}
	if why == away {
		c.awayWeight += v.weight
	}
}

// exclude keeps a voter from being asked. Call before the first advance.
func (c *core) exclude(i int) { c.move(i, excluded, notDeferred) }

// hold marks a voter as reserve: it is asked only when the quorum cannot be had
// without it. Call before the first advance.
func (c *core) hold(i int) {
	if v := &c.voters[i]; !v.reserve && v.state == idle {
		c.soonWeight -= v.weight
		v.reserve = true
	}
}

// probe has a reserve voter asked although it is not counted on.
func (c *core) probe(i int) { c.probes = append(c.probes, int32(i)) } // set sizes are bounded

// setAside takes back the answer of voter i, which was caught lying elsewhere
// meanwhile: it is asked again only in need.
func (c *core) setAside(i int) {
	v := &c.voters[i]
	if v.state != answered {
		return
	}
	v.reserve = true
	c.move(i, idle, notDeferred)
	c.scan = 0
}

// settle says that refusals of questions asked at or after at are final: by
// then every validator should have executed the message's block.
func (c *core) settle(now, at time.Duration) {
	if at >= c.settled {
		return
	}
	c.settled = at
	next := max(now, at)
	for i := range c.voters {
		v := &c.voters[i]
		if v.state == declined || v.state == deferred && v.why == refusedYet && v.due > next {
			c.postpone(i, next, refusedYet)
		}
	}
}

// join adds a demand and returns its number.
func (c *core) join(now time.Duration, quorum, buffer int, deadline time.Duration) int {
	c.nextID++
	c.demands = append(c.demands, demand{
		id: c.nextID, percent: quorum, quorum: need(c.total, quorum), target: need(c.total, quorum+buffer),
		deadline: now + deadline, windowCloses: never,
	})
	return c.nextID
}

// leave removes a demand whose caller has gone.
func (c *core) leave(id int) {
	for k := range c.demands {
		if c.demands[k].id == id {
			c.demands = append(c.demands[:k], c.demands[k+1:]...)
			return
		}
	}
}

// answer records a well-formed signature of voter i and reports whether it is news.
func (c *core) answer(i int) bool {
	v := &c.voters[i]
	if v.state == answered || v.state == invalid || v.state == excluded {
		return false
	}
	c.move(i, answered, notDeferred)
	return true
}

// bad records that voter i sent something that is no valid signature.
func (c *core) bad(i int) { c.move(i, invalid, notDeferred) }

// refuse records that voter i declined with code. Right after a message is
// emitted a validator may just not have executed its block yet: it is asked
// again until that can no longer be the reason, or, when nobody knows whether
// there is such a block, as often as Retries says.
func (c *core) refuse(now time.Duration, i int, code int32, worth certainty) {
	v := &c.voters[i]
	if v.state != asked && v.state != late {
		return
	}
	v.code = code
	if c.tryTwin(now, i) {
		return
	}
	settles := worth == whenSettled && c.settled != never
	switch {
	case worth == certain, settles && v.since >= c.settled:
		c.move(i, refused, notDeferred)
	case settles:
		c.postpone(i, max(now, min(now+c.pause(v), c.settled)), refusedYet)
	case int(v.tries) > len(c.timing.Retries):
		c.move(i, declined, notDeferred)
	default:
		c.postpone(i, now+c.pause(v), refusedYet)
	}
}

// pause returns the wait before v is asked again.
func (c *core) pause(v *voter) time.Duration {
	if len(c.timing.Retries) == 0 {
		return time.Second
	}
	return c.timing.Retries[min(max(int(v.tries), 1), len(c.timing.Retries))-1]
}

// tryTwin has another node with the key of voter i asked, if there is one left.
func (c *core) tryTwin(now time.Duration, i int) bool {
	v := &c.voters[i]
	if v.twins == 0 {
		return false
	}
	v.twins--
	v.tries--
	c.postpone(i, now, twin)
	return true
}

// askFailed records that voter i could not be asked, or that the connection
// was lost before it answered. gone says that it is not expected back soon.
func (c *core) askFailed(now time.Duration, i int, gone bool) {
	v := &c.voters[i]
	if v.state != asked && v.state != late {
		return
	}
	if now >= c.timing.ConnectWait {
		c.move(i, unreachable, notDeferred)
		return
	}
	why := lost
	if gone {
		why = away
	}
	wait := 50 * time.Millisecond << min(v.tries, 4)
	c.postpone(i, min(now+wait, max(c.timing.ConnectWait, now+1)), why)
}

// askBusy records that voter i, just asked, is connected but has as many
// questions as it may have. Unlike one that is away it is waited for to the end.
func (c *core) askBusy(now time.Duration, i int) {
	v := &c.voters[i]
	if v.state != asked {
		return
	}
	v.tries--
	wait := 10 * time.Millisecond << min(v.waits, 4)
	v.waits = min(v.waits+1, 4)
	c.postpone(i, now+wait, busy)
}

func (c *core) postpone(i int, at time.Duration, why reason) {
	c.voters[i].due = at
	c.move(i, deferred, why)
	c.scan = 0
	c.timer = min(c.timer, at)
}

// checked reports the verdict on the sum of the picked voters' signatures: valid, or
// not because of bads, which are those found invalid.
func (c *core) checked(ok bool, bads []int32) {
	c.checking = false
	if ok {
		c.proofs = append(c.proofs, proof{c.goal, weigh(c.picked, c.weight)}) // one for each aim, and a few aims for each demand
		return
	}
	for k := range c.demands {
		c.demands[k].aim = aim{}
	}
	for _, i := range bads {
		c.move(int(i), invalid, notDeferred)
	}
}

// expect says after how long the answer of voter i, just asked, is late.
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
	c.conclude(now)
	if len(c.demands) > 0 {
		c.ask(now)
	}
}

// expire moves voters whose time is up and finds the next time to look.
func (c *core) expire(now time.Duration) {
	c.timer = never
	for i := range c.voters {
		v := &c.voters[i]
		if v.state == asked && now >= v.due && !c.tryTwin(now, i) {
			c.move(i, late, notDeferred)
			v.due = v.since + c.timing.AskTimeout
		}
		if v.state == late && now >= v.due {
			c.move(i, silent, notDeferred)
		}
		if v.state == deferred && (v.why == lost || v.why == away) && now >= c.timing.ConnectWait {
			c.move(i, unreachable, notDeferred)
		}
		if (v.state == asked || v.state == late || v.state == deferred) && v.due > now {
			c.timer = min(c.timer, v.due)
		}
	}
}

// conclude ends the demands that can be ended and decides whether to check.
func (c *core) conclude(now time.Duration) {
	have := c.sums[answered]
	soon := have + c.soonWeight
	ever := have + c.sums[asked] + c.sums[idle] + c.sums[late] + c.sums[deferred] - c.awayWeight
	open := c.demands[:0]
	for _, d := range c.demands {
		// Signers that passed count on, also when some of them do no more.
		spare := c.lightest(d.quorum)
		if d.windowCloses == never && (have >= d.quorum || spare >= 0) {
			d.windowCloses = now + c.timing.Window
		}
		// A target out of reach is replaced by what can be had soon.
		want := max(d.quorum, min(d.target, soon))
		closed := now >= min(d.windowCloses, d.deadline)
		if have >= want || have >= d.quorum && closed {
			c.try(&d, aim{min(want, have), d.percent})
		}
		done := c.proven(d.aim)
		if done < 0 && have < want {
			if done = c.lightest(want); done < 0 && (now >= d.deadline || closed && have < d.quorum || ever < d.quorum) {
				done = spare
			}
		}
		switch {
		case done >= 0:
			c.results = append(c.results, outcome{d.id, true, done})
		case ever < d.quorum, now >= d.deadline && have < d.quorum:
			c.results = append(c.results, outcome{d.id, false, 0})
		default:
			open = append(open, d)
		}
	}
	clear(c.demands[len(open):])
	c.demands = open
}

// try has signers for an aim checked for d, unless that is done or others are being checked.
func (c *core) try(d *demand, to aim) {
	switch {
	case d.aim != aim{}: // on its way, or done
	case c.proven(to) >= 0, c.checking && c.goal == to:
		d.aim = to
	case !c.checking:
		d.aim, c.goal, c.checking, c.check = to, to, true, true
		c.pick()
	}
}

// proven returns the index of the proof for an aim, or -1.
func (c *core) proven(of aim) int {
	return slices.IndexFunc(c.proofs, func(p proof) bool { return p.aim == of })
}

// lightest returns the index of the lightest proof of at least so much weight, or -1.
func (c *core) lightest(least uint64) int {
	best := -1
	for k, p := range c.proofs {
		if p.weight >= least && (best < 0 || p.weight < c.proofs[best].weight) {
			best = k
		}
	}
	return best
}

// short reports whether have is below want and margin together, whose sum may
// be more than a weight can be.
func short(have, want, margin uint64) bool {
	return have < want || have-want < margin
}

// ask picks the voters to ask so that enough weight is expected.
func (c *core) ask(now time.Duration) {
	have := c.sums[answered]
	soon := have + c.soonWeight
	var want, must uint64
	for _, d := range c.demands {
		must = max(must, d.quorum)
		want = max(want, d.quorum, min(d.target, soon))
	}
	if have >= want {
		return
	}
	expected := have + c.sums[asked]
	for pos := c.scan; pos < len(c.order) && short(expected, want, c.margin); pos++ {
		i := int(c.order[pos])
		v := &c.voters[i]
		switch {
		case v.state != idle && v.state != deferred:
			if pos == c.scan {
				c.scan++
			}
			continue
		case v.state == deferred && now < v.due,
			v.reserve && expected >= must:
			continue
		}
		c.put(now, i)
		expected += v.weight
		c.margin = max(c.margin, min(v.weight, need(c.total, 2*c.timing.MarginPercent)))
	}
	for _, i := range c.probes {
		if c.voters[i].state == idle {
			c.put(now, int(i))
		}
	}
	c.probes = nil
}

// put has the question put to voter i.
func (c *core) put(now time.Duration, i int) {
	v := &c.voters[i]
	v.tries++
	c.move(i, asked, notDeferred)
	v.since, v.due = now, now+c.timing.AskTimeout
	c.timer = min(c.timer, v.due)
	c.asks = append(c.asks, int32(i)) // set sizes are bounded
}

// wake returns the next time after now at which advance must be called though
// nothing happened.
func (c *core) wake(now time.Duration) time.Duration {
	at := c.timer
	for _, d := range c.demands {
		if d.windowCloses > now {
			at = min(at, d.windowCloses)
		}
		if d.deadline > now {
			at = min(at, d.deadline)
		}
	}
	return at
}
