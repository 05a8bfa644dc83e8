package follow

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/archive"
	"quorate/engine/chain"
	"quorate/engine/ingest"
)

// errOldBlock: what is asked about a block is only known of those in the archive.
var errOldBlock = errors.New("the block is not in the archive yet")

// ID implements [ingest.Rewinder].
func (s *Sink[B]) ID(ctx context.Context, height uint64) (id chain.ID, err error) {
	last, _, ok := s.archive.Last()
	if !ok || height > last {
		return id, fmt.Errorf("block %d: %w", height, errOldBlock)
	}
	err = s.archive.Read(ctx, height, height, func(b archive.Block) error {
		id = b.ID
		return nil
	})
	return id, err
}

// Rewind implements [ingest.Rewinder]. The index goes first: after a crash between
// the two it catches up again, and all is as it was before.
func (s *Sink[B]) Rewind(ctx context.Context, to uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if apart, err := s.apart(); err != nil || apart {
		return errors.Join(err, errOldBlock)
	}
	if err := s.rewind(ctx, to); err != nil {
		return err
	}
	return s.archive.Rewind(ctx, to)
}

// Final returns the sink of blocks that stay: it cannot go back, but ahead, since nobody is
// told of its blocks one by one.
func (s *Sink[B]) Final() ingest.Ahead[B] { return final[B]{s} }

type final[B ingest.Item] struct{ s *Sink[B] }

// Cursor implements [ingest.Sink].
func (f final[B]) Cursor() (chain.Head, bool) { return f.s.Cursor() }

// Commit implements [ingest.Sink].
func (f final[B]) Commit(ctx context.Context, blocks []B) error { return f.s.Commit(ctx, blocks) }

// CommitAhead implements [ingest.Ahead]: the blocks are in the archive on return.
func (f final[B]) CommitAhead(ctx context.Context, blocks []B) error {
	return f.s.commitAhead(ctx, blocks)
}

// Land implements [ingest.Ahead].
func (f final[B]) Land() error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.s.land()
}
