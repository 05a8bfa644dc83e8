package index

import (
	"encoding/binary"
	"fmt"
	"slices"

	"quorate/engine/chain/evm"
	"quorate/rollup"
)

// cursor is how far a chain is indexed. It does not change.
type cursor struct {
	head evm.Head
	// gaps are the blocks whose traces are missing, in their order.
	gaps []Gap
	// traced: a block with transactions was traced. Before, the chain counts as one
	// that nobody traces; afterwards a block without its trace is a gap.
	traced bool
	// rolled is how far metrics are made, if they are. It has a row of its own.
	rolled rollup.State
	// held are the metrics that hold after a rewind, until they are made again.
	held *held
	// places says where the tables lie. They have a row of their own too.
	places *places
	// from says with which blocks the tables begin, in a row of its own as well.
	from begins
}

// Gap is a run of blocks whose traces are missing, from one height to another.
type Gap struct{ From, To uint64 }

// maxGaps bounds the gaps of a chain: with more, the last two count as one with
// all that lies between them, whose balances are then not known either.
const maxGaps = 256

// The cursor codec, version 2: u8 2 | u8 1 = traced | u64 height | block hash |
// u64 time, Unix ms | for each gap: u64 from | u64 to. Version 1 had no flags, and in
// place of gaps the first height that was not traced, all ones if there is none.
const (
	cursorVersion = 2
	cursorLen     = 1 + 1 + 8 + evm.HashLen + 8
	gapLen        = 8 + 8
	maxCursorLen  = cursorLen + maxGaps*gapLen

	oldCursorLen = 1 + 8 + evm.HashLen + 8 + 8
	oldNoGap     = ^uint64(0)
)

func (c *cursor) append(dst []byte) []byte {
	flags := byte(0)
	if c.traced {
		flags = 1
	}
	k := key(append(dst, cursorVersion, flags)).u64(c.head.Number)
	k = append(k, c.head.Hash[:]...)
	k = k.u64(c.head.TimeMilli)
	for _, g := range c.gaps {
		k = k.u64(g.From).u64(g.To)
	}
	return k
}

func (c *cursor) decode(b []byte) error {
	if len(b) == oldCursorLen && b[0] == 1 {
		c.decodeHead(b[1:])
		from := binary.BigEndian.Uint64(b[oldCursorLen-8:])
		c.traced = from > 1
		if from != oldNoGap {
			c.gaps = []Gap{{from, c.head.Number}}
		}
		return nil
	}
	if len(b) < cursorLen || b[0] != cursorVersion || b[1] > 1 || (len(b)-cursorLen)%gapLen != 0 {
		return fmt.Errorf("%w: cursor", errCodec)
	}
	c.traced = b[1] == 1
	c.decodeHead(b[2:])
	c.gaps = nil
	for b = b[cursorLen:]; len(b) > 0; b = b[gapLen:] {
		c.gaps = append(c.gaps, Gap{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])})
	}
	return nil
}

func (c *cursor) decodeHead(b []byte) {
	c.head.Number = binary.BigEndian.Uint64(b)
	copy(c.head.Hash[:], b[8:])
	c.head.TimeMilli = binary.BigEndian.Uint64(b[8+evm.HashLen:])
}

// take goes on to the next block.
func (c *cursor) take(b *evm.Block) {
	c.head = b.Head()
	works := len(b.Txs)+len(b.Atomic) > 0
	last := len(c.gaps) - 1
	switch {
	case b.Number == 0 || b.Traced:
		c.traced = c.traced || b.Number > 0 && works
	case last >= 0 && c.gaps[last].To+1 == b.Number:
		c.gaps = slices.Clone(c.gaps)
		c.gaps[last].To = b.Number
	case works:
		c.gaps = append(slices.Clip(c.gaps), Gap{b.Number, b.Number})
		if len(c.gaps) > maxGaps {
			c.gaps = c.gaps[:maxGaps]
			c.gaps[maxGaps-1].To = b.Number
		}
	}
}

// complete takes a block out of the gaps.
func (c *cursor) complete(number uint64) {
	var left []Gap
	for _, g := range c.gaps {
		if number < g.From || number > g.To {
			left = append(left, g)
			continue
		}
		if g.From < number {
			left = append(left, Gap{g.From, number - 1})
		}
		if number < g.To {
			left = append(left, Gap{number + 1, g.To})
		}
	}
	c.gaps = left
	if n := len(left); n > maxGaps {
		c.gaps = left[:maxGaps]
		c.gaps[maxGaps-1].To = left[n-1].To
	}
}

// Completes reports whether a block is in a gap and would not be any more after
// [Chain.Complete]. It would be still if it is between gaps that count as one, since
// there are too many.
func (c *Chain) Completes(number uint64) bool {
	last := c.last.Load()
	if last == nil || !untraced(last.gaps, number-1, number) {
		return false
	}
	next := *last
	next.complete(number)
	return !untraced(next.gaps, number-1, number)
}

// untraced reports whether one of the blocks from above one height up to another
// is not traced.
func untraced(gaps []Gap, above, upTo uint64) bool {
	return slices.ContainsFunc(gaps, func(g Gap) bool { return g.From <= upTo && g.To > above })
}

// Gaps returns the blocks whose traces are missing: their calls and the parts that
// addresses have in those are not known, nor is the native balance of an account
// from such a block to the next that changed it.
func (c *Chain) Gaps() []Gap {
	if cur := c.last.Load(); cur != nil {
		return slices.Clone(cur.gaps)
	}
	return nil
}
