package rollup_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/holiman/uint256"

	"quorate/rollup"
)

// someRecords returns records that blocks made, and one with the highest figures.
func someRecords(tb testing.TB) (all []rollup.Record) {
	tb.Helper()
	for n := range uint64(5) {
		d := rolled(tb, randomChain(seed(n), 40))
		for _, text := range d.buckets {
			var r rollup.Record
			if err := r.Decode([]byte(text)); err != nil {
				tb.Fatal(err)
			}
			all = append(all, r)
		}
	}
	const most = math.MaxUint64
	wide := uint256.Int{most, most, most, most}
	half := uint256.Int{most, most - 1}
	return append(all, rollup.Record{}, rollup.Record{
		Untraced: true, Blocks: most, Prev: 1, Last: most, Txs: 2, Addresses: 3, Senders: 4, Contracts: 5, Deployers: 6,
		Gas: half, BlockGas: half, PriceSum: wide, MaxPrice: wide, Fees: uint256.Int{1, 2, 3, 4},
		MaxTxs: rollup.Rate{Amount: 7, Seconds: 8}, MaxGas: rollup.Rate{Amount: most, Seconds: 9},
		TotalTxs: 10, TotalAddresses: 11, TotalContracts: 12, TotalDeployers: 13, LeadTxs: 2, LeadGas: half,
	})
}

func TestRecordCodec(t *testing.T) {
	t.Parallel()
	lead := []byte("lead")
	for _, r := range someRecords(t) {
		b := r.Append(lead)
		if !bytes.HasPrefix(b, lead) || len(b) != len(lead)+rollup.RecordLen {
			t.Fatalf("%d bytes: %x", len(b), b)
		}
		got := rollup.Record{Untraced: true, Fees: *new(uint256.Int).SetAllOne(), Gas: *new(uint256.Int).SetAllOne()}
		if err := got.Decode(b[len(lead):]); err != nil || got != r {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, r)
		}
	}
}

// The stored form of a record, as record.go describes it.
func TestRecordLayout(t *testing.T) {
	t.Parallel()
	r := rollup.Record{
		Untraced: true, Blocks: 1, Prev: 2, Last: 3, Txs: 4, Addresses: 5, Senders: 6, Contracts: 7, Deployers: 8,
		Gas: uint256.Int{10, 9}, BlockGas: uint256.Int{12, 11}, LeadGas: uint256.Int{14, 13},
		PriceSum: uint256.Int{18, 17, 16, 15}, MaxPrice: uint256.Int{22, 21, 20, 19}, Fees: uint256.Int{26, 25, 24, 23},
		MaxTxs: rollup.Rate{Amount: 27, Seconds: 28}, MaxGas: rollup.Rate{Amount: 29, Seconds: 30},
		TotalTxs: 31, TotalAddresses: 32, TotalContracts: 33, TotalDeployers: 34, LeadTxs: 35,
	}
	want := []byte{2, 1}
	for n := range byte(35) {
		want = append(want, 0, 0, 0, 0, 0, 0, 0, n+1)
	}
	if got := r.Append(nil); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
}

func TestStateLayout(t *testing.T) {
	t.Parallel()
	d := newDatabase()
	at := func(ms uint64, traced bool, txs int) block {
		return block{time: ms, gas: 9, traced: traced, txs: append([]tx{}, someTxs[:txs]...)}
	}
	d.roll(t, []block{at(days, true, 0), at(2999, true, 1), at(5000, false, 2), at(5999, true, 1)}, func() int { return goOn })
	want := []byte{2, 1 | 2 | 4}
	for _, n := range []byte{4, 0, 2, 5, 2, 3, 18} {
		want = append(want, 0, 0, 0, 0, 0, 0, 0, n)
	}
	if d.state != string(want) || len(want) != rollup.StateLen {
		t.Errorf("got  %x\nwant %x", d.state, want)
	}
}

