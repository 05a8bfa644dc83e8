package httpapi

import (
	"testing"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/door"
)

// oneChain is found by all names.
type oneChain struct{ c *testChain }

func (o oneChain) Chain(string) (*Chain, bool) { return o.c.served(), true }
func (o oneChain) Chains() []*Chain            { return []*Chain{o.c.served()} }

// benchData returns a server whose page has ten transactions, each an ERC-20
// transfer, and a request for it.
func benchData(t testing.TB) (*Server, *fasthttp.RequestCtx) {
	t.Helper()
	c := ownSample()
	var txs []*index.Tx
	for i := range byte(10) {
		other := evm.Address{0: i, 19: i}
		txs = append(txs, &index.Tx{
			Block: index.BlockRef{TimeMilli: 1_700_000_100_000},
			Tx: evm.Tx{Hash: sampleTx(200 + i), From: alice, To: gold, Input: make([]byte, 68), GasLimit: 60000, GasUsed: 51234,
				GasPrice: *uint256.NewInt(25_000_000_000)},
			Transfers: []index.Transfer{{Kind: index.ERC20, Token: gold, From: alice, To: other,
				Value: *uint256.MustFromDecimal("123456789012345678901234")}},
		})
	}
	c.grow(txs...)
	s, err := New(Config{Networks: networks{signs("x")}, Chains: oneChain{c}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := &fasthttp.RequestCtx{}
	var req fasthttp.Request
	req.SetRequestURI(asAlice + "/transactions?pageSize=10&sortOrder=desc")
	req.Header.SetHost("localhost")
	ctx.Init(&req, nil, nil)
	s.handle(ctx)
	if ctx.Response.StatusCode() != 200 || len(ctx.Response.Body()) < 5000 {
		t.Fatalf("%d %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	return s, ctx
}

func BenchmarkPageHandler(b *testing.B) {
	s, ctx := benchData(b)
	b.SetBytes(int64(len(ctx.Response.Body())))
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		s.handle(ctx)
	}
}

// BenchmarkPageFloor is a handler that copies the same bytes.
func BenchmarkPageFloor(b *testing.B) {
	_, ctx := benchData(b)
	body := append([]byte(nil), ctx.Response.Body()...)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		ctx.Response.Header.SetContentType(door.ContentJSON)
		ctx.Response.SetBody(body)
	}
}

func BenchmarkPageGzip(b *testing.B) { benchPacked(b, "gzip") }
func BenchmarkPageZstd(b *testing.B) { benchPacked(b, "zstd") }

func benchPacked(b *testing.B, name string) {
	s, ctx := benchData(b)
	b.SetBytes(int64(len(ctx.Response.Body())))
	ctx.Request.Header.Set("Accept-Encoding", name)
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		s.handle(ctx)
	}
	b.ReportMetric(float64(len(ctx.Response.Body())), "packed-bytes")
}

// TestPageAllocations is the budget of a page of ten: the chain's name.
func TestPageAllocations(t *testing.T) {
	limit := 2.0
	if raceEnabled {
		limit = 20 // the detector makes pools forget
	}
	s, ctx := benchData(t)
	if n := testing.AllocsPerRun(200, func() {
		ctx.Response.Reset()
		s.handle(ctx)
	}); n > limit {
		t.Errorf("%v allocations, at most %v are allowed", n, limit)
	}
}
