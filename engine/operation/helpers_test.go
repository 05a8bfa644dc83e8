package operation

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"quorate/engine/archive/vfs"
	"quorate/engine/archive/vfs/faultfs"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// memory is a store that outlives its process.
type memory struct {
	mu   sync.Mutex
	rows map[string]string
	put  func(value string) error // asked before each commit
}

func (m *memory) Put(_ context.Context, key, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.put != nil {
		if err := m.put(string(value)); err != nil {
			return err
		}
	}
	if m.rows == nil {
		m.rows = make(map[string]string)
	}
	m.rows[string(key)] = string(value)
	return nil
}

func (m *memory) Remove(_ context.Context, key []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, string(key))
	return nil
}

func (m *memory) Each(f func(key, value []byte)) error {
	m.mu.Lock()
	rows := maps.Clone(m.rows)
	m.mu.Unlock()
	for k, v := range rows {
		f([]byte(k), []byte(v))
	}
	return nil
}

// testChain is a chain in a real index.
type testChain struct {
	number uint64
	x      *index.Chain
	blocks []*evm.Block
}

type testChains map[chain.ID]*testChain

func (c testChains) byID(id chain.ID) (Chain, bool) {
	if found, ok := c[id]; ok {
		return Chain{found.x, found.number}, true
	}
	return Chain{}, false
}

