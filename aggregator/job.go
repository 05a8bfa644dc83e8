package aggregator

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// errEnded is the answer to a party that reached a job which had just ended:
// it looks again.
var errEnded = errors.New("collection has ended")

// errNoNode ends the search for a node of a validator that has none.
var errNoNode = errors.New("validator has no nodes")

// jobKey names what can be collected once for all: same message, same
// validators, same words to them.
type jobKey struct {
	resultKey
	justification [32]byte
}

type eventKind uint8

const (
	evAnswer  eventKind = iota + 1 // a decoded signature
	evRefused                      // an error code or an empty answer
	evLie                          // something that is no signature
	evLost                         // the connection ended before the answer
	evVerdict                      // a check of the sum is done
	evSingle                       // a check of one suspect's signature is done
	evJoin
	evLeave
)

// event is what a job's mailbox carries.
type event struct {
	kind    eventKind
	voter   int32
	code    int32
	lie     string // kind of evLie, for the metrics
	part    *part
	verdict *verdict
	party   *caller
}

// caller is one request that waits for a job.
type caller struct {
	quorum, buffer int
	reply          *actor.Reply[*kept]
}

// job is the actor that collects signatures over one message from one set.
type job struct {
	key           jobKey
	agg           *Aggregator
	set           *valset.Set
	msg           *warp.Unsigned
	justification []byte
	cost          int
	box           *actor.Mailbox[event] // answers and verdicts: has room for all that can be under way
	calls         *actor.Mailbox[event] // callers that come and go
	waiting       atomic.Int32          // callers that wait
	over          atomic.Bool           // answers are no longer of use

	// Owned by run.
	start    time.Time
	core     *core
	question Question
	hash     *bls.Message
	parts    []*part // by validator
	suspect  []bool
	terms    uint64 // of the quarantine, when suspect was last brought up to date
	callers  map[int]*caller
	percent  int // largest quorum and buffer tried for in vain or reached
	proof    *verdict
	kept     *kept  // built from proof
	broken   *Error // answers callers that were not let in
}

func (j *job) now() time.Duration { return time.Since(j.start) }

// run collects until no party is left. It answers every caller, also when ctx ends.
func (j *job) run(ctx context.Context) error {
	defer j.end()
	j.start = time.Now()
	j.prepare()
	ttl := j.agg.cfg.Timing.AskTimeout
	question, err := j.agg.peers.Open(j.msg, j.justification, ttl, j.deliver)
	if err != nil {
		j.broken = &Error{Kind: Overloaded, Msg: "too many questions to the validators at once", RetryAfter: time.Second, Err: err}
		return nil
	}
	j.question = question
	defer question.Close()
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
		j.step(ctx)
		if len(j.callers) == 0 {
			return nil
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
			return nil
		}
	}
}

// prepare sets up the core: preference, quarantine, and what is known already.
func (j *job) prepare() {
	n := len(j.set.Validators)
	j.terms = j.agg.bad.terms.Load()
	rank := j.agg.rankings.get(j.start, j.set)
	weights := make([]uint64, n)
	for i := range weights {
		weights[i] = j.set.Validators[i].Weight
	}
	j.core = newCore(j.agg.cfg.Timing, j.set.TotalWeight, weights, rank.order)
	j.parts = make([]*part, n)
	j.suspect = make([]bool, n)
	j.callers = make(map[int]*caller)
	for i, class := range rank.class {
		switch class {
		case classExcluded:
			j.core.exclude(i)
		case classSuspect:
			j.suspect[i] = true
			j.core.quarantine(i)
		}
	}
	j.seed()
}

// seed brings in signatures kept from an earlier collection of this message.
func (j *job) seed() {
	known := j.agg.results.getParts(j.key.msg)
	if len(known) == 0 {
		return
	}
	byKey := make(map[[bls.PublicKeyLen]byte]*part, len(known))
	for _, k := range known {
		byKey[k.key] = k.part
	}
	for i := range j.set.Validators {
		p := byKey[j.set.Validators[i].Key.Compressed()]
		if p != nil && (p.proven || !j.suspect[i]) && j.core.answer(i) {
			own := *p // kept parts are shared between jobs, proven is not
			j.parts[i] = &own
		}
	}
}