// States that no blocks give are refused: they would give wrong figures.
func TestStateImpossible(t *testing.T) {
	t.Parallel()
	state := func(flags byte, words ...uint64) []byte { // next, genesis, first, last; base, transactions and gas of the run
		b := []byte{2, flags}
		for _, w := range words {
			b = binary.BigEndian.AppendUint64(b, w)
		}
		return b
	}
	const begun, untraced, hasBase = 1, 2, 4
	for _, c := range []struct {
		name string
		b    []byte
		ok   bool
	}{
		{"none yet", state(0, 0, 0, 0, 0, 0, 0, 0), true},
		{"genesis", state(0, 1, 0, 0, 0, 0, 0, 0), true},
		{"genesis with a time", state(0, 1, 7, 0, 0, 0, 0, 0), true},
		{"one block", state(begun, 2, 0, 9, 9, 0, 3, 4), true},
		{"two at one time", state(begun, 3, 0, 9, 9, 0, 3, 4), true},
		{"one after genesis", state(begun|hasBase, 2, 0, 9, 9, 8, 3, 4), true},
		{"two", state(begun|untraced|hasBase, 3, 0, 0, 9, 0, 3, 4), true},
		{"more", state(begun|hasBase, 9, 0, 5, 9, 8, 3, 4), true},
		{"a block, but not begun", state(0, 2, 0, 0, 0, 0, 0, 0), false},
		{"begun without a block", state(begun, 0, 0, 9, 9, 0, 3, 4), false},
		{"begun by genesis", state(begun, 1, 0, 9, 9, 0, 3, 4), false},
		{"genesis has a time too early", state(0, 0, 7, 0, 0, 0, 0, 0), false},
		{"genesis is remembered", state(begun, 2, 7, 9, 9, 0, 3, 4), false},
		{"times, but not begun", state(0, 1, 0, 9, 9, 0, 0, 0), false},
		{"transactions, but not begun", state(0, 1, 0, 0, 0, 0, 1, 0), false},
		{"untraced, but not begun", state(untraced, 1, 0, 0, 0, 0, 0, 0), false},
		{"a base, but not begun", state(hasBase, 1, 0, 0, 0, 0, 0, 0), false},
		{"the last before the first", state(begun|hasBase, 9, 0, 9, 8, 7, 0, 0), false},
		{"a base before the first of several", state(begun|hasBase, 9, 0, 5, 9, 4, 0, 0), false},
		{"a base of another day", state(begun|hasBase, 2, 0, 86_400, 86_400, 86_399, 0, 0), false},
		{"a base at the last", state(begun|hasBase, 9, 0, 5, 9, 9, 0, 0), false},
		{"two times without a base", state(begun, 9, 0, 5, 9, 0, 0, 0), false},
		{"the time of no base", state(begun, 9, 0, 9, 9, 1, 0, 0), false},
	} {
		before := rollup.State{Next: 77}
		s := before
		if err := s.Decode(c.b); (err == nil) != c.ok || err != nil && !errors.Is(err, rollup.ErrCodec) {
			t.Errorf("%s: %v", c.name, err)
		} else if !c.ok && s != before {
			t.Errorf("%s: left %+v", c.name, s)
		} else if c.ok && !bytes.Equal(s.Append(nil), c.b) {
			t.Errorf("%s: came back as %x", c.name, s.Append(nil))
		}
	}
}

func TestStateCodec(t *testing.T) {
	t.Parallel()
	lead := []byte("lead")
	for n := range uint64(20) {
		d := newDatabase()
		d.roll(t, randomChain(seed(n), int(n)), func() int {
			want, err := d.lastState()
			if err != nil {
				t.Fatal(err)
			}
			var got rollup.State
			b := want.Append(lead)
			if err := got.Decode(b[len(lead):]); err != nil || got != want || !bytes.HasPrefix(b, lead) {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
			}
			return commit
		})
	}
}

