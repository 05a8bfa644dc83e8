package aggregator

import (
	"context"
	"errors"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/actor"
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
