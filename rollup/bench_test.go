package rollup_test

import (
	"encoding/binary"
	"math/big"
	"runtime"
	"testing"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/rollup"
)

// memory keeps stamps as they are.
type memory map[rollup.Address]rollup.Stamp

// Stamp implements [rollup.Stamps].
func (m memory) Stamp(a *rollup.Address) (rollup.Stamp, error) { return m[*a], nil }

// PutStamp implements [rollup.Stamps].
func (m memory) PutStamp(a *rollup.Address, s rollup.Stamp) { m[*a] = s }

// load gives a roller blocks of transactions between accounts at random,
// every other with the transfer of a token, every tenth with a creation.
type load struct {
	*rollup.Roller
	accounts []rollup.Address
	txs      int // of a block
	random   uint64
	time     uint64 // of the next block, in milliseconds
	step     uint64 // between blocks
	price    uint256.Int
}

func newLoad(tb testing.TB, accounts int, step uint64) (*load, memory) {
	tb.Helper()
	m := make(memory, accounts)
	r, err := rollup.NewRoller(rollup.State{Next: 1}, nil, m)
	if err != nil {
		tb.Fatal(err)
	}
	l := &load{Roller: r, accounts: make([]rollup.Address, accounts), txs: 100, step: step}
	l.time, l.price = at(2024, 1, 1, 0, 0), *uint256.MustFromBig(gwei)
	for i := range l.accounts {
		binary.BigEndian.PutUint64(l.accounts[i][:], uint64(i)*0x9e3779b97f4a7c15)
	}
	return l, m
}

func (l *load) account() *rollup.Address {
	l.random = l.random*6364136223846793005 + 1442695040888963407
	return &l.accounts[(l.random>>32)*uint64(len(l.accounts))>>32]
}

// block returns a block, and how many addresses were in it.
func (l *load) block(tb testing.TB) (events int) {
	l.Begin(l.time, 8_000_000, true)
	l.time += l.step
	for i := range l.txs {
		l.Tx(l.account(), l.account(), 80_000, &l.price)
		events += 2
		if i%2 == 0 {
			l.Transfer(l.account(), l.account())
			events += 2
		}
		if i%10 == 0 {
			l.Created(l.account())
			events++
		}
	}
	if err := l.End(); err != nil {
		tb.Fatal(err)
	}
	l.Changed(func(*rollup.Bucket) {})
	return events
}

// touch lets each account be in a transaction once.
func (l *load) touch(tb testing.TB) {
	for i := range l.accounts {
		if i%100 == 0 {
			l.Begin(l.time, 0, true)
		}
		l.Tx(&l.accounts[i], nil, 0, &l.price)
		if i%100 == 99 || i == len(l.accounts)-1 {
			if err := l.End(); err != nil {
				tb.Fatal(err)
			}
		}
	}
	l.time += l.step
}

