package index

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
	"quorate/rollup"
)

// years makes a chain with blocks about every 20 hours.
func years(seed uint64, n int) []*evm.Block {
	return indextest.New(indextest.Config{Seed: seed, Txs: 6, Step: 72_000_000}).Blocks(n)
}

func digest(t *testing.T, c *Chain) [32]byte {
	t.Helper()
	sum, err := c.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// numbered is a bucket with its number.
type numbered struct {
	number uint32
	rollup.Record
}

// series returns all buckets of an interval, the newest first.
func series(t *testing.T, c *Chain, i rollup.Interval) (list []numbered) {
	t.Helper()
	s, _, err := c.RollupState()
	if err != nil {
		t.Fatal(err)
	}
	first, last, ok := s.Bounds(i)
	if !ok {
		return nil
	}
	if err := c.Buckets(i, last, first, func(number uint32, r *rollup.Record) {
		list = append(list, numbered{number, *r})
	}); err != nil {
		t.Fatal(err)
	}
	if len(list) != int(last-first)+1 {
		t.Fatalf("%d buckets of the %s from %d to %d", len(list), i, first, last)
	}
	return list
}

// memory keeps stamps in a map.
type memory map[rollup.Address]rollup.Stamp

func (m memory) Stamp(a *rollup.Address) (rollup.Stamp, error) { return m[*a], nil }
func (m memory) PutStamp(a *rollup.Address, s rollup.Stamp)    { m[*a] = s }

// rollAll rolls blocks up in memory, without the index.
func rollAll(t *testing.T, blocks []*evm.Block) [rollup.Intervals]map[uint32]rollup.Record {
	t.Helper()
	r, err := rollup.NewRoller(rollup.State{}, nil, memory{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		r.Begin(b.TimeMilli, b.GasUsed, b.Traced)
		for i := range b.Txs {
			tx := &b.Txs[i]
			to := (*rollup.Address)(&tx.To)
			if tx.Creation {
				to = nil
			}
			r.Tx((*rollup.Address)(&tx.From), to, tx.GasUsed, &tx.GasPrice)
			if tx.Failed {
				continue
			}
			var transfers []Transfer
			for k := range tx.Logs {
				transfers = AppendTransfers(transfers, &tx.Logs[k])
			}
			for _, t := range transfers {
				r.Transfer((*rollup.Address)(&t.From), (*rollup.Address)(&t.To))
			}
			if tx.Creation {
				r.Created((*rollup.Address)(&tx.From))
			}
			for k := range tx.Calls {
				if c := &tx.Calls[k]; c.Type.Creates() && !c.Reverted && !c.To.IsZero() {
					r.Created((*rollup.Address)(&c.From))
				}
			}
		}
		if err := r.End(); err != nil {
			t.Fatal(err)
		}
	}
	var made [rollup.Intervals]map[uint32]rollup.Record
	for i := range made {
		made[i] = map[uint32]rollup.Record{}
	}
	r.Changed(func(b *rollup.Bucket) { made[b.Interval][b.Number] = b.Record })
	return made
}

// What the index keeps is what the rollup of the same blocks gives, however the
// blocks are grouped and however often the chain is opened.
func TestBuckets(t *testing.T) {
	t.Parallel()
	blocks := years(21, 200)
	want := rollAll(t, blocks)
	rnd := rand.New(rand.NewPCG(21, 2))
	for _, remember := range []int{20, 100_000} {
		c := openChain(t, Options{Remember: remember})
		for done := 0; done < len(blocks); {
			n := min(1+rnd.IntN(60), len(blocks)-done)
			commit(t, c, blocks[done:done+n], n)
			done += n
			if rnd.IntN(3) == 0 {
				again, err := Open(c.db, c.id, c.opts)
				if err != nil {
					t.Fatal(err)
				}
				c = again
			}
		}
		s, _, err := c.RollupState()
		if err != nil {
			t.Fatal(err)
		}
		for i := range rollup.Interval(rollup.Intervals) {
			first, last, _ := s.Bounds(i)
			found := 0
			if err := c.Buckets(i, last, first, func(number uint32, r *rollup.Record) {
				w, ok := want[i][number]
				if ok {
					found++
				}
				if ok && *r != w || !ok && (r.Blocks != 0 || r.Txs != 0) {
					t.Errorf("%s %d:\n got %+v\nwant %+v", i, number, *r, w)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if found != len(want[i]) || found < 5 {
				t.Errorf("%d buckets of the %s, want %d", found, i, len(want[i]))
			}
		}
	}
}

// Metrics that are made later leave the same database as those made at once,
// also when making them was interrupted and new blocks came meanwhile.
func TestRoll(t *testing.T) {
	t.Parallel()
	blocks := years(22, 300)
	late, live := openChain(t, Options{NoRollup: true}), openChain(t, Options{})
	commit(t, late, blocks[:230], 64)
	commit(t, live, blocks, 64)
	if _, _, err := late.RollupState(); !errors.Is(err, ErrRollup) {
		t.Errorf("state without metrics: %v", err)
	}
	opts := late.opts
	opts.NoRollup = false
	c, err := Open(late.db, late.id, opts)
	if err != nil {
		t.Fatal(err)
	}
	c.groupTxs = 320
	commit(t, c, blocks[230:250], 10)
	if _, _, err := c.RollupState(); !errors.Is(err, ErrRollup) || err.Error() != "the metrics of the chain are not complete: they are made up to block 0 of 250" {
		t.Errorf("state before the metrics are made: %v", err)
	}
	if err := c.Buckets(rollup.Day, 1, 0, nil); !errors.Is(err, ErrRollup) {
		t.Errorf("buckets before the metrics are made: %v", err)
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := c.Roll(ctx, func(done, of uint64) {
		if of != 250 || done < 80 {
			t.Errorf("%d of %d blocks, want 250", done, of)
		}
		cancel(stop)
	}); !errors.Is(err, stop) {
		t.Fatalf("ended by %v", err)
	}
	if c, err = Open(c.db, c.id, opts); err != nil {
		t.Fatal(err)
	}
	c.groupTxs = 320
	steps := 0
	if err := c.Roll(t.Context(), func(done, of uint64) {
		if steps++; steps == 1 && done <= 160 {
			t.Errorf("goes on to block %d of %d", done, of)
		}
	}); err != nil || steps == 0 {
		t.Fatal(steps, err)
	}
	commit(t, c, blocks[250:], 30)
	if digest(t, c) != digest(t, live) {
		t.Error("the databases differ")
	}
	if err := c.Roll(t.Context(), func(uint64, uint64) { t.Error("there is nothing to do") }); err != nil {
		t.Error(err)
	}
}

// Metrics that are made again are the same, and are shown all the time.
func TestReroll(t *testing.T) {
	t.Parallel()
	c := openAlone(t, Options{})
	if err := c.Reroll(t.Context(), nil); err != nil { // of an empty chain
		t.Fatal(err)
	}
	commit(t, c, years(23, 150), 50)
	_, edition, err := c.RollupState()
	if err != nil {
		t.Fatal(err)
	}
	want, sum, rows := series(t, c, rollup.Day), digest(t, c), countRows(t, c)
	if err := c.Reroll(t.Context(), func(uint64, uint64) {
		mustEqual(t, "meanwhile", series(t, c, rollup.Day), want)
	}); err != nil {
		t.Fatal(err)
	}
	if _, next, err := c.RollupState(); err != nil || next == edition {
		t.Errorf("edition %d after %d, %v", next, edition, err)
	}
	mustEqual(t, "made again", series(t, c, rollup.Day), want)
	if digest(t, c) != sum {
		t.Error("the digests differ")
	}
	if got := countRows(t, c); got != rows+2 { // the build's row and that of what was dropped
		t.Errorf("%d rows of %d are left", got, rows)
	}
}

// A chain without blocks, and one with the genesis block alone, have no metrics.
func TestNoBuckets(t *testing.T) {
	t.Parallel()
	c := openChain(t, Options{})
	if _, _, err := c.RollupState(); !errors.Is(err, ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
	blocks := years(24, 2)
	commit(t, c, blocks[:1], 1)
	if got := series(t, c, rollup.Hour); len(got) != 0 {
		t.Errorf("of the genesis block: %v", got)
	}
	commit(t, c, blocks[1:], 1)
	if got := series(t, c, rollup.Hour); len(got) != 1 {
		t.Errorf("of one block: %v", got)
	}
}

// Metrics whose rows cannot be read any more are not shown until they are made again.
func TestOtherRules(t *testing.T) {
	t.Parallel()
	blocks := years(25, 120)
	c := openChain(t, Options{})
	commit(t, c, blocks[:100], 50)
	old := *c.places()
	for _, table := range []byte{store.TableStamps, store.TableBuckets, store.TableRollup} {
		old.of[table].version = rollupReads - 1
	}
	if err := c.putRows(row{old.rowKey(rowServing), old.append(nil)}, row{old.key(store.TableRollup), []byte("another layout")}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(c.db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, again, blocks[100:], 50)
	if _, _, err := again.RollupState(); !errors.Is(err, ErrRollup) {
		t.Errorf("shown: %v", err)
	}
	if got := again.Stale(); len(got) != 4 {
		t.Errorf("stale are %v", got)
	}
	if err := again.Roll(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 50)
	mustEqual(t, "made again", series(t, again, rollup.Day), series(t, clean, rollup.Day))
	if digest(t, again) != digest(t, clean) || len(again.Stale()) > 0 {
		t.Errorf("the digests differ, or %v are stale", again.Stale())
	}
}

// A block that was written in part before a crash counts once.
func TestHalfABlockRolled(t *testing.T) {
	t.Parallel()
	blocks := years(26, 60)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 60)
	for k := 1; k < len(blocks)-1; k += torture.Pick(15, 7) {
		c := openChain(t, Options{})
		commit(t, c, blocks[:k], 20)
		s, err := c.db.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		cur := c.last.Load()
		r, err := c.maker.newRoll(s, &cur.rolled)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newStored(c.maker, s, uint64(k))
		if err != nil {
			t.Fatal(err)
		}
		b := c.maker.builder
		b.begin(p)
		b.roll = r
		if err := b.apply(blocks[k]); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if err := c.putMeta(t.Context(), b.rows.list); err != nil {
			t.Fatal(err)
		}
		again, err := Open(c.db, c.id, c.opts)
		if err != nil {
			t.Fatal(err)
		}
		commit(t, again, blocks[k:], 7)
		if digest(t, again) != digest(t, clean) {
			t.Fatalf("block %d counts twice", k)
		}
	}
}

// Metrics of chains in one database do not mix.
func TestRollTwoChains(t *testing.T) {
	t.Parallel()
	a := openChain(t, Options{})
	b, err := Open(a.db, chain.ID{77}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, other := years(27, 40), years(28, 40)
	for i := range one {
		commit(t, a, one[i:i+1], 1)
		commit(t, b, other[i:i+1], 1)
	}
	alone := openChain(t, Options{})
	commit(t, alone, other, 40)
	mustEqual(t, "second chain", series(t, b, rollup.Hour), series(t, alone, rollup.Hour))
}
