package follow

import (
	"context"
	"errors"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

const (
	// rememberUnverified is how often the count of unverified blocks is kept for the next
	// start, in blocks.
	rememberUnverified = 1000
	// maxReasons bounds the reasons that are kept; there is one for each upgrade.
	maxReasons = 64
	// rereadBytes and rereadBlocks bound what is put right at once: the segments of the
	// archive around it are written again.
	rereadBytes, rereadBlocks = 16 << 20, 4096
	// rereadAgain is the wait after a failure.
	rereadAgain = time.Minute
)

// unverified are the blocks that could not be checked by their hash.
type unverified struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Count uint64 `json:"count"`
	// Reasons has a block for each reason why.
	Reasons map[string]uint64 `json:"reasons,omitempty"`
}

func unverifiedKey(id [32]byte) []byte { return append([]byte("unverified/"), id[:]...) }

// with returns u with one more block.
func (u *unverified) with(b *evm.Block) *unverified {
	next := unverified{First: b.Number, Reasons: map[string]uint64{b.Unverified: b.Number}}
	if u != nil && u.Count > 0 {
		next.First, next.Last, next.Count = min(u.First, b.Number), u.Last, u.Count
		for reason, height := range u.Reasons {
			if len(next.Reasons) < maxReasons {
				next.Reasons[reason] = height
			}
		}
	}
	next.Last, next.Count = max(next.Last, b.Number), next.Count+1
	return &next
}

// noteUnverified takes note of a block that was indexed, if it could not be checked.
func (c *EVM) noteUnverified(b *evm.Block) {
	if b.Unverified == "" {
		return
	}
	c.noting.Lock()
	defer c.noting.Unlock()
	old := c.unverified.Load()
	next := old.with(b)
	c.unverified.Store(next)
	if next.Count%rememberUnverified == 1 || old == nil || len(next.Reasons) > len(old.Reasons) {
		c.cfg.Memory.Remember(context.Background(), unverifiedKey(c.cfg.ID), next)
	}
}

// recallUnverified reads what noteUnverified kept.
func (c *EVM) recallUnverified() {
	var u unverified
	if c.cfg.Memory.Recall(unverifiedKey(c.cfg.ID), &u) && u.Count > 0 {
		c.unverified.Store(&u)
	}
}

// reread checks the blocks that could not be checked when they came, perhaps by an older
// release, if this one knows what one of them holds. It works once after each start.
func (c *EVM) reread(ctx context.Context) error {
	k := c.keeper.Load()
	select {
	case <-k.tended.done: // what was stale is made: to put blocks right would end that
	case <-ctx.Done():
		return nil
	}
	u := c.unverified.Load()
	if u == nil {
		return nil
	}
	for {
		err := c.rereadAll(ctx, u)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		c.log.Warn("blocks that could not be checked when they came cannot be checked now", "chain", c.cfg.Name, "err", err)
		select {
		case <-time.After(rereadAgain):
		case <-ctx.Done():
			return nil
		}
	}
}

// rereadAll reads all blocks again that were unverified at the start, if a look at one for
// each reason says that it is of use.
func (c *EVM) rereadAll(ctx context.Context, was *unverified) error {
	a := c.keeper.Load().sink.archive
	first, _, ok := a.First()
	last, _, _ := a.Last()
	if height, _, started := c.index.Cursor(); !ok || !started || was.First > height || !c.learned(ctx, was) {
		return nil
	} else if height < last {
		last = height
	}
	left := new(unverified)
	for from := max(was.First, first); from <= last; from += rereadBlocks {
		if err := c.rereadSome(ctx, from, min(last, from+rereadBlocks-1), left); err != nil {
			return err
		}
	}
	c.noting.Lock()
	defer c.noting.Unlock()
	now := c.unverified.Load()
	if came := now.Count - was.Count; came > 0 { // meanwhile
		left = &unverified{First: min(max(left.First, last+1), now.Last), Last: now.Last, Count: left.Count + came, Reasons: now.Reasons}
	}
	c.unverified.Store(left)
	c.cfg.Memory.Remember(ctx, unverifiedKey(c.cfg.ID), left)
	if ctx.Err() == nil {
		c.log.Info("blocks that could not be checked when they came were checked", "chain", c.cfg.Name, "still unverified", left.Count)
	}
	return nil
}

// learned reports whether a block of which one reason is known can be checked now.
func (c *EVM) learned(ctx context.Context, u *unverified) bool {
	if len(u.Reasons) == 0 { // noted by an older release
		return true
	}
	for reason, height := range u.Reasons {
		same := false
		err := c.keeper.Load().sink.reader.Read(ctx, height, height, func(b *evm.Block) error {
			if b.Unverified == reason {
				again, err := c.client.Reread(b)
				same = err == nil && again.Unverified == reason
			}
			return nil
		})
		if err == nil && !same {
			return true
		}
	}
	return false
}

// rereadSome reads the unverified blocks of a range again, and puts those in their place
// that can be checked now. The others are added to left.
func (c *EVM) rereadSome(ctx context.Context, from, to uint64, left *unverified) error {
	var list []index.Revision
	for at := from; at <= to; {
		size, next := 0, at
		err := c.keeper.Load().sink.reader.Read(ctx, at, to, func(b *evm.Block) error {
			if size >= rereadBytes {
				return errEnough
			}
			if next = b.Number + 1; b.Unverified == "" {
				return nil
			}
			again, err := c.known(ctx, b)
			if err != nil {
				return err
			}
			if again.Unverified != "" {
				*left = *left.with(again)
				return nil
			}
			size += len(b.Foreign)
			list = append(list, index.Revision{Was: b, Is: again})
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if err := c.putRight(ctx, list); err != nil {
			return err
		}
		list, at = nil, next
	}
	return nil
}

var errEnough = errors.New("enough blocks were read")

// known returns a block that could not be checked as this release knows it. One that
// turns out to be false is asked of the nodes; without a trace it stays what it is, and
// named: rows of such blocks cannot be changed one by one.
func (c *EVM) known(ctx context.Context, b *evm.Block) (*evm.Block, error) {
	again, err := c.client.Reread(b)
	if err == nil {
		return again, c.checkBy(ctx, c.newSettling(), []*evm.Block{again})
	}
	c.log.Error("a block that could not be checked when it came is false; it is asked for again", "chain", c.cfg.Name, "height", b.Number, "err", err)
	if !b.Traced {
		return b, nil
	}
	list, err := c.client.Fetch(ctx, b.Number, b.Number)
	if err != nil {
		return nil, err
	}
	if err := c.checkBy(ctx, c.newSettling(), list); err != nil {
		return nil, err
	}
	if c.client.Needs(list[0]) {
		if err := c.client.Complete(ctx, list[0]); err != nil {
			return nil, err
		}
	}
	return list[0], nil
}

// putRight puts blocks in the place of those that could not be checked.
func (c *EVM) putRight(ctx context.Context, list []index.Revision) error {
	var traced, bare []index.Revision
	for _, r := range list {
		if r.Was.Traced {
			traced = append(traced, r)
		} else {
			bare = append(bare, r)
		}
	}
	if len(traced) > 0 {
		if err := c.revise(ctx, traced, c.replaceBlocks); err != nil {
			return err
		}
	}
	if len(bare) > 0 { // rows follow from what the hash covers alone, and are those that they were
		return c.replaceBlocks(ctx, bare)
	}
	return nil
}
