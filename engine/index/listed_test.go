package index

import (
	"context"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// age makes a chain one that was begun before its youngest tables were known: they
// have rows of the newest blocks alone, and old rows of addresses have only roles.
func age(t *testing.T, c *Chain, below uint64) {
	t.Helper()
	s, err := c.db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b, err := c.db.Batch()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Discard()
	cur := *c.last.Load()
	old := *cur.places
	cur.places = &old
	prefix := old.key(store.TableAddressTxs)
	rows, err := s.Rows(prefix, false)
	if err != nil {
		t.Fatal(err)
	}
	aged := 0
	for rows.Seek(prefix); rows.Valid(); rows.Next() {
		k := append(key(nil), rows.Key()...)
		if ^heightAt(k[len(prefix)+evm.AddressLen:]) >= below {
			continue
		}
		if err := rows.Value(func(v []byte) error { return b.Set(k, append([]byte(nil), v[:1]...)) }); err != nil {
			t.Fatal(err)
		}
		aged++
	}
	if aged == 0 {
		t.Fatal("no rows")
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, table := range []byte{store.TableTxHeads, store.TableHoldings, store.TableHolders} {
		old.of[table] = place{}
	}
	old.of[store.TableTxHeads] = place{version: 1} // of a codec that is not read any more
	c.last.Store(&cur)
}

// TestOldTables: what a chain says does not depend on whether it has the tables
// that make its pages cheap.
func TestOldTables(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 21, Txs: torture.Watched(6, 12)}).Blocks(45)
	c := openChain(t, Options{})
	commit(t, c, blocks[:30], 10)
	age(t, c, 30)
	commit(t, c, blocks[30:], 7)
	for _, height := range []uint64{22, 44} {
		v := at(t, c, &height)
		compare(t, v, recompute(blocks, height), 7)
		v.Close()
	}
}

// TestLargeParts: a transaction with more than fits a row of an address is read
// from its own row, and says the same.
func TestLargeParts(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 23, Txs: 4}).Blocks(12)
	last := blocks[len(blocks)-1]
	who := evm.Address{9}
	tx := evm.Tx{Index: uint32(len(last.Txs)), Hash: evm.Hash{7}, From: who, To: evm.Address{8}, Input: make([]byte, 500)}
	for i := range 40 {
		tx.Calls = append(tx.Calls, evm.Call{Type: evm.CallPlain, From: who, To: evm.Address{1, byte(i)}})
	}
	last.Txs = append(last.Txs, tx)
	c := openChain(t, Options{})
	if err := c.Commit(context.Background(), blocks); err != nil {
		t.Fatal(err)
	}
	v := at(t, c, nil)
	compare(t, v, recompute(blocks, last.Number), 3)
	n := 0
	if _, err := v.AddressTxs(who, Page{Limit: 1, To: ^uint64(0)}, func(tx *Tx) bool { n += len(tx.Calls); return true }); err != nil || n != 40 {
		t.Errorf("%d calls, %v", n, err)
	}
}

// TestPageEnds: a page ends where there is no more room, and goes on behind.
func TestPageEnds(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 24, Txs: 40, Full: true}).Blocks(6)
	c := openChain(t, Options{})
	commit(t, c, blocks, 3)
	v := at(t, c, nil)
	o := recompute(blocks, 5)
	for _, asc := range []bool{false, true} {
		var got []string
		p := Page{Limit: 100, Ascending: asc, To: ^uint64(0)}
		for {
			n := 0
			next, err := v.LatestTxs(p, nil, func(tx *Tx) bool {
				got = append(got, gotHead(tx))
				n++
				return n < 7
			})
			if err != nil || n > 7 {
				t.Fatal(n, err)
			}
			if p.After = append([]byte(nil), next...); next == nil {
				break
			}
		}
		mustEqual(t, "pages of 7", got, wantedAs(o.txs, !asc, (*oracleTx).head))
	}
}

func heightAt(b []byte) (n uint64) {
	for _, c := range b[:heightLen] {
		n = n<<8 | uint64(c)
	}
	return n
}
