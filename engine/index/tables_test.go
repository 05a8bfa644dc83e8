package index

import (
	"encoding/binary"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// withoutEditions copies a chain's rows to a database of its own, as a program
// without editions has left them.
func withoutEditions(t *testing.T, c *Chain) *Chain {
	t.Helper()
	db := openDB(t, t.TempDir())
	if _, err := db.Ordinal(c.id); err != nil {
		t.Fatal(err)
	}
	s, err := c.db.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	blocks := map[uint64]*BlockRef{}
	for table := byte(store.TableCursor); table < store.TableEditions; table++ {
		rows, err := s.Rows([]byte{table}, false)
		if err != nil {
			t.Fatal(err)
		}
		b, err := db.Batch()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Seek([]byte{table}); rows.Valid(); rows.Next() {
			k := append([]byte(nil), rows.Key()...)
			var v []byte
			if err := rows.Value(func(b []byte) error { v = append(v, b...); return nil }); err != nil {
				t.Fatal(err)
			}
			if err := putOld(t, blocks, k, v, b.Set); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	old, err := Open(db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	return old
}

// putOld puts a row as it was before it became denser. The rows of blocks come first.
func putOld(t *testing.T, blocks map[uint64]*BlockRef, k, v []byte, put func(k, v []byte) error) error {
	t.Helper()
	switch k[0] {
	case store.TableAddressTxs:
		return singleRows(k, v, put)
	case store.TableBlocks:
		number := binary.BigEndian.Uint64(k[leadLen:])
		h, err := decodeHeader(number, v)
		if err != nil {
			return err
		}
		blocks[number] = &h.BlockRef
	case store.TableTxs:
		tx, err := decodeTx(blocks[binary.BigEndian.Uint64(k[leadLen:])], binary.BigEndian.Uint32(k[leadLen+heightLen:]), v)
		if err != nil {
			return err
		}
		v = encodedOld(tx)
	}
	return put(k, v)
}

// A database without editions is read with all tables at version 1, and goes on.
func TestWithoutEditions(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 31, Txs: 4}).Blocks(60)
	c := openAlone(t, Options{})
	commit(t, c, blocks[:40], 10)
	old := withoutEditions(t, c)
	if got := old.places().of[store.TableTokenBalances]; got != (place{version: 1 | incomplete}) { // the wrapped coins were not kept
		t.Errorf("balances lie at %+v", got)
	}
	commit(t, old, blocks[40:], 7)
	compare(t, at(t, old, nil), recompute(blocks, 59), 20)
}

// What is known of the tables of a chain without blocks is that of this program,
// and stays with it.
func TestFirstEditions(t *testing.T) {
	t.Parallel()
	c, err := Open(openDB(t, t.TempDir()), chain.ID{1}, Options{Wrapped: []evm.Address{indextest.Wrapped}})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, c, indextest.New(indextest.Config{Seed: 32}).Blocks(3), 2)
	again, err := Open(c.db, c.id, c.opts)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.places(); *got != *newPlaces(c.ordinal) {
		t.Errorf("tables lie at %+v", got)
	}
}

// Each table has a name of its own.
func TestTableNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, table := range Tables() {
		got, err := ParseTable(table.String())
		if err != nil || got != table || seen[table.String()] {
			t.Errorf("%s: %v, %v", table, got, err)
		}
		seen[table.String()] = true
	}
	if _, err := ParseTable(""); err == nil {
		t.Error("a table without a name")
	}
}

// countRows returns the number of rows in the database.
func countRows(t *testing.T, c *Chain) (n int) {
	t.Helper()
	if err := c.snapshot(func(s *store.Snapshot) error {
		rows, err := s.Rows(nil, false)
		if err != nil {
			return err
		}
		for rows.Seek(nil); rows.Valid(); rows.Next() {
			n++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}
