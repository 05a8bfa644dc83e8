package follow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"quorate/engine/archive"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/settle"
	"quorate/engine/follow/verdict"
	"quorate/engine/ingest"
)

// correctAfter is the wait before nodes are asked for results that do not fit: by then the
// block by which that shows is archived.
const correctAfter = 300 * time.Millisecond

// maxUnsettled bounds the blocks that are looked at for the header that settles a block.
const maxUnsettled = 256

// settling checks what nodes computed for the blocks of a chain that executes them after
// it accepted them, in the order of their heights, and sets what was paid in them. Of
// chains that execute blocks before they accept them each block's own header has checked
// that already.
type settling struct {
	// load returns blocks below one that is to be checked.
	load func(ctx context.Context, from, to uint64) ([]*evm.Block, error)

	chain settle.Chain
	plain *evm.Block // the last block, if it was executed before it was accepted
	// settled is the height of the last settled block; before any block was checked, and
	// while blocks are executed before they are accepted, it is 0.
	settled atomic.Uint64
}

// check takes a block that follows on the one before. A [*settle.Misfit] does not keep the
// block from being used: what is wrong may lie in blocks below. All other errors do.
func (s *settling) check(ctx context.Context, b *evm.Block) error {
	if b.Reserved == nil {
		s.plain = b
		s.settled.Store(0)
		return nil
	}
	if last := s.chain.Last(); last == nil || last.Hash != b.Parent {
		if err := s.begin(ctx, b); err != nil {
			return err
		}
	}
	s.plain = nil
	err := s.chain.Next(b)
	s.settled.Store(s.chain.Settled())
	if misfit := (*settle.Misfit)(nil); err != nil && !errors.As(err, &misfit) {
		// Its header is proven by its hash, so the rules are others than those known here.
		b.Unverified, err = err.Error(), nil
	}
	return err
}

// begin makes the blocks below b known that its check needs.
func (s *settling) begin(ctx context.Context, b *evm.Block) error {
	s.chain.Begin(nil)
	if p := s.plain; p != nil && p.Hash == b.Parent {
		s.chain.Begin([]*evm.Block{p})
		return nil
	}
	if b.Number == 0 {
		return nil
	}
	list, err := s.load(ctx, b.Number-1, b.Number-1)
	if err == nil && len(list) == 1 && list[0].Hash == b.Parent {
		if from := settle.Needs(list[0]); from+1 < b.Number {
			list, err = s.load(ctx, from, b.Number-1)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("blocks below block %d, which it settles: %w", b.Number, err)
	case len(list) == 0 || list[len(list)-1].Hash != b.Parent:
		return fmt.Errorf("%w: those below block %d do not lead up to it", ingest.ErrAnswer, b.Number)
	}
	s.chain.Begin(list)
	return nil
}

// newSettling returns what checks the blocks of the chain from any height on.
func (c *EVM) newSettling() *settling { return &settling{load: c.below} }

// below returns blocks of the archive, and those below its first one as nodes have them.
func (c *EVM) below(ctx context.Context, from, to uint64) (list []*evm.Block, err error) {
	k := c.keeper.Load()
	kept := to + 1 // the first block that the archive has
	if first, last, ok := c.second.Ends(); ok && to <= last {
		kept = min(kept, max(from, first))
	}
	if from < kept {
		if !c.asked.Load() {
			return nil, errNotAsked
		}
		if list, err = c.from.Fetch(ctx, from, kept-1); err != nil {
			return nil, err
		}
		if uint64(len(list)) < kept-from && kept <= to {
			return nil, fmt.Errorf("%w: blocks are missing from block %d on", ingest.ErrAnswer, from)
		}
	}
	if kept > to {
		return list, nil
	}
	err = k.sink.reader.Read(ctx, kept, to, func(b *evm.Block) error {
		list = append(list, b)
		return nil
	})
	return list, err
}

// checkBy checks blocks, and lists those whose results do not fit.
func (c *EVM) checkBy(ctx context.Context, s *settling, blocks []*evm.Block) error {
	for _, b := range blocks {
		var misfit *settle.Misfit
		if err := s.check(ctx, b); errors.As(err, &misfit) {
			c.misfit(ctx, misfit)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// checkNew checks blocks that are about to be committed at the head.
func (c *EVM) checkNew(ctx context.Context, blocks []*evm.Block) error {
	return c.checkBy(ctx, c.settling, blocks)
}

// checkEnd checks the last of some blocks of the archive by those above that settle them.
func (c *EVM) checkEnd(ctx context.Context, blocks []*evm.Block) error {
	last := blocks[len(blocks)-1]
	if last.Reserved == nil {
		return nil
	}
	s := c.newSettling()
	err := c.checkBy(ctx, s, blocks[max(0, len(blocks)-maxUnsettled):])
	if err != nil || s.chain.Settled() >= last.Number {
		return err
	}
	_, end, _ := c.second.Ends()
	err = c.second.Read(ctx, last.Number+1, min(end, last.Number+maxUnsettled), func(b *evm.Block) error {
		if err := c.checkBy(ctx, s, []*evm.Block{b}); err != nil || s.chain.Settled() < last.Number {
			return err
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

// misfit lists blocks whose results are false, durably: those of the block by which that
// shows may be on disk next.
func (c *EVM) misfit(ctx context.Context, m *settle.Misfit) {
	c.log.Error("a node answered falsely about some blocks: other nodes are asked", "from", m.From, "to", m.To, "by", m.By, "err", m.Err)
	c.second.Suspect(ctx, verdict.Suspect{From: m.From, To: m.To, By: m.By, Accused: true, Refuted: true, Reason: m.Error(), Next: time.Now().Add(correctAfter)})
}

// Settled returns the height of the last block whose results a header has proven, where
// blocks are executed after they were accepted: those of blocks above it are what nodes
// say. ok is false where each block's own header proves them.
func (c *EVM) Settled() (height uint64, ok bool) {
	height = c.settling.settled.Load()
	return height, height > 0
}

// Executing returns about how many blocks nodes have accepted and not executed yet.
func (c *EVM) Executing() uint64 {
	if c.node == nil {
		return 0
	}
	return c.node.Executing()
}

// recallSettled finds out how far the blocks of the archive are settled.
func (c *EVM) recallSettled(ctx context.Context) error {
	_, last, ok := c.second.Ends()
	if !ok {
		return nil
	}
	err := c.second.Read(ctx, last, last, func(b *evm.Block) error {
		if b.Reserved != nil {
			c.settling.settled.Store(b.Reserved.Settled)
		}
		return nil
	})
	if d := (*archive.Damage)(nil); errors.As(err, &d) {
		return nil // it is known with the next block
	}
	return err
}
