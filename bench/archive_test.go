package bench

import (
	"context"
	"slices"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

// archiveBytesPerTx is what a transaction of the simulated chain may take in the archive.
const archiveBytesPerTx = 350

// collected is a sink that keeps blocks.
type collected struct {
	nowhere
	blocks []*evm.Block
}

func (s *collected) Commit(ctx context.Context, blocks []*evm.Block) error {
	s.blocks = append(s.blocks, blocks...)
	return s.nowhere.Commit(ctx, blocks)
}

func (s *collected) Cursor() (chain.Head, bool) { return s.nowhere.Cursor() }

// chainBlocks returns the blocks of a simulated chain as a node has them.
func chainBlocks(t testing.TB, blocks, txs int) (list []*evm.Block, transactions, logs int) {
	t.Helper()
	s := new(collected)
	startChainFarm(t, blocks, txs).follow(t, s)
	for _, b := range s.blocks {
		transactions += len(b.Txs)
		for i := range b.Txs {
			logs += len(b.Txs[i].Logs)
		}
	}
	return s.blocks, transactions, logs
}

// archiveBlocks puts blocks into an archive, in groups, and returns its size.
func archiveBlocks(t testing.TB, dir string, list []*evm.Block, group int) int64 {
	t.Helper()
	a, err := archive.Open(dir, archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	for part := range slices.Chunk(list, group) {
		var kept []archive.Block
		for _, b := range part {
			kept = append(kept, evmarchive.BlockOf(b))
		}
		if err := a.Append(context.Background(), kept); err != nil {
			t.Fatal(err)
		}
	}
	return a.Size()
}

// TestArchiveSize keeps the bytes that a transaction takes in the archive.
func TestArchiveSize(t *testing.T) {
	t.Parallel()
	list, txs, logs := chainBlocks(t, torture.Pick(30, 60), 100)
	check := func(what string, txs, logs int) {
		size := archiveBlocks(t, t.TempDir(), list, 64)
		t.Logf("%s: %.0f bytes for each of %d transactions with %.2f logs", what, float64(size)/float64(txs), txs, float64(logs)/float64(txs))
		if per := size / int64(txs); per > archiveBytesPerTx {
			t.Errorf("%s: %d bytes for a transaction, at most %d are allowed", what, per, archiveBytesPerTx)
		}
	}
	for _, b := range list {
		if len(b.Header) == 0 || b.Unverified != "" {
			t.Fatalf("block %d has no header, or was not checked: %s", b.Number, b.Unverified)
		}
	}
	check("all", txs, logs)
	// The bound is for transactions with two logs: those with fewer give theirs up to
	// a neighbour.
	for _, b := range list {
		merged := b.Txs[:0]
		spare := []evm.Log(nil)
		for i := range b.Txs {
			spare = append(spare, b.Txs[i].Logs...)
		}
		for i := range b.Txs {
			if len(spare) < 2 {
				break
			}
			b.Txs[i].Logs, spare = spare[:2], spare[2:]
			merged = append(merged, b.Txs[i])
		}
		b.Txs = merged
	}
	txs, logs = 0, 0
	for _, b := range list {
		txs, logs = txs+len(b.Txs), logs+2*len(b.Txs)
	}
	check("with two logs each", txs, logs)
}

// BenchmarkArchive is what the archive takes for blocks of 100 transactions on average.
func BenchmarkArchive(b *testing.B) {
	list, txs, logs := chainBlocks(b, 200, 100)
	data := make([][]byte, len(list))
	raw := 0
	for i := range list {
		data[i] = evmarchive.Append(nil, list[i])
		raw += len(data[i])
	}
	run := func(name string, f func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f(b)
			}
			b.ReportMetric(float64(txs)*float64(b.N)/b.Elapsed().Seconds(), "txs/s")
		})
	}
	run("encode", func(*testing.B) {
		var dst []byte
		for i := range list {
			dst = evmarchive.Append(dst[:0], list[i])
		}
	})
	run("decode", func(b *testing.B) {
		var block evm.Block
		for i := range data {
			if err := evmarchive.Decode(data[i], &block); err != nil {
				b.Fatal(err)
			}
		}
	})
	dir := b.TempDir()
	size := archiveBlocks(b, dir, list, 64)
	b.Logf("%.0f bytes, %.0f before they are packed, for a transaction with %.2f logs",
		float64(size)/float64(txs), float64(raw)/float64(txs), float64(logs)/float64(txs))
	run("append", func(b *testing.B) { archiveBlocks(b, b.TempDir(), list, 64) })
	run("read", func(b *testing.B) {
		a, err := archive.Open(dir, archive.Options{Kind: archive.KindEVM, ReadOnly: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := evmarchive.NewReader(a).Read(context.Background(), 0, uint64(len(list)-1), func(*evm.Block) error { return nil }); err != nil {
			b.Fatal(err)
		}
	})
}
