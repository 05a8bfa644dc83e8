package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// singleRows splits a row of an address' transactions into those of before they shared
// rows. Every other one has only roles.
func singleRows(k, v []byte, put func(k, v []byte) error) error {
	d := decoder{b: v}
	d.headBlock(partsVersion, new(BlockRef))
	head := v[1 : len(v)-len(d.b)]
	for len(d.b) > 0 && d.err == nil {
		index, value := d.u8(), []byte{d.u8()}
		if part := d.take(d.count(1)); len(part) > 0 && index%2 == 0 {
			value = append(append(append(value, partVersion), head...), part...)
		}
		single := append(append([]byte(nil), k[:len(k)-1]...), ^index)
		if err := put(single, value); err != nil {
			return err
		}
	}
	return d.err
}

// age makes a chain one that was begun before its youngest tables were known: they
// have rows of the newest blocks alone, and rows of addresses have one transaction
// each, every other one only roles.
func age(t *testing.T, c *Chain) {
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
		err := b.Delete(k)
		if err == nil {
			err = rows.Value(func(v []byte) error { return singleRows(k, v, b.Set) })
		}
		if err != nil {
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
	old.of[store.TableAddressTxs].version = 2
	for _, table := range []byte{store.TableTxHeads, store.TableHoldings, store.TableHolders} {
		old.of[table] = place{}
	}
	old.of[store.TableTxHeads] = place{version: 1} // of a codec that is not read any more
	c.last.Store(&cur)
	c.maker = newMaker(c, &old, allTables)
}

// TestOldTables: what a chain says does not depend on whether it has the tables
// that make its pages cheap.
func TestOldTables(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 21, Txs: 12}).Blocks(45)
	c := openChain(t, Options{})
	commit(t, c, blocks[:30], 10)
	age(t, c)
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

// TestSharedRows: lists of an address whose transactions of a block fill several rows.
func TestSharedRows(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 25, Txs: 2*partsPer + 40, Full: true}).Blocks(4)
	c := openChain(t, Options{})
	commit(t, c, blocks, 4)
	v := at(t, c, nil)
	o := recompute(blocks, 3)
	busy := evm.Address{}
	for a := range o.byAddr {
		if len(o.byAddr[a]) > len(o.byAddr[busy]) {
			busy = a
		}
	}
	if n := len(o.byAddr[busy]); n < partsPer {
		t.Fatalf("the busiest address has part in %d transactions", n)
	}
	for _, limit := range []int{1, 7, partsPer, 10_000} {
		for _, asc := range []bool{false, true} {
			got := all(t, Page{Limit: limit, Ascending: asc, To: ^uint64(0)}, func(p Page) ([]string, []byte, error) {
				return rowsOf(func(take func(*Tx) bool) ([]byte, error) { return v.AddressTxs(busy, p, take) },
					func(tx *Tx) string { return gotPart(tx, busy) })
			})
			mustEqual(t, fmt.Sprintf("pages of %d, ascending %v", limit, asc), got,
				wantedAs(o.byAddr[busy], !asc, func(tx *oracleTx) string { return tx.part(busy) }))
		}
	}
}

func FuzzParts(f *testing.F) {
	var e partEncoder
	for _, tx := range someTxs(3) {
		row := appendRowHead(nil, partsVersion, &tx.Block.Hash, tx.Block.TimeMilli)
		part, _ := e.append(nil, &tx.Tx, tx.Transfers, tx.Traced, &tx.From)
		f.Add(append(binary.AppendUvarint(append(row, byte(tx.Index), byte(RoleSender)), uint64(len(part))), part...))
		f.Add(append(appendRowHead(nil, partVersion, &tx.Block.Hash, tx.Block.TimeMilli), part...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		who := evm.Address{7}
		if tx := (&Tx{}); readPart(tx, &who, b) == nil && len(tx.Transfers)+len(tx.Calls) > len(b) {
			t.Errorf("%d transfers and calls in %d bytes", len(tx.Transfers), len(tx.Calls))
		}
		for _, backward := range []bool{false, true} {
			n := 0
			l := &addressList{a: who, take: func([]byte, *Tx) bool { n++; return true }}
			w := partsWalk{v: &View{s: &store.Snapshot{}, at: &places{}}, l: l, span: span{backward: backward}, limit: len(b)}
			if err := w.row(b); err == nil && (n > len(b)/minEntry || w.done) {
				t.Errorf("%d transactions in %d bytes, the page has ended: %v", n, len(b), w.done)
			}
		}
	})
}
