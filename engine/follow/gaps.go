package follow

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"quorate/engine/index"
	"quorate/engine/ingest"
	"quorate/engine/primary"
)

// Gap is a range of blocks of which something is missing.
type Gap struct {
	Kind     string // one of the gap constants
	From, To uint64
	Reason   string
	// Rows reports whether rows are missing or not certain; otherwise only the archive
	// lacks something.
	Rows bool
}

// Kinds of gaps.
const (
	// GapTrace: a node could not trace the block. It is tried again.
	GapTrace = "trace"
	// GapUntraced: no node has had the debug API. Internal transactions are missing,
	// and balances of the native coin are asked of the node.
	GapUntraced = "untraced"
	// GapUnverified: among the blocks are some that could not be checked by their hash.
	GapUnverified = "unverified"
	// GapDoubtful: nodes contradict each other about calls or balances, or who told them
	// has told something false. Other nodes are asked.
	GapDoubtful = "doubtful"
	// GapHeader: who proposed the blocks is not known: they came from nodes that do not
	// keep the proposers' headers. They are completed when a node has them.
	GapHeader = "header"
	// GapUnreadable: the first of the blocks is of a form that this release does not know,
	// and the index stands before it until a release is installed that does.
	GapUnreadable = "unreadable"
	// GapBelow: the index begins above.
	GapBelow = "below-start"
	// GapUnsummed: lists show the blocks, but sums over all blocks begin above.
	GapUnsummed = "unsummed"
	// GapMetrics: metrics from the first of the blocks on are not known, down to that of
	// its hour, day, week and month, until all are made again.
	GapMetrics = "metrics"
	// GapRewards: rewards and the supply are too high, for they were computed by the rates of
	// before Helicon, until the rows are made again.
	GapRewards = "rewards"
	// GapDamaged: the archive is damaged there. It is fetched again.
	GapDamaged = "archive-damaged"
	// GapPruned: the archive does not have the blocks any more, so only what lies above
	// can be rebuilt without a node.
	GapPruned = "archive-pruned"
	// GapFilling: the archive is filled with them now.
	GapFilling = "archive-filling"
)

// maxGaps bounds the gaps of a chain that are told.
const maxGaps = 100

// Gaps returns what is missing of the chain, by height.
func (c *EVM) Gaps() []Gap {
	head, _, started := c.rows.Cursor()
	if !started {
		return nil
	}
	var list []Gap
	for _, g := range c.rows.Gaps() {
		gap := Gap{GapUntraced, g.From, g.To, "no node that was asked has the debug API", true}
		if c.traced.Load() {
			gap.Kind, gap.Reason = GapTrace, c.reason(g)
		}
		list = append(list, gap)
	}
	if u := c.unverified.Load(); u != nil && u.Count > 0 {
		list = append(list, Gap{GapUnverified, u.First, u.Last, fmt.Sprintf("%d blocks have members or transactions of kinds that are unknown here", u.Count), true})
	}
	for _, s := range c.second.Suspects() {
		list = append(list, Gap{GapDoubtful, s.From, s.To, s.Reason, true})
	}
	if c.rows.Distrusted() {
		list = append(list, Gap{GapDoubtful, c.rows.Begin().Lists, head, "blocks of the archive were put right; all rows are made again from it", true})
	}
	begin, k := c.rows.Begin(), c.keeper.Load()
	if begin.Lists > 0 {
		list = append(list, Gap{GapBelow, 0, begin.Lists - 1, "the index begins above" + k.olderState(), true})
	}
	if sums := max(begin.Balances, begin.Metrics); sums > begin.Lists {
		list = append(list, Gap{GapUnsummed, begin.Lists, sums - 1,
			"sums of token transfers and cumulative metrics lack these blocks until all below are there", true})
	}
	if at, ok := c.rows.Held(); ok {
		list = append(list, Gap{GapMetrics, at, head, "blocks above the first one were given up; metrics from its hour, day, week and month on are made again", true})
	}
	if k != nil {
		list = append(list, k.gaps(head, begin.Lists)...)
	}
	slices.SortStableFunc(list, func(a, b Gap) int { return cmp.Compare(a.From, b.From) })
	return list[:min(len(list), maxGaps)]
}

// overpaid returns the blocks up to head that have too high rewards.
func (p *Primary) overpaid(head uint64) []Gap {
	rows, ok := p.rows.(interface {
		Overpaid() (from, since uint64, ok bool, err error)
	})
	if !ok {
		return nil
	}
	from, since, ok, err := rows.Overpaid()
	if err != nil || !ok { // whoever reads the rows is told of the error
		return nil
	}
	return []Gap{{GapRewards, from, head, "rewards of stakes that began since " + time.Unix(int64(since), 0).UTC().Format(time.RFC3339) +
		", and the supply, are too high: the index is made again from the archive", true}}
}

// reason says why blocks have no trace, by the first of them that is tried again.
func (c *EVM) reason(g index.Gap) string {
	if i := c.ingest.Load(); i != nil {
		for _, try := range i.Status().Gaps {
			if g.From <= try.Height && try.Height <= g.To {
				return try.Reason
			}
		}
	}
	return "indexed without a trace"
}

// olderState says whether blocks below the first one are being fetched.
func (k *keeper[B]) olderState() string {
	if k == nil {
		return ""
	}
	o := k.older.Load()
	if o == nil {
		return ""
	}
	text := fmt.Sprintf("; older blocks are fetched down to %d", o.down)
	if err := o.Err(); err != nil {
		text += ", which fails now: " + err.Error()
	}
	return text
}

// gaps returns those of the archive; the index has the blocks from start to head.
func (k *keeper[B]) gaps(head, start uint64) (list []Gap) {
	first, _, ok := k.sink.archive.First()
	last, _, _ := k.sink.archive.Last()
	if ok && first > start {
		list = append(list, Gap{GapPruned, start, first - 1, "the archive begins above", false})
	}
	switch {
	case !ok:
		list = append(list, Gap{GapFilling, start, head, "the archive is filled behind an index that was made before it", false})
	case last < head && k.fill.Load():
		list = append(list, Gap{GapFilling, last + 1, head, "the archive is filled behind an index that was made before it", false})
	}
	damage, err := k.trouble()
	for _, d := range damage {
		reason := d.Err.Error()
		if err != nil {
			reason += "; it cannot be fetched again yet: " + err.Error()
		}
		list = append(list, Gap{GapDamaged, d.From, d.To, reason, false})
	}
	return list
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
	first, ok := p.begin()
	if !ok {
		return list
	}
	if first > 1 || first == 1 && p.cfg.Chain != primary.CChain {
		list = append(list, Gap{GapBelow, 0, first - 1, "the chain is followed from a block above its first one", true})
	}
	height, _, _ := p.Cursor()
	list = append(list, p.overpaid(height)...)
	list = append(list, p.headerGaps()...)
	list = append(list, p.keeper.Load().gaps(height, first)...)
	return list[:min(len(list), maxGaps)]
}
