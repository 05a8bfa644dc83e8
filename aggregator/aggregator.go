package aggregator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain/warp"
)

// Aggregator answers requests for signed messages of one network. Start it
// with Run; requests fail with [Stopping] before and after.
type Aggregator struct {
	*environment
	cfg  Config
	sets Sets

	jobs      *registry
	standings *standings
	refused   *refusals
	scouts    *scouts
	running   chan struct{} // closed once Run takes requests
}

// New checks cfg and returns an aggregator that is not running yet.
func New(cfg Config) (*Aggregator, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	a := &Aggregator{
		environment: &environment{
			timing: cfg.Timing, peers: cfg.Peers, history: cfg.History, log: cfg.Logger,
			count:  newCounters(cfg.Metrics),
			bad:    newQuarantine(cfg.QuarantineBase, cfg.QuarantineMax),
			habits: newHabits(), lingering: make(chan *lessons, maxLingering),
			journal: newJournal(time.Now()),
		},
		cfg: cfg, sets: cfg.Sets,
		jobs:      newRegistry(cfg.MaxJobs, cfg.MaxSignatures, cfg.MaxCallers),
		standings: newStandings(), refused: newRefusals(), scouts: newScouts(),
		running: make(chan struct{}),
	}
	a.results = newResults(cfg.KeptBytes, cfg.PartBytes, cfg.Store, a.count, cfg.Logger)
	a.rankings = newRankings(cfg.Peers.Status, a.bad, a.habits)
	a.verifier = newVerifier(cfg.Workers, cfg.MaxJobs, cfg.Logger, a.count.batches)
	kept := a.results
	cfg.Metrics.GaugeFunc("quorate_aggregator_kept_bytes", "Memory of signed messages that are kept.", func() float64 { n, _ := kept.held(); return float64(n) })
	cfg.Metrics.GaugeFunc("quorate_aggregator_part_bytes", "Memory of single signatures that are kept.", func() float64 { _, n := kept.held(); return float64(n) })
	cfg.Metrics.GaugeFunc("quorate_aggregator_jobs", "Messages being signed.", func() float64 { return float64(a.jobs.len()) })
	cfg.Metrics.GaugeFunc("quorate_aggregator_quarantined", "Signing keys whose invalid signatures keep them from being asked but in need.",
		func() float64 { return float64(a.bad.count(time.Now())) })
	return a, nil
}

// answerGrace is what a collection is given beyond a request's deadline to say
// what became of it.
const answerGrace = 250 * time.Millisecond

// Held returns about how many bytes the signed messages take that are kept in memory,
// and the single signatures.
func (a *Aggregator) Held() (kept, parts int) { return a.results.held() }

// Running is closed once Run takes requests.
func (a *Aggregator) Running() <-chan struct{} { return a.running }

// Run works until ctx ends, then answers everyone who still waits. Call it once.
func (a *Aggregator) Run(ctx context.Context) error {
	onError := func(name string, err error) { a.log.Error("actor failed", "actor", name, "err", err) }
	sup := actor.NewSupervisor(ctx, actor.RestartPolicy{}, onError)
	for range a.cfg.Workers {
		if err := sup.Go("verifier", a.verifier.work); err != nil {
			return err
		}
	}
	m := &memory{environment: a.environment, network: a.cfg.NetworkID, notes: a.cfg.Notes}
	m.restore()
	if err := sup.Go("memory", m.run); err != nil {
		return err
	}
	a.jobs.open(sup)
	close(a.running)
	<-ctx.Done()
	a.jobs.open(nil)
	return sup.Stop(context.WithoutCancel(ctx))
}

// Aggregate answers one request. Its errors are all of type *[Error].
func (a *Aggregator) Aggregate(ctx context.Context, req *Request) (*Result, error) {
	var at attempt
	res, err := a.aggregate(ctx, req, &at)
	if err != nil {
		e := asError(err)
		a.count.failure(e.Kind)
		a.journal.fail(time.Now(), req, &at, e)
		return nil, e
	}
	return res, nil
}

func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	if errors.Is(err, actor.ErrClosed) {
		return errStopping
	}
	return &Error{Kind: Unreachable, Msg: "the request was given up before it was answered", Err: err}
}

