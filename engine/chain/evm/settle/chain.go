package settle

import (
	"fmt"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

// Misfit says that what nodes computed for some blocks does not fit a header: something
// in the results of one of them at least is false.
type Misfit struct {
	From, To uint64 // these blocks
	By       uint64 // the block whose header says so
	Err      error
}

// Error implements error.
func (m *Misfit) Error() string {
	return fmt.Sprintf("results of blocks %d to %d do not fit the header of block %d: %v", m.From, m.To, m.By, m.Err)
}

// Unwrap returns what does not fit.
func (m *Misfit) Unwrap() error { return m.Err }

// Chain is the end of a chain: the last block that is settled and those above it, of
// which the results are a node's word. It checks the results of blocks as their headers
// settle them. The zero value knows no block.
type Chain struct {
	blocks []executed // in order of height, the last settled one first if it is known
	// settled is the height of the last settled block.
	settled uint64
	// doubt: blocks up to here have results that did not fit. The clock cannot be run over
	// them; their receipts are checked all the same.
	doubt uint64
	// head is the clock after the last block, if ticking.
	head    Clock
	ticking bool
}

// executed is a block with its header.
type executed struct {
	block  *evm.Block
	header consensus.Header
	known  bool // the header is, and the rules are known by which the block was made
}

// Settled returns the height of the last settled block: of chains that execute a block
// before they accept it the last one.
func (c *Chain) Settled() uint64 { return c.settled }

// Last returns the last block, nil if there is none.
func (c *Chain) Last() *evm.Block {
	if len(c.blocks) == 0 {
		return nil
	}
	return c.blocks[len(c.blocks)-1].block
}

// Needs returns the height of the first block that must be known, all up to b's parent,
// for b's results and what b settles to be checked. parent is the block before b.
func Needs(parent *evm.Block) (from uint64) {
	var h consensus.Header
	if len(parent.Header) == 0 || h.Parse(parent.Header) != nil {
		return parent.Number
	}
	return Height(&h)
}

// Begin makes blocks, in order of height, the end of the chain without a check.
func (c *Chain) Begin(blocks []*evm.Block) {
	c.blocks, c.settled, c.ticking = c.blocks[:0], 0, false
	for _, b := range blocks {
		c.append(b)
	}
}

// append adds a block and forgets those below the last settled one.
func (c *Chain) append(b *evm.Block) *executed {
	e := executed{block: b}
	e.known = len(b.Header) > 0 && b.Unverified == "" && e.header.Parse(b.Header) == nil
	c.blocks = append(c.blocks, e)
	if e.known {
		c.settled = max(c.settled, Height(&e.header))
	}
	n := 0
	for n < len(c.blocks)-1 && c.blocks[n].block.Number < c.settled {
		n++
	}
	// What the array keeps below is let go when it grows.
	clear(c.blocks[:n])
	c.blocks = c.blocks[n:]
	return &c.blocks[len(c.blocks)-1]
}

// between returns the blocks above a height up to another, nil if some are not known.
func (c *Chain) between(above, to uint64) []executed {
	if len(c.blocks) == 0 || above >= to || above+1 < c.blocks[0].block.Number {
		return nil
	}
	first := c.blocks[0].block.Number
	list := c.blocks[above+1-first : to+1-first]
	for i := range list {
		if !list[i].known {
			return nil
		}
	}
	return list
}

// Next takes the block after the last one, checks what its header settles, and sets its
// BaseFee to what was paid in it. The error is a [*Misfit], or says that the header cannot
// be that of a block after its parent. The block is taken all the same; what does not fit
// counts as unknown from then on.
func (c *Chain) Next(b *evm.Block) error {
	before := len(c.blocks)
	above := c.settled
	var parent consensus.Header
	knownParent := before > 0 && c.blocks[before-1].known
	if knownParent {
		parent = c.blocks[before-1].header
	}
	var h consensus.Header
	if len(b.Header) == 0 || b.Unverified != "" || h.Parse(b.Header) != nil || !h.Settles() {
		c.append(b)
		c.ticking = false
		return nil
	}
	if knownParent {
		if err := CheckHeader(&parent, &h); err != nil {
			c.append(b)
			c.ticking = false
			return err
		}
	}
	to := Height(&h)
	var err error
	if list := c.between(above, to); list != nil && knownParent {
		if err = c.settle(&parent, &h, list); err != nil {
			err = &Misfit{From: above + 1, To: to, By: h.Number, Err: err}
			c.doubt = to
		}
	}
	c.append(b)
	if err == nil {
		return c.pay(b, &h)
	}
	// The header says the clock after what does not fit, so what was paid above is known.
	// Should that not fit either, those blocks are found when they are settled.
	c.ticking = false
	doubt := c.doubt
	if c.pay(b, &h) != nil {
		c.doubt = doubt
	}
	return err
}

// settle checks what a header settles.
func (c *Chain) settle(parent, h *consensus.Header, list []executed) error {
	blocks := make([]*evm.Block, len(list))
	for i := range list {
		blocks[i] = list[i].block
	}
	clock, ok := c.clock(parent)
	if !ok {
		return CheckSettled(parent, h, blocks, nil)
	}
	return CheckSettled(parent, h, blocks, &clock)
}

// clock returns the clock after the last settled block, by a header that says so.
func (c *Chain) clock(settler *consensus.Header) (clock Clock, ok bool) {
	first := &c.blocks[0]
	switch {
	case first.block.Number != Height(settler) || !first.known:
		return clock, false
	case first.header.Settles():
		return After(&first.header, settler), true
	}
	return Start(&first.header), true
}

// pay sets the base fee of the last block, whose header is h, to what was paid: by the
// clock after the block before it.
func (c *Chain) pay(b *evm.Block, h *consensus.Header) error {
	from := len(c.blocks) - 1
	if !c.ticking {
		clock, ok := c.clock(h)
		if !ok || c.doubt > c.settled {
			return nil
		}
		c.head, from = clock, 1
	}
	c.ticking = false
	for ; from < len(c.blocks); from++ {
		e := &c.blocks[from]
		if !e.known {
			return nil
		}
		paid, err := c.head.Execute(&e.header, e.block)
		if err != nil {
			c.doubt = b.Number
			return &Misfit{From: c.settled + 1, To: b.Number, By: b.Number, Err: err}
		}
		if e.block == b {
			b.BaseFee = uint256.NewInt(paid)
		}
	}
	c.ticking = true
	return nil
}
