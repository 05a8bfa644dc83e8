package container

import (
	"fmt"

	"quorate/engine/primary"
	"quorate/engine/source"
)

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadAnswer, fmt.Errorf(format, args...))
}

// read reads the block that a node gave for a height, or for an index where the height is
// not known, and checks what can be checked of it alone.
func (c *Client) read(text string, height uint64, bare bool) (*primary.Block, error) {
	raw, err := source.DecodeHex(text)
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", height, err)
	}
	b, err := primary.Parse(c.cfg.Chain, raw)
	if err != nil {
		return nil, bad("block %d: %w", height, err)
	}
	if b.Vertex != nil {
		b.Place = height
		if b.Vertex.ChainID != c.cfg.ID {
			return nil, bad("vertex %d is one of chain %s", height, b.Vertex.ChainID)
		}
	}
	if bare && b.Header != nil {
		return nil, bad("block %d has a header where none is", height)
	}
	// A genesis block never has a header.
	b.Bare = bare && height > 0
	link := b.Link()
	// The height that was asked for may be an index, the first of which is that of block 1.
	if link.Height == 0 && c.cfg.Chain == primary.PChain && !c.cfg.Genesis.IsZero() && link.Parent != c.cfg.Genesis {
		return nil, bad("the chain begins with genesis %s, not with %s", link.Parent, c.cfg.Genesis)
	}
	return b, nil
}

// Follows reports what is wrong with a block behind another one.
func Follows(prev, b *primary.Block) error {
	p, l := prev.Link(), b.Link()
	switch {
	case l.Height != p.Height+1:
		return bad("block %d behind block %d", l.Height, p.Height)
	case b.Vertex == nil && l.Parent != p.ID:
		return bad("block %d has parent %s, block %d is %s", l.Height, l.Parent, p.Height, p.ID)
	case b.Header != nil && !prev.Bare && b.Header.Parent != prev.Outer:
		return bad("block %d has the header of a child of %s, that before it is %s", l.Height, b.Header.Parent, prev.Outer)
	case b.Header == nil && !b.Bare && prev.Header != nil:
		return bad("block %d has no header, block %d has one", l.Height, p.Height)
	}
	return nil
}

// signed checks the signature of the last block that has one: it covers the headers of
// all before it, which name one another.
func (c *Client) signed(blocks []*primary.Block) error {
	for i := len(blocks) - 1; i >= 0; i-- {
		h := blocks[i].Header
		if h == nil || len(h.Certificate) == 0 {
			continue
		}
		if err := h.Verify(c.cfg.ID); err != nil {
			return bad("block %d: %w", blocks[i].Link().Height, err)
		}
		return nil
	}
	return nil
}
