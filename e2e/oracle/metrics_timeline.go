package oracle

import (
	"cmp"
	"math"
	"math/big"
	"slices"

	"github.com/ava-labs/libevm/common"
)

// timeline is when what happened on a chain. All times are whole Unix seconds, in
// milliseconds.
type timeline struct {
	blocks []timed // after genesis
	runs   []run
	traced bool
	// start is when time starts: at genesis if that is of the day of the first
	// block, or else at the first block.
	start int64
	// The times of each first sight of an address, of each creation, and of each
	// first creation by somebody; sorted.
	seen, made, deployed []int64
}

// timed is a block with the time that counts.
type timed struct {
	*Block
	at int64
}

// run is the blocks of one second.
type run struct {
	at, since int64 // since is the time of the block before, or the start of time
	txs, gas  *big.Int
}

func newTimeline(c *Chain) *timeline {
	l := &timeline{traced: c.Traced}
	first, makers := make(map[common.Address]int64), make(map[common.Address]int64)
	note := func(m map[common.Address]int64, a common.Address, at int64) {
		if _, known := m[a]; !known {
			m[a] = at
		}
	}
	var last int64
	for _, b := range c.Blocks[1:] {
		last = max(last, b.milli())
		l.blocks = append(l.blocks, timed{b, last})
		for _, tx := range b.Txs {
			_, all := parties(tx)
			for _, a := range all {
				note(first, a, last)
			}
			for _, a := range creators(tx) {
				note(makers, a, last)
				l.made = append(l.made, last)
			}
		}
	}
	l.seen, l.deployed = sortedTimes(first), sortedTimes(makers)
	if len(l.blocks) > 0 {
		const day = 24 * 60 * 60 * 1000
		if l.start = c.Blocks[0].milli(); l.start > l.blocks[0].at || l.start/day != l.blocks[0].at/day {
			l.start = l.blocks[0].at
		}
	}
	l.findRuns()
	return l
}

// milli returns the time that the block itself states: the one that is served.
func (b *Block) milli() int64 { return int64(b.Time) * 1000 }

func sortedTimes(m map[common.Address]int64) (list []int64) {
	for _, at := range m {
		list = append(list, at)
	}
	slices.Sort(list)
	return list
}

func (l *timeline) findRuns() {
	for i, b := range l.blocks {
		if i == 0 || b.at != l.blocks[i-1].at {
			r := run{at: b.at, since: l.start, txs: new(big.Int), gas: new(big.Int)}
			if i > 0 {
				r.since = l.blocks[i-1].at
			}
			l.runs = append(l.runs, r)
		}
		r := &l.runs[len(l.runs)-1]
		r.txs.Add(r.txs, big.NewInt(int64(len(b.Txs))))
		r.gas.Add(r.gas, new(big.Int).SetUint64(b.gasUsed()))
	}
	most := new(big.Int).SetUint64(math.MaxUint64)
	for _, r := range l.runs {
		if r.gas.Cmp(most) > 0 {
			r.gas.Set(most)
		}
	}
}

// value returns a metric in an interval; of avgGasPrice only the sum of the prices.
func (l *timeline) value(name string, from, to int64) *big.Rat {
	switch name {
	case "cumulativeAddresses":
		return whole(before(l.seen, to))
	case "cumulativeContracts":
		return whole(before(l.made, from))
	case "cumulativeDeployers":
		return whole(before(l.deployed, to))
	case "cumulativeTxCount":
		return whole(l.countTxs(math.MinInt64, to))
	case "txCount":
		return whole(l.countTxs(from, to))
	case "contracts":
		return whole(before(l.made, to) - before(l.made, from))
	case "avgTps", "avgGps":
		return l.perSecond(name == "avgTps", from, to)
	case "maxTps", "maxGps":
		return l.fastest(name == "maxTps", from, to)
	case "activeAddresses", "activeSenders", "deployers":
		return l.distinct(name, from, to)
	}
	return l.money(name, from, to)
}

func whole(n int) *big.Rat { return new(big.Rat).SetInt64(int64(n)) }

// before counts the times before one.
func before(times []int64, t int64) int {
	n, _ := slices.BinarySearch(times, t)
	return n
}

// in returns the places of the blocks in an interval: from lo on, below hi.
func (l *timeline) in(from, to int64) (lo, hi int) {
	at := func(b timed, t int64) int { return cmp.Compare(b.at, t) }
	lo, _ = slices.BinarySearchFunc(l.blocks, from, at)
	hi, _ = slices.BinarySearchFunc(l.blocks, to, at)
	return lo, hi
}

func (l *timeline) countTxs(from, to int64) (n int) {
	lo, hi := l.in(from, to)
	for _, b := range l.blocks[lo:hi] {
		n += len(b.Txs)
	}
	return n
}

// distinct counts addresses, each once.
func (l *timeline) distinct(name string, from, to int64) *big.Rat {
	found := make(map[common.Address]bool)
	lo, hi := l.in(from, to)
	for _, b := range l.blocks[lo:hi] {
		for _, tx := range b.Txs {
			senders, list := parties(tx)
			switch name {
			case "activeSenders":
				list = senders
			case "deployers":
				list = creators(tx)
			}
			for _, a := range list {
				found[a] = true
			}
		}
	}
	return whole(len(found))
}

// money returns what the receipts tell of gas and its prices.
func (l *timeline) money(name string, from, to int64) *big.Rat {
	out := new(big.Int)
	lo, hi := l.in(from, to)
	for _, b := range l.blocks[lo:hi] {
		for _, tx := range b.Txs {
			gas, price := new(big.Int).SetUint64(uint64(tx.receipt.GasUsed)), tx.receipt.GasPrice.ToInt()
			switch name {
			case "gasUsed":
				out.Add(out, gas)
			case "feesPaid":
				out.Add(out, gas.Mul(gas, price))
			case "avgGasPrice":
				out.Add(out, price)
			case "maxGasPrice":
				if price.Cmp(out) > 0 {
					out.Set(price)
				}
			}
		}
	}
	return new(big.Rat).SetInt(out)
}

// perSecond divides the transactions, or the gas, of a day by the time from the
// last block before it, or from the start of time, to its last one. What happened
// in the second in which time starts counts not.
func (l *timeline) perSecond(txs bool, from, to int64) *big.Rat {
	lo, hi := l.in(from, to)
	if lo == hi {
		return new(big.Rat)
	}
	sum := new(big.Int)
	for _, b := range l.blocks[lo:hi] {
		switch {
		case b.at <= l.start:
		case txs:
			sum.Add(sum, big.NewInt(int64(len(b.Txs))))
		default:
			sum.Add(sum, new(big.Int).SetUint64(b.gasUsed()))
		}
	}
	start := l.start
	if lo > 0 {
		start = l.blocks[lo-1].at
	}
	return rate(sum, l.blocks[hi-1].at-start)
}

// rate divides by a time in milliseconds, to a number for each second.
func rate(n *big.Int, milli int64) *big.Rat {
	if milli == 0 {
		return new(big.Rat)
	}
	return new(big.Rat).SetFrac(new(big.Int).Mul(n, big.NewInt(1000)), big.NewInt(milli))
}

// fastest returns the highest rate of the runs within an interval.
func (l *timeline) fastest(txs bool, from, to int64) *big.Rat {
	most := new(big.Rat)
	for _, r := range l.runs {
		if r.at == l.start || r.at < from || r.at >= to {
			continue
		}
		n := r.gas
		if txs {
			n = r.txs
		}
		if v := rate(n, r.at-r.since); v.Cmp(most) > 0 {
			most = v
		}
	}
	return most
}
