package follow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/follow/verdict"
	"quorate/engine/index"
	"quorate/engine/metric"
)

// What is false of blocks that are kept is found in several ways: headers settle results,
// proofs and second nodes are asked about calls and balances. It is listed as suspect,
// other nodes are asked, and what is true is put in its place in the one way that is here.

// maxBack is how many blocks the index goes back at most: none is followed meanwhile. Of
// blocks further below all rows are made again beside those that are served.
const maxBack = 16 << 10

// correct puts blocks, in the order of their heights, in the place of those of which
// something false is kept, in the archive as notes, and lets those know who have read rows
// of them. After a crash on the way the range is still listed, and corrected again.
func (c *EVM) correct(ctx context.Context, right []*evm.Block) error {
	notes := make([]archive.Note, len(right))
	for i, b := range right {
		notes[i] = archive.Note{Height: b.Number, Type: evmarchive.NoteCorrection, Data: evmarchive.Append(nil, b)}
	}
	a := c.keeper.Load().sink.archive
	return c.renew(ctx, right[0].Number, func() error {
		if err := a.AddNotes(ctx, notes); err != nil {
			return err
		}
		return c.readCorrections(ctx, a)
	})
}

// renew calls change, which changes blocks of the archive from a height on, and has the rows
// of them made again.
func (c *EVM) renew(ctx context.Context, lowest uint64, change func() error) error {
	if err := c.cfg.Room(); err != nil {
		return err
	}
	k := c.keeper.Load()
	first, _, _ := k.sink.archive.First()
	head, _, _ := c.rows.Cursor()
	if begin := c.rows.Begin().Lists; first <= begin && (lowest <= begin || lowest+maxBack < head) {
		defer k.changed()
		return c.rows.Distrust(change)
	}
	return k.sink.renew(ctx, lowest, change)
}

// renew takes the index back below a block, calls change, which changes blocks of the archive
// from there on, and has the index take them again.
func (s *Sink[B]) renew(ctx context.Context, lowest uint64, change func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.land(); err != nil {
		return err
	}
	if apart, err := s.apart(); err != nil || apart {
		return errors.Join(err, errOldBlock)
	}
	if err := s.rewind(ctx, lowest-1); err != nil {
		return err
	}
	return errors.Join(change(), s.catchUp(ctx, nil))
}

// readCorrections lets those who have read rows know what was false of them, once the rows
// are others.
func (c *EVM) readCorrections(ctx context.Context, a *archive.Archive) error {
	if c.rows.Distrusted() {
		return nil
	}
	var list []index.Correction
	err := a.Notes(ctx, func(n archive.Note) error {
		sum := evm.Keccak(n.Data)
		list = append(list, index.Correction{Height: n.Height, ID: [6]byte(sum[:])})
		return nil
	}, evmarchive.NoteCorrection)
	if d := (*archive.Damage)(nil); errors.As(err, &d) {
		err = nil // who has read something false then is not told once more
	}
	c.rows.Correct(list)
	return err
}

// maxAbove bounds the blocks above false ones that are looked at again: what was paid in them
// is known from those below, up to the next ones that are settled.
const maxAbove = 1024

var errNoFit = errors.New("no node has results that fit")

// fitting asks nodes for results that fit up to the block by which it showed that those
// that are kept are false, and returns the blocks that are others then.
func (c *EVM) fitting(ctx context.Context, s *verdict.Suspect) (right []*evm.Block, err error) {
	first, last, _ := c.second.Ends()
	if last < s.By {
		return nil, errOldBlock
	}
	was, err := c.below(ctx, s.From, min(last, s.By+maxAbove))
	if err != nil {
		return nil, err
	}
	err = errNoFit
	for _, n := range c.node.Nodes(s.By) {
		told, askErr := c.node.FetchOf(ctx, n, s.From, s.By) // who lies once may lie in the next block
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if askErr != nil {
			continue
		}
		fit := c.fit(ctx, slices.Concat(told, was[len(told):]), s.By)
		if fit == nil || slices.ContainsFunc(fit, func(b *evm.Block) bool { return b.Unverified != "" && was[b.Number-s.From].Unverified == "" }) {
			continue
		}
		for i, b := range fit {
			if b.Number < first || sameResults(was[i], b) {
				continue
			}
			if b.Number <= s.By && was[i].Traced { // as the node has it
				if b, err = c.node.Retrace(ctx, n, b); err != nil {
					return nil, fmt.Errorf("the node with results that fit does not trace them: %w", err)
				}
			}
			if liar, ok := c.node.Giver(b.Number); ok && b.Number <= s.By && liar != n {
				c.second.Blame(liar, b.Number, s.Reason)
			}
			right = append(right, b)
		}
		return right, nil
	}
	return nil, err
}

// fit returns blocks with what was paid in them, nil unless the results of all up to a
// height fit. Those above that have another fault stay as they are.
func (c *EVM) fit(ctx context.Context, blocks []*evm.Block, by uint64) (fit []*evm.Block) {
	s := c.newSettling()
	for i, b := range blocks {
		again := *b // its base fee is set
		if err := s.check(ctx, &again); err != nil && b.Number <= by {
			return nil
		} else if err != nil {
			return append(fit, blocks[i:]...)
		}
		fit = append(fit, &again)
	}
	return fit
}

// sameResults reports whether two forms of a block are the same but for calls and balances.
func sameResults(a, b *evm.Block) bool {
	bare := func(b *evm.Block) []byte {
		again := *b
		again.Traced, again.Balances, again.Txs = false, nil, slices.Clone(b.Txs)
		for i := range again.Txs {
			again.Txs[i].Calls, again.Txs[i].Failure = nil, nil
		}
		return evmarchive.Append(nil, &again)
	}
	return bytes.Equal(bare(a), bare(b))
}

func suspectsKey(id [32]byte) []byte { return append([]byte("suspects/"), id[:]...) }

// newSecond returns the lane that asks second nodes. It works once the archive is open.
func (c *EVM) newSecond(set *metric.Set) *verdict.Lane {
	var kept []verdict.Suspect
	if !c.cfg.Memory.Recall(suspectsKey(c.cfg.ID), &kept) {
		kept = nil
	}
	l := verdict.New(c.log, set, c.node, kept)
	l.Share = cmp.Or(c.cfg.SecondShare, l.Share)
	l.Read = func(ctx context.Context, from, to uint64, f func(*evm.Block) error) error {
		return c.keeper.Load().sink.reader.Read(ctx, from, to, f)
	}
	l.Ends = func() (first, last uint64, ok bool) {
		if k := c.keeper.Load(); k != nil {
			first, _, ok = k.sink.archive.First()
			last, _, _ = k.sink.archive.Last()
		}
		return first, last, ok
	}
	l.Fitting, l.Correct = c.fitting, c.correct
	l.Remember = func(ctx context.Context, list []verdict.Suspect) {
		c.cfg.Memory.Remember(ctx, suspectsKey(c.cfg.ID), list)
	}
	return l
}