// BenchmarkEvents takes blocks with stamps in a map of a million addresses, on
// one core. Most addresses are first in their hour when there are few blocks in
// an hour, and few of them when there are many.
func BenchmarkEvents(b *testing.B) {
	for _, of := range []struct {
		name string
		step uint64
	}{{"blocks/h=1800", 2000}, {"blocks/h=1", hours}} {
		b.Run(of.name, func(b *testing.B) {
			l, _ := newLoad(b, 1_000_000, of.step)
			l.touch(b)
			b.ReportAllocs()
			events := 0
			for b.Loop() {
				events += l.block(b)
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(0, "ns/op") // of blocks
		})
	}
}

// BenchmarkValue prints a figure of each kind.
func BenchmarkValue(b *testing.B) {
	r := rollup.Record{
		Txs: 1234, PriceSum: *uint256.MustFromBig(new(big.Int).Lsh(gwei, 13)), Prev: 5, Last: 86_399_005, Fees: uint256.Int{5, 6},
		MaxTxs: rollup.Rate{Amount: 100, Seconds: 2},
	}
	for _, m := range []rollup.Metric{rollup.TxCount, rollup.FeesPaid, rollup.AvgTps, rollup.MaxTps, rollup.AvgGasPrice} {
		b.Run(m.String(), func(b *testing.B) {
			dst := make([]byte, 0, 100)
			b.ReportAllocs()
			for b.Loop() {
				v := m.Of(&r)
				dst = v.Append(dst[:0])
			}
		})
	}
}

func BenchmarkRecord(b *testing.B) {
	r := someRecords(b)[0]
	dst := make([]byte, 0, rollup.RecordLen)
	b.ReportAllocs()
	for b.Loop() {
		dst = r.Append(dst[:0])
		if err := r.Decode(dst); err != nil {
			b.Fatal(err)
		}
	}
}

// Blocks, records and figures are taken without allocations.
func TestAllocations(t *testing.T) {
	l, _ := newLoad(t, 1000, hours)
	l.touch(t)
	l.block(t) // makes room for full buckets
	if n := testing.AllocsPerRun(100, func() { l.block(t) }); n != 0 {
		t.Errorf("%v allocations for a block of 100 transactions", n)
	}
	r, dst := someRecords(t)[0], make([]byte, 0, rollup.RecordLen)
	s := l.State()
	stamp := rollup.Stamp{Active: 1}
	if n := testing.AllocsPerRun(100, func() {
		dst = r.Append(dst[:0])
		if err := r.Decode(dst); err != nil {
			t.Error(err)
		}
		dst = s.Append(dst[:0])
		if err := s.Decode(dst); err != nil {
			t.Error(err)
		}
		dst = stamp.Append(dst[:0])
		if err := stamp.Decode(dst); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations of codecs", n)
	}
	r = rollup.Record{
		Txs: 777, Prev: 5, Last: 86_399_005, Gas: uint256.Int{1e12}, BlockGas: uint256.Int{3e15}, Fees: uint256.Int{1e19},
		PriceSum: uint256.Int{1e19, 1e9}, MaxPrice: uint256.Int{470e9},
		MaxTxs: rollup.Rate{Amount: 100, Seconds: 7}, MaxGas: rollup.Rate{Amount: 1 << 63, Seconds: 7},
	}
	for m := rollup.Metric(0); m < rollup.Metrics; m++ {
		if n := testing.AllocsPerRun(100, func() {
			v := m.Of(&r)
			dst = v.Append(dst[:0])
		}); n != 0 {
			t.Errorf("%v allocations for %s", n, m)
		}
	}
}

// The state of an address is a stamp, and nothing else grows with addresses. The
// index stores it with the one before it and a height of 6 bytes.
func TestMillionAddresses(t *testing.T) {
	const indexAdds, most = rollup.StampLen + 6, 24
	addresses := torture.Pick(200_000, 1_000_000)
	if each := rollup.StampLen + indexAdds; each > most {
		t.Errorf("%d bytes an address, want at most %d", each, most)
	}
	n := uint64(addresses) // positive
	few, _ := newLoad(t, 10, hours)
	many, stamps := newLoad(t, addresses, hours)
	few.touch(t)
	many.touch(t)
	if len(stamps) != addresses {
		t.Fatalf("%d stamps", len(stamps))
	}
	many.Changed(func(b *rollup.Bucket) {
		if b.Addresses != n || b.Senders != n || b.TotalAddresses != n {
			t.Errorf("%s: %d addresses, %d senders, %d of all", b.Interval, b.Addresses, b.Senders, b.TotalAddresses)
		}
	})
	heap := live()
	var b [rollup.StampLen]byte
	for _, s := range stamps {
		var again rollup.Stamp
		if err := again.Decode(s.Append(b[:0])); err != nil || again != s {
			t.Fatalf("%+v, %v; want %+v", again, err, s)
		}
	}
	many.block(t)
	few.block(t)
	if grown := int64(live()) - int64(heap); grown > 64<<10 {
		t.Errorf("%d bytes more after a block", grown)
	}
	if state := many.State(); len(state.Append(nil)) != rollup.StateLen {
		t.Errorf("a state of %d bytes", len(state.Append(nil)))
	}
	runtime.KeepAlive(stamps)
}

// live returns the bytes on the heap that are in use.
func live() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A roller keeps nothing of the buckets that are handed over, however many.
func TestMemoryOfBuckets(t *testing.T) {
	held := func(buckets int) int64 {
		before := live()
		l, m := newLoad(t, 100, hours)
		l.txs = 5
		for range buckets {
			l.block(t)
		}
		size := int64(live()) - int64(before)
		runtime.KeepAlive(l)
		runtime.KeepAlive(m)
		return size
	}
	held(1)
	few, many := held(10), held(10_000)
	t.Logf("%d bytes after 10 hours, %d after 10,000", few, many)
	if many > few+32<<10 {
		t.Errorf("%d bytes after 10 hours, %d after 10,000", few, many)
	}
}
