package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"quorate/engine/chain"
)

// span is a range of blocks that are fetched together. It lives until all of them
// are committed or it is given up.
type span[B Item] struct {
	from, to uint64
	expected int // bytes that the window has set aside for each block
	cancel   context.CancelFunc
	ended    chan struct{} // closed when nothing works at it any more

	mu    sync.Mutex // guards what follows
	slots []slot[B]  // of the blocks fetched so far, each the child of the one before
	taken int        // slots that the committer has
	wrong error      // why blocks have to be asked for again; nil: they have not
	bad   int        // the first slot of those, if wrong is not nil

	// Guarded by Ingest.mu:
	fetched time.Time // when its first block was
	left    int       // blocks fetched and not committed
}

// slot is a fetched block.
type slot[B Item] struct {
	block B
	link  chain.Link
	size  int
	ready bool // complete, or committed without
}

// ready returns the next blocks that can be committed, at most n.
func (s *span[B]) ready(n int) (list []slot[B]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := s.taken
	for end < len(s.slots) && end-s.taken < n && s.slots[end].ready && (s.wrong == nil || end < s.bad) {
		end++
	}
	list = s.slots[s.taken:end:end]
	s.taken = end
	return list
}

// refuse has the blocks from a slot on asked for again.
func (s *span[B]) refuse(k int, wrong error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong == nil || k < s.bad {
		s.wrong, s.bad = wrong, max(k, s.taken)
	}
}

// refused returns what is wrong with the next block to take, if it has to be asked
// for again.
func (s *span[B]) refused() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong != nil && s.taken >= s.bad {
		return s.wrong
	}
	return nil
}

// rest returns the height that the committer takes next, and the size of all
// blocks from there on.
func (s *span[B]) rest() (from uint64, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := s.taken; k < len(s.slots); k++ {
		size += s.slots[k].size
	}
	return s.from + uint64(s.taken), size
}

// start begins to fill a span after a pause.
func (r *round[B]) start(s *span[B], wait time.Duration) {
	ctx, cancel := context.WithCancel(r.ctx)
	s.cancel, s.ended = cancel, make(chan struct{})
	r.wg.Go(func() {
		defer close(s.ended)
		defer cancel()
		if wait == 0 || pause(ctx, wait, nil) {
			r.fill(ctx, s)
		}
	})
}

// parentTries is how often a block that is no child of the one before is asked for
// again before the one before is too: it is committed meanwhile, if it is good.
const parentTries = 4

// fill fetches and completes the blocks of a span until all are there.
func (r *round[B]) fill(ctx context.Context, s *span[B]) {
	var completions sync.WaitGroup
	defer completions.Wait()
	var last *chain.Link
	for at, failures := s.from, 0; at <= s.to; {
		for wake := r.i.grew.next(); at > r.i.target.Load(); wake = r.i.grew.next() {
			select { // the target has fallen below it
			case <-wake:
			case <-ctx.Done():
				return
			}
		}
		wake := r.i.grew.next()
		to := s.to
		if failures > 0 {
			to = at // all that is wrong may be one block
		}
		blocks, err := r.fetch(ctx, at, to, last)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, ErrParent) {
			if len(blocks) == 0 && last != nil && failures >= parentTries { // the one before may be the wrong one
				s.refuse(int(at-s.from)-1, err)
				poke(r.progress)
				return
			}
			blocks = blocks[:max(0, len(blocks)-1)] // which of the two is wrong is not known
		}
		for _, b := range blocks {
			last = r.add(ctx, s, b, &completions)
		}
		at += uint64(len(blocks))
		if len(blocks) > 0 {
			failures = 0
		}
		if err == nil {
			continue
		}
		r.i.failed(fmt.Errorf("fetch block %d: %w", at, err))
		awaited := at
		if !errors.Is(err, ErrNotFound) {
			awaited = math.MaxUint64 // no hint helps
		} else {
			poke(r.i.look)
		}
		if !r.i.pauseFor(ctx, backoff(err, failures), awaited, wake) {
			return
		}
		failures++
	}
}

// fetch asks for blocks that follow on last, if that is known, and returns those
// that are as they should be.
func (r *round[B]) fetch(ctx context.Context, from, to uint64, last *chain.Link) (blocks []B, err error) {
	tokenErr := r.fetchers.with(ctx, func() error {
		return r.i.call(ctx, func(ctx context.Context) error {
			blocks, err = r.i.cfg.Source.Fetch(ctx, from, to)
			return err
		})
	})
	if tokenErr != nil {
		err = tokenErr // the time for the call may be over
	}
	good, wrong := check(from, to, last, blocks)
	if wrong == nil && err == nil && good != int(to-from+1) {
		wrong = fmt.Errorf("%w: %d instead of %d", ErrAnswer, len(blocks), to-from+1)
	}
	if wrong != nil {
		err = wrong
		r.i.blame(from + uint64(good))
	}
	return blocks[:good], err
}

