package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"quorate/engine/chain/evm"
	store "quorate/engine/store/index"
)

// begins are the first blocks that the tables of each part are made of. All are 0
// but for a chain whose index began above its genesis block.
//
// Older blocks come later, downwards. Pure tables take them at once, since their rows
// follow from each block alone. Folds would be wrong with them until the genesis
// block is there, so they stay what they are, and are stale then; see [Chain.Stale].
type begins [parts]uint64

// beginsLen is the length of a stored begins: u64 for each part.
const (
	beginsLen    = 8 * parts
	oldBeginsLen = 8 * 3
)

// beginsAt returns those of tables that begin together.
func beginsAt(height uint64) (b begins) {
	for p := range b {
		b[p] = height
	}
	return b
}

func (b *begins) append(dst []byte) []byte {
	for _, height := range b {
		dst = binary.BigEndian.AppendUint64(dst, height)
	}
	return dst
}

// Before there was partSums it was shorter. Those tables begin with the first block
// then: they are made when all others are there.
func (b *begins) decode(raw []byte) error {
	if len(raw) != beginsLen && len(raw) != oldBeginsLen {
		return fmt.Errorf("%w: first blocks of tables", errCodec)
	}
	b[partSums] = binary.BigEndian.Uint64(raw)
	for p := range len(raw) / 8 {
		b[p] = binary.BigEndian.Uint64(raw[8*p:])
	}
	return nil
}

// best returns where the tables begin if they are made again.
func (b *begins) best() begins {
	if b[partPure] == 0 {
		return begins{}
	}
	return *b
}

// late reports whether tables of a part lack blocks that are there.
func (b *begins) late(p part) bool { return b[partPure] == 0 && b[p] > 0 }

// repeatable reports whether tables of a part come out the same if they are made again.
func (c *cursor) repeatable(p part) bool {
	return !c.from.late(p) && !(p == partMetrics && c.rolled.Untraced && c.from[p] > c.from[partPure])
}

// Begin says with which blocks an index begins.
type Begin struct {
	Lists    uint64 // all tables whose rows follow from one block
	Balances uint64 // sums of token transfers
	Metrics  uint64
}

// Begin returns the first blocks of the chain's tables.
func (c *Chain) Begin() Begin {
	b := c.begins()
	return Begin{Lists: b[partPure], Balances: b[partBalances], Metrics: b[partMetrics]}
}

func (c *Chain) begins() begins {
	if cur := c.last.Load(); cur != nil {
		return cur.from
	}
	start := c.start.Load()
	return beginsAt(start)
}

// loadBegins reads the first blocks of a chain's tables. An index that was begun
// before they were kept tells by its rows, and they are kept then: once there are
// rows of older blocks, it could not tell any more.
func (c *Chain) loadBegins(s *store.Snapshot, cur *cursor) error {
	row0 := cur.places.rowKey(rowBegins)
	found, err := s.Get(row0, cur.from.decode)
	if err != nil || found {
		return err
	}
	blocks := cur.places.key(store.TableBlocks)
	if found, err = s.Get(slices.Clone(blocks).u64(0), func([]byte) error { return nil }); err != nil || found {
		return err
	}
	rows, err := s.Rows(blocks, false)
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Seek(blocks); !rows.Valid() {
		return nil
	}
	first := binary.BigEndian.Uint64(rows.Key()[len(blocks):])
	cur.from = beginsAt(first)
	return c.putRows(row{row0, cur.from.append(nil)})
}

// belowTxs bounds the transactions that are committed below at once: the blocks at
// the head wait for that long.
const belowTxs = 512

// CommitBelow adds older blocks below the first one, which must follow each other up
// to it. Lists show them as soon as they are committed, the highest ones first; what
// adds up over blocks does not: see [Chain.Stale]. After an error some of them may be
// committed: Begin tells. It waits while tables are made again, and gives up a rebuild
// that was not finished, since that lacks the blocks.
func (c *Chain) CommitBelow(ctx context.Context, blocks []*evm.Block) error {
	c.rebuilding.Lock()
	defer c.rebuilding.Unlock()
	if c.last.Load() == nil {
		return ErrEmpty
	}
	if unfinished, err := c.building(); err != nil {
		return err
	} else if unfinished {
		if err := c.abandon(); err != nil {
			return err
		}
	}
	for len(blocks) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, txs := 0, 0
		for n < len(blocks) && n < rebuildBlocks && (n == 0 || txs < belowTxs) {
			n++
			txs += len(blocks[len(blocks)-n].Txs)
		}
		rest := len(blocks) - n
		if err := c.below(ctx, blocks[rest:]); err != nil {
			return fmt.Errorf("index blocks %d to %d below: %w", blocks[rest].Number, blocks[len(blocks)-1].Number, err)
		}
		blocks = blocks[:rest]
	}
	return nil
}

