package follow

import (
	"context"
	"errors"
	"fmt"

	"quorate/engine/archive"
	"quorate/engine/chain"
)

// errOldBlock: what is asked about a block is only known of those in the archive.
var errOldBlock = errors.New("the block is not in the archive yet")

// ID implements [ingest.Rewinder].
func (s *sink[B]) ID(ctx context.Context, height uint64) (id chain.ID, err error) {
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
func (s *sink[B]) Rewind(ctx context.Context, to uint64) error {
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
