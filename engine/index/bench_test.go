package index

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

func benchChain(b *testing.B, dir string) (*store.DB, *Chain) {
	b.Helper()
	db, err := store.Open(dir, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	c, err := Open(db, chain.ID{1}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return db, c
}

// BenchmarkCommit indexes blocks of 100 transactions with all rows on, in
// groups, each on disk before the next, and says what a transaction takes on
// disk.
func BenchmarkCommit(b *testing.B) {
	for _, group := range []int{1, 64} {
		b.Run(fmt.Sprint("group=", group), func(b *testing.B) {
			dir := b.TempDir()
			db, c := benchChain(b, dir)
			gen := indextest.New(indextest.Config{Seed: 1, Txs: 100, Full: true, Accounts: 100_000})
			commit(b, c, gen.Blocks(1), 1) // genesis
			b.ReportAllocs()
			txs := 0
			var spent time.Duration
			for b.Loop() {
				b.StopTimer()
				blocks := gen.Blocks(group)
				b.StartTimer()
				begin := time.Now()
				if err := c.Commit(b.Context(), blocks); err != nil {
					b.Fatal(err)
				}
				spent += time.Since(begin)
				txs += group * 100
			}
			b.ReportMetric(float64(txs)/spent.Seconds(), "txs/s")
			if err := db.Close(); err != nil { // writes all tables
				b.Fatal(err)
			}
			b.ReportMetric(float64(tableBytes(b, dir))/float64(txs), "disk-B/tx")
		})
	}
}

// tableBytes returns the size of the tables; the logs are of fixed size.
func tableBytes(b *testing.B, dir string) (n int64) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			b.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// BenchmarkApply is the pure part: rows in memory.
func BenchmarkApply(b *testing.B) {
	_, c := benchChain(b, b.TempDir())
	gen := indextest.New(indextest.Config{Seed: 1, Txs: 100, Full: true, Accounts: 100_000})
	blocks := gen.Blocks(64)[1:]
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		bl := c.maker.builder
		s, err := c.db.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		p, err := newStored(c.maker, s, 0)
		if err != nil {
			b.Fatal(err)
		}
		bl.begin(p)
		for _, blk := range blocks {
			bl.rows.list, bl.rows.bytes = bl.rows.list[:0], 0
			if err := bl.apply(blk); err != nil {
				b.Fatal(err)
			}
			n += len(blk.Txs)
		}
		s.Close()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "txs/s")
}

// BenchmarkAddressPage reads the newest 10 transactions of an address that has
// few and of one that has a great many. The cost must not depend on how many there are.
func BenchmarkAddressPage(b *testing.B) {
	_, c := benchChain(b, b.TempDir())
	rare, busy := evm.Address{1}, evm.Address{2}
	const blocks, each = 1000, 1000 // the busy one has a million
	var parent evm.Hash
	for n := range blocks {
		blk := &evm.Block{Number: uint64(n), Parent: parent, TimeMilli: uint64(n) * 2000}
		blk.Hash = evm.Keccak([]byte("bench"), parent[:], []byte{byte(n)})
		for i := range each {
			tx := evm.Tx{Index: uint32(i), From: busy, To: evm.Address{3, byte(i), byte(i >> 8)}, GasLimit: 21000, GasUsed: 21000}
			if i == each/2 && n%(blocks/10) == 0 {
				tx.To = rare
			}
			tx.Hash = evm.Keccak(blk.Hash[:], []byte{byte(i), byte(i >> 8)})
			blk.Txs = append(blk.Txs, tx)
		}
		parent = blk.Hash
		if err := c.Commit(b.Context(), []*evm.Block{blk}); err != nil {
			b.Fatal(err)
		}
	}
	for _, of := range []struct {
		name string
		a    evm.Address
	}{{"rows=10", rare}, {"rows=1000000", busy}} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v, err := c.At(nil)
				if err != nil {
					b.Fatal(err)
				}
				n := 0
				_, err = v.AddressTxs(of.a, Page{Limit: 10, To: ^uint64(0)}, func(*Tx) bool { n++; return true })
				if err != nil || n != 10 {
					b.Fatal(n, err)
				}
				v.Close()
			}
		})
	}
}

// BenchmarkRebuild makes all tables, or one, of 60,000 transactions again, while
// nothing else happens.
func BenchmarkRebuild(b *testing.B) {
	const blocks = 600
	_, c := benchChain(b, b.TempDir())
	gen := indextest.New(indextest.Config{Seed: 1, Txs: 100, Full: true, Accounts: 100_000})
	a := &archive{blocks: gen.Blocks(blocks + 1)}
	commit(b, c, a.blocks, 64)
	for name, list := range map[string][]Table{"all": Tables(), "transactions": {store.TableTxs}, "balances": {store.TableTokenBalances}, "metrics": {store.TableRollup}} {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				if err := c.Rebuild(b.Context(), a, list, nil); err != nil {
					b.Fatal(err)
				}
				n += blocks * 100
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "txs/s")
		})
	}
}
