package follow

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/actor"
	"quorate/engine/archive"
	"quorate/engine/ingest"
	"quorate/engine/metric"
)

const (
	// keeperPause is the first wait after a failure of the keeper; it doubles up to
	// keeperPauseMost.
	keeperPause     = 250 * time.Millisecond
	keeperPauseMost = 30 * time.Second
	// verifyFirst is when the archive is read as a whole after a start, verifyEvery
	// how often after that, and verifyRate by how many bytes a second at most.
	verifyFirst = 10 * time.Minute
	verifyEvery = 7 * 24 * time.Hour
	verifyRate  = 8 << 20
	// staleSettle is the wait for further changes before stale tables are made again.
	staleSettle = 30 * time.Second
)

// Work is something long that is done with the blocks of a chain beside following it.
type Work struct {
	Name     string        // one of the work constants
	Done, Of uint64        // heights
	Left     time.Duration // at the rate until now; 0: not known
}

// Names of work.
const (
	WorkCatchUp = "catch-up" // the index is made from the archive
	WorkFill    = "fill"     // the archive is filled from a node, behind the index
	WorkRebuild = "rebuild"  // tables of the index are made again from the archive
	WorkHeaders = "headers"  // blocks that came without the proposer's header get it; these are numbers of blocks
	WorkTake    = "take"     // blocks are taken from a depot
	WorkOlder   = "older"    // blocks below the first one are fetched; these are numbers of blocks
)

// keeper keeps the archive and the index of a chain of any kind together: at its
// start it makes the index catch up, then it has stale tables rebuilt, and it reads
// the archive again from time to time. Damage that anyone finds is fetched again.
type keeper[B ingest.Item] struct {
	sink *Sink[B]
	log  *slog.Logger // of the chain
	// fetch returns blocks of a range as a node has them now.
	fetch func(ctx context.Context, from, to uint64) ([]archive.Block, error)
	// take takes what the archive lacks from a depot.
	take func(ctx context.Context)
	// replay puts what the archive's notes say into an index that was empty.
	replay func(ctx context.Context) error
	// rebuild makes the stale tables of the index again.
	rebuild func(ctx context.Context, progress func(done, of uint64)) error
	// outdated reports whether the index was made by older rules, which may refuse blocks
	// that are right.
	outdated func() bool
	// begun are closed when the index has all blocks of the archive, and when the
	// archive has all blocks of the index.
	caught, joined event
	// tended happens when what was stale at the start is made.
	tended event
	stale  chan struct{} // has room for one: there may be stale tables
	whole  chan struct{} // has room for one: the archive has reached the genesis block
	orders chan *order   // without room

	work  atomic.Pointer[Work] // nil: none
	fill  atomic.Bool          // the archive is being filled
	older atomic.Pointer[older[B]]
	// headers is how far blocks without a header are completed, nil: nobody is at it.
	headers atomic.Pointer[Work]
	// mender is held by whoever mends: it takes what is mended out of hurt.
	mender sync.Mutex
	mu     sync.Mutex       // guards what follows
	hurt   []archive.Damage // known, and not mended yet
	err    error            // why the keeper does not get on
	since  time.Time        // of err
}

// event happens once.
type event struct {
	once sync.Once
	done chan struct{}
}

func newEvent() event { return event{done: make(chan struct{})} }

func (e *event) happened() { e.once.Do(func() { close(e.done) }) }

