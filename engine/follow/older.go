package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/ingest"
)

const (
	// olderFirst is the number of blocks in the first range of older blocks, so that
	// lists grow at once; each range is twice the one before, up to olderMost blocks
	// and olderBytes of them, encoded.
	olderFirst = 64
	olderMost  = 16 << 10
	olderBytes = 32 << 20
)

// errWhole ends the ingest of a range: all its blocks are there.
var errWhole = errors.New("the range is whole")

// ErrRange says that the nodes have another chain below the first block than the one that leads
// up to it. They are asked again.
var ErrRange = errors.New("older blocks do not lead up to the first one")

// Nodes is what older blocks are fetched from.
type Nodes[B ingest.Item] interface {
	ingest.Source[B]
	ingest.Witness
	ingest.Blamer
}

// olderIndex is an index that takes older blocks.
type olderIndex[B ingest.Item] interface {
	// First returns the height of its first block.
	First() uint64
	// CommitBelow adds blocks that lead up to it.
	CommitBelow(ctx context.Context, blocks []B) error
}

// older fetches the blocks below a chain's first one, downwards, beside the ingest of
// the head: range after range, each below the one before, into the archive and from
// there into the index. How far it is follows from these two alone, so a crash costs
// the range that was being fetched.
type older[B ingest.Item] struct {
	keeper *keeper[B]
	index  olderIndex[B]
	nodes  Nodes[B]
	// fetch is how a range is fetched, but for its source and its sink.
	fetch ingest.Config[B]
	// check returns what checks the blocks of a range in their order, nil if nothing does.
	check func() func(ctx context.Context, blocks []B) error
	// down is the height to reach. enough, if not nil, reports that it need not be.
	down   uint64
	enough func() bool
	log    *slog.Logger

	begun uint64 // the archive's first block when this one began
	size  uint64 // blocks of the next range
	read  uint64 // blocks to read from the archive at once
	mean  int    // bytes of an encoded block

	now atomic.Pointer[ingest.Ingest[B]] // of the range that is being fetched
	mu  sync.Mutex                       // guards err
	err error                            // why it does not get on
}

// Run fetches until all is there, or ctx ends; it reports whether all is there.
func (o *older[B]) Run(ctx context.Context) (done bool) {
	o.begun, _, _ = o.keeper.sink.archive.First()
	o.size, o.read = olderFirst, olderFirst
	o.keeper.older.Store(o)
	defer o.keeper.older.Store(nil)
	for !done {
		if !o.keeper.retry(ctx, "older blocks cannot be had now", o.failed, func() (err error) {
			done, err = o.step(ctx)
			return err
		}) {
			return false
		}
	}
	return true
}

// step puts a range into the archive, or blocks of the archive into the index, and
// reports whether there was nothing left to do.
func (o *older[B]) step(ctx context.Context) (done bool, err error) {
	s := o.keeper.sink
	if err := s.room(); err != nil {
		return false, err
	}
	first, _, ok := s.archive.First()
	switch {
	case !ok:
		return true, nil
	case first < o.index.First():
		return false, o.deepen(ctx, first)
	case first <= o.down || o.enough != nil && o.enough():
		return true, nil
	}
	blocks, err := o.fetchRange(ctx, first-min(o.size, first-o.down), first-1)
	if err != nil {
		return false, err
	}
	if err := s.archive.Prepend(ctx, blocks); err != nil {
		return false, err
	}
	size := 0
	for i := range blocks {
		size += len(blocks[i].Data)
	}
	o.mean = max(1, size/len(blocks))
	o.size = max(1, min(2*o.size, olderMost, uint64(olderBytes/o.mean)))
	return false, nil
}

// deepen puts blocks of the archive, whose first is given, into the index.
func (o *older[B]) deepen(ctx context.Context, first uint64) error {
	low := o.index.First()
	from := low - min(o.read, low-first)
	var blocks []B
	size := 0
	if err := o.keeper.sink.reader.Read(ctx, from, low-1, func(b B) error {
		blocks, size = append(blocks, b), size+b.Memory()
		return nil
	}); err != nil {
		return err
	}
	o.read = max(1, min(2*o.read, catchBlocks, uint64(catchBytes/max(1, size/len(blocks)))))
	return o.index.CommitBelow(ctx, blocks)
}

