package metrics

import (
	"math"
	"testing"

	"quorate/engine/chain"
	blocks "quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/metric"
	store "quorate/engine/store/index"
	"quorate/httpapi/evm"
	"quorate/httpapi/view"
	"quorate/rollup"
)

const noon = 1_700_049_600

// rolled returns a chain with a block at each of some times after its genesis block, and a
// function that adds one.
func rolled(t *testing.T, id byte, times ...uint64) (c *evm.Chain, mine func(unix uint64)) {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	x, err := index.Open(db, chain.ID{id}, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	mine = func(unix uint64) {
		b := &blocks.Block{Number: next, Hash: blocks.Hash{id, byte(next)}, TimeMilli: 1000 * unix, Traced: true}
		if next > 0 {
			b.Parent = blocks.Hash{id, byte(next - 1)}
		}
		next++
		if err := x.Commit(t.Context(), []*blocks.Block{b}); err != nil {
			t.Fatal(err)
		}
	}
	for _, unix := range append([]uint64{0}, times...) {
		mine(unix)
	}
	return &evm.Chain{Chain: x}, mine
}

// load makes the series of chains.
func load(t *testing.T, m rollup.Metric, i rollup.Interval, form view.PointForm, chains ...*evm.Chain) *series {
	t.Helper()
	s := &series{metric: m, interval: i, form: form}
	for _, c := range chains {
		if known, err := s.add(c); !known || err != nil {
			t.Fatal(known, err)
		}
	}
	return s
}

// TestOpenBucket: after a block what is kept is read from the bucket on that was open.
func TestOpenBucket(t *testing.T) {
	t.Parallel()
	c, mine := rolled(t, 1, noon, noon+40*3600)
	series := func() *series { return load(t, rollup.TxCount, rollup.Hour, view.ValueFirst, c) }
	p, s := newPoints(metric.NewSet(), defaultBytes), series()
	if s.first/ChunkLen != s.last/ChunkLen {
		t.Fatal("these are two chunks")
	}
	open := s.last
	for _, unix := range []uint64{noon + 40*3600, noon + 40*3600 + 1, noon + 41*3600} {
		if _, _, err := p.find(s, nil, s.last, s.first); err != nil {
			t.Fatal(err)
		}
		if _, from := p.lookup(s, open/ChunkLen); from != math.MaxUint32 {
			t.Errorf("read again from %d on, without a block", from)
		}
		mine(unix)
		s = series()
		if _, from := p.lookup(s, open/ChunkLen); from != open {
			t.Errorf("after a block at %d: read from bucket %d on, want %d", unix, from, open)
		}
	}
}

// TestChunkOf: chunks whose hashes agree by chance are not taken for each other.
func TestChunkOf(t *testing.T) {
	t.Parallel()
	c, _ := rolled(t, 1, noon)
	other, _ := rolled(t, 2, noon)
	s := load(t, rollup.TxCount, rollup.Day, view.ValueFirst, c)
	place := s.last / ChunkLen
	p := newPoints(metric.NewSet(), defaultBytes)
	made, _, err := p.find(s, nil, s.last, s.first)
	if err != nil || len(made) != 1 || !made[0].of(s, place) {
		t.Fatal(made, err)
	}
	for what, o := range map[string]*series{
		"metric": load(t, rollup.GasUsed, rollup.Day, view.ValueFirst, c), "interval": load(t, rollup.TxCount, rollup.Hour, view.ValueFirst, c),
		"form": load(t, rollup.TxCount, rollup.Day, view.TimeFirst, c), "chain": load(t, rollup.TxCount, rollup.Day, view.ValueFirst, other),
		"chains": load(t, rollup.TxCount, rollup.Day, view.ValueFirst, c, other), "none": load(t, rollup.TxCount, rollup.Day, view.ValueFirst),
	} {
		if made[0].of(o, place) {
			t.Errorf("another %s is not told apart", what)
		}
	}
	if made[0].of(s, place+1) {
		t.Error("another place is not told apart")
	}
	if err := c.Reroll(t.Context(), func(uint64, uint64) {}); err != nil {
		t.Fatal(err)
	}
	if made[0].of(load(t, rollup.TxCount, rollup.Day, view.ValueFirst, c), place) {
		t.Error("another edition is not told apart")
	}
}
