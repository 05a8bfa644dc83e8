package follow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/feed"
	"quorate/engine/ingest"
)

const (
	// sharedTick is how often the end of the log is looked at though nobody has told of a new
	// record, and each sharedSure-th time it is made certain that the log is the same.
	sharedTick = time.Second
	sharedSure = 5
	// sharedPause is the wait before a watch that has ended is begun again.
	sharedPause = time.Second
	// sharedBehind is how far the log may be behind nodes while others are waited for that get
	// on with it.
	sharedBehind = 64
)

// Feed is the log of newest blocks that a server shares with others.
type Feed struct {
	Log feed.Log
	// Writer names the server, and no other one.
	Writer string
}

// shared is where the blocks of a chain come from whose head several servers follow
// together: the log, or else nodes. It never waits: who leaves new blocks to others does not
// tell of them for a while; see [shared.target].
type shared[B ingest.Item] struct {
	tail *feed.Tail[B]
	log  *slog.Logger
	// nodes are asked for what the log lacks; nil: there are none.
	nodes ingest.Source[B]
	// complete adds what nodes compute, and needs reports whether a block lacks that.
	complete func(ctx context.Context, b B) error
	needs    func(b B) bool
	encode   func(dst []byte, b B) []byte
	parse    func(archive.Block) (B, error)
	// depot returns blocks that a depot has, none if it lacks them.
	depot func(ctx context.Context, from, to uint64) ([]B, error)

	// Set when the archive is open.
	sink *Sink[B]

	mu    sync.Mutex // guards what follows
	known uint64     // the highest block that a node has told of
	lacks time.Time  // since when the log lacks a block that is known of; zero: it has all
	next  uint64     // what the log lacked when lacks was set
}

// newShared returns the source of a chain with a log.
func (b *base[B]) newShared(kind archive.Kind, nodes ingest.Source[B], encode func([]byte, B) []byte, parse func(archive.Block) (B, error)) *shared[B] {
	return &shared[B]{
		tail: feed.NewTail(feed.Config[B]{
			Log: b.common.Feed.Log, Network: b.NetworkID(), Chain: b.common.ID, Kind: kind, Parse: parse,
			Writer: b.common.Feed.Writer, Logger: b.log, Metrics: b.metrics(),
		}),
		log: b.log, nodes: nodes, encode: encode, parse: parse, needs: func(B) bool { return false },
		complete: func(context.Context, B) error { return ingest.ErrUnable },
		depot:    func(context.Context, uint64, uint64) ([]B, error) { return nil, nil },
	}
}

// committed returns the last block that is here.
func (s *shared[B]) committed() (head chain.Head, ok bool) {
	if s.sink == nil {
		return head, false
	}
	return s.sink.Cursor()
}

// heard notes that a node has a block.
func (s *shared[B]) heard(height uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = max(s.known, height)
}

// target returns the height up to which blocks are to be fetched, and when it may be higher
// although nothing is heard of by then: those that the log lacks are left to others for as
// long as this server's patience is, and those far below the head are never in it.
func (s *shared[B]) target() (height uint64, wait time.Duration) {
	next, patience, now := s.tail.Next(), s.tail.Patience(), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.known < next:
		s.lacks = time.Time{}
		return next - min(next, 1), 0
	case s.lacks.IsZero() || s.next != next && s.known-next <= sharedBehind: // who writes gets on
		s.lacks, s.next = now, next
	}
	wait = patience - now.Sub(s.lacks)
	if wait <= 0 || s.tail.Away() {
		return s.known, 0
	}
	return max(next-min(next, 1), s.known-min(s.known, feed.Kept)), wait
}

// Tip implements [ingest.Source].
func (s *shared[B]) Tip(ctx context.Context) (tip chain.Head, err error) {
	err = s.tail.Sync(ctx, false)
	logged, ok := s.tail.Last()
	if s.nodes != nil {
		head, nodeErr := s.nodes.Tip(ctx)
		if nodeErr == nil {
			tip, ok = head, true
			s.heard(head.Height)
		}
		if !s.tail.Away() || nodeErr == nil {
			err = nil
		}
	}
	height, _ := s.target()
	if logged.Item != *new(B) && logged.Height >= tip.Height {
		tip = logged.Item.Link().Head
	}
	tip.Height = min(tip.Height, height) // its time is that of the newest block
	done, started := s.committed()
	if started && done.Height > tip.Height {
		tip.Height, tip.ID = done.Height, done.ID
	}
	if err == nil && !ok && !started {
		err = fmt.Errorf("%w: nothing is in the log yet", ingest.ErrNotFound)
	}
	return tip, err
}

