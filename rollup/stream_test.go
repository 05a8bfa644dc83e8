package rollup_test

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"time"
)

// chooser makes the choices of random streams: seeded ones, or a fuzzer's.
type chooser interface {
	below(n int) int // 0 to n-1
	word() uint64
}

type seeded struct{ *rand.Rand }

func seed(n uint64) seeded            { return seeded{rand.New(rand.NewPCG(n, 1))} }
func (s seeded) below(n int) int      { return s.IntN(n) }
func (s seeded) word() uint64         { return s.Uint64() }
func pick[T any](c chooser, of []T) T { return of[c.below(len(of))] }

// fuzzed reads choices from bytes, and chooses 0 when there are no more.
type fuzzed struct{ rest []byte }

func (f *fuzzed) below(n int) int { return f.take(2) % n }

func (f *fuzzed) word() uint64 { return uint64(f.take(4))<<32 | uint64(f.take(4)) }

func (f *fuzzed) take(n int) int {
	var b [8]byte
	f.rest = f.rest[copy(b[:n], f.rest):]
	return int(binary.LittleEndian.Uint64(b[:]))
}

func at(y int, m time.Month, d, hour, minute int) uint64 {
	return uint64(time.Date(y, m, d, hour, minute, 0, 0, time.UTC).UnixMilli())
}

// begins are times of first blocks: near the edges that there are.
var begins = []uint64{
	0, 1, 999,
	at(1970, 1, 1, 23, 59), at(1970, 1, 4, 23, 59), at(1970, 1, 5, 0, 0), at(1970, 1, 31, 23, 50),
	at(1972, 2, 28, 23, 0), at(1999, 12, 31, 23, 59), at(2000, 2, 28, 23, 59), at(2000, 2, 29, 12, 0),
	at(2015, 12, 27, 22, 0), at(2020, 9, 23, 11, 2), at(2023, 1, 1, 0, 0), at(2023, 2, 28, 23, 59), at(2023, 12, 31, 23, 58),
	at(2024, 2, 28, 23, 59), at(2024, 2, 29, 23, 59), at(2024, 12, 29, 23, 0), at(2100, 2, 28, 23, 59), at(2100, 12, 31, 0, 0),
	at(3883, 11, 30, 23, 59), at(3883, 12, 7, 23, 59), at(3883, 12, 8, 13, 59), at(3883, 12, 8, 15, 0),
	1<<63 - 1, 1<<64 - 1 - 1e12, 1<<64 - 1,
}

// gaps are times between blocks, in milliseconds, ascending.
var gaps = []uint64{
	0, 0, 0, 1, 250, 999, 1000, 1001, 2000, 12_345,
	59_999, 600_000, 3_599_999, 3_600_000, 3_600_001, 5 * hours,
	24*hours - 1, 24 * hours, 24*hours + 1, 40 * hours, 7*days - 1, 7 * days, 11 * days,
	28 * days, 29 * days, 31*days - 1, 31 * days, 100 * days, 365 * days, 366 * days, 1461 * days,
}

const (
	hours = uint64(time.Hour / time.Millisecond)
	days  = 24 * hours
)

var prices = []*big.Int{
	new(big.Int), big.NewInt(1), big.NewInt(25e9), big.NewInt(25e9 + 1), big.NewInt(470e9), most64,
	new(big.Int).Lsh(big.NewInt(1), 128), new(big.Int).Lsh(big.NewInt(1), 192), new(big.Int).Lsh(big.NewInt(1), 255),
	new(big.Int).Sub(most256, big.NewInt(1)), most256,
}

var gasAmounts = []uint64{0, 1, 21_000, 8_000_000, 15_000_000, 1<<32 - 1, 1 << 53, 1<<53 + 1, 1 << 63, 1<<64 - 1}

// style is what the blocks of a stream have in common.
type style struct {
	accounts []account
	gaps     []uint64
	prices   []*big.Int
	gas      []uint64
	untraced int // one of so many blocks; 0: none
	txs      int // at most
}

func randomStyle(c chooser) style {
	s := style{
		accounts: make([]account, 2+c.below(20)),
		gaps:     gaps[:4+c.below(len(gaps)-3)],
		prices:   prices[:2+c.below(len(prices)-1)],
		gas:      gasAmounts[:3+c.below(len(gasAmounts)-2)],
		untraced: pick(c, []int{0, 0, 2, 30}),
		txs:      1 + c.below(5),
	}
	for i := range s.accounts { // the first is the zero address, the second a precompile
		s.accounts[i][19] = byte(i)
		if i > 1 {
			s.accounts[i][0] = 0xaa
		}
	}
	return s
}

// randomChain returns a genesis block and n more.
func randomChain(c chooser, n int) []block {
	s := randomStyle(c)
	now := pick(c, begins)
	genesis := s.block(c, pick(c, []uint64{0, now, now - min(now, 1000), now + 1}))
	chain := []block{genesis}
	for range n {
		chain = append(chain, s.block(c, now))
		now = s.later(c, now)
	}
	return chain
}

// later returns the time of the next block: a gap on, at an edge or right before
// it, or earlier, as no chain has it.
func (s *style) later(c chooser, now uint64) uint64 {
	switch c.below(40) {
	case 0:
		return now - min(now, s.gaps[c.below(len(s.gaps))])
	case 1, 2, 3, 4:
		interval := pick(c, intervalNames)
		if len(s.gaps) < len(gaps)/2 {
			interval = "hour"
		}
		edge := uint64(step(interval, bucketStart(interval, now), -1).UnixMilli())
		return max(now, edge-uint64(c.below(2)))
	}
	later := now + pick(c, s.gaps) + uint64(c.below(3))
	return max(later, now) // does not go beyond 64 bits
}

func (s *style) block(c chooser, now uint64) block {
	b := block{time: now, gas: pick(c, s.gas), traced: s.untraced == 0 || c.below(s.untraced) > 0}
	if c.below(4) == 0 {
		return b
	}
	for range c.below(s.txs + 1) {
		b.txs = append(b.txs, s.tx(c))
	}
	return b
}

func (s *style) tx(c chooser) tx {
	t := tx{from: pick(c, s.accounts), gas: pick(c, s.gas), price: pick(c, s.prices)}
	if c.below(8) == 0 {
		t.gas = c.word()
	}
	what := c.below(10)
	if what > 0 { // to itself, too
		to := pick(c, s.accounts)
		t.to = &to
	}
	switch what {
	case 0: // may have failed
		if c.below(3) > 0 {
			t.makers = append(t.makers, t.from)
		}
	case 1, 2, 3:
		for range c.below(4) {
			t.moves = append(t.moves, move{pick(c, s.accounts), pick(c, s.accounts)})
		}
	case 4:
		for range c.below(4) {
			t.makers = append(t.makers, pick(c, s.accounts))
		}
	}
	return t
}
