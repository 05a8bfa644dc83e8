package httpapi

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// indexed returns a server over an index of n blocks of ten transactions.
func indexed(t testing.TB, n uint64) (*Server, *testChain) {
	t.Helper()
	c := emptyOf(sampleInfo())
	c.alias = "C"
	s, err := New(Config{Networks: networks{signs("x")}, Chains: oneChain{c}, TokenKey: []byte("the key of all tests")})
	if err != nil {
		t.Fatal(err)
	}
	if resp := get(s, base+"/transactions"); resp.StatusCode() != 503 {
		t.Errorf("before the first block: %d %s", resp.StatusCode(), resp.Body())
	}
	c.commit(t, n)
	return s, c
}

// commit adds n blocks of ten transactions.
func (c *testChain) commit(t testing.TB, n uint64) {
	t.Helper()
	first := uint64(len(c.blocks))
	for i := range n {
		c.blocks = append(c.blocks, busyBlock(first+i))
	}
	if err := c.x.Commit(t.Context(), c.blocks[first:]); err != nil {
		t.Fatal(err)
	}
}

// busyBlock has ten transactions of alice, each with an ERC-20 transfer and an
// ERC-721 mint, every third failed.
func busyBlock(number uint64) *evm.Block {
	b := &evm.Block{Number: number, Hash: numbered(number, 0xb), TimeMilli: number * 1000, Traced: true}
	if number > 0 {
		b.Parent = numbered(number-1, 0xb)
	}
	word := func(a evm.Address) (h evm.Hash) { copy(h[12:], a[:]); return h }
	transfer := evm.Keccak([]byte("Transfer(address,address,uint256)"))
	for i := range uint32(10) {
		tx := evm.Tx{Index: i, Hash: txHash(number, byte(i)), From: alice, To: gold, Input: make([]byte, 68), GasLimit: 60000,
			GasUsed: 51234, GasPrice: *uint256.NewInt(25_000_000_000), Failed: i%3 == 2}
		if !tx.Failed {
			data := numbered(0, 7)
			nft := evm.Hash{}
			binary.BigEndian.PutUint64(nft[24:], number*10+uint64(i))
			tx.Logs = []evm.Log{
				{Index: 2 * i, Address: gold, Topics: []evm.Hash{transfer, word(bob), word(alice)}, Data: data[:]},
				{Index: 2*i + 1, Address: art, Topics: []evm.Hash{transfer, word(evm.Address{}), word(alice), nft}},
			}
		}
		b.Txs = append(b.Txs, tx)
	}
	b.Balances = []evm.Balance{{Address: alice, Wei: *uint256.NewInt(1_000_000 + number)}}
	return b
}

// txHash differs in its first bytes, as real hashes do: the index looks for those.
func txHash(number uint64, i byte) evm.Hash {
	h := numbered(number, i)
	return evm.Keccak(h[:])
}