// await waits for events, and reports whether all have happened before ctx ended.
func await(ctx context.Context, events ...*event) bool {
	for _, e := range events {
		select {
		case <-e.done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func newKeeper[B ingest.Item](s *Sink[B], log *slog.Logger, set *metric.Set) *keeper[B] {
	k := &keeper[B]{sink: s, log: log, caught: newEvent(), joined: newEvent(), tended: newEvent(),
		outdated: func() bool { return false }, take: func(context.Context) {},
		stale: make(chan struct{}, 1), whole: make(chan struct{}, 1), orders: make(chan *order)}
	set.Gauges("quorate_chain_work_blocks", "Blocks done by work beside following the chain; 0 while there is none.",
		[]string{"work"}, func(emit func(float64, ...string)) {
			done := map[string]uint64{WorkCatchUp: 0, WorkFill: 0, WorkRebuild: 0, WorkTake: 0, WorkOlder: 0, WorkHeaders: 0}
			for _, w := range k.Work() {
				done[w.Name] = w.Done
			}
			for name, blocks := range done {
				emit(float64(blocks), name)
			}
		})
	set.GaugeFunc("quorate_archive_damaged_ranges", "Ranges of the archive that are known to be damaged and not fetched again yet.",
		func() float64 { damage, _ := k.trouble(); return float64(len(damage)) })
	return k
}

// Run works until ctx ends.
func (k *keeper[B]) Run(ctx context.Context) error {
	_, started := k.sink.index.Cursor()
	k.take(ctx)
	ok := k.until(ctx, func() error { return k.catchUp(ctx) })
	if k.work.Store(nil); !ok {
		return nil
	}
	if !started && !k.until(ctx, func() error { return k.replay(ctx) }) {
		return nil
	}
	k.caught.happened()
	apart, _ := k.sink.apart()
	if !apart {
		k.joined.happened()
	}
	if !await(ctx, &k.joined) {
		return nil
	}
	return k.tend(ctx)
}

// catchUp has the index take what the archive has. If it refuses that by older rules, it is
// made again first.
func (k *keeper[B]) catchUp(ctx context.Context) error {
	catch := func() error {
		return k.sink.CatchUp(ctx, k.progress(WorkCatchUp, "the index catches up from the archive"))
	}
	err := catch()
	if err == nil || ctx.Err() != nil || !k.outdated() {
		return err
	}
	k.log.Warn("the index, made by older rules, refuses what the archive has: it is made again first", "err", err)
	if again := k.remake(ctx); again != nil {
		return errors.Join(err, again)
	}
	return catch()
}

// remake makes the stale tables again.
func (k *keeper[B]) remake(ctx context.Context) error {
	return k.rebuild(ctx, k.progress(WorkRebuild, "tables of the index are made again from the archive"))
}

// tend rebuilds what is stale, at first and whenever that has changed, and reads the
// archive as a whole from time to time, until ctx ends.
func (k *keeper[B]) tend(ctx context.Context) error {
	verify := time.NewTimer(verifyFirst)
	defer verify.Stop()
	for {
		ok := k.until(ctx, func() error { return k.remake(ctx) })
		if k.work.Store(nil); !ok {
			return nil
		}
		k.tended.happened()
		select {
		case <-k.whole:
		case <-k.stale:
			select { // more may follow
			case <-time.After(staleSettle):
			case <-k.whole:
			case <-ctx.Done():
			}
		case o := <-k.orders:
			k.carryOut(ctx, o)
		case <-verify.C:
			k.verify(ctx)
			verify.Reset(verifyEvery)
		case <-ctx.Done():
			return nil
		}
	}
}

// reached says that the archive has all blocks that it will have below: tables that
// lack them are made again at once.
func (k *keeper[B]) reached() {
	select {
	case k.whole <- struct{}{}:
	default:
	}
}

// changed says that there may be stale tables.
func (k *keeper[B]) changed() {
	select {
	case k.stale <- struct{}{}:
	default:
	}
}

// progress notes and logs how far a work is, and how long it takes yet.
func (k *keeper[B]) progress(name, text string) func(done, of uint64) {
	var begun, told time.Time
	first := uint64(0)
	return func(done, of uint64) {
		now, w := time.Now(), &Work{Name: name, Done: done, Of: of}
		if begun.IsZero() {
			begun, first = now, done
		} else if done > first && of > done {
			w.Left = time.Duration(float64(now.Sub(begun)) / float64(done-first) * float64(of-done)).Round(time.Second)
		}
		k.work.Store(w)
		if now.Sub(told) >= tellEvery || done >= of && !told.IsZero() {
			k.log.Info(text, "blocks", done, "of", of, "left", w.Left)
			told = now
		}
	}
}

// until does f until it succeeds; false means that ctx has ended.
func (k *keeper[B]) until(ctx context.Context, f func() error) bool {
	return k.retry(ctx, "archive and index are not brought together yet", k.stuck, f)
}

// retry does f until it succeeds, and calls note with each error and with nil at the
// end; false means that ctx has ended. Damage that f meets is mended first. what is
// said in the log for each new reason.
func (k *keeper[B]) retry(ctx context.Context, what string, note func(error), f func() error) bool {
	return actor.Retry(ctx, keeperPause, keeperPauseMost, func(err error) { k.log.Warn(what, "err", err) }, func() error {
		err := k.mending(ctx, f)
		note(err)
		return err
	})
}

// mending does f, and again after damage that it meets is mended.
func (k *keeper[B]) mending(ctx context.Context, f func() error) error {
	for {
		err := f()
		var damage *archive.Damage
		if !errors.As(err, &damage) {
			return err
		}
		k.found(*damage)
		if err := k.mend(ctx); err != nil {
			return err
		}
	}
}

func (k *keeper[B]) stuck(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil {
		k.since = time.Now()
	}
	k.err = err
}

// stuckFor returns why the keeper has not got on for at least so long, or nil.
func (k *keeper[B]) stuckFor(least time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err == nil || time.Since(k.since) < least {
		return nil
	}
	return k.err
}

// found takes note of damage.
func (k *keeper[B]) found(d archive.Damage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.ContainsFunc(k.hurt, func(old archive.Damage) bool {
		return old.From == d.From && old.To == d.To && old.Structure == d.Structure
	}) {
		k.log.Error("the archive is damaged; the range is fetched again", "from", d.From, "to", d.To, "file", d.File, "err", d.Err)
		k.hurt = append(k.hurt, d)
	}
}

// mend fetches again what is damaged.
func (k *keeper[B]) mend(ctx context.Context) error {
	k.mender.Lock()
	defer k.mender.Unlock()
	for {
		damage, _ := k.trouble()
		if len(damage) == 0 {
			return nil
		}
		if err := k.sink.room(); err != nil {
			return err
		}
		if err := k.sink.archive.Repair(ctx, damage[:1], k.fetch); err != nil {
			return err
		}
		k.mu.Lock()
		k.hurt = k.hurt[1:] // who finds more appends
		k.mu.Unlock()
		k.log.Info("a damaged range of the archive is whole again", "from", damage[0].From, "to", damage[0].To)
	}
}

// verify reads the archive as a whole, slowly, and mends what is damaged.
func (k *keeper[B]) verify(ctx context.Context) {
	k.until(ctx, func() error {
		began := time.Now()
		damage, err := k.sink.archive.Verify(ctx, func(done, _ int64) {
			due := began.Add(time.Duration(float64(done) / verifyRate * float64(time.Second)))
			select {
			case <-time.After(time.Until(due)):
			case <-ctx.Done():
			}
		})
		for _, d := range damage {
			k.found(d)
		}
		return errors.Join(err, k.mend(ctx))
	})
}

// Work returns what is done beside following the chain.
func (k *keeper[B]) Work() (list []Work) {
	if w := k.work.Load(); w != nil {
		list = append(list, *w)
	}
	if k.fill.Load() {
		last, _, _ := k.sink.archive.Last()
		head, _ := k.sink.index.Cursor()
		list = append(list, Work{Name: WorkFill, Done: last, Of: head.Height})
	}
	if o := k.older.Load(); o != nil {
		list = append(list, o.work())
	}
	if w := k.headers.Load(); w != nil {
		list = append(list, *w)
	}
	return list
}

// trouble returns the damage that is known, and why the keeper does not get on.
func (k *keeper[B]) trouble() ([]archive.Damage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.hurt), k.err
}
