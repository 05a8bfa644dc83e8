package index

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// check returns what a check of the chain reports, sorted.
func check(t *testing.T, c *Chain, from Blocks) (list []string) {
	t.Helper()
	rows, err := c.Check(t.Context(), from, nil, func(d Difference) { list = append(list, d.String()) })
	if err != nil || rows == 0 {
		t.Fatal(rows, err)
	}
	slices.Sort(list)
	return list
}

// A check finds rows that are missing, others and too many, in each table, and
// nothing else; a rebuild of the tables that it names makes them good.
func TestCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 61, Txs: 4}).Blocks(90)
	c := openAlone(t, Options{})
	commit(t, c, blocks, 30)
	a := &archive{blocks: blocks}
	sum, n := digest(t, c), countRows(t, c)
	if got := check(t, c, a); len(got) > 0 {
		t.Fatalf("%d differences, the first is %s", len(got), got[0])
	}
	var want []string
	var damaged []Table
	for i, table := range Tables() {
		lead := c.places().key(byte(table))
		k, v := firstRow(t, c, lead)
		name := fmt.Sprintf("%s: row %x", table, k[len(lead):])
		switch b, err := c.db.Batch(); {
		case err != nil:
			t.Fatal(err)
		case i%3 == 0:
			want = append(want, name+" is missing")
			if err := errorsOf(b.Delete(k), b.Commit()); err != nil {
				t.Fatal(err)
			}
		case i%3 == 1:
			want = append(want, name+" is 0x")
			if err := errorsOf(b.Set(k, append(v, 1)), b.Commit()); err != nil {
				t.Fatal(err)
			}
		default:
			want = append(want, name+"00 follows from no block")
			if err := errorsOf(b.Set(append(k, 0), v), b.Commit()); err != nil {
				t.Fatal(err)
			}
		}
		damaged = append(damaged, table)
	}
	slices.Sort(want)
	got := check(t, c, a)
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("%d differences:\n%s\nwant\n%s", len(got), strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	rebuild(t, c, a, damaged...)
	if got := check(t, c, a); len(got) > 0 || digest(t, c) != sum || countRows(t, c) > n+2 {
		t.Errorf("%d differences after a rebuild, %d rows", len(got), countRows(t, c))
	}
}

func errorsOf(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

// firstRow returns a copy of the first row whose key begins with lead.
func firstRow(t *testing.T, c *Chain, lead []byte) (k, v []byte) {
	t.Helper()
	if err := c.snapshot(func(s *store.Snapshot) error {
		rows, err := s.Rows(lead, false)
		if err != nil {
			return err
		}
		if rows.Seek(lead); !rows.Valid() {
			return fmt.Errorf("table %#x has no row", lead[0])
		}
		k = slices.Clone(rows.Key())
		return rows.Value(func(b []byte) error { v = slices.Clone(b); return nil })
	}); err != nil {
		t.Fatal(err)
	}
	return k, v
}

// Tables that are stale differ by other rules: they are not checked.
func TestCheckStale(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 62, Txs: 6}).Blocks(60)
	c := openAlone(t, Options{})
	commit(t, c, blocks, 30)
	old := withoutEditions(t, c)
	if got := check(t, old, &archive{blocks: blocks}); len(got) > 0 {
		t.Errorf("%d differences, the first is %s", len(got), got[0])
	}
	if len(old.Stale()) == 0 {
		t.Error("nothing is stale")
	}
}

// The contracts of wrapped coins are kept with the chain. With others balances are
// stale, and a rebuild that was under way starts over.
func TestWrappedKept(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 63, Txs: 10, Full: true}).Blocks(40)
	a := &archive{blocks: blocks}
	db := openDB(t, t.TempDir())
	open := func(wrapped []evm.Address) *Chain {
		t.Helper()
		c, err := Open(db, chain.ID{1}, Options{Wrapped: wrapped})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open(nil)
	commit(t, c, blocks, 30)
	plain := digest(t, c)
	c = open([]evm.Address{indextest.Wrapped})
	if stale := c.Stale(); !slices.Contains(stale, Table(store.TableTokenBalances)) || slices.Contains(stale, Table(store.TableTxHashes)) {
		t.Errorf("stale are %v", stale)
	}
	rebuild(t, c, a, c.Stale()...)
	clean := openChain(t, Options{})
	commit(t, clean, blocks, 30)
	if digest(t, c) != digest(t, clean) {
		t.Error("the digests differ")
	}
	c = open(nil) // as a command that knows nothing of the chain's configuration does
	if got := check(t, c, a); len(got) > 0 || len(c.Stale()) > 0 {
		t.Errorf("%d differences, stale are %v", len(got), c.Stale())
	}
	c = open([]evm.Address{})
	a.before = func(n uint64) error {
		if n == 25 {
			return errStopped
		}
		return nil
	}
	c.groupTxs = 50
	_ = c.Rebuild(t.Context(), a, c.Stale(), nil) // with none wrapped, ended half way
	a.before = nil
	c = open([]evm.Address{indextest.Wrapped})
	rebuild(t, c, a, c.Stale()...)
	if digest(t, c) != digest(t, clean) || digest(t, c) == plain {
		t.Error("the digests differ")
	}
}
