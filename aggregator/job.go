package aggregator

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// errEnded is the answer to a caller that reached a job which had just ended:
// it looks again.
var errEnded = errors.New("collection has ended")

// jobKey names what can be collected once for all: same message, same
// validators, same words to them.
type jobKey struct {
	collectionKey
	justification [32]byte
}

// caller is one request that waits for a job.
type caller struct {
	wish
	deadline time.Time
	reply    *actor.Reply[*kept]
}

// environment is what jobs share: what they work with and report to.
type environment struct {
	timing    Timing
	peers     Peers
	history   History // may be nil
	bad       *quarantine
	habits    *habits
	rankings  *rankings
	lingering chan *lessons
	results   *results
	verifier  *verifier
	count     *counters
	journal   *journal
	log       *slog.Logger
}

// job is the actor that collects signatures over one message from one set.
type job struct {
	*environment
	key           jobKey
	set           *valset.Set
	beside        []*valset.Set // see Sets.Beside
	msg           *warp.Unsigned
	justification []byte
	cost          int
	holders       [holderKinds]holder       // of its cost
	box           *actor.Mailbox[event]     // answers and verdicts: has room for all that can be under way
	calls         *actor.Mailbox[event]     // callers that come and go
	leave         func(*job) (late []event) // takes the job off the books; returns who came too late
	waiting       atomic.Int32              // callers that wait
	lessons       atomic.Pointer[lessons]   // takes late answers; set before over
	over          atomic.Bool               // answers are no longer of use

	// Owned by run.
	start       time.Time
	core        *core
	question    Question
	hash        *bls.Message
	parts       []*part         // by validator
	took        []time.Duration // by validator: from question to signature; 0: none
	median      time.Duration   // of the set's latencies
	quarantined []bool
	terms       uint64 // of the quarantine, when quarantined was last brought up to date
	shared      map[int]*sharedKey
	callers     map[int]*caller
	proofs      []*verdict // as the core's
	kept        []*kept    // made of them, one for each quorum and buffer in percent
	covers      bool       // the keys are the same at each height where the message may be checked
	missed      bool       // the journal knows of the failure
	broken      *Error     // ends the job; answers all callers
}

func (j *job) now() time.Duration { return time.Since(j.start) }

// run collects until no caller is left. It answers every caller, also when ctx
// ends or when it panics.
func (j *job) run(ctx context.Context) error {
	defer j.end()
	defer func() {
		if p := recover(); p != nil {
			j.log.Error("a collection has failed", "message", j.key.msg, "panic", p, "stack", string(debug.Stack()))
			j.broken = errInternal
		}
	}()
	j.collect(ctx)
	return nil
}

func (j *job) collect(ctx context.Context) {
	j.start = time.Now()
	j.prepare()
	question, err := j.peers.Open(j.msg, j.justification, j.timing.AskTimeout, j.deliver)
	if err != nil {
		j.broken = &Error{Kind: Overloaded, Msg: "too many questions to the validators at once", RetryAfter: time.Second, Err: err}
		return
	}
	j.question = question
	closed := false
	defer func() {
		if !closed { // after a panic
			question.Close()
		}
	}()
	j.loop(ctx)
	j.conclude(ctx)
	closed = true
}

func (j *job) loop(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []event
	for {
		for _, box := range [...]*actor.Mailbox[event]{j.calls, j.box} {
			batch = box.Drain(batch)
			for k := range batch {
				j.handle(ctx, &batch[k])
			}
		}
		if j.broken != nil {
			return
		}
		j.step(ctx)
		if len(j.callers) == 0 {
			return
		}
		if j.hash == nil {
			// Hashed while the first answers are on their way.
			j.hash = bls.HashMessage(j.msg.Bytes())
			continue
		}
		if at := j.core.wake(j.now()); at != never {
			timer.Reset(at - j.now())
		}
		select {
		case <-j.box.Ready():
		case <-j.calls.Ready():
		case <-timer.C:
		case <-ctx.Done():
			j.failAll(errStopping)
			return
		}
	}
}

// prepare sets up the core: preference, quarantine, and what is known already.
func (j *job) prepare() {
	n := len(j.set.Validators)
	j.terms = j.bad.terms.Load()
	rank := j.rankings.get(j.start, j.set)
	weights := make([]uint64, n)
	for i := range weights {
		weights[i] = j.set.Validators[i].Weight
	}
	j.core = newCore(j.timing, j.set.TotalWeight, weights, rank.order)
	j.core.beside, j.covers = weighings(j.set, j.beside)
	j.parts = make([]*part, n)
	j.quarantined = make([]bool, n)
	j.took = make([]time.Duration, n)
	j.median = rank.median
	j.callers = make(map[int]*caller)
	j.shared = make(map[int]*sharedKey)
	for i, class := range rank.class {
		switch class {
		case classExcluded:
			j.core.exclude(i)
		case classQuarantined:
			j.quarantined[i] = true
			j.core.hold(i)
		case classSlow, classUnreliable:
			j.core.hold(i)
		}
	}
	for _, i := range rank.due {
		if j.habits.claimProbe(j.start, habitKey{j.set.SubnetID, j.set.Validators[i].NodeIDs[0]}) {
			j.core.probe(int(i))
			break // one at a time
		}
	}
	for i := range j.set.Validators {
		if n := len(j.set.Validators[i].NodeIDs); n > 1 {
			j.core.voters[i].twins = uint8(min(n-1, 255)) // bounded
		}
	}
	j.settle()
	j.seed()
}

