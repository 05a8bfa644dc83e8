package bench

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// blockEvents is what the rollup is told of a block.
type blockEvents struct {
	milli, gas uint64
	traced     bool
	events     []event
}

// event is a transaction, a token transfer or a creation. It refers to nothing,
// so that the garbage collector passes it over.
type event struct {
	kind     eventKind
	from, to rollup.Address
	gas      uint64
	price    uint256.Int
}

type eventKind uint8

const (
	eventTx eventKind = iota
	eventCreation
	eventTransfer
	eventCreated
)

// addresses is the number of addresses in an event.
func (k eventKind) addresses() int {
	if k == eventTx || k == eventTransfer {
		return 2
	}
	return 1
}

// told is what the index of made-up blocks has told the rollup.
type told struct {
	events []blockEvents
	count  int // of addresses
}

// madeEvents reads back what an index has told the rollup.
func madeEvents(t testing.TB, c *index.Chain) (m told) {
	t.Helper()
	v, err := c.At(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for n := range v.Tip().Number + 1 {
		h, found, err := v.Block(n)
		if err != nil || !found {
			t.Fatalf("block %d: found %v, %v", n, found, err)
		}
		var hashes []evm.Hash
		_, err = v.BlockTxs(n, index.Page{Limit: madeTxs, Ascending: true, To: n + 1}, func(tx *index.Tx) bool {
			hashes = append(hashes, tx.Hash)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		b := blockEvents{milli: h.TimeMilli, gas: h.GasUsed, traced: h.Traced}
		for _, hash := range hashes {
			tx, found, err := v.Tx(hash)
			if err != nil || !found {
				t.Fatalf("transaction %s: found %v, %v", hash, found, err)
			}
			b.events = appendEvents(b.events, tx)
		}
		for i := range b.events {
			m.count += b.events[i].kind.addresses()
		}
		m.events = append(m.events, b)
	}
	return m
}

// indexed commits groups of blocks to a new index.
func indexed(t testing.TB, groups [][]*evm.Block) *index.Chain {
	t.Helper()
	_, c, _ := openChain(t, store.Options{NoSync: true})
	for _, g := range groups {
		if err := c.Commit(context.Background(), g); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func appendEvents(to []event, tx *index.Tx) []event {
	e := event{from: tx.From, to: tx.To, gas: tx.GasUsed, price: tx.GasPrice}
	if tx.Creation {
		e.kind = eventCreation
	}
	to = append(to, e)
	for i := range tx.Transfers {
		to = append(to, event{kind: eventTransfer, from: tx.Transfers[i].From, to: tx.Transfers[i].To})
	}
	if tx.Creation && !tx.Failed {
		to = append(to, event{kind: eventCreated, from: tx.From})
	}
	for i := range tx.Calls {
		if c := &tx.Calls[i]; c.Type.Creates() && !c.Reverted && !c.To.IsZero() {
			to = append(to, event{kind: eventCreated, from: c.From})
		}
	}
	return to
}

// memoryStamps keeps stamps in memory.
type memoryStamps map[rollup.Address]rollup.Stamp

func (m memoryStamps) Stamp(a *rollup.Address) (rollup.Stamp, error) { return m[*a], nil }
func (m memoryStamps) PutStamp(a *rollup.Address, s rollup.Stamp)    { m[*a] = s }

// roll makes the metrics of the events.
func roll(events []blockEvents) (*rollup.Roller, error) {
	roller, err := rollup.NewRoller(rollup.State{}, nil, memoryStamps{})
	if err != nil {
		return nil, err
	}
	for i := range events {
		b := &events[i]
		roller.Begin(b.milli, b.gas, b.traced)
		for k := range b.events {
			switch e := &b.events[k]; e.kind {
			case eventTx:
				roller.Tx(&e.from, &e.to, e.gas, &e.price)
			case eventCreation:
				roller.Tx(&e.from, nil, e.gas, &e.price)
			case eventTransfer:
				roller.Transfer(&e.from, &e.to)
			case eventCreated:
				roller.Created(&e.from)
			}
		}
		if err := roller.End(); err != nil {
			return nil, err
		}
	}
	return roller, nil
}

// metricsCost returns how many times the time of an index without metrics one with
// them takes: the median over commits of the same few blocks by both, in turns.
func metricsCost(t testing.TB, groups [][]*evm.Block) float64 {
	t.Helper()
	var sides [2]*index.Chain
	for i := range sides {
		db, err := store.Open(t.TempDir(), store.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		if sides[i], err = index.Open(db, chain.ID{1}, index.Options{NoRollup: i == 1}); err != nil {
			t.Fatal(err)
		}
	}
	const few = 8
	var v []float64
	for _, g := range groups {
		for part := range slices.Chunk(g, few) {
			var took [2]time.Duration
			for turn := range sides {
				who := (len(v) + turn) % 2
				start := time.Now()
				if err := sides[who].Commit(context.Background(), part); err != nil {
					t.Fatal(err)
				}
				took[who] = time.Since(start)
			}
			v = append(v, float64(took[0])/float64(took[1]))
		}
	}
	return median(v)
}

// BenchmarkRollup is the metrics of blocks alone, in memory on one core; an event
// is one address in a transaction, a transfer or a creation. x/plain is the time of
// an index with metrics against one without.
func BenchmarkRollup(b *testing.B) {
	groups := madeBlocks(2)
	r := madeEvents(b, indexed(b, groups))
	b.ReportAllocs()
	rounds := 0
	for b.Loop() {
		rounds++
		if _, err := roll(r.events); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(rounds*r.count)/b.Elapsed().Seconds(), "events/s")
	b.StopTimer()
	b.ReportMetric(metricsCost(b, madeBlocks(4)), "x/plain")
}

// rollupFigures are those of BenchmarkRollup.
func rollupFigures(t *testing.T, each func(figure)) {
	groups := madeBlocks(4)
	r := madeEvents(t, indexed(t, groups))
	each(figure{"rollup allocations / event", fewAllocs, func() float64 {
		return allocations(5, 1, func() {
			if _, err := roll(r.events); err != nil {
				t.Fatal(err)
			}
		}) / float64(r.count)
	}})
	each(figure{"index with metrics time / without", flatRatio.atMost(1.15), func() float64 {
		return median([]float64{metricsCost(t, groups), metricsCost(t, groups), metricsCost(t, groups)})
	}})
}

// TestRollupEvents: what is rolled up alone gives the metrics that the index has.
func TestRollupEvents(t *testing.T) {
	t.Parallel()
	blocks := madeBlocks(1)[0][:torture.Pick(madeGroup/3, madeGroup)]
	c := indexed(t, [][]*evm.Block{blocks})
	r := madeEvents(t, c)
	roller, err := roll(r.events)
	if err != nil {
		t.Fatal(err)
	}
	buckets := 0
	roller.Changed(func(b *rollup.Bucket) {
		buckets++
		if err := c.Buckets(b.Interval, b.Number, b.Number, func(number uint32, got *rollup.Record) {
			if number != b.Number || *got != b.Record {
				t.Errorf("%s %d: the index has %+v, want %+v", b.Interval, number, got, b.Record)
			}
		}); err != nil {
			t.Error(err)
		}
		if b.Txs == 0 || b.Addresses == 0 || b.Contracts == 0 {
			t.Errorf("%s %d: %+v", b.Interval, b.Number, b.Record)
		}
	})
	if buckets < rollup.Intervals || r.count < 3*(len(blocks)-1)*madeTxs {
		t.Errorf("%d buckets, %d addresses", buckets, r.count)
	}
}
