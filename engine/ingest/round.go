package ingest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"quorate/engine/chain"
)

// round follows the chain from the last committed block on. It ends with ctx, when
// the cursor was moved by others than itself, or when the nodes have another chain.
//
// The scheduler starts spans in order, as long as the window has room. Each is
// filled by a goroutine of its own, which asks for what is missing until it comes.
// The committer takes blocks in the same order, as soon as they are ready.
type round[B Item] struct {
	i          *Ingest[B]
	ctx        context.Context
	order      chan *span[B]
	progress   chan struct{} // a block is ready
	fetchers   tokens
	completers tokens
	wg         sync.WaitGroup
	window     window

	// Owned by the committer.
	last  *chain.Head // block before the next to take, nil if there is none
	next  uint64      // height to commit next
	group []slot[B]   // taken and not committed
	fails int         // in a row, of commits and of one block
	ahead bool        // the sink may have work to do with what was committed last
}

// maxSpans bounds the spans in flight.
const maxSpans = 64

func (i *Ingest[B]) round(ctx context.Context) error {
	if err := i.tip(ctx); err != nil {
		return err
	}
	c := &i.cfg
	r := &round[B]{
		i: i, order: make(chan *span[B], maxSpans), progress: make(chan struct{}, 1),
		fetchers: make(tokens, c.Fetchers), completers: make(tokens, c.Completers),
		window: window{limit: c.WindowBytes, freed: make(chan struct{}, 1), held: &i.held}, next: c.From,
	}
	if head, ok := c.Sink.Cursor(); ok {
		if err := i.verify(ctx, head); err != nil {
			return i.other(ctx, head, err)
		}
		r.next, r.last = head.Height+1, &head
		i.mu.Lock()
		i.state.Head, i.state.Started = head, true
		i.foreign = 0
		if head.Height >= i.target.Load() {
			i.well()
		}
		i.mu.Unlock()
	}
	var end context.CancelFunc
	r.ctx, end = context.WithCancel(ctx)
	next := r.next
	r.wg.Go(func() { r.schedule(next) })
	r.wg.Go(r.lookAtTip)
	err := r.commit()
	r.land()
	end()
	r.wg.Wait()
	if errors.Is(err, errMoved) {
		err = nil
	}
	i.mu.Lock()
	i.inflight = nil
	i.mu.Unlock()
	return err
}

// lookAtTip asks for the last block from time to time, and when a block is not
// there: hints can be missed or wrong, and a node that has lost blocks does not
// tell.
func (r *round[B]) lookAtTip() {
	tick := time.NewTicker(r.i.cfg.TipEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.i.look:
			if !pause(r.ctx, r.i.cfg.TipEvery/10, nil) { // not too often
				return
			}
		case <-r.ctx.Done():
			return
		}
		err := r.i.tip(r.ctx)
		if r.ctx.Err() != nil {
			return
		}
		if err != nil {
			r.i.failed(err)
			continue
		}
		r.i.mu.Lock()
		if r.i.state.Height >= r.i.target.Load() && r.i.state.Started {
			r.i.well()
		}
		r.i.mu.Unlock()
	}
}

// schedule starts spans until the round ends.
func (r *round[B]) schedule(next uint64) {
	goal := max(1, r.i.cfg.WindowBytes/(4*r.i.cfg.Fetchers)) // bytes of a span
	for {
		for wake := r.i.grew.next(); next > r.i.target.Load(); wake = r.i.grew.next() {
			select {
			case <-wake:
			case <-r.ctx.Done():
				return
			}
		}
		size, left := r.window.size(), r.i.target.Load()-next+1
		// Few blocks are fetched by all fetchers at one time as well.
		share := (left + uint64(r.i.cfg.Fetchers) - 1) / uint64(r.i.cfg.Fetchers)
		n := min(uint64(max(1, min(r.i.cfg.Span, goal/size))), share)
		s := &span[B]{from: next, to: next + n - 1, expected: size}
		if !r.window.take(r.ctx, size*int(s.to-s.from+1)) {
			return
		}
		r.i.mu.Lock()
		r.i.inflight = append(r.i.inflight, s)
		r.i.mu.Unlock()
		r.start(s, 0)
		select {
		case r.order <- s:
		case <-r.ctx.Done():
			return
		}
		next = s.to + 1
	}
}

