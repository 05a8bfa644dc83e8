package evmchain

import (
	"math"
	"slices"

	"quorate/engine/chain/evm"
)

// heliconGap is how long before Helicon the last block may come that is executed before
// its acceptance; between that and Helicon there is none.
const heliconGap = 10_000 // milliseconds

// quietFee is the minimum price in wei from Helicon on, as if validators had voted for it
// long since: at 1 wei the price moves too rarely to be seen.
const quietFee = 1_000_000_000

// late is what a block has that is executed after its acceptance (ACP-194).
type late struct {
	// What its header says: the exponents of the gas target and of the minimum price,
	// the last block that it settles, and the gas clock after that.
	target, least uint64
	settled       uint64
	unix, part    uint64
	excess        uint64
	baseFee       uint64   // the executed one; the header has an upper bound
	headerFee     uint64   // that bound
	leastLimit    uint64   // of gas that each transaction has in a busy block
	crowded       bool     // the block has room for one transaction
	after         gasClock // once it is executed
	post          evm.Hash // the root of the state then
	bloom         bloom    // of what it settles
}

// stream is the end of the execution stream as the next block finds it.
type stream struct {
	begun   bool
	queue   []*block // accepted and not settled
	settled uint64   // the block before them
	from    gasClock // after that one
	clock   gasClock // after the last one
}

// settleTimes works out the last block of the old kind, and how many blocks' time passes
// until the next one.
func (c *Config) settleTimes() {
	c.transition = math.MaxUint64
	if c.Helicon.IsZero() || !c.Atomic {
		return
	}
	helicon := uint64(max(c.Helicon.UnixMilli(), heliconGap)) // not negative
	from := helicon - heliconGap
	lo, hi := uint64(0), uint64(1)
	for c.regular(hi) < from {
		lo, hi = hi, 2*hi
	}
	for lo < hi {
		if mid := lo + (hi-lo)/2; c.regular(mid) >= from {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	// A genesis block says nothing of the gas target, so it is none of those that the first
	// block of the new kind may stand on: its time is long past on real networks.
	c.transition = max(1, lo)
	for c.regular(c.transition+1+c.pause) < helicon {
		c.pause++
	}
	const load, perTx = 120_000, 2_000_000 // gas of a transaction: about, and at most on average
	need := max(uint64(c.TxsPerBlock)*perTx/secondsPerBlock/rateOfTarget,
		uint64(c.TxsPerBlock)*load*1000/uint64(c.BlockInterval.Milliseconds())) // positive
	if need > leastTarget {
		c.targetExponent = exponentFor(need, leastTarget, targetConversion)
	}
	c.target = grown(leastTarget, c.targetExponent, targetConversion)
	c.leastExponent = exponentFor(quietFee, 1, priceConversion)
	c.leastFee = grown(1, c.leastExponent, priceConversion)
}

// late reports whether a block is executed after its acceptance.
func (c *Config) late(n uint64) bool { return n > c.transition && !c.Helicon.IsZero() }

// ticked is the height after so many calls of Advance, with those that passed after the
// last block of the old kind.
func (c *Config) ticked(n uint64) (height, paused uint64) {
	height = c.Blocks + n
	if c.transition < c.Blocks || height <= c.transition {
		return height, 0
	}
	paused = min(height-c.transition, c.pause)
	return height - paused, paused
}

// open sets what a block of the new kind has before it is known what is in it.
func (c *Chain) open(b *block) {
	s, at := &c.stream, c.cfg.timeOf(b.number)
	if !s.begun {
		s.settled, s.begun = b.number-1, true
		s.from = clockAt(c.cfg.timeOf(s.settled), c.cfg.target, baseFee(s.settled))
		s.clock = s.from
	}
	for len(s.queue) > 0 && s.queue[0].timeMilli+tauMilli <= at && !s.queue[0].late.after.later(at-tauMilli) {
		b.settles = append(b.settles, s.queue[0])
		s.settled, s.from, s.queue = s.queue[0].number, s.queue[0].late.after, s.queue[1:]
	}
	l := &late{
		target: c.cfg.targetExponent, least: c.cfg.leastExponent,
		settled: s.settled, unix: s.from.unix, part: s.from.part, excess: s.from.excess,
	}
	worst, waiting := s.from, uint64(0)
	for _, q := range s.queue {
		worst.before(q.timeMilli)
		worst.after(q.gasUsed, c.cfg.target, c.cfg.leastFee)
		waiting += q.gasUsed
	}
	worst.before(at)
	s.clock.before(at)
	l.headerFee, l.baseFee = worst.price(), s.clock.price()
	full := c.cfg.gasLimitOf(b.number)
	l.crowded = waiting > openBlocks*full
	if wave := b.number / 16; mix(wave)%3 == 0 && waiting+full <= openBlocks*full {
		l.leastLimit = full * 2 / 5 / uint64(c.cfg.TxsPerBlock) // positive
	}
	for _, q := range b.settles {
		for _, t := range q.txs {
			l.bloom.merge(&t.bloom)
		}
	}
	b.late = l
}

// close puts a block into the stream once it is known what is in it.
func (c *Chain) close(b *block) {
	s := &c.stream
	s.clock.after(b.executed, c.cfg.target, c.cfg.leastFee)
	b.late.after = s.clock
	s.queue = append(slices.Clip(s.queue), b)
}

// streamAt is the execution stream after a block. The caller holds the lock.
func (c *Chain) streamAt(height uint64) (s stream) {
	l := c.records[height].late
	if l == nil {
		return s
	}
	s = stream{begun: true, settled: l.settled, clock: l.after}
	s.from = gasClock{unix: l.unix, part: l.part, excess: l.excess, target: c.cfg.target, least: c.cfg.leastFee}
	if !c.cfg.late(l.settled) {
		s.from.least = 1
	}
	for n := l.settled + 1; n <= height; n++ {
		s.queue = append(s.queue, c.workOut(n))
	}
	return s
}

// post is the root of the state after a block.
func (r *record) post() evm.Hash {
	if r.late != nil {
		return r.late.post
	}
	return r.root
}