// TestIndexed walks each list over a real index while it grows.
func TestIndexed(t *testing.T) {
	t.Parallel()
	s, c := indexed(t, 12)
	for path, want := range map[string]int{
		asAlice + "/transactions?": 120, asAlice + "/transactions?sortOrder=asc&startBlock=3&endBlock=9&": 60,
		asAlice + "/transactions:listErc721?": 84, base + "/tokens/" + art.String() + "/transfers?endBlock=2&": 14,
		base + "/tokens/" + gold.String() + "/transfers?": 84, base + "/blocks/5/transactions?": 10, base + "/blocks/5/transactions?pageSize=0&": 10,
		base + "/transactions?": 120, base + "/transactions?status=failed&": 36, base + "/transactions?status=success&": 84,
		asAlice + "/balances:listErc20?": 1, asAlice + "/balances:listErc721?contractAddress=" + art.String() + "&": 84,
	} {
		tip, _, _ := c.x.Cursor()
		want += growth(path) * int(tip-11)
		var rows []string
		size := "pageSize=19"
		if path == base+"/blocks/5/transactions?pageSize=0&" {
			size = ""
		}
		for next := path + size; ; {
			var page listed
			getJSON(t, s, next, &page)
			rows = append(rows, page.rows()...)
			if page.NativeTokenBalance != nil && page.NativeTokenBalance.Balance != fmt.Sprint(1_000_000+tip) {
				t.Errorf("%s: balance %s at tip %d", path, page.NativeTokenBalance.Balance, tip)
			}
			if page.NextPageToken == nil {
				break
			}
			c.commit(t, 1)
			next = path + size + "&pageToken=" + url.QueryEscape(*page.NextPageToken)
		}
		sorted := slices.Clone(rows)
		slices.Sort(sorted)
		if distinct := len(slices.Compact(sorted)); len(rows) != want || distinct != want {
			t.Errorf("%s: %d rows, %d of them distinct, want %d", path, len(rows), distinct, want)
		}
	}
	tip, _, _ := c.x.Cursor()
	for _, at := range []uint64{0, 1, 5, tip} {
		var body struct {
			NativeTokenBalance struct{ Balance string }
			Erc20TokenBalances []struct{ Balance string }
		}
		getJSON(t, s, fmt.Sprintf("%s/balances:listErc20?blockNumber=%d", asAlice, at), &body)
		if got, want := body.NativeTokenBalance.Balance, fmt.Sprint(1_000_000+at); got != want {
			t.Errorf("block %d: native balance %s, want %s", at, got, want)
		}
		want := new(big.Int).Mul(new(big.Int).SetUint64(7*7), new(big.Int).SetUint64(at+1))
		if len(body.Erc20TokenBalances) != 1 || body.Erc20TokenBalances[0].Balance != want.String() {
			t.Errorf("block %d: balances %v, want %s", at, body.Erc20TokenBalances, want)
		}
	}
	expect(t, s, fmt.Sprintf("%s/balances:getNative?blockNumber=%d", asAlice, tip+1), 404, "does not exist")
	expect(t, s, base+"/transactions/"+txHash(5, 3).String(), 200, `"blockNumber":"5"`)
	expect(t, s, base+"/transactions/"+txHash(5, 77).String(), 404, "does not exist")
	expect(t, s, base+"/blocks/"+numbered(5, 0xb).String()+"/transactions", 200, `"blockNumber":"5"`)
}

// growth is how many rows of a list each further block of busyBlock has.
func growth(path string) int {
	switch path {
	case asAlice + "/transactions?", base + "/transactions?":
		return 10
	case base + "/transactions?status=failed&":
		return 3
	case asAlice + "/transactions:listErc721?", base + "/tokens/" + gold.String() + "/transfers?", base + "/transactions?status=success&",
		asAlice + "/balances:listErc721?contractAddress=" + art.String() + "&":
		return 7
	}
	return 0
}

// BenchmarkPageIndexed is a page of ten from a real index.
func BenchmarkPageIndexed(b *testing.B) {
	s, c := indexed(b, 1000)
	if err := c.x.PutTokens(context.Background(), map[evm.Address]index.TokenMeta{gold: {Kind: index.ERC20, Name: "Gold", Symbol: "GLD"}}); err != nil {
		b.Fatal(err)
	}
	s.desk.Dialect = view.AlwaysContract
	var req fasthttp.Request
	req.SetRequestURI(asAlice + "/transactions")
	req.Header.SetHost("localhost")
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		s.handle(ctx)
	}
	if ctx.Response.StatusCode() != 200 {
		b.Fatalf("%d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	b.SetBytes(int64(len(ctx.Response.Body())))
}

// TestAnswersOutliveBlocks: a kept page stays good over blocks that bring nothing
// to it, and goes with the first one that does.
func TestAnswersOutliveBlocks(t *testing.T) {
	t.Parallel()
	s, c := indexed(t, 3)
	outlives := func(path string, quietly bool) {
		t.Helper()
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.SetRequestURI(path)
		k := s.desk.Answers.Key(ctx, view.Contract)
		kept := func() bool { return s.desk.Answers.Find(&k, time.Time{}) != nil } // no time passes in tests
		before := string(get(s, path).Body())
		if get(s, path); !kept() {
			t.Fatalf("%s is not kept", path)
		}
		c.grow()
		if kept() != quietly {
			t.Errorf("%s is kept over a block without rows of it: %v", path, kept())
		}
		if got := string(get(s, path).Body()); quietly && got != before {
			t.Errorf("%s is another answer", path)
		}
		c.commit(t, 1)
		if kept() && quietly && string(get(s, path).Body()) != before {
			t.Errorf("%s changed and is kept", path)
		}
	}
	outlives(base+"/tokens/"+gold.String()+"/transfers", true)
	outlives(base+"/blocks/1/transactions", true)
	outlives(base+"/transactions", false)
	outlives(asAlice+"/transactions", false) // it shows who owns NFTs
	path := base + "/tokens/" + gold.String() + "/transfers"
	get(s, path)
	old := string(get(s, path).Body())
	c.commit(t, 1)
	if string(get(s, path).Body()) == old {
		t.Error("a new transfer does not show")
	}
}
