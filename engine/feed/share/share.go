// Package share has several servers follow chains together: where their blocks come from, and
// how what is learned of them later reaches all.
package share

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
	// tickEvery is how often the end of the log is looked at though nobody has told of a new
	// record, and each sureEach-th time it is made certain that the log is the same.
	tickEvery = time.Second
	sureEach  = 5
	// watchPause is the wait before a watch that has ended is begun again.
	watchPause = time.Second
	// maxBehind is how far the log may be behind nodes while others are waited for that get
	// on with it.
	maxBehind = 64
	// groupBlocks and groupBytes bound what is read of the archive at once.
	groupBlocks = 1024
	groupBytes  = 16 << 20
)

// Blocks reads blocks in the order of their heights.
type Blocks[B ingest.Item] interface {
	Read(ctx context.Context, from, to uint64, f func(B) error) error
}

// Config says what a [Source] works with. All fields but Nodes, Needs and Complete are required.
type Config[B ingest.Item] struct {
	feed.Config[B]
	// Nodes are asked for what the log lacks; nil: there are none.
	Nodes ingest.Source[B]
	// Needs reports whether a block lacks what nodes compute, and Complete adds that. Nil: there
	// is nothing to add.
	Needs    func(b B) bool
	Complete func(ctx context.Context, b B) error
	Encode   func(dst []byte, b B) []byte
}

// Source is where the blocks of a chain come from whose head several servers follow
// together: the log, or else nodes. It never waits: who leaves new blocks to others does not
// tell of them for a while; see [Source.target].
type Source[B ingest.Item] struct {
	cfg  Config[B]
	tail *feed.Tail[B]
	log  *slog.Logger

	kept Kept[B] // set when the archive is open

	mu    sync.Mutex // guards what follows
	known uint64     // the highest block that a node has told of
	lacks time.Time  // since when the log lacks a block that is known of; zero: it has all
	next  uint64     // what the log lacked when lacks was set
}

// Kept is what this server has of the chain.
type Kept[B ingest.Item] struct {
	Archive *archive.Archive
	Reader  Blocks[B] // of the archive
	Cursor  func() (chain.Head, bool)
	// Stored returns blocks that a depot has, none if it lacks them; nil: there is none.
	Stored func(ctx context.Context, from, to uint64) ([]archive.Block, error)
}

// New returns the source of a chain.
func New[B ingest.Item](cfg Config[B]) *Source[B] {
	if cfg.Needs == nil {
		cfg.Needs = func(B) bool { return false }
	}
	if cfg.Complete == nil {
		cfg.Complete = func(context.Context, B) error { return ingest.ErrUnable }
	}
	return &Source[B]{cfg: cfg, tail: feed.NewTail(cfg.Config), log: cfg.Logger}
}

// Join lets the source know what this server has, before anything is committed.
func (s *Source[B]) Join(k Kept[B]) { s.kept = k }

// Mine reports whether it is up to this server to learn what others need not: up to the one
// that has written the log's last record.
func (s *Source[B]) Mine() bool { return s.tail.Patience() == 0 || s.tail.Away() }

// Logged returns a block as the log has it.
func (s *Source[B]) Logged(ctx context.Context, height uint64) (b B, ok bool) {
	list, err := s.tail.Blocks(ctx, height, height)
	if err != nil {
		return b, false
	}
	return list[0], true
}

// committed returns the last block that is here.
func (s *Source[B]) committed() (head chain.Head, ok bool) {
	if s.kept.Cursor == nil {
		return head, false
	}
	return s.kept.Cursor()
}

// heard notes that a node has a block.
func (s *Source[B]) heard(height uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = max(s.known, height)
}

// target returns the height up to which blocks are to be fetched, and when it may be higher
// although nothing is heard of by then: those that the log lacks are left to others for as
// long as this server's patience is, and those far below the head are never in it.
func (s *Source[B]) target() (height uint64, wait time.Duration) {
	next, patience, now := s.tail.Next(), s.tail.Patience(), time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.known < next:
		s.lacks = time.Time{}
		return next - min(next, 1), 0
	case s.lacks.IsZero() || s.next != next && s.known-next <= maxBehind: // who writes gets on
		s.lacks, s.next = now, next
	}
	wait = patience - now.Sub(s.lacks)
	if wait <= 0 || s.tail.Away() {
		return s.known, 0
	}
	return max(next-min(next, 1), s.known-min(s.known, feed.Kept)), wait
}