// fetchRange returns blocks that lead up to the first one of the archive: those from
// one height to another, or if they take too much memory the highest of them.
func (o *older[B]) fetchRange(ctx context.Context, from, to uint64) ([]archive.Block, error) {
	parent, _ := o.keeper.sink.archive.Parent()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &blockRange[B]{Nodes: o.nodes, last: chain.Head{Height: to, ID: chain.ID(parent)}, encoded: o.keeper.sink.encoded, stop: stop}
	if o.check != nil {
		r.check = o.check()
	}
	cfg := o.fetch
	cfg.From, cfg.Source, cfg.Sink = from, r, r
	i, err := ingest.New(cfg)
	if err != nil {
		return nil, err
	}
	o.now.Store(i)
	defer o.now.Store(nil)
	if err := i.Run(ctx); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); !errors.Is(err, errWhole) {
		return nil, err
	}
	return r.blocks, nil
}

func (o *older[B]) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = err
}

// Err returns why the lane does not get on, or nil.
func (o *older[B]) Err() error {
	if i := o.now.Load(); i != nil {
		return i.Status().Err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// work returns how far the lane is.
func (o *older[B]) work() Work {
	first, _, _ := o.keeper.sink.archive.First()
	return Work{Name: WorkOlder, Done: o.begun - min(first, o.begun), Of: o.begun - min(o.down, o.begun)}
}

// blockRange is a range of older blocks: the source and the sink of the ingest that
// fetches it. Its last block is known by the block above.
type blockRange[B ingest.Item] struct {
	Nodes[B]
	last    chain.Head
	encoded func(b B) archive.Block
	check   func(ctx context.Context, blocks []B) error // nil: nothing is checked
	stop    context.CancelCauseFunc

	mu     sync.Mutex // guards what follows
	blocks []archive.Block
	bytes  int
}

// Tip implements [ingest.Source].
func (r *blockRange[B]) Tip(context.Context) (chain.Head, error) { return r.last, nil }

// Watch implements [ingest.Source].
func (r *blockRange[B]) Watch(ctx context.Context, _ func(uint64)) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// Witness implements [ingest.Witness]. Blocks that the nodes do not have are not
// worth a search for where they part: the range begins again.
func (r *blockRange[B]) Witness(ctx context.Context, height uint64, id chain.ID) (with, against int, err error) {
	with, against, err = r.Nodes.Witness(ctx, height, id)
	if err == nil && against > with {
		r.foreign(height, id)
	}
	return with, against, err
}

// foreign drops the range.
func (r *blockRange[B]) foreign(height uint64, id chain.ID) {
	r.Blame(height)
	r.stop(fmt.Errorf("%w: block %d is %x", ErrRange, height, id[:]))
}

// Cursor implements [ingest.Sink].
func (r *blockRange[B]) Cursor() (head chain.Head, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.blocks) == 0 {
		return head, false
	}
	b := &r.blocks[len(r.blocks)-1]
	return chain.Head{Height: b.Height, ID: chain.ID(b.ID)}, true
}

// Commit implements [ingest.Sink].
func (r *blockRange[B]) Commit(ctx context.Context, blocks []B) error {
	if r.check != nil {
		if err := r.check(ctx, blocks); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range blocks {
		link := b.Link()
		if link.Height > r.last.Height {
			break
		}
		r.blocks = append(r.blocks, r.encoded(b))
		for r.bytes += len(r.blocks[len(r.blocks)-1].Data); r.bytes > 2*olderBytes && len(r.blocks) > 1; r.blocks = r.blocks[1:] {
			r.bytes -= len(r.blocks[0].Data)
		}
		switch {
		case link.Height < r.last.Height:
		case link.ID != r.last.ID:
			r.foreign(link.Height, link.ID)
		default:
			r.stop(errWhole)
		}
	}
	return nil
}
