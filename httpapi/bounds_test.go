package httpapi

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
)

// batches is a block of transactions that each move many items of art from bob to
// alice in one event, as a contract that only logs can.
func batches(number uint64, txs, items int) *evm.Block {
	b := &evm.Block{Number: number, Hash: numbered(number, 0xb), Parent: numbered(number-1, 0xb), TimeMilli: number * 1000, Traced: true}
	data := make([]byte, 32*(4+2*items))
	put := func(word int, n uint64) { binary.BigEndian.PutUint64(data[32*word+24:], n) }
	put(0, 64)
	put(1, uint64(32*(3+items)))
	put(2, uint64(items))
	put(3+items, uint64(items))
	for i := range items {
		put(3+i, uint64(i))
		put(4+items+i, 1)
	}
	word := func(a evm.Address) (h evm.Hash) { copy(h[12:], a[:]); return h }
	batch := evm.Keccak([]byte("TransferBatch(address,address,address,uint256[],uint256[])"))
	for i := range txs {
		b.Txs = append(b.Txs, evm.Tx{Index: uint32(i), Hash: txHash(number, byte(i)), From: alice, To: art, GasLimit: 14e6, GasUsed: 13e6,
			Logs: []evm.Log{{Index: uint32(i), Address: art, Topics: []evm.Hash{batch, word(alice), word(bob), word(alice)}, Data: data}}})
	}
	return b
}

// TestPageBytes: a page ends early when its body is long, with a token to go on, and
// all pages together have every row. 20 transactions with 20,000 items each were a
// body of 120 MB.
func TestPageBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	s, c := indexed(t, 1)
	const txs = 20
	items := torture.Pick(1000, 20_000) // with fewer, none of the bodies is long
	if err := c.x.Commit(context.Background(), []*evm.Block{batches(1, txs, items)}); err != nil {
		t.Fatal(err)
	}
	row := items * 600 // bytes of a transaction, at most
	for i, list := range []struct {
		path string
		rows int
	}{
		{asAlice + "/transactions?pageSize=100", txs + 10},
		{base + "/tokens/" + art.String() + "/transfers", 0},
		{base + "/transactions?pageSize=100", txs + 10},
		{base + "/blocks/1/transactions", txs},
		{asAlice + "/transactions:listErc721?pageSize=100", 7},
		{asAlice + "/transactions?pageSize=100&sortOrder=asc", txs + 10},
		{asAlice + "/transactions?pageSize=3&sortOrder=asc", txs + 10},
		{asAlice + "/balances:listErc721?pageSize=100", 7},
		{base + "/transactions/" + txHash(1, 0).String(), -1},
	} {
		signs := []string{"", "sdk"}
		if torture.Pick(1, 0) == 1 { // in short each list is read as by one of both
			signs = signs[(i+i/4)%2:][:1]
		}
		for _, sign := range signs {
			got, pages, most := walkPages(t, s, list.path, sign)
			if list.rows > 0 && got != list.rows {
				t.Errorf("%s: %d rows on %d pages, want %d", list.path, got, pages, list.rows)
			}
			if most > maxPageBytes+row {
				t.Errorf("%s: a page of %d bytes", list.path, most)
			}
		}
	}
	// The memory of a request is that of its body and of one transaction.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	get(s, asAlice+"/transactions?pageSize=100")
	runtime.ReadMemStats(&after)
	if n := int(after.TotalAlloc - before.TotalAlloc); n > 8*(maxPageBytes+row) {
		t.Errorf("%d bytes allocated for a page", n)
	}
}

const maxPageBytes = 4 << 20

// walkPages reads a list to its end, 40 pages at most.
func walkPages(t *testing.T, s *Server, path, sign string) (rows, pages, most int) {
	t.Helper()
	headers := []string{}
	if sign != "" {
		headers = append(headers, "User-Agent", "speakeasy-sdk/typescript")
	}
	next := path
	for pages < 40 {
		resp := get(s, next, headers...)
		if resp.StatusCode() != 200 {
			t.Fatalf("%s: %d %.300s", next, resp.StatusCode(), resp.Body())
		}
		most = max(most, len(resp.Body()))
		// Rows are counted and not read: a body is long.
		var page struct {
			NextPageToken                                string
			Transactions, Transfers, Erc721TokenBalances []struct{}
		}
		if err := decode(resp.Body(), &page); err != nil {
			t.Fatal(err)
		}
		rows += len(page.Transactions) + len(page.Transfers) + len(page.Erc721TokenBalances)
		pages++
		token := page.NextPageToken
		if token == "" {
			return rows, pages, most
		}
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		next = fmt.Sprint(path, sep, "pageToken=", token)
	}
	return rows, pages, most
}