// settle finds out from when on refusals are final.
func (j *job) settle() {
	known, final := false, time.Duration(0)
	if j.history != nil {
		at, ok := j.history.Executed(j.msg)
		known, final = ok, max(at.Add(j.timing.Settle).Sub(j.start), 0)
	}
	if j.msg.SourceChainID == chain.PlatformChainID {
		known, final = true, max(final, platformSettle)
	}
	if known {
		j.core.settle(j.now(), final)
	}
}

// worth returns how certain a refusal with code is.
func (j *job) worth(code int32) certainty {
	return worth(j.msg, code, j.history != nil && j.history.Later(j.msg.SourceChainID))
}

// seed brings in signatures kept from an earlier collection of this message.
func (j *job) seed() {
	known := j.results.getParts(j.key.msg)
	if len(known) == 0 {
		return
	}
	for i, p := range known.of(j.set, func(i int) bool { return j.quarantined[i] }) {
		if p != nil && j.core.answer(i) {
			j.parts[i] = p
		}
	}
}

func (j *job) handle(ctx context.Context, ev *event) {
	i := int(ev.voter)
	switch ev.kind {
	case evAnswer:
		j.answeredAfter(i, ev)
		if j.quarantined[i] {
			j.checkAlone(ctx, i, ev.part)
		} else if j.core.answer(i) {
			j.parts[i] = ev.part
		}
	case evRefused:
		j.count.refusal(ev.code)
		if j.current(i, ev.from) {
			j.core.refuse(j.now(), i, ev.code, j.worth(ev.code))
		}
	case evLie:
		j.core.bad(i)
		j.parts[i] = nil
		j.blame(j.set, i, ev.lie)
	case evLost:
		if j.current(i, ev.from) {
			j.core.askFailed(j.now(), i, false)
		}
	case evVerdict:
		j.judged(ev.verdict)
	case evSingle:
		j.judgedAlone(i, ev)
	case evJoin:
		id := j.core.join(j.now(), ev.caller.quorum, ev.caller.buffer, time.Until(ev.caller.deadline))
		j.callers[id] = ev.caller
	case evLeave:
		for id, c := range j.callers {
			if c == ev.caller {
				j.core.leave(id)
				delete(j.callers, id)
			}
		}
	}
}

// answeredAfter notes how long a signature took.
func (j *job) answeredAfter(i int, ev *event) {
	if v := &j.core.voters[i]; v.tries > 0 || v.state != idle {
		j.took[i] = max(1, ev.at.Sub(j.start)-v.since)
	}
	if k := j.shared[i]; k != nil {
		k.last = ev.from
	}
}

// step lets the core draw its conclusions and carries them out.
func (j *job) step(ctx context.Context) {
	j.setAside()
	if j.core.settled == never {
		j.settle()
	}
	for {
		j.core.advance(j.now())
		failed := false
		for _, i := range j.core.asks {
			switch err := j.ask(int(i)); {
			case errors.Is(err, ErrBusy):
				j.core.askBusy(j.now(), int(i))
				failed = true
			case err != nil:
				j.core.askFailed(j.now(), int(i), j.gone(int(i)))
				failed = true
			}
		}
		if j.core.check {
			j.checkSum(ctx)
		}
		for _, o := range j.core.results {
			j.finish(ctx, o)
		}
		if !failed {
			return
		}
	}
}

// setAside takes back the signatures of validators that were caught lying
// elsewhere since the last look, so that each liar is searched for once and not
// in every message that is under way.
func (j *job) setAside() {
	terms := j.bad.terms.Load()
	if terms == j.terms {
		return
	}
	j.terms = terms
	now := time.Now()
	for i := range j.quarantined {
		if j.quarantined[i] || !j.bad.holds(now, j.set.Validators[i].Key.Compressed()) {
			continue
		}
		j.quarantined[i] = true
		if p := j.parts[i]; p != nil && !p.proven {
			j.parts[i] = nil
			j.core.setAside(i)
		}
	}
}

// checkSum has the sum of the signatures that the core has picked verified.
func (j *job) checkSum(ctx context.Context) {
	signers := warp.NewBits(len(j.parts))
	parts := make([]*part, 0, len(j.core.picked))
	for _, i := range j.core.picked {
		signers.Set(int(i))
		parts = append(parts, j.parts[i])
	}
	j.submit(ctx, signers, parts, func(v *verdict) event { return event{kind: evVerdict, verdict: v} })
}