func TestStampCodec(t *testing.T) {
	t.Parallel()
	const most = 1<<24 - 1
	for _, s := range []rollup.Stamp{
		{}, {Active: 1}, {Sender: 2}, {Deployer: 3}, {Active: most, Sender: most - 1, Deployer: 0x010203}, {most, most, most},
	} {
		b := s.Append([]byte{7})
		got := rollup.Stamp{Active: 9, Sender: 9, Deployer: 9}
		if err := got.Decode(b[1:]); err != nil || got != s || len(b) != 1+rollup.StampLen || b[0] != 7 {
			t.Errorf("%+v: %x, %+v, %v", s, b, got, err)
		}
	}
	want := []byte{0, 0, 1, 0, 2, 3, 4, 5, 6}
	if got := (rollup.Stamp{Active: 1, Sender: 0x0203, Deployer: 0x040506}).Append(nil); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// What is cut off, too long or of another version is an error, and a target is
// left as it was.
func TestCodecDamage(t *testing.T) {
	t.Parallel()
	var r rollup.Record
	var s rollup.State
	state := rolled(t, randomChain(seed(3), 30)).state
	record := someRecords(t)[0]
	if err := errors.Join(r.Decode(record.Append(nil)), s.Decode([]byte(state))); err != nil {
		t.Fatal(err)
	}
	stamp := rollup.Stamp{Active: 5}
	for _, c := range []struct {
		name   string
		good   []byte
		decode func([]byte) error
		same   func() bool
		flags  byte // of the byte behind the version; 0: there are none
	}{
		{"record", r.Append(nil), r.Decode, func() bool { return r == record }, 1},
		{"state", []byte(state), s.Decode, func() bool { return string(s.Append(nil)) == state }, 7},
		{"stamp", stamp.Append(nil), stamp.Decode, func() bool { return stamp == rollup.Stamp{Active: 5} }, 0},
	} {
		bad := [][]byte{nil, append(c.good[:len(c.good):len(c.good)], 0)}
		for n := range c.good {
			bad = append(bad, c.good[:n])
		}
		if c.flags > 0 {
			for _, version := range []byte{0, 1, 255} {
				bad = append(bad, append([]byte{version}, c.good[1:]...))
			}
			for flags := int(c.flags) + 1; flags < 256; flags++ {
				bad = append(bad, append([]byte{2, byte(flags)}, c.good[2:]...))
			}
		}
		for _, b := range bad {
			if err := c.decode(b); !errors.Is(err, rollup.ErrCodec) {
				t.Errorf("%s %x: %v", c.name, b, err)
			}
			if !c.same() {
				t.Fatalf("%s %x has changed what it was read to", c.name, b)
			}
		}
	}
}

func FuzzRecord(f *testing.F) {
	for _, r := range someRecords(f)[:20] {
		f.Add(r.Append(nil))
	}
	f.Add(bytes.Repeat([]byte{1}, rollup.RecordLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r rollup.Record
		if err := r.Decode(b); err != nil {
			if !errors.Is(err, rollup.ErrCodec) {
				t.Error(err)
			}
			return
		}
		if got := r.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("%x came back as %x", b, got)
		}
		for m := rollup.Metric(0); m < rollup.Metrics; m++ { // a number, whatever the record says
			v := m.Of(&r)
			var sum rollup.Total
			sum.Add(m, &r)
			sum.Add(m, &r)
			if one, two := v.Append(nil), sum.Append(m, nil); !json.Valid(one) || !json.Valid(two) {
				t.Errorf("%s: %s, twice %s", m, one, two)
			}
		}
	})
}

func FuzzState(f *testing.F) {
	for n := range uint64(10) {
		f.Add([]byte(rolled(f, randomChain(seed(n), int(n))).state), uint64(1), true)
	}
	f.Fuzz(func(t *testing.T, b []byte, milli uint64, traced bool) {
		var s rollup.State
		if err := s.Decode(b); err != nil {
			if !errors.Is(err, rollup.ErrCodec) {
				t.Error(err)
			}
			return
		}
		if got := s.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("%x came back as %x", b, got)
		}
		var open []rollup.Bucket
		for i := rollup.Hour; i < rollup.Intervals; i++ {
			_, last, _ := s.Bounds(i)
			open = append(open, rollup.Bucket{Interval: i, Number: last})
		}
		r, err := rollup.NewRoller(s, open, newDatabase())
		if err != nil {
			t.Fatal(err)
		}
		next := block{time: milli, gas: milli, traced: traced, txs: someTxs[:2]}
		if err := feed(r, &next); err != nil {
			t.Fatal(err)
		}
		if got := r.State(); got.Next != s.Next+1 || got.Last < s.Last {
			t.Errorf("%+v after %+v", got, s)
		}
	})
}

func FuzzStamp(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, rollup.StampLen))
	f.Add(bytes.Repeat([]byte{255}, rollup.StampLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s rollup.Stamp
		if err := s.Decode(b); (err == nil) != (len(b) == rollup.StampLen) || err != nil && !errors.Is(err, rollup.ErrCodec) {
			t.Fatalf("%x: %v", b, err)
		} else if err == nil && !bytes.Equal(s.Append(nil), b) {
			t.Errorf("%x came back as %x", b, s.Append(nil))
		}
	})
}

// FuzzBlocks makes chains out of bytes and compares them with the oracle.
func FuzzBlocks(f *testing.F) {
	for n := range uint64(20) {
		c := seed(n)
		b := make([]byte, 200+c.below(2000))
		for i := range b {
			b[i] = byte(c.word())
		}
		f.Add(uint8(c.word()), b)
	}
	f.Fuzz(func(t *testing.T, blocks uint8, b []byte) {
		checkChain(t, &fuzzed{b}, 1+int(blocks)%64)
	})
}
