package container

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"quorate/engine/chain"
	"quorate/engine/ingest"
	"quorate/engine/primary"
	"quorate/engine/source"
)

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadAnswer, fmt.Errorf(format, args...))
}

// read reads the block that a node gave for a height, or for an index where the height is
// not known, and checks what can be checked of it alone. id is what the node calls the
// container; a bare block has none of its own.
func (c *Client) read(text, id string, height uint64, bare bool) (*primary.Block, error) {
	raw, err := source.DecodeHex(text)
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", height, err)
	}
	b, err := primary.Parse(c.cfg.Chain, raw)
	if err != nil {
		return nil, c.refused(raw, id, height, bare, err)
	}
	if !bare && id != b.Outer.String() {
		return nil, bad("block %d: container %s is said to be %.60q", height, b.Outer, id)
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

// refused returns the error about a container that could not be read.
func (c *Client) refused(raw []byte, id string, height uint64, bare bool, err error) error {
	var unknown *primary.UnknownError
	if errors.As(err, &unknown) && !(bare && (unknown.Header != nil || unknown.Framed)) {
		return c.unreadable(raw, id, height, unknown)
	}
	return bad("block %d: %w", height, err)
}

// unreadable returns the error about a container of a form that is unknown here. As far
// as it can be read, its ID and its header's signature must be right: then its bytes are
// those that its proposer made, and the node is not to blame. A bare block has no id.
func (c *Client) unreadable(raw []byte, id string, height uint64, unknown *primary.UnknownError) error {
	u := &ingest.UnreadableError{Height: height, ID: sha256.Sum256(raw), Err: unknown.Err}
	h := unknown.Header
	switch {
	case h != nil:
		u.ID = h.ID
	case unknown.Framed:
		u.ID = chain.ID{} // of what is signed, which is a part of it
	}
	if id != "" && !u.ID.IsZero() && id != u.ID.String() {
		return bad("block %d: container %s is said to be %.60q: %w", height, u.ID, id, unknown.Err)
	}
	if h != nil {
		if err := h.Verify(c.cfg.ID); err != nil {
			return bad("block %d: %w", height, err)
		}
		if h.Time > 0 { // an option has none
			u.Time = time.Unix(h.Time, 0)
		}
	}
	if c.cfg.Needs != nil {
		u.Needs = c.cfg.Needs()
	}
	return source.Pass(u)
}

// isUnreadable reports whether an error is about a block that this release cannot read.
func isUnreadable(err error) bool { return errors.As(err, new(*ingest.UnreadableError)) }

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