// Fetch implements [ingest.Source].
func (s *shared[B]) Fetch(ctx context.Context, from, to uint64) ([]B, error) {
	list, err := s.tail.Blocks(ctx, from, to)
	if got := uint64(len(list)); got > to-from {
		return list, nil
	}
	from += uint64(len(list))
	var more []B
	if s.nodes != nil {
		more, err = s.nodes.Fetch(ctx, from, to)
	} else {
		more, err = s.stored(ctx, from, to, err)
	}
	return append(list, more...), err
}

// stored returns blocks that neither the log nor a node has.
func (s *shared[B]) stored(ctx context.Context, from, to uint64, logErr error) ([]B, error) {
	if from >= s.tail.Next() {
		return nil, fmt.Errorf("%w: %d is not in the log yet", ingest.ErrNotFound, from)
	}
	list, err := s.depot(ctx, from, to)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: neither the log nor a depot has block %d: %w", ingest.ErrNotFound, from, logErr)
	}
	return list, err
}

// Witness implements [ingest.Witness].
func (s *shared[B]) Witness(ctx context.Context, height uint64, id chain.ID) (with, against int, err error) {
	w, ok := s.nodes.(ingest.Witness)
	if ok {
		if with, against, err = w.Witness(ctx, height, id); err == nil {
			return with, against, nil
		}
	} else if s.nodes != nil {
		if list, err := s.nodes.Fetch(ctx, height, height); err == nil && len(list) == 1 {
			return count(list[0].Link().ID == id)
		}
	}
	if list, err := s.tail.Blocks(ctx, height, height); err == nil {
		return count(list[0].Link().ID == id)
	}
	if s.nodes != nil && err != nil {
		return 0, 0, err
	}
	return 1, 0, nil // nobody says anything else
}

func count(same bool) (with, against int, err error) {
	if same {
		return 1, 0, nil
	}
	return 0, 1, nil
}

// Blame implements [ingest.Blamer].
func (s *shared[B]) Blame(height uint64) {
	if n, ok := s.nodes.(ingest.Blamer); ok {
		n.Blame(height)
	}
}

// Needs implements [ingest.Completer].
func (s *shared[B]) Needs(b B) bool { return s.needs(b) }

// Complete implements [ingest.Completer]. What nodes cannot compute may be in the log by now.
func (s *shared[B]) Complete(ctx context.Context, b B) error { return s.complete(ctx, b) }

// Watch implements [ingest.Source].
func (s *shared[B]) Watch(ctx context.Context, onHead func(height uint64)) error {
	ctx, stop := context.WithCancel(ctx)
	var lanes sync.WaitGroup
	defer lanes.Wait()
	defer stop()
	poked := make(chan struct{}, 1)
	poke := func() {
		select {
		case poked <- struct{}{}:
		default:
		}
	}
	again := func(watch func() error) {
		for watch() != nil && ctx.Err() == nil {
			select {
			case <-time.After(sharedPause):
			case <-ctx.Done():
			}
		}
	}
	newer := make(chan struct{}, 1)
	lanes.Go(func() { again(func() error { return s.tail.Watch(ctx, poke) }) })
	if s.nodes != nil {
		lanes.Go(func() {
			again(func() error {
				return s.nodes.Watch(ctx, func(height uint64) {
					s.heard(height)
					select {
					case newer <- struct{}{}:
					default:
					}
				})
			})
		})
	}
	tick := time.NewTicker(sharedTick)
	defer tick.Stop()
	late := time.NewTimer(0)
	defer late.Stop()
	for n := 1; ; {
		select {
		case <-poked:
			_ = s.tail.Sync(ctx, false) // a log that is away is asked again
		case <-tick.C:
			_ = s.tail.Sync(ctx, n%sharedSure == 0)
			n++
			s.makeUp(ctx)
		case <-newer:
		case <-late.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		height, wait := s.target()
		onHead(height)
		if wait > 0 {
			late.Reset(wait)
		}
	}
}

// makeUp appends what the log lacks of a chain that does not go on, after it was away.
func (s *shared[B]) makeUp(ctx context.Context) {
	head, ok := s.committed()
	if !ok || s.nodes == nil || s.tail.Away() || head.Height < s.tail.Next() {
		return
	}
	s.heard(head.Height)
	if height, _ := s.target(); height < head.Height || s.since() < sharedTick {
		return
	}
	list, err := s.below(ctx, head.Height, head.Height)
	if err == nil && len(list) == 1 {
		err = s.offer(ctx, list)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the log is not filled with the blocks that it lacks", "err", err)
	}
}

// since is for how long the log has lacked a block.
func (s *shared[B]) since() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lacks)
}