// Tip implements [ingest.Source].
func (s *Source[B]) Tip(ctx context.Context) (tip chain.Head, err error) {
	err = s.tail.Sync(ctx, false)
	logged, ok := s.tail.Last()
	if s.cfg.Nodes != nil {
		head, nodeErr := s.cfg.Nodes.Tip(ctx)
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
func (s *Source[B]) Fetch(ctx context.Context, from, to uint64) ([]B, error) {
	list, err := s.tail.Blocks(ctx, from, to)
	if got := uint64(len(list)); got > to-from {
		return list, nil
	}
	from += uint64(len(list))
	var more []B
	if s.cfg.Nodes != nil {
		more, err = s.cfg.Nodes.Fetch(ctx, from, to)
	} else {
		more, err = s.stored(ctx, from, to, err)
	}
	return append(list, more...), err
}

// stored returns blocks that neither the log nor a node has.
func (s *Source[B]) stored(ctx context.Context, from, to uint64, logErr error) ([]B, error) {
	if from >= s.tail.Next() {
		return nil, fmt.Errorf("%w: %d is not in the log yet", ingest.ErrNotFound, from)
	}
	list, err := s.inDepot(ctx, from, to)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: neither the log nor a depot has block %d: %w", ingest.ErrNotFound, from, logErr)
	}
	return list, err
}

func (s *Source[B]) inDepot(ctx context.Context, from, to uint64) (list []B, err error) {
	if s.kept.Stored == nil {
		return nil, nil
	}
	blocks, err := s.kept.Stored(ctx, from, to)
	for i := 0; i < len(blocks) && err == nil; i++ {
		var is B
		if is, err = s.cfg.Parse(blocks[i]); err == nil {
			list = append(list, is)
		}
	}
	return list, err
}

// Witness implements [ingest.Witness].
func (s *Source[B]) Witness(ctx context.Context, height uint64, id chain.ID) (with, against int, err error) {
	w, ok := s.cfg.Nodes.(ingest.Witness)
	if ok {
		if with, against, err = w.Witness(ctx, height, id); err == nil {
			return with, against, nil
		}
	} else if s.cfg.Nodes != nil {
		if list, err := s.cfg.Nodes.Fetch(ctx, height, height); err == nil && len(list) == 1 {
			return count(list[0].Link().ID == id)
		}
	}
	if list, err := s.tail.Blocks(ctx, height, height); err == nil {
		return count(list[0].Link().ID == id)
	}
	if s.cfg.Nodes != nil && err != nil {
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
func (s *Source[B]) Blame(height uint64) {
	if n, ok := s.cfg.Nodes.(ingest.Blamer); ok {
		n.Blame(height)
	}
}

// Needs implements [ingest.Completer].
func (s *Source[B]) Needs(b B) bool { return s.cfg.Needs(b) }

// Complete implements [ingest.Completer]. What nodes cannot compute may be in the log by now.
func (s *Source[B]) Complete(ctx context.Context, b B) error { return s.cfg.Complete(ctx, b) }

// Watch implements [ingest.Source].
func (s *Source[B]) Watch(ctx context.Context, onHead func(height uint64)) error {
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
	newer := make(chan struct{}, 1)
	lanes.Go(func() { again(ctx, func() error { return s.tail.Watch(ctx, poke) }) })
	if s.cfg.Nodes != nil {
		lanes.Go(func() {
			again(ctx, func() error {
				return s.cfg.Nodes.Watch(ctx, func(height uint64) {
					s.heard(height)
					select {
					case newer <- struct{}{}:
					default:
					}
				})
			})
		})
	}
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	late := time.NewTimer(0)
	defer late.Stop()
	for n := 1; ; {
		select {
		case <-poked:
			_ = s.tail.Sync(ctx, false) // a log that is away is asked again
		case <-tick.C:
			_ = s.tail.Sync(ctx, n%sureEach == 0)
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

// again begins a watch again when it has ended, until ctx ends.
func again(ctx context.Context, watch func() error) {
	for watch() != nil && ctx.Err() == nil {
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// makeUp appends what the log lacks of a chain that does not go on, after it was away.
func (s *Source[B]) makeUp(ctx context.Context) {
	head, ok := s.committed()
	if !ok || s.cfg.Nodes == nil || s.tail.Away() || head.Height < s.tail.Next() {
		return
	}
	s.heard(head.Height)
	if height, _ := s.target(); height < head.Height || s.since() < tickEvery {
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
func (s *Source[B]) since() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lacks)
}

// below returns blocks of the archive, as many as may be had at once.
func (s *Source[B]) below(ctx context.Context, from, to uint64) (list []feed.Block[B], err error) {
	first, _, ok := s.kept.Archive.First()
	last, _, _ := s.kept.Archive.Last()
	if from, to = max(from, first), min(to, last, from+groupBlocks); !ok || from > to {
		return nil, nil
	}
	size := 0
	err = s.kept.Reader.Read(ctx, from, to, func(b B) error {
		list = append(list, logBlock(b))
		if size += b.Memory(); size > groupBytes {
			return errGroup
		}
		return nil
	})
	if errors.Is(err, errGroup) {
		err = nil
	}
	return list, err
}

var errGroup = errors.New("as many blocks as are read at once")

func logBlock[B ingest.Item](b B) feed.Block[B] {
	link := b.Link()
	return feed.Block[B]{Height: link.Height, ID: link.ID, Parent: link.Parent, Item: b}
}

// offer appends blocks, and those that the log lacks below them.
func (s *Source[B]) offer(ctx context.Context, blocks []feed.Block[B]) error {
	ctx, cancel := context.WithTimeout(ctx, feed.AwayAfter)
	defer cancel()
	return s.tail.Offer(ctx, blocks, func(b B) []byte { return s.cfg.Encode(nil, b) }, func(from, to uint64) ([]feed.Block[B], error) {
		return s.below(ctx, from, to)
	})
}

// Agree appends blocks that are about to be committed to the log, and puts those in their
// places that were there before: all servers then have the same. Without the log each commits
// what it has.
func (s *Source[B]) Agree(ctx context.Context, blocks []B) error {
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
	if len(list) == 0 || s.tail.Away() || s.cfg.Nodes == nil {
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
