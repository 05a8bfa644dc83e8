package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
	"quorate/engine/yield"
)

// archive is a list of blocks from genesis on.
type archive struct {
	mu     sync.Mutex // guards the elements of blocks
	blocks []*evm.Block
	// before, if not nil, is called before each block.
	before func(number uint64) error
}

func (a *archive) Read(ctx context.Context, from, to uint64, f func(*evm.Block) error) error {
	for n := from; n <= to; n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if a.before != nil {
			if err := a.before(n); err != nil {
				return err
			}
		}
		if n >= uint64(len(a.blocks)) {
			return nil
		}
		a.mu.Lock()
		b := a.blocks[n]
		a.mu.Unlock()
		if err := f(b); err != nil {
			return err
		}
	}
	return nil
}

func rebuild(t *testing.T, c *Chain, from Blocks, list ...Table) {
	t.Helper()
	if err := c.Rebuild(t.Context(), from, list, nil); err != nil {
		t.Fatal(err)
	}
}

// Each table that is made again alone has the rows that it had, and nothing of the
// old edition is left.
func TestRebuildEach(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 41, Txs: 3}).Blocks(50)
	c := openAlone(t, Options{Remember: 30})
	c.groupTxs = 20
	commit(t, c, blocks[:40], 9)
	for _, table := range Tables() {
		want, n, before := digest(t, c), countRows(t, c), c.places().of[table]
		rebuild(t, c, &archive{blocks: blocks}, table)
		if got := c.places().of[table]; got.edition != before.edition+1 {
			t.Errorf("%s lies at %+v after %+v", table, got, before)
		}
		if digest(t, c) != want {
			t.Errorf("%s: the digests differ", table)
		}
		if got := countRows(t, c); got > n+2 {
			t.Errorf("%s: %d rows after %d", table, got, n)
		}
	}
	commit(t, c, blocks[40:], 3)
	clean := openAlone(t, Options{})
	commit(t, clean, blocks, 50)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ after further blocks")
	}
	compare(t, at(t, c, nil), recompute(blocks, 49), 20)
}

// A table that is damaged, and one that was made by other rules, is made good.
func TestRebuildMends(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 42, Txs: 6}).Blocks(60)
	c := openChain(t, Options{})
	commit(t, c, blocks, 9)
	want := digest(t, c)
	p := c.places()
	junk := []row{
		{p.key(store.TableTokenBalances).addr(&indextest.Liar).addr(&indextest.Liar).u64(^uint64(3)), []byte{0, 1}},
		{p.key(store.TableFailed).u64(^uint64(4)).u32(7), nil},
	}
	if err := c.putRows(junk...); err != nil {
		t.Fatal(err)
	}
	if digest(t, c) == want {
		t.Fatal("the damage does not show")
	}
	rebuild(t, c, &archive{blocks: blocks}, store.TableFailed, store.TableTokenHolders)
	if digest(t, c) != want {
		t.Error("the digests differ")
	}
}

