package rollup_test

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The oracle recomputes metrics from recorded blocks with sets and fractions,
// slowly and plainly. This file uses nothing of the package under test.

type account [20]byte

type block struct {
	time   uint64 // Unix milliseconds
	gas    uint64
	traced bool
	txs    []tx
}

type tx struct {
	from   account
	to     *account // nil: makes a contract
	gas    uint64
	price  *big.Int
	moves  []move
	makers []account // who made contracts
}

type move struct{ from, to account }

var (
	most256   = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))
	most64    = new(big.Int).SetUint64(1<<64 - 1)
	lastStart = time.Date(3883, 12, 8, 14, 0, 0, 0, time.UTC) // of all hours that there are
)

func atMost(limit, n *big.Int) *big.Int {
	if n.Cmp(limit) > 0 {
		return limit
	}
	return n
}

// bucketStart returns the beginning of the bucket that a time lies in.
func bucketStart(interval string, ms uint64) time.Time {
	t := lastStart
	if ms < uint64(lastStart.UnixMilli()) {
		t = time.UnixMilli(int64(ms)).UTC()
	}
	y, m, d := t.Date()
	switch interval {
	case "hour":
		return time.Date(y, m, d, t.Hour(), 0, 0, 0, time.UTC)
	case "week":
		for ; t.Weekday() != time.Monday; t = t.AddDate(0, 0, -1) {
		}
		y, m, d = t.Date()
	case "month":
		d = 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// step goes n buckets back, or ahead if n is below 0.
func step(interval string, start time.Time, n int) time.Time {
	switch interval {
	case "hour":
		return time.Unix(start.Unix()-int64(n)*3600, 0).UTC()
	case "day":
		return start.AddDate(0, 0, -n)
	case "week":
		return start.AddDate(0, 0, -7*n)
	}
	return start.AddDate(0, -n, 0)
}

type oracle struct {
	blocks []block // without the genesis block; times do not fall and are whole seconds
	// start is when time starts.
	start uint64
	// after has the totals after each block.
	after []totals
	// buckets has for each interval and start the first block, and the one after the last.
	buckets map[string]map[int64][2]int
}

type totals struct {
	txs, addresses, contracts, deployers int64
	untraced                             bool
}

func newOracle(chain []block) *oracle {
	o := &oracle{buckets: map[string]map[int64][2]int{}}
	var sum totals
	seen, made := map[account]bool{}, map[account]bool{}
	for i, b := range chain {
		b.time -= b.time % 1000
		if i == 0 {
			o.start = b.time
			continue
		}
		if i > 1 {
			b.time = max(b.time, o.blocks[i-2].time)
		} else if o.start > b.time || !bucketStart("day", o.start).Equal(bucketStart("day", b.time)) {
			o.start = b.time
		}
		o.blocks = append(o.blocks, b)
		sum.txs += int64(len(b.txs))
		for a := range b.addresses(false) {
			seen[a] = true
		}
		for _, a := range b.makers() {
			made[a] = true
			sum.contracts++
		}
		sum.addresses, sum.deployers = int64(len(seen)), int64(len(made))
		sum.untraced = sum.untraced || len(b.txs) > 0 && !b.traced
		o.after = append(o.after, sum)
		for _, interval := range intervalNames {
			if o.buckets[interval] == nil {
				o.buckets[interval] = map[int64][2]int{}
			}
			start := bucketStart(interval, b.time).Unix()
			span, ok := o.buckets[interval][start]
			if !ok {
				span[0] = i - 1
			}
			span[1] = i
			o.buckets[interval][start] = span
		}
	}
	return o
}

var intervalNames = []string{"hour", "day", "week", "month"}

// addresses returns those of all transactions and transfers, or only the senders.
func (b *block) addresses(senders bool) map[account]bool {
	set := map[account]bool{}
	for _, t := range b.txs {
		set[t.from] = true
		if t.to != nil && !senders {
			set[*t.to] = true
		}
		for _, m := range t.moves {
			set[m.from] = true
			if !senders {
				set[m.to] = true
			}
		}
	}
	return set
}

func (b *block) makers() (all []account) {
	for _, t := range b.txs {
		all = append(all, t.makers...)
	}
	return all
}

// point has the figures of a bucket.
type point struct {
	figures  map[string]*big.Rat
	prices   *big.Int
	blocks   int
	txs      int64
	untraced bool
}

// at returns a bucket that is not before the first block's. before is the number
// of blocks up to the end of the bucket before.
func (o *oracle) at(interval string, start time.Time, before int) (p point, end int) {
	span, ok := o.buckets[interval][start.Unix()]
	if !ok {
		span = [2]int{before, before}
	}
	return o.span(span[0], span[1]), span[1]
}

// blocksBefore returns the number of blocks before a bucket.
func (o *oracle) blocksBefore(interval string, start time.Time) (n int) {
	for n < len(o.blocks) && bucketStart(interval, o.blocks[n].time).Before(start) {
		n++
	}
	return n
}

func (o *oracle) span(lo, hi int) point {
	p := point{figures: map[string]*big.Rat{}, prices: new(big.Int), blocks: hi - lo, untraced: o.after[hi-1].untraced}
	gas, fees, highest := new(big.Int), new(big.Int), new(big.Int)
	active, senders, deployers := map[account]bool{}, map[account]bool{}, map[account]bool{}
	contracts := int64(0)
	for _, b := range o.blocks[lo:hi] {
		for _, t := range b.txs {
			used := new(big.Int).SetUint64(t.gas)
			gas.Add(gas, used)
			fees.Add(fees, used.Mul(used, t.price))
			p.prices.Add(p.prices, t.price)
			if t.price.Cmp(highest) > 0 {
				highest = t.price
			}
			p.txs++
		}
		for a := range b.addresses(false) {
			active[a] = true
		}
		for a := range b.addresses(true) {
			senders[a] = true
		}
		for _, a := range b.makers() {
			deployers[a] = true
			contracts++
		}
	}
	p.prices = atMost(most256, p.prices)
	sum := o.after[hi-1]
	for name, n := range map[string]int64{
		"txCount": p.txs, "activeAddresses": int64(len(active)), "activeSenders": int64(len(senders)),
		"contracts": contracts, "deployers": int64(len(deployers)),
		"cumulativeTxCount": sum.txs, "cumulativeAddresses": sum.addresses, "cumulativeDeployers": sum.deployers,
		"cumulativeContracts": sum.contracts - contracts,
	} {
		p.figures[name] = big.NewRat(n, 1)
	}
	p.figures["gasUsed"] = new(big.Rat).SetInt(gas)
	p.figures["feesPaid"] = new(big.Rat).SetInt(atMost(most256, fees))
	p.figures["maxGasPrice"] = new(big.Rat).SetInt(highest)
	p.figures["avgGasPrice"] = divide(p.prices, uint64(p.txs))
	p.figures["avgTps"], p.figures["avgGps"] = o.rates(lo, hi)
	p.figures["maxTps"], p.figures["maxGps"] = o.highestRates(lo, hi)
	return p
}

// before returns the time from which on rates of the blocks from lo on count.
func (o *oracle) before(lo int) uint64 {
	if lo == 0 {
		return o.start
	}
	return o.blocks[lo-1].time
}

// rates divides what came after the start of time by the seconds from the last
// block before to the last one in the span.
func (o *oracle) rates(lo, hi int) (tps, gps *big.Rat) {
	if lo == hi {
		return new(big.Rat), new(big.Rat)
	}
	txs, gas := new(big.Int), new(big.Int)
	for _, b := range o.blocks[lo:hi] {
		if b.time > o.start {
			txs.Add(txs, big.NewInt(int64(len(b.txs))))
			gas.Add(gas, new(big.Int).SetUint64(b.gas))
		}
	}
	elapsed := (o.blocks[hi-1].time - o.before(lo)) / 1000
	return divide(txs, elapsed), divide(gas, elapsed)
}

// highestRates takes blocks of one second as one.
func (o *oracle) highestRates(lo, hi int) (tps, gps *big.Rat) {
	tps, gps = new(big.Rat), new(big.Rat)
	for i := lo; i < hi; {
		txs, gas, first := new(big.Int), new(big.Int), i
		for ; i < hi && o.blocks[i].time == o.blocks[first].time; i++ {
			txs.Add(txs, big.NewInt(int64(len(o.blocks[i].txs))))
			gas.Add(gas, new(big.Int).SetUint64(o.blocks[i].gas))
		}
		elapsed := (o.blocks[first].time - o.before(first)) / 1000
		gas.Set(atMost(most64, gas))
		for _, r := range []struct {
			top    *big.Rat
			amount *big.Int
		}{{tps, txs}, {gps, gas}} {
			if f := divide(r.amount, elapsed); f.Cmp(r.top) > 0 {
				r.top.Set(f)
			}
		}
	}
	return tps, gps
}

type dated struct {
	start time.Time
	point
}

// series returns the points of buckets that are so many before that of the last
// block, the newest first. newest may be below 0.
func (o *oracle) series(interval string, newest, oldest int) (list []dated) {
	last := bucketStart(interval, o.blocks[len(o.blocks)-1].time)
	before := o.blocksBefore(interval, step(interval, last, oldest))
	for n := oldest; n >= newest; n-- {
		p := dated{start: step(interval, last, n)}
		p.point, before = o.at(interval, p.start, before)
		list = append(list, p)
	}
	slices.Reverse(list)
	return list
}

func divide(n *big.Int, by uint64) *big.Rat {
	if by == 0 {
		return new(big.Rat)
	}
	return new(big.Rat).SetFrac(n, new(big.Int).SetUint64(by))
}

// together returns a metric of several chains.
func together(metric string, points []point) *big.Rat {
	sum, prices, txs := new(big.Rat), new(big.Int), int64(0)
	for _, p := range points {
		f := p.figures[metric]
		if strings.HasPrefix(metric, "max") {
			if f.Cmp(sum) > 0 {
				sum = f
			}
			continue
		}
		sum = new(big.Rat).Add(sum, f)
		prices.Add(prices, p.prices)
		txs += p.txs
	}
	if metric == "avgGasPrice" {
		return divide(atMost(most256, prices), uint64(txs))
	}
	if sum.IsInt() {
		return new(big.Rat).SetInt(atMost(most256, sum.Num()))
	}
	return sum
}

// jsNumber writes integers with all digits, and anything else as ECMAScript's
// Number::toString does, whose letters are used here.
func jsNumber(x *big.Rat) string {
	if x.IsInt() {
		return x.Num().String()
	}
	f, _ := x.Float64()
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	s := strings.Replace(mantissa, ".", "", 1)
	k := len(s)
	n, err := strconv.Atoi(exponent)
	if err != nil {
		panic(err)
	}
	switch n++; {
	case k <= n && n <= 21:
		return s + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return s[:n] + "." + s[n:]
	case -6 < n && n <= 0:
		return "0." + strings.Repeat("0", -n) + s
	}
	sign := "+"
	if n < 1 {
		sign = "-"
	}
	if k > 1 {
		s = s[:1] + "." + s[1:]
	}
	return s + "e" + sign + strings.TrimPrefix(strconv.Itoa(n-1), "-")
}