// deliver takes an answer on a peer's reader; it decodes there, so that the
// work is spread over the cores, and hands the rest to the actor.
func (j *job) deliver(a Answer) {
	if j.over.Load() {
		return
	}
	i, ok := j.set.Index(a.From)
	if !ok {
		return
	}
	ev := event{voter: int32(i), code: a.Code} // set sizes are bounded
	switch {
	case a.Lost:
		ev.kind = evLost
	case a.Refused:
		ev.kind = evRefused
	case len(a.Signature) != bls.SignatureLen:
		ev.kind, ev.lie = evLie, "length"
	default:
		p := &part{raw: [bls.SignatureLen]byte(a.Signature)}
		if err := bls.DecodeSignatureInto(&p.sig, a.Signature); err != nil {
			ev.kind, ev.lie = evLie, "encoding"
			if errors.Is(err, bls.ErrInfinity) {
				ev.lie = "infinity"
			}
			break
		}
		ev.kind, ev.part = evAnswer, p
	}
	if err := j.box.TrySend(ev); err != nil && !errors.Is(err, actor.ErrClosed) {
		j.agg.count.shedAnswers.Inc()
	}
}

func (j *job) handle(ctx context.Context, ev *event) {
	i := int(ev.voter)
	switch ev.kind {
	case evAnswer:
		if j.suspect[i] {
			j.checkAlone(ctx, i, ev.part)
		} else if j.core.answer(i) {
			j.parts[i] = ev.part
		}
	case evRefused:
		j.agg.count.refusal(ev.code)
		j.core.refuse(j.now(), i, ev.code)
	case evLie:
		j.core.bad(i)
		j.parts[i] = nil
		j.agg.punish(j.set, i, ev.lie)
	case evLost:
		j.core.askFailed(j.now(), i)
	case evVerdict:
		j.judged(ev.verdict)
	case evSingle:
		j.judgedAlone(i, ev)
	case evJoin:
		id := j.core.join(j.now(), ev.party.quorum, ev.party.buffer, j.agg.cfg.RequestTimeout)
		j.callers[id] = ev.party
	case evLeave:
		for id, c := range j.callers {
			if c == ev.party {
				j.core.leave(id)
				delete(j.callers, id)
			}
		}
	}
}

// step lets the core draw its conclusions and carries them out.
func (j *job) step(ctx context.Context) {
	j.setAside()
	for {
		j.core.advance(j.now())
		failed := false
		for _, i := range j.core.asks {
			switch err := j.ask(int(i)); {
			case errors.Is(err, ErrBusy):
				j.core.askBusy(j.now(), int(i))
				failed = true
			case err != nil:
				j.core.askFailed(j.now(), int(i))
				failed = true
			}
		}
		if j.core.check {
			j.checkSum(ctx)
		}
		for _, o := range j.core.results {
			if c := j.callers[o.party]; c != nil && o.ok {
				j.percent = max(j.percent, c.quorum+c.buffer)
			}
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
	terms := j.agg.bad.terms.Load()
	if terms == j.terms {
		return
	}
	j.terms = terms
	now := time.Now()
	for i := range j.suspect {
		if j.suspect[i] || !j.agg.bad.holds(now, j.set.Validators[i].Key.Compressed()) {
			continue
		}
		j.suspect[i] = true
		if p := j.parts[i]; p != nil && !p.proven {
			j.parts[i] = nil
			j.core.setAside(i)
		}
	}
}

// ask sends the question to the first of the voter's nodes that can take it.
func (j *job) ask(i int) error {
	failed := errNoNode
	for _, id := range j.set.Validators[i].NodeIDs {
		err := j.question.Ask(id)
		if err == nil {
			j.core.expect(i, patience(j.agg.peers.Status(id)))
			return nil
		}
		if failed == errNoNode || errors.Is(err, ErrBusy) {
			failed = err
		}
	}
	return failed
}

// checkSum has the sum of all answered signatures verified.
func (j *job) checkSum(ctx context.Context) {
	signers := warp.NewBits(len(j.parts))
	parts := make([]*part, 0, len(j.parts))
	for i := range j.core.voters {
		if j.core.voters[i].state == answered {
			signers.Set(i)
			parts = append(parts, j.parts[i])
		}
	}
	j.submit(ctx, signers, parts, func(v *verdict) event { return event{kind: evVerdict, verdict: v} })
}

// checkAlone verifies a suspect's signature before it can count.
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
			j.agg.log.Error("verdict was lost", "err", err)
		}
	}
	if err := j.agg.verifier.submit(ctx, t); err != nil {
		return // ctx has ended: run sees it next
	}
}

