package follow

import (
	"context"
	"errors"
	"time"

	"quorate/engine/actor"
	"quorate/engine/archive"
	"quorate/engine/depot"
	"quorate/engine/ingest"
	"quorate/engine/metric"
)

const (
	// depotTries is for how long a depot that does not answer is asked again before a chain
	// begins without it: what it lacks then is asked of nodes.
	depotTries = time.Minute
	// depotPause is the first wait after a failure, depotEvery the time between two looks for
	// whole spans, and the longest wait.
	depotPause = time.Second
	depotEvery = time.Minute
	// depotNear is how old the last block of an archive may be that takes no spans: nodes are
	// asked for less than it takes to look.
	depotNear = time.Hour
	// depotIncomplete is for how long a span waits for what its blocks lack, such as traces:
	// what comes later is a note.
	depotIncomplete = time.Hour
)

// storage is what brings a chain's archive and a depot together. Nil: there is none.
type storage[B ingest.Item] struct {
	*depot.Copy
	keeper *keeper[B]
	// upTo returns the last block that may be put, ok is false for none.
	upTo func() (height uint64, ok bool)
	// gaps returns what blocks lack.
	gaps func() []Gap
	// taken is called when blocks were taken before the index has any.
	taken func(context.Context) error
	// patience is how long a span waits for what its blocks lack.
	patience time.Duration

	waiting  map[uint64]time.Time // since when, by the first block of a span
	failures metric.Counter
	failing  metric.Gauge
}

// newStorage returns nil without a depot.
func (b *base[B]) newStorage(k *keeper[B], gaps func() []Gap) *storage[B] {
	if b.common.Depot == nil {
		return nil
	}
	set := b.metrics()
	spans := func(way string) metric.Counter {
		return set.Counter("quorate_depot_spans_total", "Spans of blocks that were put into the depot, and taken from there.", "way", way)
	}
	put, took, refused := spans("put"), spans("taken"), set.Counter("quorate_depot_refused_total", "Objects of the depot that were missing or not what their names say.")
	s := &storage[B]{
		Copy: b.common.Depot(k.sink.archive), keeper: k, gaps: gaps, patience: depotIncomplete, waiting: make(map[uint64]time.Time),
		taken:    func(context.Context) error { return nil },
		failures: set.Counter("quorate_depot_failures_total", "Failures of putting blocks into the depot, and of taking them."),
		failing:  set.Gauge("quorate_depot_failing", "Whether the last attempt to put blocks into the depot, or to take them, failed."),
	}
	s.upTo = func() (uint64, bool) {
		head, ok := k.sink.index.Cursor()
		last, _, any := k.sink.archive.Last()
		return min(head.Height, last), ok && any
	}
	s.OnRefused = func(err error) {
		refused.Inc()
		k.log.Error("an object of the depot is of no use", "err", err)
	}
	taking := k.progress(WorkTake, "blocks are taken from the depot")
	s.OnTaken = func(_ depot.Object, last, of uint64) {
		took.Inc()
		taking(last, of)
	}
	s.OnPut = func(o depot.Object) {
		put.Inc()
		k.log.Debug("blocks were put into the depot", "object", o.Name)
	}
	return s
}

// take takes what the archive lacks, unless that is little. A depot that does not answer is
// asked again for a while if the archive has nothing yet.
func (s *storage[B]) take(ctx context.Context, start StartBlock) {
	head, _ := s.keeper.sink.index.Cursor()
	_, _, any := s.keeper.sink.archive.Last()
	if any && time.Since(time.UnixMilli(int64(head.TimeMilli))) < depotNear || !any && start.Below { //nolint:gosec // a time
		return
	}
	late := time.Now().Add(depotTries)
	for wait := depotPause; ; wait *= 2 {
		err := s.Pull(ctx, start.Height)
		if _, _, has := s.keeper.sink.archive.Last(); err == nil && has && !any {
			err = s.taken(ctx)
		}
		s.note(err)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.keeper.log.Warn("the depot cannot be read: nodes are asked if it stays so", "err", err)
		if any || time.Now().Add(wait).After(late) {
			return
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

func (s *storage[B]) note(err error) {
	s.failing.Set(0)
	if err != nil && !errors.Is(err, context.Canceled) {
		s.failures.Inc()
		s.failing.Set(1)
	}
}

// put puts spans as they become whole, until ctx ends.
func (s *storage[B]) put(ctx context.Context) error {
	if !await(ctx, &s.keeper.joined) {
		return nil
	}
	tick := time.NewTicker(depotEvery)
	defer tick.Stop()
	for {
		ok := actor.Retry(ctx, depotPause, depotEvery, func(err error) {
			s.keeper.log.Warn("blocks cannot be put into the depot", "err", err)
		}, func() error {
			err := s.putWhole(ctx)
			s.note(err)
			return err
		})
		if !ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *storage[B]) putWhole(ctx context.Context) error {
	last, ok := s.upTo()
	if !ok {
		return nil
	}
	gaps, now := s.gaps(), time.Now()
	return s.Push(ctx, last, func(first, last uint64) bool {
		for _, g := range gaps {
			if g.From <= last && first <= g.To {
				if _, ok := s.waiting[first]; !ok {
					s.waiting[first] = now
				}
				return now.Sub(s.waiting[first]) >= s.patience
			}
		}
		delete(s.waiting, first)
		return true
	})
}

// fetch returns blocks of the depot, or those that nodes have.
func (s *storage[B]) fetch(nodes func(ctx context.Context, from, to uint64) ([]archive.Block, error)) func(ctx context.Context, from, to uint64) ([]archive.Block, error) {
	return func(ctx context.Context, from, to uint64) ([]archive.Block, error) {
		list, err := s.Blocks(ctx, from, to)
		if err == nil && list != nil {
			return list, nil
		}
		s.note(err)
		return nodes(ctx, from, to)
	}
}