// check reports how many of the blocks can be taken, and what is wrong with the
// one after those.
func check[B Item](from, to uint64, last *chain.Link, blocks []B) (int, error) {
	if uint64(len(blocks)) > to-from+1 {
		return 0, fmt.Errorf("%w: %d instead of %d", ErrAnswer, len(blocks), to-from+1)
	}
	for k, b := range blocks {
		if b == *new(B) {
			return k, ErrAnswer
		}
		link := b.Link()
		switch {
		case link.Height != from+uint64(k):
			return k, ErrAnswer
		case last != nil && !link.Orphan && link.Parent != last.ID:
			return k, fmt.Errorf("%w: it has parent %x, block %d is %x", ErrParent, link.Parent[:], last.Height, last.ID[:])
		}
		last = &link
	}
	return len(blocks), nil
}

// blame has another node asked for a block.
func (i *Ingest[B]) blame(height uint64) {
	if b, ok := i.cfg.Source.(Blamer); ok {
		b.Blame(height)
	}
}

// add adds a fetched block to a span and has it completed.
func (r *round[B]) add(ctx context.Context, s *span[B], b B, completions *sync.WaitGroup) *chain.Link {
	one := slot[B]{block: b, link: b.Link(), size: b.Memory()}
	completer := r.i.cfg.Completer
	one.ready = completer == nil || !completer.Needs(b)
	// It is counted first: once it is among the slots it may be committed at once.
	r.i.mu.Lock()
	if s.left++; s.fetched.IsZero() {
		s.fetched = time.Now()
	}
	r.i.mu.Unlock()
	s.mu.Lock()
	s.slots = append(s.slots, one)
	k := len(s.slots) - 1
	s.mu.Unlock()
	r.window.seen(one.size)
	r.window.give(s.expected - one.size)
	if one.ready {
		poke(r.progress)
		return &one.link
	}
	completions.Go(func() {
		if !r.complete(ctx, s, k, b, &one.link) {
			return
		}
		size := b.Memory()
		s.mu.Lock()
		s.slots[k].ready, s.slots[k].size = true, size
		s.mu.Unlock()
		r.window.give(one.size - size)
		poke(r.progress)
	})
	return &one.link
}

// gaveUpTries is how often a block is tried before it becomes a gap.
const gaveUpTries = 3

// askAgain is after how many failures to complete a block it is asked for again:
// perhaps it is not what nodes can complete.
const askAgain = 8

// complete completes the block of a slot, or notes it as one that is committed
// without; false means that ctx has ended or that the block is asked for again.
func (r *round[B]) complete(ctx context.Context, s *span[B], k int, b B, link *chain.Link) bool {
	c, gaveUp := &r.i.cfg, 0
	for failures := 0; ; failures++ {
		err := r.completers.with(ctx, func() error {
			if why := r.i.waived(); why != nil {
				return why
			}
			return r.i.call(ctx, func(ctx context.Context) error { return c.Completer.Complete(ctx, b) })
		})
		switch {
		case ctx.Err() != nil:
			return false
		case err == nil:
			if err = r.i.completed(link); err == nil {
				return true
			}
		case errors.Is(err, ErrUnable) && r.i.optional():
			r.i.without(err)
			return true
		default:
			if errors.Is(err, ErrIncomplete) {
				gaveUp++
			} else {
				r.i.unableTo(err)
			}
			if c.Repairs == nil || gaveUp < gaveUpTries && !r.i.lasts() {
				break
			}
			full := r.i.giveUp(link, err)
			if full == nil {
				return true
			}
			err = full
		}
		err = fmt.Errorf("complete block %d: %w", link.Height, err)
		r.i.failed(err)
		if failures%askAgain == askAgain-1 && !errors.Is(err, ErrUnable) {
			s.refuse(k, err)
			poke(r.progress)
			return false
		}
		if !pause(ctx, backoff(err, failures), nil) {
			return false
		}
	}
}

// without counts a block that is committed as it is since no node completes any.
func (i *Ingest[B]) without(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.state.Incomplete == 0 {
		i.log.Warn("blocks are indexed without what no node can tell of them", "err", err)
	}
	i.state.Incomplete++
}