// All tables are made again while blocks are committed and views are read. A view
// that was opened before shows the same afterwards.
func TestRebuildBeside(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 43, Txs: 3}).Blocks(270)
	c := openChain(t, Options{Remember: 100})
	c.groupTxs, c.within = 12, 60
	commit(t, c, blocks[:150], 50)
	old, o := at(t, c, nil), recompute(blocks[:150], 149) // old knows of no later ones
	next := 150
	tip := uint64(135)
	pinned := recompute(blocks, tip)
	rnd := rand.New(rand.NewPCG(43, 1))
	a := &archive{blocks: blocks, before: func(n uint64) error {
		if n%20 != 0 {
			return nil
		}
		v, err := c.At(&tip)
		if err != nil {
			return err
		}
		defer v.Close()
		who := pinned.txs[rnd.IntN(len(pinned.txs))].tx.From
		got := all(t, Page{Limit: 7, To: ^uint64(0)}, func(p Page) ([]string, []byte, error) {
			return rowsOf(func(take func(*Tx) bool) ([]byte, error) { return v.AddressTxs(who, p, take) },
				func(tx *Tx) string { return gotPart(tx, who) })
		})
		mustEqual(t, "beside", got, wantedAs(pinned.byAddr[who], true, func(tx *oracleTx) string { return tx.part(who) }))
		return nil
	}}
	steps := 0
	if err := c.Rebuild(t.Context(), a, Tables(), func(done, of uint64) {
		if steps++; steps%2 == 0 && next < 240 { // also in between the passes, but not with the lock held
			if done+c.within < of {
				commit(t, c, blocks[next:next+10], 10)
				next += 10
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if next == 150 {
		t.Error("no block was committed meanwhile")
	}
	for _, table := range Tables() {
		if got := c.places().of[table]; got.edition != 1 {
			t.Errorf("%s lies at %+v", table, got)
		}
	}
	compare(t, old, o, 20)
	old.Close()
	commit(t, c, blocks[next:], 30)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 90)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}

// Tables are made again while requests are served, so that it rests. All readers see
// the same rows all the time, and afterwards the tables are those of a chain that
// nobody has read. Each reads for each block that is read, and not without a pause, or
// they would take the processors that the rebuild leaves them, for as long as it lasts.
func TestRebuildRests(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 47, Txs: 3}).Blocks(120)
	s := yield.New(1)
	c := openChain(t, Options{Remember: 100, Spare: s})
	c.groupTxs, c.within = 12, 10
	commit(t, c, blocks, 50)
	o := recompute(blocks, 119)
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	turns := make(chan struct{}, 3)
	a := &archive{blocks: blocks, before: func(uint64) error {
		s.Requested() // whether or not a reader comes to its turn on a busy machine
		for range cap(turns) {
			select {
			case turns <- struct{}{}:
			default: // they have not begun with the last ones yet
			}
		}
		return nil
	}}
	for i := range cap(turns) {
		who := o.txs[i].tx.From
		want := wantedAs(o.byAddr[who], true, func(tx *oracleTx) string { return tx.part(who) })
		readers.Go(func() {
			for !t.Failed() {
				select {
				case <-turns:
				case <-ctx.Done():
					return
				}
				s.Requested()
				v := at(t, c, nil)
				got := all(t, Page{Limit: 50, To: ^uint64(0)}, func(p Page) ([]string, []byte, error) {
					return rowsOf(func(take func(*Tx) bool) ([]byte, error) { return v.AddressTxs(who, p, take) },
						func(tx *Tx) string { return gotPart(tx, who) })
				})
				v.Close()
				if !slices.Equal(got, want) {
					t.Errorf("%d of %d transactions of %s, or others", len(got), len(want), who)
				}
			}
		})
	}
	// Check makes all tables, too, and compares them.
	rebuild(t, c, a, Tables()...)
	if _, err := c.Check(t.Context(), a, nil, func(d Difference) { t.Error(d) }); err != nil {
		t.Error(err)
	}
	stop()
	readers.Wait()
	if s.Rested() == 0 {
		t.Error("it never rested")
	}
	if c.Remembered() == 0 || c.aside.Load() != 0 {
		t.Errorf("%d bytes of balances, of them %d for a rebuild that has ended", c.Remembered(), c.aside.Load())
	}
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 90)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}

// A database of before tables had versions has stale tables. Made again they are
// those of a fresh one.
func TestRebuildOld(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 44, Txs: 3}).Blocks(70)
	c := openAlone(t, Options{})
	commit(t, c, blocks[:50], 9)
	old := withoutEditions(t, c)
	stale := old.Stale()
	if !slices.Contains(stale, Table(store.TableTokenBalances)) || slices.Contains(stale, Table(store.TableTxHashes)) {
		t.Errorf("stale are %v", stale)
	}
	commit(t, old, blocks[50:60], 9)
	rebuild(t, old, &archive{blocks: blocks}, stale...)
	if got := old.Stale(); len(got) > 0 {
		t.Errorf("stale are %v", got)
	}
	commit(t, old, blocks[60:], 9)
	commit(t, c, blocks[50:], 9)
	if digest(t, old) != digest(t, c) {
		t.Error("the digests differ")
	}
}

// put has a block read as another from now on.
func (a *archive) put(b *evm.Block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocks[b.Number] = b
}

var errStopped = errors.New("stopped")

// A rebuild that was ended anywhere goes on where it was, also after the chain
// was opened again and has further blocks.
func TestRebuildGoesOn(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 45, Txs: 4}).Blocks(240)
	c := openChain(t, Options{Remember: 50})
	commit(t, c, blocks[:140], 50)
	rnd := rand.New(rand.NewPCG(45, 1))
	read := 0
	a := &archive{blocks: blocks}
	next, ends := 140, 0
	for {
		c.groupTxs, c.within = 15, 60
		stop := read + 1 + rnd.IntN(90)
		a.before = func(uint64) error {
			if read++; read >= stop {
				return errStopped
			}
			return nil
		}
		err := c.Rebuild(t.Context(), a, Tables(), nil)
		if err == nil {
			break
		}
		if ends++; !errors.Is(err, errStopped) || ends > 100 {
			t.Fatal(ends, err)
		}
		if c, err = Open(c.db, c.id, c.opts); err != nil {
			t.Fatal(err)
		}
		if next < 220 {
			commit(t, c, blocks[next:next+10], 10)
			next += 10
		}
	}
	if ends == 0 || read > 240+ends*(30+60) {
		t.Errorf("%d ends, %d blocks read", ends, read)
	}
	commit(t, c, blocks[next:], 30)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 90)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
}

