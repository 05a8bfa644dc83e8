package rollup_test

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	"github.com/holiman/uint256"

	"quorate/rollup"
)

// database keeps what a roller makes in its stored form. What was written since
// the last commit is lost in a crash.
type database struct {
	stamps, newStamps map[rollup.Address]string
	buckets           map[bucketKey]string
	state             string
}

type bucketKey struct {
	interval rollup.Interval
	number   uint32
}

func newDatabase() *database {
	return &database{
		stamps: map[rollup.Address]string{}, newStamps: map[rollup.Address]string{}, buckets: map[bucketKey]string{},
	}
}

// Stamp implements [rollup.Stamps].
func (d *database) Stamp(a *rollup.Address) (s rollup.Stamp, err error) {
	text, ok := d.newStamps[*a]
	if !ok {
		text, ok = d.stamps[*a]
	}
	if ok {
		err = s.Decode([]byte(text))
	}
	return s, err
}

// PutStamp implements [rollup.Stamps].
func (d *database) PutStamp(a *rollup.Address, s rollup.Stamp) {
	d.newStamps[*a] = string(s.Append(nil))
}

func (d *database) commit(r *rollup.Roller) {
	maps.Copy(d.stamps, d.newStamps)
	clear(d.newStamps)
	r.Changed(func(b *rollup.Bucket) { d.buckets[bucketKey{b.Interval, b.Number}] = string(b.Append(nil)) })
	state := r.State()
	d.state = string(state.Append(nil))
}

func (d *database) lastState() (s rollup.State, err error) {
	if d.state != "" {
		err = s.Decode([]byte(d.state))
	}
	return s, err
}

// open returns a roller that goes on from the last commit.
func (d *database) open() (*rollup.Roller, error) {
	clear(d.newStamps)
	s, err := d.lastState()
	if err != nil {
		return nil, err
	}
	var open []rollup.Bucket
	for i := rollup.Hour; i < rollup.Intervals; i++ {
		_, last, ok := s.Bounds(i)
		if !ok {
			continue
		}
		b := rollup.Bucket{Interval: i, Number: last}
		if err := b.Decode([]byte(d.buckets[bucketKey{i, last}])); err != nil {
			return nil, err
		}
		open = append(open, b)
	}
	return rollup.NewRoller(s, open, d)
}

// What is done after a block.
const (
	goOn = iota
	commit
	restart // after a commit
	crash   // since when blocks are made again
)

// roll makes the metrics of a chain. after says what is done after a block.
func (d *database) roll(tb testing.TB, chain []block, after func() int) {
	tb.Helper()
	r, err := d.open()
	if err != nil {
		tb.Fatal(err)
	}
	for crashes := 0; r.State().Next < uint64(len(chain)); {
		if err := feed(r, &chain[r.State().Next]); err != nil {
			tb.Fatal(err)
		}
		what := after()
		if what == crash {
			if crashes++; crashes > len(chain) {
				what = goOn // else it may never come to the end
			}
		}
		if what == commit || what == restart {
			d.commit(r)
		}
		if what == restart || what == crash {
			if r, err = d.open(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	d.commit(r)
}

func feed(r *rollup.Roller, b *block) error {
	r.Begin(b.time, b.gas, b.traced)
	for i := range b.txs {
		t := &b.txs[i]
		r.Tx((*rollup.Address)(&t.from), (*rollup.Address)(t.to), t.gas, uint256.MustFromBig(t.price))
		for _, m := range t.moves {
			r.Transfer((*rollup.Address)(&m.from), (*rollup.Address)(&m.to))
		}
		for _, a := range t.makers {
			r.Created((*rollup.Address)(&a))
		}
	}
	return r.End()
}

// rolled makes the metrics of a chain with a commit after each block.
func rolled(tb testing.TB, chain []block) *database {
	tb.Helper()
	d := newDatabase()
	d.roll(tb, chain, func() int { return commit })
	return d
}

// same compares all that is stored.
func (d *database) same(tb testing.TB, o *database) {
	tb.Helper()
	if d.state != o.state {
		tb.Errorf("states %x and %x", d.state, o.state)
	}
	if !maps.Equal(d.stamps, o.stamps) {
		tb.Errorf("other stamps")
	}
	if maps.Equal(d.buckets, o.buckets) {
		return
	}
	for k, text := range d.buckets {
		if o.buckets[k] != text {
			tb.Fatalf("%s %d: %x and %x", k.interval, k.number, text, o.buckets[k])
		}
	}
	tb.Errorf("%d and %d buckets", len(d.buckets), len(o.buckets))
}

// fill collects what Fill gives.
func (d *database) fill(tb testing.TB, i rollup.Interval, newest, oldest uint32) (numbers []uint32, records []rollup.Record) {
	tb.Helper()
	var stored []rollup.Bucket
	for k, text := range d.buckets {
		if k.interval != i || k.number > newest {
			continue
		}
		b := rollup.Bucket{Interval: i, Number: k.number}
		if err := b.Decode([]byte(text)); err != nil {
			tb.Fatal(err)
		}
		stored = append(stored, b)
	}
	slices.SortFunc(stored, func(a, b rollup.Bucket) int { return cmp.Compare(b.Number, a.Number) })
	next := func() (*rollup.Bucket, error) {
		if len(stored) == 0 {
			return nil, nil
		}
		b := stored[0]
		stored = stored[1:]
		return &b, nil
	}
	err := rollup.Fill(newest, oldest, next, func(number uint32, r *rollup.Record) {
		numbers, records = append(numbers, number), append(records, *r)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return numbers, records
}

// check compares the buckets from newest down to oldest with the oracle's.
func check(tb testing.TB, o *oracle, d *database, i rollup.Interval, newest, oldest uint32) {
	tb.Helper()
	s, err := d.lastState()
	if err != nil {
		tb.Fatal(err)
	}
	first, last, _ := s.Bounds(i)
	interval := i.String()
	want := o.series(interval, int(last)-int(newest), int(last)-int(max(oldest, first)))
	numbers, records := d.fill(tb, i, newest, oldest)
	if len(numbers) != len(want) {
		tb.Fatalf("%s %d to %d, the chain has %d to %d: %d points, want %d", interval, newest, oldest, first, last, len(numbers), len(want))
	}
	for k, w := range want {
		if numbers[k] != newest-uint32(k) || i.Start(numbers[k]) != w.start.Unix() {
			tb.Fatalf("%s %d: point %d is %d at %d, want %s", interval, newest, k, numbers[k], i.Start(numbers[k]), w.start)
		}
		if records[k].Untraced != w.untraced {
			tb.Errorf("%s of %s: untraced: %v", interval, w.start, records[k].Untraced)
		}
		if records[k].Blocks != uint64(w.blocks) {
			tb.Errorf("%s of %s: %d blocks, want %d", interval, w.start, records[k].Blocks, w.blocks)
		}
		for m := rollup.Metric(0); m < rollup.Metrics; m++ {
			v := m.Of(&records[k])
			got, want := string(v.Append(nil)), jsNumber(w.figures[m.String()])
			if got != want {
				tb.Errorf("%s of %s: %s is %s, want %s", interval, w.start, m, got, want)
			}
		}
	}
	if tb.Failed() {
		tb.FailNow()
	}
}
