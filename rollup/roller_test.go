package rollup_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"

	"quorate/rollup"
)

var (
	alice, bob, carol = account{1}, account{2}, account{3}
	nobody            account // the zero address
	gwei              = big.NewInt(1e9)

	someTxs = []tx{
		{from: alice, to: &bob, gas: 21_000, price: gwei},
		{from: bob, to: &bob, gas: 50_000, price: big.NewInt(4e9), moves: []move{{nobody, carol}}},
		{from: alice, gas: 1_000_000, price: big.NewInt(2e9), makers: []account{alice}},
	}
)

// Figures that were worked out by hand hold the oracle to the rules, too.
func TestFiguresByHand(t *testing.T) {
	t.Parallel()
	const day = 86_400_000
	begin := at(2024, 2, 28, 23, 59) + 50_000 // 10 seconds are left of the day
	chain := []block{
		{time: 0, gas: 5, txs: someTxs[:1]}, // genesis counts for nothing
		{time: begin, gas: 100, traced: true, txs: someTxs[:1]},
		{time: begin + 4000, gas: 60_000, traced: true, txs: someTxs[1:2]},
		{time: begin + 4000, gas: 20_000, traced: true},
		{time: begin + 10_000, gas: 1, traced: true, txs: someTxs[2:]}, // February 29
		{time: begin + 10_000 + 2*day, gas: 0, traced: true, txs: []tx{
			{from: carol, to: &carol, gas: 1, price: gwei, makers: []account{alice, bob}},
			{from: carol, to: &alice, gas: 2, price: big.NewInt(0)},
		}},
	}
	days := map[string]string{ // March 2, 1, February 29, 28
		"txCount":             "2 0 1 2",
		"activeAddresses":     "2 0 1 4",
		"activeSenders":       "1 0 1 3",
		"cumulativeTxCount":   "5 3 3 2",
		"cumulativeAddresses": "4 4 4 4",
		"cumulativeContracts": "1 1 0 0",
		"cumulativeDeployers": "2 1 1 0",
		"contracts":           "2 0 1 0",
		"deployers":           "2 0 1 0",
		"gasUsed":             "3 0 1000000 71000",
		"feesPaid":            "1000000000 0 2000000000000000 221000000000000",
		"avgGasPrice":         "500000000 0 2000000000 2500000000",
		"maxGasPrice":         "1000000000 0 2000000000 4000000000",
		"avgTps":              "0.000011574074074074073 0 0.16666666666666666 0.25",
		"avgGps":              "0 0 0.16666666666666666 20000",
		"maxTps":              "0.000011574074074074073 0 0.16666666666666666 0.25",
		"maxGps":              "0 0 0.16666666666666666 20000",
	}
	d, o := rolled(t, chain), newOracle(chain)
	if len(days) != rollup.Metrics {
		t.Fatalf("%d metrics", len(days))
	}
	newest := rollup.Day.Number(chain[5].time / 1000)
	_, records := d.fill(t, rollup.Day, newest, newest-10)
	for name, want := range days {
		m, ok := rollup.ParseMetric(name)
		if !ok {
			t.Fatal(name)
		}
		var got, oracles []string
		for i := range records {
			v := m.Of(&records[i])
			got = append(got, string(v.Append(nil)))
		}
		for _, p := range o.series("day", 0, 3) {
			oracles = append(oracles, jsNumber(p.figures[name]))
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		if got := strings.Join(oracles, " "); got != want {
			t.Errorf("the oracle's %s: %s, want %s", name, got, want)
		}
	}
}

// Time starts at the genesis block if that is of the first block's day, and rates
// are of whole seconds.
func TestStartOfTime(t *testing.T) {
	t.Parallel()
	day := at(2024, 2, 28, 0, 0)
	for _, c := range []struct {
		name                   string
		chain                  []block
		avgTps, avgGps, maxTps string
	}{
		{"genesis of the day", []block{
			{time: day}, {time: day + 2000, gas: 10, txs: someTxs}, {time: day + 4000, gas: 30, txs: someTxs[:1]},
		}, "1", "10", "1.5"},
		{"genesis of the day before", []block{
			{time: day - 1}, {time: day + 2000, gas: 10, txs: someTxs}, {time: day + 4000, gas: 30, txs: someTxs[:1]},
		}, "0.5", "15", "0.5"},
		{"only one block", []block{{time: day - 1}, {time: day, gas: 10, txs: someTxs}}, "0", "0", "0"},
		{"only one block, and genesis", []block{{time: day}, {time: day + 4000, gas: 10, txs: someTxs}}, "0.75", "2.5", "0.75"},
		{"the first second has two blocks", []block{
			{time: 0}, {time: day, gas: 10, txs: someTxs}, {time: day + 999, gas: 7, txs: someTxs}, {time: day + 1000, gas: 4, txs: someTxs[:2]},
		}, "2", "4", "2"},
		{"a millisecond apart", []block{
			{time: day}, {time: day + 1500, gas: 10, txs: someTxs}, {time: day + 1501, gas: 20, txs: someTxs}, {time: day + 3999},
		}, "2", "10", "6"},
		{"the second of genesis", []block{
			{time: day}, {time: day + 1, gas: 10, txs: someTxs}, {time: day + 2000, gas: 20, txs: someTxs[:1]},
		}, "0.5", "10", "0.5"},
		{"genesis after the first", []block{
			{time: day + 5000}, {time: day, gas: 10, txs: someTxs}, {time: day + 2000, gas: 20, txs: someTxs[:1]},
		}, "0.5", "10", "0.5"},
	} {
		number := rollup.Day.Number(day / 1000)
		_, r := rolled(t, c.chain).fill(t, rollup.Day, number, number)
		p := newOracle(c.chain).series("day", 0, 0)[0]
		for m, want := range map[rollup.Metric]string{rollup.AvgTps: c.avgTps, rollup.AvgGps: c.avgGps, rollup.MaxTps: c.maxTps} {
			v := m.Of(&r[0])
			if got := string(v.Append(nil)); got != want {
				t.Errorf("%s: %s is %s, want %s", c.name, m, got, want)
			}
			if got := jsNumber(p.figures[m.String()]); got != want {
				t.Errorf("%s: the oracle's %s is %s, want %s", c.name, m, got, want)
			}
		}
	}
}

// A block without transactions needs no traces; the genesis block neither.
func TestUntraced(t *testing.T) {
	t.Parallel()
	chain := []block{
		{txs: someTxs}, {time: 1000}, {time: 2 * days, traced: true, txs: someTxs},
		{time: 3 * days, txs: someTxs[:1]}, {time: 4 * days, traced: true, txs: someTxs},
	}
	d := rolled(t, chain)
	numbers, records := d.fill(t, rollup.Day, 10, 0)
	for k, r := range records {
		if want := numbers[k] >= 3; r.Untraced != want {
			t.Errorf("day %d: untraced: %v", numbers[k], r.Untraced)
		}
	}
	if s, err := d.lastState(); err != nil || !s.Untraced || len(records) != 11 {
		t.Errorf("%+v, %v; %d days", s, err, len(records))
	}
	if s, err := rolled(t, chain[:3]).lastState(); err != nil || s.Untraced {
		t.Errorf("%+v, %v", s, err)
	}
}

// Without transactions and gas there is no rate, whatever time has passed.
func TestNoRate(t *testing.T) {
	t.Parallel()
	d := rolled(t, []block{{}, {time: 1, gas: 5, txs: someTxs}, {time: 1, txs: someTxs}, {time: 3}})
	_, r := d.fill(t, rollup.Day, 0, 0)
	if r[0].MaxTxs != (rollup.Rate{}) || r[0].MaxGas != (rollup.Rate{}) || r[0].Blocks != 3 {
		t.Errorf("%+v", r[0])
	}
}

// Changed yields what is full in its order, and no more than once; the
// open buckets always, and last.
func TestChanged(t *testing.T) {
	t.Parallel()
	r, err := newDatabase().open()
	if err != nil {
		t.Fatal(err)
	}
	changed := func() (list []bucketKey) {
		r.Changed(func(b *rollup.Bucket) { list = append(list, bucketKey{b.Interval, b.Number}) })
		return list
	}
	for k, c := range []struct {
		time uint64
		want []bucketKey
	}{
		{99 * days, nil},
		{0, []bucketKey{{0, 0}, {1, 0}, {2, 0}, {3, 0}}},
		{1, []bucketKey{{0, 0}, {1, 0}, {2, 0}, {3, 0}}},
		{5 * hours, []bucketKey{{0, 0}, {0, 5}, {1, 0}, {2, 0}, {3, 0}}},
		{35 * days, []bucketKey{{0, 5}, {1, 0}, {2, 0}, {3, 0}, {0, 35 * 24}, {1, 35}, {2, 5}, {3, 1}}},
	} {
		if err := feed(r, &block{time: c.time}); err != nil {
			t.Fatal(err)
		}
		if got := changed(); !slices.Equal(got, c.want) {
			t.Errorf("after block %d: %v, want %v", k, got, c.want)
		}
	}
	for n := range uint64(3) {
		if err := feed(r, &block{time: 35*days + n*hours}); err != nil {
			t.Fatal(err)
		}
	}
	want := []bucketKey{{0, 35 * 24}, {0, 35*24 + 1}, {0, 35*24 + 2}, {1, 35}, {2, 5}, {3, 1}}
	if got := changed(); !slices.Equal(got, want) {
		t.Errorf("after three hours: %v, want %v", got, want)
	}
	if got := changed(); !slices.Equal(got, want[2:]) {
		t.Errorf("at once again: %v, want %v", got, want[2:])
	}
}

// failing fails once, after so many calls.
type failing struct {
	left int
	*database
}

var errStamps = errors.New("the disk is gone")

func (f *failing) Stamp(a *rollup.Address) (rollup.Stamp, error) {
	if f.left--; f.left == -1 {
		return rollup.Stamp{}, errStamps
	}
	return f.database.Stamp(a)
}

func TestStampsFail(t *testing.T) {
	t.Parallel()
	b := block{time: 1, traced: true, txs: someTxs}
	for left := 0; ; left++ {
		r, err := rollup.NewRoller(rollup.State{Next: 1}, nil, &failing{left, newDatabase()})
		if err != nil {
			t.Fatal(err)
		}
		if err = feed(r, &b); err == nil {
			if want := 3*2 - 1 + 2 + 1; left != want { // from and to, a transfer's two, a maker
				t.Errorf("%d stamps were read, want %d", left, want)
			}
			return
		}
		again := feed(r, &b)
		if !errors.Is(err, errStamps) || !errors.Is(again, errStamps) || r.State().Next != 1 {
			t.Fatalf("call %d: %v, then %v; at %d", left, err, again, r.State().Next)
		}
	}
}

func TestNewRollerRefuses(t *testing.T) {
	t.Parallel()
	d := rolled(t, randomChain(seed(7), 30))
	s, err := d.lastState()
	if err != nil {
		t.Fatal(err)
	}
	var open []rollup.Bucket
	for i := rollup.Hour; i < rollup.Intervals; i++ {
		_, last, _ := s.Bounds(i)
		open = append(open, rollup.Bucket{Interval: i, Number: last})
	}
	change := func(k int, f func(b *rollup.Bucket)) []rollup.Bucket {
		list := append([]rollup.Bucket{}, open...)
		f(&list[k])
		return list
	}
	for _, bad := range [][]rollup.Bucket{
		nil, open[:3], append(open[:4:4], open[3]),
		change(0, func(b *rollup.Bucket) { b.Number++ }),
		change(3, func(b *rollup.Bucket) { b.Number-- }),
		change(1, func(b *rollup.Bucket) { b.Interval = rollup.Week }),
	} {
		if r, err := rollup.NewRoller(s, bad, d); err == nil {
			t.Errorf("%+v: %+v", bad, r.State())
		}
	}
	if _, err := rollup.NewRoller(s, open, d); err != nil {
		t.Error(err)
	}
}