// A rebuild of other tables than one that did not end starts over, and leaves
// nothing of it.
func TestRebuildOthers(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 46, Txs: 4}).Blocks(100)
	c := openAlone(t, Options{})
	c.groupTxs = 15
	commit(t, c, blocks, 50)
	want, n := digest(t, c), countRows(t, c)
	a := &archive{blocks: blocks, before: func(n uint64) error {
		if n == 75 {
			return errStopped
		}
		return nil
	}}
	if err := c.Rebuild(t.Context(), a, []Table{store.TableTxs, store.TableTokenBalances}, nil); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	if countRows(t, c) <= n {
		t.Error("nothing was made")
	}
	if err := c.Roll(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	a.before = nil
	rebuild(t, c, a, store.TableTokenBalances, store.TableRollup)
	rebuild(t, c, a)
	if digest(t, c) != want || countRows(t, c) != n+2 {
		t.Errorf("the digests differ, or %d rows are not %d", countRows(t, c), n)
	}
}

// Blocks that are not those of the chain are refused.
func TestRebuildRefuses(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 47, Txs: 3}).Blocks(40)
	c := openChain(t, Options{})
	if err := c.Rebuild(t.Context(), nil, Tables(), nil); err != nil {
		t.Error("of a chain without blocks:", err)
	}
	commit(t, c, blocks, 40)
	want := digest(t, c)
	for name, a := range map[string]*archive{
		"other blocks": {blocks: indextest.New(indextest.Config{Seed: 48}).Blocks(40)},
		"too few":      {blocks: blocks[:30]},
	} {
		if err := c.Rebuild(t.Context(), a, []Table{store.TableTxs}, nil); !errors.Is(err, ErrOrder) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := c.Rebuild(t.Context(), nil, []Table{store.TableTokenMeta}, nil); !errors.Is(err, ErrTable) {
		t.Error("of metadata:", err)
	}
	if digest(t, c) != want {
		t.Error("the digests differ")
	}
	rebuild(t, c, &archive{blocks: blocks}, store.TableTxs, store.TableBlocks)
	if digest(t, c) != want {
		t.Error("the digests differ afterwards")
	}
}

func ExampleTable() {
	t, err := ParseTable("token-balances")
	fmt.Println(t, err)
	// Output: token-balances <nil>
}

// A load yields each key once, with its last value, and all in the order of keys,
// also where only the end of a key differs; rows of metrics stay with the transaction.
func TestLoadSorts(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(49, 1))
	p, db := newPlaces(7), openDB(t, t.TempDir())
	var l load
	want, rest := map[string]byte{}, 0
	for i := range 4000 {
		k := p.key([]byte{store.TableTxs, store.TableHolders, store.TableStamps}[rnd.IntN(3)]).u64(7 * uint64(rnd.IntN(9)))
		for range rnd.IntN(3) {
			k = append(k, byte(rnd.IntN(4)))
		}
		r := row{k[:len(k)-rnd.IntN(4)], []byte{byte(i)}}
		others, size := l.take([]row{r})
		if k[0] == store.TableStamps {
			rest += len(others)
			if size != len(r.key)+1 {
				t.Fatalf("%d bytes", size)
			}
			continue
		}
		want[string(r.key)] = byte(i)
	}
	s := l.end()
	if err := s.load(t.Context(), db, nil); err != nil || rest == 0 {
		t.Fatal(err, rest)
	}
	b, err := db.Batch()
	if err == nil {
		err = errors.Join(b.Set([]byte{store.TableChains}, nil), b.Commit()) // they show from now on
	}
	if err != nil {
		t.Fatal(err)
	}
	got, err := db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	rows, err := got.Rows(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Seek([]byte{store.TableTxs}); rows.Valid(); rows.Next() {
		k := string(rows.Key())
		if err := rows.Value(func(v []byte) error {
			if !slices.Equal(v, []byte{want[k]}) {
				return fmt.Errorf("%x has %x, want %x", k, v, want[k])
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		delete(want, k)
	}
	if len(want) > 0 {
		t.Errorf("%d rows are not there", len(want))
	}
	if next := l.end(); len(next.tables[store.TableTxs])+len(next.tables[store.TableHolders]) > 0 {
		t.Error("it keeps what it handed over")
	}
}
