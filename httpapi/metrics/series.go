package metrics

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/index"
	"quorate/httpapi/door"
	"quorate/httpapi/evm"
	"quorate/httpapi/kept"
	"quorate/httpapi/reply"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// group is a set of chains that is asked for by name.
type group byte

const (
	noGroup group = iota
	total
	mainnet
	testnet
)

// parseGroup reads the name of a group. A chain of that name is hidden by it.
func parseGroup(name []byte) group {
	switch string(name) {
	case "total":
		return total
	case "mainnet":
		return mainnet
	case "testnet":
		return testnet
	}
	return noGroup
}

// has reports whether a chain belongs to the group.
func (g group) has(c *evm.Chain) bool {
	return g == total || c.Info.IsTestnet == (g == testnet)
}

// series are the points of one metric, of a chain or of several together.
type series struct {
	group    group
	metric   rollup.Metric
	interval rollup.Interval
	form     view.PointForm
	// sources are the chains that count. first and last are the bounds of all of
	// them together if any has begun.
	sources     []source
	begun       bool
	first, last uint32
	hash        uint64     // of all above but the bounds
	held        *evm.Chain // whose buckets after heldAt do not hold until they are made again, nil: none
	heldAt      uint32
	why         string // why the metric is not known of the chain added last that it is not known of
}

// source is how far the metrics of a chain are.
type source struct {
	chain       *evm.Chain
	id          chain.ID
	edition     uint32
	next        uint64 // height
	begun       bool
	first, last uint32 // buckets of the series' interval, if begun
	time        uint64 // of its last block, in Unix seconds
}

// find finds the chain or the group.
func (c *call) find(name []byte) *door.Failure {
	if c.series.group = parseGroup(name); c.series.group != noGroup {
		return nil
	}
	if string(name) != c.lastName {
		c.lastName = string(name)
	}
	var ok bool
	if c.Chain, ok = c.EVM.Chains.Chain(c.lastName); !ok {
		return evm.NoChain(name)
	}
	c.About(c.Chain)
	return nil
}

// load asks the chains how far they are. What does not hold of one ends the series.
func (c *call) load() *door.Failure {
	f := c.loadSources()
	if s := &c.series; s.held != nil {
		s.last = min(s.last, s.heldAt)
	}
	return f
}

func (c *call) loadSources() *door.Failure {
	s := &c.series
	s.hash = kept.Mix(uint64(s.metric)<<16|uint64(s.interval)<<8|uint64(s.form), 0)
	if s.group == noGroup {
		c.mark(c.Chain)
		known, err := s.add(c.Chain)
		switch {
		case err != nil:
			return c.failure(c.Chain, err)
		case !known:
			return door.NotFound("the metric " + s.metric.String() + " of chain " +
				c.Chain.Info.ChainID + " is not known: " + s.why)
		}
		return nil
	}
	unknown := 0
	for _, ch := range c.EVM.Chains.Chains() {
		if !s.group.has(ch) {
			continue
		}
		c.mark(ch)
		known, err := s.add(ch)
		switch {
		case errors.Is(err, index.ErrEmpty): // nothing to add yet
		case err != nil:
			return c.failure(ch, err)
		case !known:
			unknown++
		}
	}
	if unknown > 0 && len(s.sources) == 0 {
		return door.NotFound("the metric " + s.metric.String() +
			" is not known of any chain here: " + s.why)
	}
	return nil
}

// mark binds the answer to a chain's last block. It is called before the chain is
// read: what comes in between makes the answer newer than its mark, never older.
func (c *call) mark(ch *evm.Chain) {
	_, tip, _ := ch.Cursor()
	c.Mark(reply.Mark{Chain: ch, Tip: tip})
}

// beginsAbove reports whether the sums of a chain lack its first blocks.
func beginsAbove(c *evm.Chain) bool {
	gaps, _ := c.Gaps()
	return slices.ContainsFunc(gaps, func(g view.Gap) bool { return g.Kind == view.GapBelow || g.Kind == view.GapUnsummed })
}

// neverTraced reports whether no node has had a chain's traces. What lacks only those
// of some blocks is served: they are named as a gap, and are made up for.
func neverTraced(c *evm.Chain) bool {
	gaps, _ := c.Gaps()
	return slices.ContainsFunc(gaps, func(g view.Gap) bool { return g.Kind == view.GapUntraced })
}

// add adds a chain, unless the metric is not known of it.
func (s *series) add(c *evm.Chain) (known bool, err error) {
	state, edition, err := c.RollupState()
	if err != nil {
		return false, err
	}
	if state.Untraced && s.metric.Traced() && neverTraced(c) {
		if s.why = "no node traces all transactions"; s.group == noGroup {
			s.why = "its node does not trace all transactions"
		}
		return false, nil
	}
	if s.metric.Cumulative() && beginsAbove(c) {
		s.why = "it adds up all blocks of a chain, and begins above the first one"
		return false, nil
	}
	src := source{chain: c, id: c.ID(), edition: edition, next: state.Next, time: state.Last}
	if src.first, src.last, src.begun = state.Bounds(s.interval); src.begun {
		if !s.begun {
			s.begun, s.first, s.last = true, src.first, src.last
		}
		s.first, s.last = min(s.first, src.first), max(s.last, src.last)
	}
	if state.Before > 0 {
		if !src.begun {
			return false, fmt.Errorf("%w: after blocks were removed they are computed again", index.ErrRollup)
		}
		if s.held == nil || src.last < s.heldAt {
			s.held, s.heldAt = c, src.last
		}
	}
	s.sources = append(s.sources, src)
	s.hash = kept.Mix(s.hash, binary.LittleEndian.Uint64(src.id[:])+uint64(edition))
	return true, nil
}

// window returns the newest and the oldest bucket that begins at since or later,
// before until, and is older than before; ok is false if there is none.
func (s *series) window(since, until uint64, before uint32) (newest, oldest uint32, ok bool) {
	if !s.begun || until == 0 || before == 0 {
		return 0, 0, false
	}
	newest, oldest = min(s.last, s.interval.Number(until-1), before-1), s.first
	if since > 0 {
		n := s.interval.Number(since)
		if s.interval.Start(n) < int64(since) {
			n++
		}
		oldest = max(oldest, n)
	}
	return newest, oldest, newest >= oldest
}

// failure is the answer when the metrics of a chain cannot be read.
func (c *call) failure(ch *evm.Chain, err error) *door.Failure { return failure(&c.Request, ch, err) }

// Fees returns what all transactions of a chain have paid, in wei. all is false if the sums
// lack the first of them.
func Fees(r *reply.Request, of *evm.Chain) (wei uint256.Int, all bool, f *door.Failure) {
	if beginsAbove(of) {
		return wei, false, nil
	}
	list, err := of.Windows([]uint32{0}, false)
	if err == nil && len(list) != 1 {
		err = fmt.Errorf("%w: %d windows", index.ErrRollup, len(list))
	}
	if err != nil {
		return wei, false, failure(&evm.Request{Request: reply.Request{Desk: r.Desk, Ctx: r.Ctx}}, of, err)
	}
	return list[0].Fees, true, nil
}

// failure is the answer when the metrics of a chain cannot be read.
func failure(r *evm.Request, ch *evm.Chain, err error) *door.Failure {
	r.Chain, r.Info = ch, ch.Info
	if errors.Is(err, index.ErrRollup) {
		return door.Unavailable("chain " + r.Info.ChainID + " cannot answer this now: " + err.Error())
	}
	return r.Unreadable(err)
}
