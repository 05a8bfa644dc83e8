package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/archive"
	archiveevm "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/index/indextest"
)

// known are the places of blocks in memory.
type known []*evm.Block

func (k known) Cursor() (uint64, evm.Hash, bool) {
	if len(k) == 0 {
		return 0, evm.Hash{}, false
	}
	return k[len(k)-1].Number, k[len(k)-1].Hash, true
}

func (k known) Block(hash evm.Hash) (uint64, bool, error) {
	i := slices.IndexFunc(k, func(b *evm.Block) bool { return b.Hash == hash })
	return uint64(max(i, 0)), i >= 0, nil
}

func (k known) Later() (later, known bool) { return false, true }

func (k known) Tx(hash evm.Hash) (uint64, uint32, bool, error) {
	for _, b := range k {
		for i := range b.Txs {
			if b.Txs[i].Hash == hash {
				return b.Number, uint32(i), true, nil
			}
		}
	}
	return 0, 0, false, nil
}

// archived returns the history of blocks.
func archived(t testing.TB, blocks []*evm.Block) (*History, *archive.Archive) {
	t.Helper()
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	for group := range slices.Chunk(blocks, 256) {
		var list []archive.Block
		for _, b := range group {
			list = append(list, archiveevm.BlockOf(b))
		}
		if err := a.Append(context.Background(), list); err != nil {
			t.Fatal(err)
		}
	}
	return New(known(blocks), func() *archive.Archive { return a }), a
}

// found is a log that was found.
type found struct {
	block uint64
	tx    uint32
	log   uint32
}

// naive looks through all blocks.
func naive(blocks []*evm.Block, f *Filter) (list []found) {
	for _, b := range blocks {
		for i := range b.Txs {
			for k := range b.Txs[i].Logs {
				if l := &b.Txs[i].Logs[k]; f.From <= b.Number && b.Number <= f.To && f.Match(l) {
					list = append(list, found{b.Number, uint32(i), l.Index})
				}
			}
		}
	}
	return list
}

func all(t testing.TB, h *History, f *Filter) (list []found, passed int) {
	t.Helper()
	passed, err := h.Logs(context.Background(), f, func(b *evm.Block, tx *evm.Tx, l *evm.Log) bool {
		list = append(list, found{b.Number, tx.Index, l.Index})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return list, passed
}

// TestLogs: random filters find what looking through all blocks finds, also when the spans
// are known and most are not read.
func TestLogs(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 7, Txs: 4}).Blocks(1500)
	h, _ := archived(t, blocks)
	var logs []*evm.Log
	for _, b := range blocks {
		for i := range b.Txs {
			for k := range b.Txs[i].Logs {
				logs = append(logs, &b.Txs[i].Logs[k])
			}
		}
	}
	rnd := rand.New(rand.NewPCG(29, 1))
	hits, empty := 0, 0
	for range 1000 {
		f := &Filter{From: rnd.Uint64N(1500)}
		f.To = min(1499, f.From+rnd.Uint64N(1<<rnd.UintN(12)))
		for range rnd.IntN(3) {
			f.Addresses = append(f.Addresses, logs[rnd.IntN(len(logs))].Address)
		}
		for range rnd.IntN(5) {
			var any []evm.Hash
			for range rnd.IntN(3) {
				if l := logs[rnd.IntN(len(logs))]; len(l.Topics) > len(f.Topics) {
					any = append(any, l.Topics[len(f.Topics)])
				}
			}
			f.Topics = append(f.Topics, any)
		}
		want := naive(blocks, f)
		if got, _ := all(t, h, f); !slices.Equal(got, want) {
			t.Fatalf("%+v: %d logs, want %d", f, len(got), len(want))
		}
		if hits += len(want); len(want) == 0 {
			empty++
		}
	}
	if hits < 10_000 || empty < 100 {
		t.Errorf("%d logs were found, and none by %d filters: too few", hits, empty)
	}
	rare := &Filter{To: 1499, Addresses: []evm.Address{{1, 2, 3}}}
	if got, passed := all(t, h, rare); len(got) > 0 || passed > 2*spanBlocks {
		t.Errorf("what no contract logged: %d logs, %d blocks were read", len(got), passed)
	}
}

