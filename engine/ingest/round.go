package ingest

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"quorate/engine/chain/evm"
)

// span is a run of blocks that are fetched together.
type span struct {
	from, to uint64
	done     chan struct{} // closed when what follows is set
	blocks   []*evm.Block  // all, or with an error those before it
	sizes    []int         // of the blocks
	err      error

	// Guarded by Ingest.mu.
	fetched time.Time
	left    int // blocks fetched and not committed
}

// round follows the chain until something fails: then all that was fetched
// ahead is given up, and the next round begins after the last committed block.
//
// The scheduler starts spans in order, as long as the window has room. Each
// span is fetched and traced by a goroutine of its own. The committer takes the
// spans in the same order.
type round struct {
	i      *Ingest
	ctx    context.Context
	cancel context.CancelCauseFunc
	order  chan *span
	fetch  chan struct{} // tokens
	trace  chan struct{} // tokens
	wg     sync.WaitGroup
	window window
	length lengths

	// Owned by the committer.
	next  uint64    // height to commit next
	last  *evm.Hash // of the block before it, nil if there is none
	ready []*evm.Block
	sizes []int
}

// maxSpans bounds the spans in flight.
const maxSpans = 64

func (i *Ingest) round(ctx context.Context) error {
	if err := i.tip(ctx); err != nil {
		return err
	}
	r := &round{
		i: i, order: make(chan *span, maxSpans),
		fetch: make(chan struct{}, i.cfg.Fetchers), trace: make(chan struct{}, i.cfg.Tracers),
		window: window{limit: i.cfg.WindowBytes, freed: make(chan struct{}, 1)},
		length: lengths{most: i.cfg.Span, now: 1, goal: max(1, i.cfg.WindowBytes/(4*i.cfg.Fetchers))},
	}
	if number, hash, ok := i.cfg.Sink.Cursor(); ok {
		if err := i.verify(ctx, number, hash); err != nil {
			return err
		}
		r.next, r.last = number+1, &hash
		if number >= i.target.Load() {
			i.mu.Lock()
			i.well()
			i.mu.Unlock()
		}
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.wg.Go(r.schedule)
	r.wg.Go(r.lookAtTip)
	err := r.commit()
	r.cancel(err)
	r.wg.Wait()
	return err
}

// verify asks for the last committed block again: the node must have the same.
func (i *Ingest) verify(ctx context.Context, number uint64, hash evm.Hash) error {
	var blocks []*evm.Block
	err := i.call(ctx, func(ctx context.Context) (err error) {
		blocks, err = i.cfg.Source.Fetch(ctx, number, number)
		return err
	})
	switch {
	case err != nil:
		return fmt.Errorf("fetch block %d, the last indexed one: %w", number, err)
	case len(blocks) != 1 || blocks[0].Number != number:
		return fmt.Errorf("fetch block %d, the last indexed one: %w", number, ErrAnswer)
	case blocks[0].Hash != hash:
		return fmt.Errorf("%w: block %d is %s there and %s here", ErrOtherChain, number, blocks[0].Hash, hash)
	}
	return nil
}

// lookAtTip asks for the last block from time to time: hints can be missed, and
// a node that has lost blocks does not tell.
func (r *round) lookAtTip() {
	for pause(r.ctx, r.i.cfg.TipEvery) {
		err := r.i.tip(r.ctx)
		if r.ctx.Err() != nil {
			return
		}
		if err != nil {
			r.cancel(err)
			return
		}
		r.i.mu.Lock()
		if r.i.state.Height >= r.i.target.Load() && r.i.state.Started {
			r.i.well()
		}
		r.i.mu.Unlock()
	}
}

// schedule starts spans until the round ends.
func (r *round) schedule() {
	next := r.next
	for {
		for next > r.i.target.Load() {
			select {
			case <-r.i.poke:
			case <-r.ctx.Done():
				return
			}
		}
		s := &span{from: next, done: make(chan struct{})}
		n, size := r.length.get()
		s.to = min(next+uint64(n)-1, r.i.target.Load())
		size *= int(s.to - s.from + 1)
		if !r.window.take(r.ctx, size) {
			return
		}
		r.i.mu.Lock()
		r.i.inflight = append(r.i.inflight, s)
		r.i.mu.Unlock()
		r.wg.Go(func() { r.fill(s, size) })
		select {
		case r.order <- s:
		case <-r.ctx.Done():
			return
		}
		next = s.to + 1
	}
}

// commit takes spans in order and commits their blocks, until something fails.
func (r *round) commit() error {
	var waiting *span // taken from order, not gathered yet
	for {
		if len(r.ready) == 0 {
			if err := r.await(&waiting); err != nil {
				return err
			}
		}
		failure := r.gather(&waiting)
		for len(r.ready) > 0 {
			if err := r.commitGroup(); err != nil {
				return err
			}
			if failure == nil {
				break // there may be more to gather
			}
		}
		if failure != nil {
			return failure
		}
	}
}

// await waits until the next span is done.
func (r *round) await(waiting **span) error {
	if *waiting == nil {
		select {
		case *waiting = <-r.order:
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		}
	}
	select {
	case <-(*waiting).done:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// gather takes the blocks of spans that are done, without waiting. It gives
// what is wrong with the block after those.
func (r *round) gather(waiting **span) error {
	for len(r.ready) < r.i.cfg.Group {
		if *waiting == nil {
			select {
			case *waiting = <-r.order:
			default:
				return nil
			}
		}
		s := *waiting
		select {
		case <-s.done:
		default:
			return nil
		}
		*waiting = nil
		for k, b := range s.blocks {
			if r.last != nil && b.Parent != *r.last {
				return fmt.Errorf("%w: block %d has parent %s, block %d is %s", ErrParent, b.Number, b.Parent, b.Number-1, *r.last)
			}
			r.last = &b.Hash
			r.ready = append(r.ready, b)
			r.sizes = append(r.sizes, s.sizes[k])
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// commitGroup commits the first of the ready blocks.
func (r *round) commitGroup() error {
	n, size := 0, 0
	for n < len(r.ready) && n < r.i.cfg.Group && (n == 0 || size+r.sizes[n] <= r.i.cfg.GroupBytes) {
		size += r.sizes[n]
		n++
	}
	group := r.ready[:n]
	started := time.Now()
	if err := r.i.cfg.Sink.Commit(r.ctx, group); err != nil {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		return fmt.Errorf("index blocks %d to %d: %w", group[0].Number, group[n-1].Number, err)
	}
	r.i.commits.Observe(time.Since(started).Seconds())
	r.next += uint64(n)
	r.i.committed(group)
	if r.i.cfg.OnBlock != nil {
		for _, b := range group {
			r.i.cfg.OnBlock(b)
		}
	}
	r.window.give(size)
	r.ready = append(r.ready[:0], r.ready[n:]...)
	clear(r.ready[len(r.ready):cap(r.ready)])
	r.sizes = append(r.sizes[:0], r.sizes[n:]...)
	return nil
}

// window counts the bytes of blocks that are in flight.
type window struct {
	limit int
	freed chan struct{}

	mu   sync.Mutex
	used int
}

// take waits for room; an empty window takes anything.
func (w *window) take(ctx context.Context, n int) bool {
	for {
		w.mu.Lock()
		ok := w.used == 0 || w.used+n <= w.limit
		if ok {
			w.used += n
		}
		w.mu.Unlock()
		if ok {
			return ctx.Err() == nil
		}
		select {
		case <-w.freed:
		case <-ctx.Done():
			return false
		}
	}
}

// give gives back n bytes; a negative n takes more than there was room for.
func (w *window) give(n int) {
	w.mu.Lock()
	w.used -= n
	w.mu.Unlock()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}

// lengths finds how many blocks to fetch together: few at first, then up to
// the most, or as many as have the goal's size.
type lengths struct {
	most, goal int

	mu   sync.Mutex
	now  int
	mean int // bytes of a block
}

// firstMean is the size of a block as long as none has been seen.
const firstMean = 256 << 10

func (l *lengths) get() (n, mean int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mean = l.mean
	if mean == 0 {
		mean = firstMean
	}
	return max(1, min(l.now, l.goal/max(mean, 1))), mean
}

// seen records a span that came without an error.
func (l *lengths) seen(blocks, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if blocks >= l.now {
		l.now = min(2*l.now, l.most)
	}
	mean := bytes / blocks
	if l.mean == 0 {
		l.mean = mean
	}
	l.mean += (mean - l.mean) / 4
}

// sizeOf estimates what a block takes in memory.
func sizeOf(b *evm.Block) int {
	n := int(unsafe.Sizeof(*b)) + len(b.Balances)*int(unsafe.Sizeof(evm.Balance{}))
	for i := range b.Txs {
		tx := &b.Txs[i]
		n += int(unsafe.Sizeof(*tx)) + len(tx.Input) + len(tx.Calls)*int(unsafe.Sizeof(evm.Call{}))
		for j := range tx.Logs {
			n += int(unsafe.Sizeof(evm.Log{})) + len(tx.Logs[j].Data) + len(tx.Logs[j].Topics)*evm.HashLen
		}
	}
	return n
}
