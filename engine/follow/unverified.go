package follow

import (
	"context"
	"errors"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/follow/verdict"
)

const (
	// rememberUnverified is how often the count of unverified blocks is kept for the next
	// start, in blocks.
	rememberUnverified = 1000
	// maxReasons bounds the reasons that are kept; there is one for each upgrade.
	maxReasons = 64
	// rereadBytes bounds what is put into the archive at once: the segments around it are
	// written again.
	rereadBytes = 16 << 20
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
// release, if this one knows what one of them holds: once after each start.
func (c *EVM) reread(ctx context.Context) error {
	if !await(ctx, &c.keeper.Load().tended) { // what was stale is made: to put blocks right would end that
		return nil
	}
	u := c.unverified.Load()
	if u == nil {
		return nil
	}
	if err := c.rereadAll(ctx, u); err != nil && ctx.Err() == nil {
		c.log.Warn("blocks that could not be checked when they came are not checked before the next start", "err", err)
	}
	return nil
}

// rereadAll reads all blocks again that were unverified at the start, if a look at one for
// each reason says that it is of use. Those that turn out to be false are asked of nodes.
func (c *EVM) rereadAll(ctx context.Context, was *unverified) error {
	a := c.keeper.Load().sink.archive
	first, _, ok := a.First()
	last, _, _ := a.Last()
	if height, _, started := c.rows.Cursor(); !ok || !started || was.First > height || !c.learned(ctx, was) {
		return nil
	} else if height < last {
		last = height
	}
	first = max(was.First, first)
	left, lies := new(unverified), []verdict.Suspect(nil)
	if err := c.renew(ctx, first, func() (err error) {
		lies, err = c.replaceKnown(ctx, first, last, left)
		return err
	}); err != nil {
		return err
	}
	for _, lie := range lies {
		c.second.Suspect(ctx, lie)
	}
	c.noting.Lock()
	defer c.noting.Unlock()
	now := c.unverified.Load()
	if came := now.Count - was.Count; came > 0 { // meanwhile
		left = &unverified{First: min(max(left.First, last+1), now.Last), Last: now.Last, Count: left.Count + came, Reasons: now.Reasons}
	}
	c.unverified.Store(left)
	c.cfg.Memory.Remember(ctx, unverifiedKey(c.cfg.ID), left)
	c.log.Info("blocks that could not be checked when they came were checked", "still unverified", left.Count, "false", len(lies))
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
				again, err := c.node.Reread(b)
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

// replaceKnown reads the unverified blocks of a range again, and puts those that can be
// checked now in their place in the archive. The others are added to left, or lies.
func (c *EVM) replaceKnown(ctx context.Context, from, to uint64, left *unverified) (lies []verdict.Suspect, err error) {
	k := c.keeper.Load().sink
	for from <= to {
		var blocks []archive.Block // the first is known now
		size, known := 0, 0
		err := k.reader.Read(ctx, from, to, func(b *evm.Block) error {
			if size >= rereadBytes {
				return errEnough
			}
			from = b.Number + 1
			if b.Unverified != "" {
				again, err := c.node.Reread(b)
				if err != nil {
					c.log.Error("a block that could not be checked when it came is false; it is asked for again", "height", b.Number, "err", err)
					lies = append(lies, verdict.Suspect{From: b.Number, To: b.Number, By: b.Number, Accused: true, Refuted: true, Reason: err.Error()})
				} else if err := c.checkBy(ctx, c.newSettling(), []*evm.Block{again}); err != nil {
					return err
				}
				switch {
				case err != nil:
				case again.Unverified != "":
					*left = *left.with(again)
				default:
					b, known = again, len(blocks)+1
				}
			}
			if known > 0 {
				blocks = append(blocks, evmarchive.BlockOf(b))
				size += len(blocks[len(blocks)-1].Data)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
		if err := k.archive.Replace(ctx, blocks[:known]); err != nil {
			return nil, err
		}
	}
	return lies, nil
}

var errEnough = errors.New("enough blocks were read")