// TestLogsEnd: a search ends where enough was found, and not beyond what is there.
func TestLogsEnd(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 8, Txs: 4}).Blocks(400)
	h, a := archived(t, blocks)
	n := 0
	passed, err := h.Logs(t.Context(), &Filter{To: 399}, func(*evm.Block, *evm.Tx, *evm.Log) bool {
		n++
		return n < 10
	})
	if err != nil || n != 10 || passed > 100 {
		t.Errorf("%d logs of %d blocks, %v", n, passed, err)
	}
	for _, f := range []*Filter{{To: 400}, {From: 500, To: 600}} {
		if _, err := h.Logs(t.Context(), f, nil); !errors.Is(err, ErrNotArchived) {
			t.Errorf("%d to %d: %v", f.From, f.To, err)
		}
	}
	if _, err := New(known(blocks), func() *archive.Archive { return nil }).Logs(t.Context(), &Filter{To: 5}, nil); !errors.Is(err, ErrNoArchive) {
		t.Errorf("without an archive: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Logs(ctx, &Filter{To: 399}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// What is learned of a block later counts, although its span was read before.
	everywhere := &Filter{To: 399, Addresses: []evm.Address{{9, 9}}}
	if list, _ := all(t, h, everywhere); len(list) > 0 {
		t.Fatal("logs of a contract that there is not")
	}
	b := *blocks[200]
	b.Txs = slices.Clone(b.Txs)
	for len(b.Txs) == 0 {
		t.Fatal("the block has no transaction")
	}
	b.Txs[0].Logs = append(slices.Clone(b.Txs[0].Logs), evm.Log{Address: evm.Address{9, 9}})
	if err := a.AddNotes(t.Context(), []archive.Note{{Type: archiveevm.NoteCorrection, Height: 200, Data: archiveevm.Append(nil, &b)}}); err != nil {
		t.Fatal(err)
	}
	if list, _ := all(t, h, everywhere); len(list) != 1 || list[0].block != 200 {
		t.Errorf("after a correction: %v", list)
	}
}

// BenchmarkLogs looks through 10,000 blocks of ten transactions: for a contract that logs in
// each, and for one that there is not, while the spans are not known and when they are.
func BenchmarkLogs(b *testing.B) {
	blocks := indextest.New(indextest.Config{Seed: 9, Txs: 10, Full: true}).Blocks(10_000)
	h, _ := archived(b, blocks)
	dense := &Filter{To: 9999, Addresses: []evm.Address{indextest.Coins[0]}}
	sparse := &Filter{To: 9999, Addresses: []evm.Address{{1}}}
	for _, c := range []struct {
		name   string
		filter *Filter
		cold   bool
	}{{"dense/cold", dense, true}, {"dense", dense, false}, {"sparse/cold", sparse, true}, {"sparse", sparse, false}} {
		b.Run(c.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				if c.cold {
					h.Forget()
				}
				list, _ := all(b, h, c.filter)
				n = len(list)
			}
			b.ReportMetric(float64(n), "logs")
			b.ReportMetric(float64(h.filters.bytes), "filter-bytes")
		})
	}
}

// TestTxLogs: logs are those of the transaction in the archive's block, and what is not
// there is said to be missing.
func TestTxLogs(t *testing.T) {
	t.Parallel()
	logs := []evm.Log{{Index: 0, Address: evm.Address{7}, Topics: []evm.Hash{{8}, {9}}, Data: []byte{1, 2, 3}}, {Index: 1, Address: evm.Address{6}, Data: []byte{}}}
	one := &evm.Block{Number: 5, Hash: evm.Hash{5}, Parent: evm.Hash{4}, Txs: []evm.Tx{{Hash: evm.Hash{1}}, {Hash: evm.Hash{2}, Index: 1, Logs: logs}}}
	h, _ := archived(t, []*evm.Block{one})
	got, err := h.TxLogs(t.Context(), 5, evm.Hash{2})
	if len(got) != 2 || err != nil || got[0].Address != logs[0].Address || !slices.Equal(got[0].Topics, logs[0].Topics) || string(got[0].Data) != string(logs[0].Data) || got[1].Index != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := h.TxLogs(t.Context(), 5, evm.Hash{1}); len(got) != 0 || err != nil {
		t.Errorf("of a transaction without logs: %v, %v", got, err)
	}
	if _, err := h.TxLogs(t.Context(), 5, evm.Hash{3}); !errors.Is(err, ErrNoTx) {
		t.Errorf("of another block's: %v", err)
	}
	for _, number := range []uint64{4, 6} {
		if _, err := h.TxLogs(t.Context(), number, evm.Hash{2}); !errors.Is(err, ErrNotArchived) {
			t.Errorf("block %d: %v", number, err)
		}
	}
}

// TestDifficulty: the total difficulty counts blocks from that of the genesis block on, and
// is 0 where blocks are executed later.
func TestDifficulty(t *testing.T) {
	t.Parallel()
	header := func(number uint64) []byte {
		return (&consensus.Header{Number: number, Difficulty: *uint256.NewInt(1), BaseFee: uint256.NewInt(7)}).Append(nil)
	}
	var blocks []*evm.Block
	for n := range uint64(3) {
		b := &evm.Block{Number: n, Header: header(n), Hash: evm.Keccak(header(n)), BaseFee: uint256.NewInt(7)}
		if n > 0 {
			b.Parent = blocks[n-1].Hash
		}
		blocks = append(blocks, b)
	}
	h, _ := archived(t, blocks)
	for n, want := range []string{"0x1", "0x2", "0x3"} {
		got, err := h.Call(t.Context(), "eth_getBlockByNumber", fmt.Appendf(nil, `["0x%x",false]`, n))
		if err != nil || !strings.Contains(string(got), `"totalDifficulty":"`+want+`"`) || strings.Contains(string(got), "blockExtraData") {
			t.Errorf("block %d: %s, %v", n, got, err)
		}
	}
	for _, params := range []string{`["latest",false]`, `["0x3",false]`, `["0x01",false]`, `["0x1"]`, `["0x1",1]`, `{}`, ``} {
		if got, err := h.Call(t.Context(), "eth_getBlockByNumber", []byte(params)); !errors.Is(err, ErrNode) {
			t.Errorf("%s: %s, %v: a node has to answer", params, got, err)
		}
	}
}