// below commits blocks below the first one.
func (c *Chain) below(ctx context.Context, blocks []*evm.Block) error {
	b := c.pureMaker(c.places(), allTables).builder
	made, err := b.apart(blocks) // the blocks at the head do not wait for that
	if err != nil {
		return err
	}
	c.commit.Lock()
	defer c.commit.Unlock()
	if err := c.settle(); err != nil {
		return err
	}
	cur := *c.last.Load()
	run, err := c.precedes(&cur, blocks)
	if err != nil {
		return err
	}
	c.doubt = true
	if err := c.writeBelow(ctx, blocks, made, cur, run); err != nil {
		_ = c.settle() // if that fails too, it is done again before the next commit
		return err
	}
	c.doubt = false
	c.tokenVersion.Add(1) // what was kept of answers may lack the blocks
	if f := c.opts.OnOlder; f != nil && len(b.seen)+len(b.nfts) > 0 {
		f(b.seen, b.nfts)
	}
	return nil
}

// apart makes the rows of blocks, which follow from each alone.
func (b *builder) apart(blocks []*evm.Block) ([]rows, error) {
	s, err := b.m.c.db.Snapshot()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	p, err := newStored(b.m, s, 0)
	if err != nil {
		return nil, err
	}
	b.begin(p)
	made := make([]rows, len(blocks))
	for i, blk := range blocks {
		b.rows.list, b.rows.bytes = nil, 0
		if err := b.apply(blk); err != nil {
			return nil, err
		}
		made[i] = rows{list: b.rows.list, bytes: b.rows.bytes}
	}
	return made, nil
}

// writeBelow writes the rows of blocks, the highest block first: whenever it ends,
// the index has all blocks from the lowest that is committed on.
func (c *Chain) writeBelow(ctx context.Context, blocks []*evm.Block, made []rows, cur cursor, run uint64) error {
	w := &writer{c: c, ctx: ctx, at: cur.places}
	w.mark = func(set func(key, value []byte) error) error {
		if err := set(w.at.key(store.TableCursor), w.done.append(nil)); err != nil {
			return err
		}
		return set(w.at.rowKey(rowBegins), w.done.from.append(nil))
	}
	w.marked = func() {
		done := w.done
		c.setLast(&done)
	}
	defer w.discard()
	for i := len(blocks) - 1; i >= 0; i-- {
		run = cur.takeBelow(blocks[i], run)
		if err := w.block(&made[i], cur); err != nil {
			return err
		}
	}
	return w.flush()
}

// precedes checks that blocks lead up to the first one. It returns where the run of
// blocks without traces ends that the index begins with; 0 if it begins with no such.
func (c *Chain) precedes(cur *cursor, blocks []*evm.Block) (run uint64, err error) {
	first := cur.from[partPure]
	err = c.snapshot(func(s *store.Snapshot) error {
		h, err := cur.header(s, first)
		if err != nil {
			return err
		}
		next, parent := first, h.Parent
		for i := len(blocks) - 1; i >= 0; i-- {
			b := blocks[i]
			if next == 0 || b.Number != next-1 || b.Hash != parent {
				return fmt.Errorf("%w: block %d is %s, and block %d has the parent %s", ErrOrder, b.Number, b.Hash, next, parent)
			}
			if err := ascends(b); err != nil {
				return err
			}
			next, parent = b.Number, b.Parent
		}
		for at := first; !h.Traced && first > 0; {
			if run = at; len(cur.gaps) > 0 && cur.gaps[0].From <= at {
				run = max(run, cur.gaps[0].To)
			}
			if at = run + 1; at > cur.head.Number {
				break
			}
			if h, err = cur.header(s, at); err != nil {
				return err
			}
		}
		return nil
	})
	return run, err
}

// header reads the header of a block that must be there.
func (c *cursor) header(s *store.Snapshot, number uint64) (h Header, err error) {
	found, err := s.Get(c.places.key(store.TableBlocks).u64(number), func(b []byte) (err error) {
		h, err = decodeHeader(number, b)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: block %d is missing", errCodec, number)
	}
	return h, err
}

// takeBelow goes down to the next block, and leaves the gaps as take would have
// made them from below. run is where the blocks without traces end that begin above
// it, 0 if there are none; it returns the same of those that begin with it.
func (c *cursor) takeBelow(b *evm.Block, run uint64) uint64 {
	c.from[partPure] = b.Number
	works := len(b.Txs)+len(b.Atomic) > 0
	if b.Number == 0 || b.Traced {
		c.traced = c.traced || b.Number > 0 && works
		return 0
	}
	run = max(run, b.Number)
	if !works {
		return run
	}
	gaps := c.gaps
	for len(gaps) > 0 && gaps[0].From <= run {
		run = max(run, gaps[0].To)
		gaps = gaps[1:]
	}
	c.gaps = append([]Gap{{b.Number, run}}, gaps...)
	c.bound()
	return run
}

// bound makes the last gaps one, if there are too many.
func (c *cursor) bound() {
	if n := len(c.gaps); n > maxGaps {
		last := c.gaps[n-1].To
		c.gaps = slices.Clone(c.gaps[:maxGaps])
		c.gaps[maxGaps-1].To = last
	}
}
