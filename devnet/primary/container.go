package primary

import (
	"crypto"
	"crypto/sha256"
	"fmt"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/proposer"
)

// Container is a block or a vertex as consensus accepted it.
type Container struct {
	// ID is that of the proposer's header, or of the block where there is none.
	ID chain.ID
	// BlockID is that of the block or vertex itself, Block its bytes.
	BlockID chain.ID
	Block   []byte
	Height  uint64
	// Time is when it was accepted, in Unix seconds.
	Time uint64

	// load returns Block where it is not kept.
	load func() []byte

	chain  chain.ID
	header *proposer.Header // unsigned; nil without one
	signer *world.Validator // nil: nobody signed
}

// Bytes returns the container as the Index API does. What is signed is signed at
// each call: the ID does not depend on it.
func (c *Container) Bytes() []byte {
	if c.header == nil && c.load != nil {
		return c.load()
	}
	if c.header == nil {
		return c.Block
	}
	h := *c.header
	h.ID = c.ID
	if c.load != nil {
		h.Block = c.load()
	}
	if c.signer != nil {
		hash := h.SignedHash(c.chain)
		sig, err := c.signer.Certificate.PrivateKey.(crypto.Signer).Sign(nil, hash[:], crypto.SHA256)
		if err != nil {
			panic(fmt.Sprintf("primary: signing a header: %v", err)) // the key is good
		}
		h.Signature = sig
	}
	raw, err := h.Bytes()
	if err != nil {
		panic(fmt.Sprintf("primary: a header: %v", err)) // it was encoded before
	}
	return raw
}

// line makes the containers of a chain of blocks.
type line struct {
	chain  chain.ID
	all    []*Container            // all[i] has height i+1
	byID   map[chain.ID]*Container // by both IDs
	parent chain.ID                // the inner ID of the last block
	outer  chain.ID                // and its container's
	last   *proposer.Header        // of the last one that is no option
	inner  uint64                  // the time of the last block by the chain's rules
}

// wrap adds a block that was proposed at a time. Its header is signed by signer
// unless that is nil; inner is the time that the chain's rules know.
func (l *line) wrap(forks Forks, raw []byte, at, inner, pHeight uint64, option bool, signer *world.Validator) error {
	c := &Container{BlockID: sha256.Sum256(raw), Block: raw, Height: uint64(len(l.all) + 1), Time: at, chain: l.chain}
	c.ID = c.BlockID
	if l.last != nil || !option && l.inner >= forks.Proposers {
		h := &proposer.Header{Kind: proposer.Option, Parent: l.outer, Block: raw}
		if !option {
			l.fill(h, c, forks, at, pHeight, signer)
		}
		encoded, err := h.Bytes()
		if err != nil {
			return err
		}
		if !option {
			encoded = encoded[:len(encoded)-4] // the signature's length
		}
		c.header, c.ID = h, sha256.Sum256(encoded)
	}
	if l.byID == nil {
		l.byID = make(map[chain.ID]*Container)
	}
	l.all, l.byID[c.ID], l.byID[c.BlockID] = append(l.all, c), c, c
	l.parent, l.outer, l.inner = c.BlockID, c.ID, inner
	return nil
}

// fill makes a header that is no option's. The first of a chain has no proposer and
// no epoch: its parent has no header.
func (l *line) fill(h *proposer.Header, c *Container, forks Forks, at, pHeight uint64, signer *world.Validator) {
	h.Kind, h.Time, h.PChainHeight = proposer.Plain, int64(at), pHeight // after 1970
	if l.last != nil && signer != nil {
		h.Certificate, c.signer = signer.Certificate.Certificate[0], signer
	}
	if at >= forks.Granite && l.last != nil {
		h.Kind, h.Epoch = proposer.Granite, l.nextEpoch()
	}
	l.last = h
}

// nextEpoch returns the epoch of a block after the last one: once a block comes at
// its end or later, those that follow are in the next.
func (l *line) nextEpoch() proposer.Epoch {
	last := l.last
	switch {
	case last.Epoch == (proposer.Epoch{}):
		return proposer.Epoch{PChainHeight: last.PChainHeight, Number: 1, StartTime: last.Time}
	case last.Time < last.Epoch.StartTime+int64(EpochDuration.Seconds()):
		return last.Epoch
	}
	return proposer.Epoch{PChainHeight: last.PChainHeight, Number: last.Epoch.Number + 1, StartTime: last.Time}
}