// checkAlone verifies a quarantined validator's signature before it can count.
func (j *job) checkAlone(ctx context.Context, i int, p *part) {
	signers := warp.NewBits(len(j.parts))
	signers.Set(i)
	j.submit(ctx, signers, []*part{p}, func(v *verdict) event {
		return event{kind: evSingle, voter: int32(i), part: p, verdict: v} // set sizes are bounded
	})
}

func (j *job) submit(ctx context.Context, signers warp.Bits, parts []*part, wrap func(*verdict) event) {
	if j.hash == nil {
		j.hash = bls.HashMessage(j.msg.Bytes())
	}
	t := &checkTask{set: j.set, msg: j.hash, signers: signers, parts: parts}
	t.done = func(v *verdict) {
		if err := j.box.TrySend(wrap(v)); err != nil && !errors.Is(err, actor.ErrClosed) {
			j.log.Error("verdict was lost", "err", err)
		}
	}
	if err := j.verifier.submit(ctx, t); err != nil {
		return // ctx has ended: run sees it next
	}
}

func (j *job) judged(v *verdict) {
	if v.broken {
		j.broken = errInternal
		return
	}
	if v.ok {
		j.proofs = append(j.proofs, v) // one for each aim
		j.core.checked(true, nil)
		return
	}
	for k, i := range v.bad {
		j.parts[i] = nil
		j.blame(j.set, int(i), v.lies[k])
	}
	j.core.checked(false, v.bad)
}

func (j *job) judgedAlone(i int, ev *event) {
	if ev.verdict.broken {
		j.broken = errInternal
		return
	}
	if !ev.verdict.ok {
		j.core.bad(i)
		j.blame(j.set, i, lieIn(&ev.part.sig))
		return
	}
	ev.part.proven = true
	if j.core.answer(i) {
		j.parts[i] = ev.part
	}
}

// finish answers one caller.
func (j *job) finish(ctx context.Context, o outcome) {
	c := j.callers[o.demand]
	delete(j.callers, o.demand)
	if c == nil {
		return
	}
	if !o.ok {
		c.reply.Answer(nil, j.failure(c))
		return
	}
	var k *kept
	if i := slices.IndexFunc(j.kept, func(k *kept) bool { return k.percent == c.percent() }); i >= 0 {
		k = j.kept[i]
	} else {
		key, proof := j.key.with(c.percent()), j.proofs[o.proof]
		k = j.results.heavier(key, newKept(j.msg, j.set, proof.signers, proof.sum, c.percent(), time.Now()))
		j.kept = append(j.kept, k) // one for each share that callers ask for
		j.journal.sign(time.Now(), k, c.wish, Collected, j.msg, j.set, time.Since(j.start), j.votes(&k.signers))
		j.count.given(j.set, k, j.covers && covered(k.signers, j.core.beside, c.quorum))
		j.results.publish(ctx, key, k)
		j.log.LogAttrs(ctx, slog.LevelInfo, "message signed", slog.Any("message", j.key.msg), slog.Any("source", j.msg.SourceChainID),
			slog.Uint64("height", j.set.Height), slog.Int("signers", k.signers.Count()), slog.Int("stake_percent", k.reached),
			slog.Duration("took", time.Since(j.start)))
	}
	c.reply.Answer(k, nil)
}

func (j *job) failure(c *caller) *Error {
	s := j.core.stake()
	for i := range j.set.Validators {
		v := &j.set.Validators[i]
		if slices.ContainsFunc(v.NodeIDs, func(id chain.NodeID) bool { return j.peers.Status(id).Connected }) {
			s.Connected += v.Weight
		}
	}
	s.unpaid(j.set.Inactive)
	e := quorumError(s, c.quorum)
	if !j.missed {
		j.missed = true
		j.journal.miss(c.wish, j.msg, j.set, time.Since(j.start), e, j.votes(nil))
	}
	return e
}

func (j *job) failAll(err *Error) {
	for _, c := range j.callers {
		c.reply.Answer(nil, err)
	}
	clear(j.callers)
}

// end takes the job off the books, keeps the single signatures, and answers
// those who came too late.
func (j *job) end() {
	j.over.Store(true)
	late := j.leave(j)
	j.box.Close()
	failure := error(errEnded)
	if j.broken != nil {
		failure = j.broken
		j.failAll(j.broken)
	}
	for k := range late {
		if late[k].kind == evJoin {
			late[k].caller.reply.Answer(nil, failure)
		}
	}
	j.failAll(errStopping) // there are none
	j.saveParts()
}

func (j *job) saveParts() {
	keep := make(keptParts, 0, len(j.parts))
	for i, p := range j.parts {
		if p != nil && (j.broken == nil || p.proven) {
			keep = append(keep, keptPart{j.set.Validators[i].Key.Compressed(), p, j.set.Digest})
		}
	}
	if len(keep) > 0 {
		j.results.putParts(j.key.msg, keep)
	}
}
