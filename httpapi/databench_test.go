package httpapi

import (
	"testing"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/door"
)

// failingLookups has rows, but nothing that is looked up for them.
type failingLookups struct{ View }

func (failingLookups) Token(evm.Address) (index.TokenMeta, bool, error) {
	return index.TokenMeta{}, false, errDown
}

// rowsView gives the same rows at no cost, so that the handler alone is measured.
type rowsView struct {
	fakeView
	txs  []*index.Tx
	next []byte
}

func (v *rowsView) AddressTxs(_ evm.Address, _ index.Page, take index.TxFunc) ([]byte, error) {
	for _, tx := range v.txs {
		take(tx)
	}
	return v.next, nil
}

func (v *rowsView) Close() {}

type rowsChain struct {
	*fakeChain
	view rowsView
}

func (c *rowsChain) View(*uint64) (View, error) { return &c.view, nil }

type oneChain struct{ c Chain }

func (o oneChain) Chain(string) (Chain, bool) { return o.c, true }
func (o oneChain) Chains() []Chain            { return []Chain{o.c} }

// benchData returns a server whose page has ten transactions, each an ERC-20
// transfer, and a request for it.
func benchData(t testing.TB) (*Server, *fasthttp.RequestCtx) {
	t.Helper()
	c := &rowsChain{fakeChain: sampleChain()}
	c.view.fakeView = fakeView{c: c.fakeChain, tip: 100}
	c.view.next = make([]byte, 12)
	for i := range byte(10) {
		other := evm.Address{0: i, 19: i}
		c.view.txs = append(c.view.txs, &index.Tx{
			Block: index.BlockRef{Number: 1000 + uint64(i), TimeMilli: 1_700_000_000_000},
			Tx: evm.Tx{Index: uint32(i), From: alice, To: gold, Input: make([]byte, 68), GasLimit: 60000, GasUsed: 51234,
				GasPrice: *uint256.NewInt(25_000_000_000)},
			Transfers: []index.Transfer{{LogIndex: uint32(i), Kind: index.ERC20, Token: gold, From: alice, To: other,
				Value: *uint256.MustFromDecimal("123456789012345678901234")}},
			Traced: true,
		})
	}
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
