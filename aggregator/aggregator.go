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
	m := &notebook{environment: a.environment, network: a.cfg.NetworkID, notes: a.cfg.Notes}
	m.restore()
	if err := sup.Go("notebook", m.run); err != nil {
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
	at := attempt{req: req, wish: req.wish()}
	k, how, err := a.answer(ctx, &at)
	if err != nil {
		e := asError(err)
		a.count.failure(e.Kind)
		a.journal.fail(time.Now(), &at, e)
		return nil, e
	}
	a.journal.answered(time.Now(), &at, k, how)
	return k.resultAt(at.set.Height), nil
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

func (a *Aggregator) answer(ctx context.Context, at *attempt) (k *kept, how How, err error) {
	received := at.req.Received
	if received.IsZero() {
		received = time.Now()
	}
	at.deadline = received.Add(a.cfg.RequestTimeout)
	ctx = valset.For(ctx, at.req.Client, at.deadline)
	if at.msg, err = a.message(ctx, at.req); err != nil {
		return nil, 0, err
	}
	if err = a.signers(ctx, at); err == nil {
		k, how, err = a.find(ctx, at)
	}
	if err != nil {
		return a.instead(ctx, at, err)
	}
	return k, how, nil
}