// makeChains makes chains with so many blocks, numbered from 1.
func makeChains(t testing.TB, blocks ...int) testChains {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{NoSync: true, MemTableMB: 8, BlockCacheMB: 8, IndexCacheMB: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	list := make(testChains)
	for i, n := range blocks {
		id := chain.ID{byte(i + 1)}
		x, err := index.Open(db, id, index.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c := &testChain{number: uint64(i + 1), x: x}
		c.blocks = indextest.New(indextest.Config{Seed: uint64(i + 70), Txs: 8, Step: 4000}).Blocks(n)
		if err := x.Commit(t.Context(), c.blocks); err != nil {
			t.Fatal(err)
		}
		meta := map[evm.Address]index.TokenMeta{
			indextest.Coins[0]: {Kind: index.ERC20, Name: `=HYPERLINK("http://x","a,b")`, Symbol: "@SUM(1)", Decimals: 18, HasDecimals: true},
			indextest.Arts[0]:  {Kind: index.ERC721, Name: "Art, \"of\"\r\nlines", Symbol: "ART"},
		}
		if err := x.PutTokens(t.Context(), meta); err != nil {
			t.Fatal(err)
		}
		list[id] = c
	}
	return list
}

func (c testChains) ids() []chain.ID {
	return slices.SortedFunc(maps.Keys(c), func(a, b chain.ID) int { return bytes.Compare(a[:], b[:]) })
}

// running starts exports with small chunks, until stop is called or the test ends.
func running(t testing.TB, cfg Config) (e *Exports, stop func()) {
	t.Helper()
	cfg.Dir = "/exports"
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	e.chunk, e.commit, e.retry = 2<<10, 8<<10, 2*time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- e.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return e, stop
}

// patience bounds the wait for what is to happen, however busy the machine.
const patience = 2 * time.Minute

// until waits for what is to happen.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// await waits until an operation is over.
func await(t testing.TB, e *Exports, id string) (op Operation) {
	t.Helper()
	until(t, "operation "+id+" is over", func() bool {
		var found bool
		var err error
		if op, found, err = e.Get(id); err == nil && !found {
			t.Fatalf("operation %s is unknown", id)
		}
		return err == nil && op.Over()
	})
	return op
}

func create(t testing.TB, e *Exports, req Request) Operation {
	t.Helper()
	until(t, "exports run", func() bool { _, _, err := e.Get(""); return err == nil })
	op, err := e.Create(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// content returns a file as it is, and its rows without the head.
func content(t testing.TB, e *Exports, op Operation) (raw []byte, rows [][]string) {
	t.Helper()
	f, err := e.Open(op.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil || size != op.Size {
		t.Fatalf("size %d, %v, told %d", size, err, op.Size)
	}
	raw = make([]byte, size)
	if _, err := f.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	text := unpack(t, raw, op.Request.Compression)
	list, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(list[0], ",")+"\r\n" != Head {
		t.Errorf("head %q", list[0])
	}
	if int64(len(list)-1) != op.Rows {
		t.Errorf("%d rows, told %d", len(list)-1, op.Rows)
	}
	if n := bytes.Count(text, []byte("\n")); n != bytes.Count(text, []byte("\r\n")) || n != len(list) {
		t.Error("lines do not end as RFC 4180 says")
	}
	return raw, list[1:]
}

func unpack(t testing.TB, raw []byte, c Compression) []byte {
	t.Helper()
	var from io.Reader
	if c == Zstd {
		z, err := zstd.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		from = z
	} else {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		z.Multistream(false) // as browsers read it
		from = z
	}
	text, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wanted returns the rows that paging gives: of each address its pages, newest first,
// of each transaction what concerns one of the addresses.
func wanted(t testing.TB, c *testChain, of []evm.Address, first, last uint64) [][]string {
	t.Helper()
	v, err := c.x.At(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	found := make(map[place]bool)
	var places []place
	for _, a := range of {
		var after []byte
		for {
			next, err := v.AddressTxs(a, index.Page{After: after, Limit: 7, To: math.MaxUint64}, func(tx *index.Tx) bool {
				at := place{tx.Block.Number, tx.Index}
				if tx.Block.TimeMilli >= first && (last == 0 || tx.Block.TimeMilli <= last) && !found[at] {
					found[at], places = true, append(places, at)
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			if after = next; next == nil {
				break
			}
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	var rows [][]string
	for _, at := range places {
		hash := c.blocks[at.Number].Txs[at.Index].Hash
		tx, ok, err := v.Tx(hash)
		if err != nil || !ok {
			t.Fatal(hash, ok, err)
		}
		rows = append(rows, txRows(t, v, c.number, tx, of)...)
	}
	return rows
}

// txRows writes rows in another way than the program does.
func txRows(t testing.TB, v *index.View, number uint64, tx *index.Tx, of []evm.Address) (rows [][]string) {
	columns := strings.Split(strings.TrimSpace(Head), ",")
	add := func(cells map[string]any) {
		at := time.UnixMilli(int64(tx.Block.TimeMilli)).UTC()
		all := map[string]any{
			"chainId": number, "blockNumber": tx.Block.Number, "blockTimestamp": at.Unix(), "blockDate": at.Format("2006-01-02T15:04:05.000Z"),
			"blockHash": tx.Block.Hash, "blockIndex": tx.Index, "txHash": tx.Hash, "txStatus": map[bool]int{true: 0, false: 1}[tx.Failed],
		}
		maps.Copy(all, cells)
		row := make([]string, len(columns))
		for i, name := range columns {
			if cell, ok := all[name]; ok {
				row[i] = fmt.Sprint(cell)
				delete(all, name)
			}
		}
		if len(all) > 0 {
			t.Fatalf("no such columns: %v", all)
		}
		rows = append(rows, row)
	}
	touches := func(list ...evm.Address) bool {
		return slices.ContainsFunc(list, func(a evm.Address) bool { return slices.Contains(of, a) })
	}
	own := map[string]any{
		"rowType": "transaction", "txType": tx.Type, "nonce": tx.Nonce, "from": tx.From, "to": tx.To, "value": tx.Value.Dec(), "gasLimit": tx.GasLimit,
		"gasUsed": tx.GasUsed, "gasPrice": tx.GasPrice.Dec(), "fee": strconv.FormatUint(tx.GasPrice.Uint64()*tx.GasUsed, 10), "callType": "NATIVE_TRANSFER",
	}
	switch {
	case tx.Creation:
		own["to"], own["callType"] = tx.Contract, "CONTRACT_CREATION"
	case len(tx.Input) > 0:
		own["callType"], own["methodHash"] = "CONTRACT_CALL", fmt.Sprintf("0x%x", tx.Input[:4])
	}
	add(own)
	for _, tr := range tx.Transfers {
		if !touches(tr.From, tr.To) {
			continue
		}
		cells := map[string]any{"rowType": tr.Kind, "from": tr.From, "to": tr.To, "logIndex": tr.LogIndex, "tokenAddress": tr.Token}
		if tr.Kind != index.ERC721 {
			cells["value"] = tr.Value.Dec()
		}
		if tr.Kind != index.ERC20 {
			cells["tokenId"] = tr.ID.Dec()
		}
		meta, _, err := v.Token(tr.Token)
		if err != nil {
			t.Fatal(err)
		}
		switch tr.Token {
		case indextest.Coins[0]:
			cells["tokenName"], cells["tokenSymbol"] = "'"+meta.Name, "'"+meta.Symbol
		case indextest.Arts[0]:
			cells["tokenName"], cells["tokenSymbol"] = "Art, \"of\"\ufffd\ufffdlines", "ART"
		}
		if meta.HasDecimals {
			cells["tokenDecimals"] = meta.Decimals
		}
		add(cells)
	}
	for _, c := range tx.Calls {
		if tx.Traced && touches(c.From, c.To) && (c.From != evm.Address{}) {
			add(map[string]any{
				"rowType": "internal", "from": c.From, "to": c.To, "value": c.Value.Dec(), "gasLimit": c.Gas, "gasUsed": c.GasUsed,
				"callType": c.Type, "isReverted": c.Reverted,
			})
		}
	}
	return rows
}

// same compares rows.
func same(t testing.TB, got, want [][]string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !slices.Equal(got[i], want[i]) {
			t.Fatalf("row %d of %d, want %d:\n%q\nwant\n%q", i, len(got), len(want), got[min(i, len(got)):][:min(1, len(got)-min(i, len(got)))], want[min(i, len(want)):][:min(1, len(want)-min(i, len(want)))])
		}
	}
}

// names returns the files of a folder in memory.
func names(d *faultfs.Disk) (list []string) {
	for name := range d.Names() {
		list = append(list, filepath.Base(name))
	}
	slices.Sort(list)
	return list
}

var _ vfs.FS = (*faultfs.Disk)(nil)

// snapshot returns the operations.
func (e *Exports) snapshot() map[string]*record {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.ops)
}