func (a *Aggregator) aggregate(ctx context.Context, req *Request, at *attempt) (*Result, error) {
	if err := checkShares(req); err != nil {
		return nil, err
	}
	received := req.Received
	if received.IsZero() {
		received = time.Now()
	}
	deadline := received.Add(a.cfg.RequestTimeout)
	ctx = valset.For(ctx, req.Client, deadline)
	msg, err := a.message(ctx, req)
	if err != nil {
		return nil, err
	}
	at.msg = msg
	height, err := a.height(req, msg)
	if err != nil {
		return nil, err
	}
	set, err := a.signingSet(ctx, req, height, msg)
	if err != nil {
		return a.lastKnown(ctx, req, height, msg, err)
	}
	at.set = set
	if res := a.fromMemory(req.wish(), msg, set); res != nil {
		return res, nil
	}
	key := collectionKey{msg.ID(), set.Digest}
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(answerGrace))
	defer cancel()
	if fresh := a.funded(ctx, req, height, set); fresh != set {
		set, key.digest = fresh, fresh.Digest
	}
	k := a.load(ctx, key.with(req.wish()), msg, set)
	if k != nil && k.serves(time.Now(), req.wish(), a.cfg.RetryBuffer) {
		a.count.loaded.Inc()
		a.journal.repeated(time.Now(), req.wish(), k, FromDisk, msg, set)
		return k.resultAt(set.Height), nil
	}
	if k := a.reuse(ctx, req, key, k == nil, msg, set); k != nil {
		a.journal.repeated(time.Now(), req.wish(), k, Reused, msg, set)
		return k.resultAt(set.Height), nil
	}
	started := time.Now()
	fresh, err := a.admit(ctx, req, deadline, key, msg, set)
	if e, refused := err.(*Error); refused && e.Kind == Overloaded {
		a.count.overloaded.Inc()
	}
	if err == nil {
		a.count.duration.Observe(time.Since(started).Seconds())
		res := *fresh.resultAt(set.Height)
		res.Kept = false
		return &res, nil
	}
	if k := a.any(ctx, req.wish(), msg, set); k != nil {
		// It cannot be had now, but it was had before, if perhaps with more signers.
		a.journal.repeated(time.Now(), req.wish(), k, FromMemory, msg, set)
		return k.resultAt(set.Height), nil
	}
	return nil, err
}

// any returns the result with the quorum that was tried for least, in memory or on disk.
func (a *Aggregator) any(ctx context.Context, of wish, msg *warp.Unsigned, set *valset.Set) *kept {
	key := collectionKey{msg.ID(), set.Digest}
	for p := of.quorum; p <= 100; p++ {
		if k := a.load(ctx, resultKey{key, uint8(p)}, msg, set); k != nil && k.reaches(of.quorum) { // at most 100
			return k
		}
	}
	if k := a.load(ctx, resultKey{key, anyPercent}, msg, set); k != nil && k.reaches(of.quorum) {
		return k
	}
	return nil
}

func checkShares(req *Request) error {
	if req.Quorum < 0 || req.Buffer < 0 || req.Quorum > 100 || req.Buffer > 100 || req.Quorum+req.Buffer > 100 {
		return &Error{Kind: BadRequest, Msg: fmt.Sprintf(
			"quorum %d%% and buffer %d%% must each be 0 to 100 and together at most 100", req.Quorum, req.Buffer)}
	}
	return nil
}

// admit has a message collected unless it was refused just now or, under
// suspicion, finds nobody among a few validators who signs it. It notes how the
// client's requests end.
func (a *Aggregator) admit(ctx context.Context, req *Request, deadline time.Time, key collectionKey, msg *warp.Unsigned, set *valset.Set) (*kept, error) {
	jk := jobKey{collectionKey: key}
	if len(req.Justification) > 0 {
		jk.justification = sha256.Sum256(req.Justification)
	}
	if e := a.refused.get(jk, req.Quorum); e != nil {
		return nil, e
	}
	req.Asked = len(set.Validators)
	if a.suspects(req.Client, msg) && !a.jobs.runs(jk) {
		if err := a.scout(ctx, req, jk, msg, set); err != nil {
			a.standings.note(req.Client, false)
			return nil, err
		}
	}
	k, err := a.collect(ctx, req, deadline, jk, msg, set)
	var e *Error
	switch {
	case err == nil:
		a.standings.note(req.Client, true)
	case errors.As(err, &e) && e.Stake != nil: // validators were asked for it
		// What some have signed is no invention, whatever held up the others.
		a.standings.note(req.Client, e.Stake.Signed > 0)
		if e.Kind == Refused {
			a.refused.put(jk, req.Quorum, e)
		}
	}
	return k, err
}

