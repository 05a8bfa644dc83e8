package rollup_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"quorate/devnet/torture"
	"quorate/rollup"
)

// windowMax bounds the buckets that are compared at a time.
const windowMax = 300

// checkAll compares all buckets of a chain, or if they are too many those near
// random blocks, and some beyond both ends.
func checkAll(tb testing.TB, c chooser, o *oracle, d *database) {
	tb.Helper()
	for i := rollup.Hour; i < rollup.Intervals; i++ {
		s, err := d.lastState()
		if err != nil {
			tb.Fatal(err)
		}
		first, last, ok := s.Bounds(i)
		if !ok {
			tb.Fatal("no bounds")
		}
		if last-first < windowMax {
			check(tb, o, d, i, last+uint32(c.below(4)), first-min(first, uint32(c.below(4))))
			check(tb, o, d, i, first-min(first, 1), 0)
			continue
		}
		check(tb, o, d, i, last+1, last-2)
		for range 4 {
			near := i.Number(pick(c, o.blocks).time / 1000)
			newest := near + uint32(c.below(windowMax/2))
			check(tb, o, d, i, newest, newest-min(newest, uint32(c.below(windowMax))))
		}
	}
}

// Random chains, with crashes and restarts anywhere, have the figures that the
// oracle has, and the very bytes that they have without.
func TestRandomChains(t *testing.T) {
	t.Parallel()
	for n := range uint64(torture.Pick(25, 100)) {
		t.Run(fmt.Sprint("seed=", n), func(t *testing.T) {
			t.Parallel()
			checkChain(t, seed(n), 1+seed(n).below(250))
		})
	}
}

func checkChain(tb testing.TB, c chooser, blocks int) {
	tb.Helper()
	chain := randomChain(c, blocks)
	plain := rolled(tb, chain)
	checkAll(tb, c, newOracle(chain), plain)
	for _, often := range []int{1, 3, 20, 1 << 15} { // the last only at the end
		d := newDatabase()
		d.roll(tb, chain, func() int {
			if c.below(often) > 0 {
				return goOn
			}
			return pick(c, []int{commit, restart, crash})
		})
		d.same(tb, plain)
	}
}

// A chain with only its genesis block has no buckets.
func TestGenesisOnly(t *testing.T) {
	t.Parallel()
	chain := randomChain(seed(1), 0)
	d := rolled(t, chain)
	s, err := d.lastState()
	if err != nil || s.Next != 1 || s.Begun {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, _, ok := s.Bounds(rollup.Day); ok || len(d.buckets) != 0 || len(d.stamps) != 0 {
		t.Errorf("buckets %v, stamps %v", d.buckets, d.stamps)
	}
	more := append(chain, randomChain(seed(2), 20)[1:]...)
	d.roll(t, more, func() int { return restart })
	d.same(t, rolled(t, more))
}

// Several chains have together the sums of their figures, in whatever order
// they are added.
func TestTotals(t *testing.T) {
	t.Parallel()
	for n := range uint64(torture.Pick(10, 40)) {
		t.Run(fmt.Sprint("seed=", n), func(t *testing.T) {
			t.Parallel()
			c := seed(1000 + n)
			begin := begins[c.below(len(begins)-5)]
			var chains []*database
			var oracles []*oracle
			for range 2 + c.below(4) {
				chain := randomChain(c, 1+c.below(60))
				move := begin + uint64(c.below(50))*days - chain[1].time // wraps around, and back
				for k := range chain {
					chain[k].time += move
				}
				chains, oracles = append(chains, rolled(t, chain)), append(oracles, newOracle(chain))
			}
			checkTotals(t, c.Rand, oracles, chains)
		})
	}
}

func checkTotals(t *testing.T, rnd *rand.Rand, oracles []*oracle, chains []*database) {
	t.Helper()
	newest := rollup.Day.Number(oracles[0].blocks[len(oracles[0].blocks)-1].time/1000) + 20
	oldest := newest - min(newest, 100)
	var records [][]rollup.Record // by chain, the newest first
	var points [][]dated
	for k, d := range chains {
		_, r := d.fill(t, rollup.Day, newest, oldest)
		records = append(records, r)
		s, err := d.lastState()
		if err != nil {
			t.Fatal(err)
		}
		first, last, _ := s.Bounds(rollup.Day)
		points = append(points, oracles[k].series("day", int(last)-int(newest), int(last)-int(max(oldest, first))))
	}
	for k := range int(newest - oldest) {
		var there []point
		for _, p := range points {
			if k < len(p) {
				there = append(there, p[k].point)
			}
		}
		for m := rollup.Metric(0); m < rollup.Metrics; m++ {
			var sum rollup.Total
			for _, chain := range rnd.Perm(len(records)) {
				if k < len(records[chain]) {
					sum.Add(m, &records[chain][k])
				}
			}
			got, want := string(sum.Append(m, nil)), jsNumber(together(m.String(), there))
			if got != want {
				t.Fatalf("%s of %d chains %d days back: %s, want %s", m, len(there), k, got, want)
			}
		}
	}
}

// Sums over chains stay at their highest value.
func TestTotalSaturates(t *testing.T) {
	t.Parallel()
	chain := []block{{}, {time: 1000, txs: []tx{{to: &account{}, gas: 1, price: most256}}, traced: true}}
	d := rolled(t, chain)
	_, r := d.fill(t, rollup.Day, 0, 0)
	for m, want := range map[rollup.Metric]*big.Int{
		rollup.FeesPaid: most256, rollup.MaxGasPrice: most256, rollup.TxCount: big.NewInt(2),
	} {
		var sum rollup.Total
		sum.Add(m, &r[0])
		sum.Add(m, &r[0])
		if got := string(sum.Append(m, nil)); got != want.String() {
			t.Errorf("%s: %s, want %s", m, got, want)
		}
	}
}