// errMoved ends a round: the sink's cursor is not where the round left it.
var errMoved = errors.New("the sink was moved")

// commit takes blocks in order and commits them, until the round ends.
func (r *round[B]) commit() error {
	var current *span[B] // whose blocks are taken
	for {
		wrong := r.gather(&current)
		var err error
		switch {
		case wrong == nil && r.fewer():
			err = r.await(&current)
		case len(r.group) > 0: // and then there may be more to gather
			err = r.commitGroup()
		case wrong != nil:
			err = r.again(&current, wrong)
		default:
			err = r.await(&current)
		}
		if err != nil {
			return err
		}
	}
}

// fewer reports whether the sink has work to do for which the blocks that were taken need
// not wait, but better do: they are few, and further ones are on their way.
func (r *round[B]) fewer() bool {
	n, size := len(r.group), 0
	if n == 0 || !r.ahead || n >= r.i.cfg.Group/4 || r.next+uint64(n) > r.i.target.Load() {
		return false
	}
	for k := range r.group {
		size += r.group[k].size
	}
	return size < r.i.cfg.GroupBytes
}

// landAfter is how long a sink may be ahead while no block comes.
const landAfter = 50 * time.Millisecond

// await waits until there may be more to gather.
func (r *round[B]) await(current **span[B]) error {
	var order chan *span[B]
	if *current == nil {
		order = r.order
	}
	var late <-chan time.Time
	if r.ahead {
		t := time.NewTimer(landAfter)
		defer t.Stop()
		late = t.C
	}
	select {
	case *current = <-order:
	case <-r.progress: // of a span that is not the current one: it costs another turn
	case <-late:
		r.land()
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
	return nil
}

// put hands blocks to the sink. It may have work to do with them while more are known of.
func (r *round[B]) put(blocks []B) error {
	sink, ok := r.i.cfg.Sink.(Ahead[B])
	if !ok {
		return r.i.cfg.Sink.Commit(r.ctx, blocks)
	}
	if r.next+uint64(len(blocks)) > r.i.target.Load() {
		r.ahead = false
		return sink.Commit(r.ctx, blocks)
	}
	err := sink.CommitAhead(r.ctx, blocks)
	r.ahead = err == nil
	return err
}

// land waits for what the sink still does.
func (r *round[B]) land() {
	if !r.ahead {
		return
	}
	r.ahead = false
	if err := r.i.cfg.Sink.(Ahead[B]).Land(); err != nil {
		r.i.failed(fmt.Errorf("index blocks up to %d: %w", r.next-1, err))
	}
}

// gather takes the blocks that are ready, without waiting. The error says what is
// wrong with the first block of current that was not taken.
func (r *round[B]) gather(current **span[B]) error {
	for len(r.group) < r.i.cfg.Group {
		if *current == nil {
			select {
			case *current = <-r.order:
			default:
				return nil
			}
		}
		s := *current
		list := s.ready(r.i.cfg.Group - len(r.group))
		for k := range list {
			link := &list[k].link
			if r.last != nil && !link.Orphan && link.Parent != r.last.ID {
				s.mu.Lock()
				s.taken -= len(list) - k
				s.mu.Unlock()
				return fmt.Errorf("%w: block %d has parent %x, block %d is %x", ErrParent, link.Height, link.Parent[:], r.last.Height, r.last.ID[:])
			}
			head := link.Head
			r.last = &head
			r.group = append(r.group, list[k])
		}
		if err := s.refused(); err != nil {
			return err
		}
		if from, _ := s.rest(); from <= s.to {
			return nil
		}
		*current = nil
	}
	return nil
}

// again asks for a block that does not follow on the last committed one, and for
// what comes behind it in its span, unless it is the committed one that is wrong.
func (r *round[B]) again(current **span[B], wrong error) error {
	r.i.failed(wrong)
	r.fails++
	head, ok := r.i.cfg.Sink.Cursor()
	if ok != (r.last != nil) || ok && head.ID != r.last.ID {
		return errMoved
	}
	old := *current
	old.cancel()
	<-old.ended
	from, size := old.rest()
	r.i.blame(from)
	if err := r.reverify(head, ok && errors.Is(wrong, ErrParent)); err != nil {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		if errors.Is(err, ErrOtherChain) {
			return r.i.other(r.ctx, head, err)
		}
		r.i.failed(err) // whoever is wrong is found out later
	}
	s := &span[B]{from: from, to: old.to, expected: old.expected}
	// What was set aside for blocks that had not come is still set aside for them.
	r.window.give(size - old.expected*(len(old.slots)-old.taken))
	r.i.mu.Lock()
	for k, in := range r.i.inflight {
		if in == old {
			r.i.inflight[k] = s
		}
	}
	r.i.mu.Unlock()
	r.start(s, backoff(wrong, r.fails-1))
	*current = s
	return nil
}

// reverify asks whether the nodes still have the last committed block, if what is
// wrong may be that they do not.
func (r *round[B]) reverify(head chain.Head, doubtful bool) error {
	if !doubtful {
		return nil
	}
	return r.i.verify(r.ctx, head)
}

// commitGroup commits the first of the blocks that were taken, or waits for the
// next try.
func (r *round[B]) commitGroup() error {
	n, size := 0, 0
	for n < len(r.group) && (n == 0 || size+r.group[n].size <= r.i.cfg.GroupBytes) {
		size += r.group[n].size
		n++
	}
	blocks := make([]B, n)
	for k := range blocks {
		blocks[k] = r.group[k].block
	}
	started := time.Now()
	err := r.put(blocks)
	if r.ctx.Err() != nil && err != nil {
		return context.Cause(r.ctx)
	}
	if err != nil {
		r.i.failed(fmt.Errorf("index blocks %d to %d: %w", r.next, r.next+uint64(n)-1, err))
		if n, err = r.reached(); err != nil {
			return err
		}
		if n == 0 {
			r.fails++
			pause(r.ctx, backoff(err, r.fails-1), nil)
			return nil
		}
		blocks = blocks[:n]
	}
	r.i.commits.Observe(time.Since(started).Seconds())
	r.done(blocks)
	return nil
}

// reached returns how many blocks of the group a commit that failed has reached.
func (r *round[B]) reached() (int, error) {
	head, ok := r.i.cfg.Sink.Cursor()
	if !ok || head.Height < r.next {
		if ok && head.Height+1 == r.next || !ok && r.next == r.i.cfg.From {
			return 0, nil
		}
		return 0, errMoved
	}
	n := head.Height - r.next + 1
	if n > uint64(len(r.group)) || r.group[n-1].link.ID != head.ID {
		return 0, errMoved
	}
	return int(n), nil
}

// done takes committed blocks out of the group.
func (r *round[B]) done(blocks []B) {
	n, size := len(blocks), 0
	links := make([]chain.Link, n)
	for k := range links {
		links[k] = r.group[k].link
		size += r.group[k].size
	}
	r.next += uint64(n)
	r.fails = 0
	r.i.committed(links)
	if r.i.cfg.OnBlock != nil {
		for _, b := range blocks {
			r.i.cfg.OnBlock(b)
		}
	}
	r.window.give(size)
	r.group = append(r.group[:0], r.group[n:]...)
	clear(r.group[len(r.group):cap(r.group)])
}