// collect joins the running job for this message and set, or starts one.
func (a *Aggregator) collect(ctx context.Context, req *Request, deadline time.Time, key jobKey, msg *warp.Unsigned, set *valset.Set) (*kept, error) {
	since := time.Now()
	c := &caller{wish: req.wish(), deadline: deadline, reply: actor.NewReply[*kept]()}
	for {
		j, started, err := a.jobs.join(key, c, func() *job {
			// A validator has one question open at a time, and is asked again at most
			// once for each retry or reconnection.
			n := len(set.Validators)
			return &job{
				environment: a.environment, leave: a.jobs.end, key: key, holders: holdersOf(req.Client, msg.SourceChainID, set.SubnetID),
				set: set, beside: a.sets.Beside(set), msg: msg, justification: req.Justification,
				box:   actor.NewMailbox[event]((len(a.cfg.Timing.Retries)+10)*n+8, actor.Shed),
				calls: actor.NewMailbox[event](2*a.cfg.MaxCallers, actor.Shed),
			}
		})
		if err != nil {
			return nil, err
		}
		if started {
			a.count.fresh.Inc()
		} else {
			a.count.joined.Inc()
		}
		k, err := c.reply.Wait(ctx)
		if ctx.Err() != nil && err != nil {
			// The job may have ended meanwhile; then nobody needs to be told.
			_ = j.calls.TrySend(event{kind: evLeave, caller: c})
		}
		j.waiting.Add(-1)
		if errors.Is(err, errEnded) {
			if k := a.results.get(key.with(c.wish)); k != nil && k.serves(time.Now(), c.wish, a.cfg.RetryBuffer) {
				a.journal.repeated(time.Now(), req.wish(), k, FromMemory, msg, set)
				return k, nil
			}
			c.reply = actor.NewReply[*kept]()
			continue
		}
		if err == nil {
			a.journal.collected(since, req, k, started)
		}
		return k, err
	}
}

// load reads a result of an earlier run. What comes from disk is verified
// before it is trusted, once.
func (a *Aggregator) load(ctx context.Context, key resultKey, msg *warp.Unsigned, set *valset.Set) *kept {
	if k := a.results.get(key); k != nil {
		return k
	}
	if a.cfg.Store == nil {
		return nil
	}
	raw, found, err := a.cfg.Store.Get(key.bytes(), nil)
	if err != nil {
		a.count.storeErrors.Inc()
		a.log.Warn("stored result could not be read", "message", key.msg, "err", err)
		return nil
	}
	if !found {
		return nil
	}
	k, err := parseRecord(raw, msg, set)
	if err == nil {
		err = a.verify(ctx, k, msg, set)
	}
	if err != nil {
		a.count.storeErrors.Inc()
		a.log.Warn("stored result is not usable", "message", key.msg, "err", err)
		return nil
	}
	a.results.put(key, k)
	return k
}

// verify checks a result as a destination chain would.
func (a *Aggregator) verify(ctx context.Context, k *kept, msg *warp.Unsigned, set *valset.Set) error {
	p := &part{raw: k.sum}
	if err := bls.DecodeSignatureInto(&p.sig, k.sum[:]); err != nil {
		return err
	}
	reply := actor.NewReply[bool]()
	t := &checkTask{set: set, msg: bls.HashMessage(msg.Bytes()), signers: k.signers, parts: []*part{p}, whole: true}
	t.done = func(v *verdict) { reply.Answer(v.ok, nil) }
	ctx, cancel := context.WithTimeout(ctx, a.cfg.RequestTimeout)
	defer cancel()
	if err := a.verifier.submit(ctx, t); err != nil {
		return err
	}
	ok, err := reply.Wait(ctx)
	if err == nil && !ok {
		err = errors.New("aggregate signature is invalid")
	}
	return err
}
