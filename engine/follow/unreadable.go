package follow

import (
	"errors"
	"fmt"
	"time"

	"quorate/engine/ingest"
	"quorate/engine/primary"
)

// standing returns what is wrong with a chain that stands before a block that cannot be
// read, or nil if it does not. Failures that follow from it are left out.
func standing(s *ingest.Status) error {
	if s.Unreadable == nil {
		return nil
	}
	err := fmt.Errorf("the index stands at block %d since %s: %w", s.Height, s.Since.UTC().Format(time.RFC3339), s.Unreadable)
	if s.Err != nil && !errors.As(s.Err, new(*ingest.UnreadableError)) {
		err = errors.Join(err, s.Err)
	}
	return err
}

// Unreadable returns the block before which the chain stands since this release cannot read
// it, or nil.
func (p *Primary) Unreadable() *ingest.UnreadableError {
	s := p.status()
	return s.Unreadable
}

// unreadableGap returns the blocks from that one on.
func (p *Primary) unreadableGap() (list []Gap) {
	s := p.status()
	if u := s.Unreadable; u != nil {
		list = append(list, Gap{GapUnreadable, u.Height, max(u.Height, s.Target), u.Error(), true})
	}
	return list
}

// Gaps returns what is missing of the chain, by height; but what stops it comes first.
func (p *Primary) Gaps() []Gap {
	list := p.unreadableGap()
	first, ok := p.first()
	if !ok {
		return list
	}
	if first > 1 || first == 1 && p.cfg.Chain != primary.CChain {
		list = append(list, Gap{GapBelow, 0, first - 1, "the chain is followed from a block above its first one", true})
	}
	height, _, _ := p.Cursor()
	list = append(list, p.overpaid(height)...)
	list = append(list, p.headerGaps()...)
	list = append(list, p.keeper.gaps(height, first)...)
	return list[:min(len(list), maxGaps)]
}