func (j *job) judged(v *verdict) {
	if v.ok {
		j.proof, j.kept = v, nil
		j.core.checked(true, j.set.Weight(v.signers), nil)
		return
	}
	for k, i := range v.bad {
		j.parts[i] = nil
		j.agg.punish(j.set, int(i), v.lies[k])
	}
	j.core.checked(false, 0, v.bad)
}

func (j *job) judgedAlone(i int, ev *event) {
	if !ev.verdict.ok {
		j.core.bad(i)
		j.agg.punish(j.set, i, lieIn(&ev.part.sig))
		return
	}
	ev.part.proven = true
	if j.core.answer(i) {
		j.parts[i] = ev.part
	}
}

// finish answers one party.
func (j *job) finish(ctx context.Context, o outcome) {
	c := j.callers[o.party]
	delete(j.callers, o.party)
	if c == nil {
		return
	}
	if !o.ok {
		c.reply.Answer(nil, j.failure(c))
		return
	}
	if j.kept == nil || j.kept.percent < j.percent {
		j.kept = newKept(j.msg, j.set, j.proof.signers, j.proof.sum, j.percent, time.Now())
		j.agg.keep(ctx, j.key.resultKey, j.kept)
	}
	c.reply.Answer(j.kept, nil)
}

func (j *job) failure(c *caller) *Error {
	s := j.core.stake()
	for i := range j.set.Validators {
		if v := &j.set.Validators[i]; bestStatus(j.agg.peers.Status, v.NodeIDs).Connected {
			s.Connected += v.Weight
		}
	}
	return quorumError(s, c.quorum)
}

func (j *job) failAll(err *Error) {
	for _, c := range j.callers {
		c.reply.Answer(nil, err)
	}
	clear(j.callers)
}

// end takes the job off the books, keeps the single signatures, and sends away
// those who came too late.
func (j *job) end() {
	j.over.Store(true)
	left := j.agg.jobs.end(j)
	j.box.Close()
	for k := range left {
		switch {
		case left[k].kind != evJoin:
		case j.broken != nil:
			left[k].party.reply.Answer(nil, j.broken)
		default:
			left[k].party.reply.Answer(nil, errEnded)
		}
	}
	j.failAll(errStopping) // none but after a panic
	j.keepParts()
}

func (j *job) keepParts() {
	keep := make([]keptPart, 0, len(j.parts))
	for i, p := range j.parts {
		if p != nil {
			keep = append(keep, keptPart{j.set.Validators[i].Key.Compressed(), p})
		}
	}
	if len(keep) > 0 {
		j.agg.results.putParts(j.key.msg, keep)
	}
}

// PeerStatus is what the choice of validators needs to know of a node.
type PeerStatus struct {
	Connected bool
	// Latency is the usual time to an answer; 0 means that there was none yet.
	Latency time.Duration
	// Waiting is the number of questions that are not answered yet, Missed how
	// many in a row never were.
	Waiting, Missed int
}

// Answer is a validator's reply to a [Question].
type Answer struct {
	From chain.NodeID
	// Signature is what it sent as its signature; valid during the call only.
	Signature []byte
	// Refused tells that it does not sign, with Code (0: an empty answer).
	Refused bool
	Code    int32
	// Lost tells that the connection ended before the answer.
	Lost bool
}

// ErrBusy is wrapped by the errors of [Question.Ask] when the node is connected
// but has as many questions as it may have: it is worth while to wait.
var ErrBusy = errors.New("node is busy")

// Question asks validators to sign one message.
type Question interface {
	// Ask sends the question to a node. An error means that it was not sent.
	Ask(id chain.NodeID) error
	// Close ends the interest in answers.
	Close()
}

// Peers is the peer network as the aggregator needs it.
type Peers interface {
	Status(id chain.NodeID) PeerStatus
	// Open prepares a question. deliver is called from any goroutine, must not
	// block, and may still be running when Close returns.
	Open(msg *warp.Unsigned, justification []byte, ttl time.Duration, deliver func(Answer)) (Question, error)
}
