package bench

import (
	"log/slog"
	"testing"

	"quorate/engine/archive"
	evmarchive "quorate/engine/archive/evm"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	feeding "quorate/engine/feed"
	"quorate/engine/feed/feedtest"
	"quorate/engine/follow"
	"quorate/engine/metric"
)

// maxFeedShare is what one server that appends blocks to a log and one that reads them may
// take together, of the processor time of indexing them.
const maxFeedShare = 0.3

// feedCost is the processor time, in microseconds for a transaction, of appending blocks to a
// log one by one, as at the head of a chain, and of reading and checking them.
func feedCost(t testing.TB, blocks []*evm.Block) float64 {
	t.Helper()
	log, txs := feedtest.New(), 0
	tail := func(writer string) *feeding.Tail[*evm.Block] {
		return feeding.NewTail(feeding.Config[*evm.Block]{
			Log: log, Network: 1, Chain: chain.ID{1}, Kind: archive.KindEVM, Writer: writer, Parse: follow.ParseShared,
			Logger: slog.New(slog.DiscardHandler), Metrics: metric.NewSet(),
		})
	}
	writer, reader := tail("writer"), tail("reader")
	before := cpu()
	for _, b := range blocks {
		one := []feeding.Block[*evm.Block]{{Height: b.Number, ID: b.Hash, Parent: b.Parent, Item: b}}
		err := writer.Offer(t.Context(), one, func(b *evm.Block) []byte { return evmarchive.Append(nil, b) }, nil)
		if err == nil {
			err = reader.Sync(t.Context(), false)
		}
		if err != nil || reader.Next() != b.Number+1 {
			t.Fatal(reader.Next(), err)
		}
		txs += len(b.Txs)
	}
	return float64(cpu()-before) / 1e3 / float64(txs)
}

// feedShare is that as a share of indexing the same blocks.
func feedShare(t testing.TB, f *farm) float64 {
	t.Helper()
	s := new(collected)
	f.follow(t, s)
	sink, db, _, _ := openSink(t)
	before := cpu()
	_, txs := f.follow(t, sink)
	if err := db.Close(); err != nil { // writes the tables, as many blocks would have
		t.Fatal(err)
	}
	whole := float64(cpu()-before) / 1e3 / float64(txs)
	return feedCost(t, s.blocks) / whole
}

// TestFeedShare: the figure of the guard stands on it.
func TestFeedShare(t *testing.T) {
	share := feedShare(t, startChainFarm(t, 60, 60))
	t.Logf("appending and reading take %.3f of indexing", share)
	if share > 2*maxFeedShare {
		t.Errorf("%.3f of indexing, promised are %.2f", share, maxFeedShare)
	}
}
