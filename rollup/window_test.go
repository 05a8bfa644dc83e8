package rollup_test

import (
	"errors"
	"fmt"
	"sort"
	"testing"

	"quorate/devnet/torture"
	"quorate/rollup"
)

// counted keeps stamps, and counts them by hour.
type counted struct {
	stamps map[rollup.Address]rollup.Stamp
	hours  *rollup.Hours
}

func (c *counted) Stamp(a *rollup.Address) (rollup.Stamp, error) { return c.stamps[*a], nil }

func (c *counted) PutStamp(a *rollup.Address, s rollup.Stamp) {
	c.hours.Move(c.stamps[*a], s)
	c.stamps[*a] = s
}

// since adds up who was last seen in an hour or later.
func since(hours map[uint32]rollup.Seen, from uint32) (sum rollup.Seen) {
	for hour, s := range hours {
		if hour != rollup.Ever && hour > from { // stamps are hours + 1
			sum.Add(s)
		}
	}
	return sum
}

// Windows from any hour on have the figures that the oracle has for their blocks, the
// distinct counts too.
func TestWindows(t *testing.T) {
	t.Parallel()
	for n := range uint64(torture.Pick(40, 400)) {
		t.Run(fmt.Sprint("seed=", n), func(t *testing.T) {
			t.Parallel()
			c := seed(5000 + n)
			chain := randomChain(c, 1+c.below(120))
			d, o := rolled(t, chain), newOracle(chain)
			k := &counted{map[rollup.Address]rollup.Stamp{}, rollup.NewHours()}
			r, err := rollup.NewRoller(rollup.State{}, nil, k)
			if err != nil {
				t.Fatal(err)
			}
			hours := map[uint32]rollup.Seen{}
			take := func(hour uint32, s rollup.Seen) { hours[hour] = s }
			for i := range chain {
				if err := feed(r, &chain[i]); err != nil {
					t.Fatal(err)
				}
				if c.below(5) == 0 {
					k.hours.Changed(take)
				}
			}
			k.hours.Changed(take)
			if n := k.hours.Changes(); n != 0 {
				t.Errorf("%d hours have changed after all were handed over", n)
			}
			if all := since(hours, 0); all != hours[rollup.Ever] {
				t.Errorf("%+v of %+v", all, hours[rollup.Ever])
			}
			s, err := d.lastState()
			if err != nil {
				t.Fatal(err)
			}
			first, last, _ := s.Bounds(rollup.Hour)
			for _, from := range []uint32{0, first, last, last + 1, last - min(last, 1), last - min(last, 24), last - min(last, 720), last - min(last, 8760), first + uint32(c.below(int(last-first)+1)),
				rollup.Hour.Number(pick(c, o.blocks).time / 1000)} {
				checkWindow(t, o, d, &s, from, since(hours, from))
			}
		})
	}
}

func checkWindow(t *testing.T, o *oracle, d *database, s *rollup.State, from uint32, seen rollup.Seen) {
	t.Helper()
	read := 0
	got, err := s.Window(from, func(i rollup.Interval, newest, oldest uint32, take func(*rollup.Record)) error {
		_, records := d.fill(t, i, newest, oldest)
		for k := range records {
			take(&records[k])
		}
		read += len(records)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lo := sort.Search(len(o.blocks), func(i int) bool {
		return bucketStart("hour", o.blocks[i].time).Unix() >= rollup.Hour.Start(from)
	})
	if lo == len(o.blocks) {
		if got.Blocks != 0 || got.Txs != 0 || read != 0 || seen != (rollup.Seen{}) {
			t.Errorf("from hour %d on: %+v", from, got)
		}
		return
	}
	if months := int(s.Last-s.First)/(28*86400) + 2; read > 24+31+months {
		t.Errorf("from hour %d on: %d records were read", from, read)
	}
	want := o.span(lo, len(o.blocks))
	got.Addresses, got.Senders, got.Deployers = seen.Active, seen.Senders, seen.Deployers
	for m := rollup.Metric(0); m < rollup.Metrics; m++ {
		if m.Cumulative() {
			continue
		}
		v := m.Of(&got)
		if text, want := string(v.Append(nil)), jsNumber(want.figures[m.String()]); text != want {
			t.Errorf("from hour %d on: %s is %s, want %s", from, m, text, want)
		}
	}
	if got.Untraced != want.untraced || got.Blocks != uint64(want.blocks) {
		t.Errorf("from hour %d on: %d blocks, want %d; untraced %v", from, got.Blocks, want.blocks, got.Untraced)
	}
}

// A bucket that cannot be read ends a window.
func TestWindowBroken(t *testing.T) {
	t.Parallel()
	d := rolled(t, randomChain(seed(1), 5))
	s, err := d.lastState()
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if _, err := s.Window(0, func(rollup.Interval, uint32, uint32, func(*rollup.Record)) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// FuzzSeen: what is read as counts is written as it was.
func FuzzSeen(f *testing.F) {
	f.Add(rollup.Seen{Active: 300, Senders: 1}.Append(nil))
	f.Add([]byte{0x80, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s rollup.Seen
		if err := s.Decode(b); err == nil && string(s.Append(nil)) != string(b) {
			t.Errorf("%x is read as %+v, which is %x", b, s, s.Append(nil))
		} else if err != nil && !errors.Is(err, rollup.ErrCodec) {
			t.Error(err)
		}
	})
}