// below returns blocks of the archive, as many as may be had at once.
func (s *shared[B]) below(ctx context.Context, from, to uint64) (list []feed.Block[B], err error) {
	first, _, ok := s.sink.archive.First()
	last, _, _ := s.sink.archive.Last()
	if from, to = max(from, first), min(to, last, from+catchBlocks); !ok || from > to {
		return nil, nil
	}
	size := 0
	err = s.sink.reader.Read(ctx, from, to, func(b B) error {
		list = append(list, logBlock(b))
		if size += b.Memory(); size > catchBytes {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, err
}

func logBlock[B ingest.Item](b B) feed.Block[B] {
	link := b.Link()
	return feed.Block[B]{Height: link.Height, ID: link.ID, Parent: link.Parent, Item: b}
}

// offer appends blocks, and those that the log lacks below them.
func (s *shared[B]) offer(ctx context.Context, blocks []feed.Block[B]) error {
	ctx, cancel := context.WithTimeout(ctx, feed.AwayAfter)
	defer cancel()
	return s.tail.Offer(ctx, blocks, func(b B) []byte { return s.encode(nil, b) }, func(from, to uint64) ([]feed.Block[B], error) {
		return s.below(ctx, from, to)
	})
}

// agree appends blocks that are about to be committed to the log, and puts those in their
// places that were there before: all servers then have the same. Without the log each commits
// what it has.
func (s *shared[B]) agree(ctx context.Context, blocks []B) error {
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	var list []feed.Block[B]
	begin := 0
	for i, b := range blocks {
		if b.Link().Height+feed.Kept <= known {
			begin = i + 1
			continue
		}
		list = append(list, logBlock(b))
	}
	if len(list) == 0 || s.tail.Away() || s.nodes == nil {
		return nil
	}
	err := s.offer(ctx, list)
	for i := range list {
		if was := blocks[begin+i]; s.Needs(was) || !s.Needs(list[i].Item) {
			blocks[begin+i] = list[i].Item
		}
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return nil
	case errors.Is(err, feed.ErrForked):
		s.log.Error("the log has another block than the nodes of this server: it goes on without the log", "err", err)
	default:
		s.log.Warn("blocks are not in the log yet: they are appended later", "from", list[0].Height, "err", err)
	}
	return nil
}

// joinLog lets the log know the archive, and the archive agree with the log. stored, if not
// nil, is the depot.
func (b *base[B]) joinLog(stored *storage[B]) {
	s, k := b.shared, b.keeper.Load()
	if s == nil {
		return
	}
	s.sink, k.sink.agree = k.sink, s.agree
	if stored == nil {
		return
	}
	s.depot = func(ctx context.Context, from, to uint64) (list []B, err error) {
		blocks, err := stored.Blocks(ctx, from, to)
		for i := 0; i < len(blocks) && err == nil; i++ {
			var is B
			if is, err = s.parse(blocks[i]); err == nil {
				list = append(list, is)
			}
		}
		return list, err
	}
}

// mine reports whether it is up to this server to learn what others need not: of those that
// share a log, up to the one that has written its last record.
func (b *base[B]) mine() bool {
	return b.shared == nil || b.shared.tail.Patience() == 0 || b.shared.tail.Away()
}
