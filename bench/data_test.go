package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/store"
	"quorate/httpapi"
	"quorate/httpapi/view"
)

// benchChainID is the number under which a chain is served here.
const benchChainID = "43112"

// served serves an index; its node is never asked.
type served struct{ rows *index.Chain }

func (s served) Chain(name string) (httpapi.Chain, bool) {
	return servedChain{s.rows}, name == benchChainID
}
func (s served) Chains() []httpapi.Chain { return []httpapi.Chain{servedChain{s.rows}} }

type servedChain struct{ *index.Chain }

func (s servedChain) Info() *view.ChainInfo {
	return &view.ChainInfo{ChainID: benchChainID, Name: "bench", Token: view.NetworkToken{Name: "Avalanche", Symbol: "AVAX", Decimals: 18}}
}

func (s servedChain) View(tip *uint64) (httpapi.View, error) {
	v, err := s.At(tip)
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (servedChain) NodeBalance(context.Context, evm.Address, *uint64) (*uint256.Int, error) {
	return nil, errRig
}
func (servedChain) Down() error { return nil }

// noNetworks signs nothing.
type noNetworks struct{}

func (noNetworks) ByName(string) (httpapi.Aggregator, bool) { return nil, false }
func (noNetworks) ByID(uint32) (httpapi.Aggregator, bool)   { return nil, false }

// pages are clients of a server that answers GET requests over loopback.
type pages struct{ *repeats }

// dataServer serves an index over loopback.
func dataServer(t testing.TB, c *index.Chain) pages {
	t.Helper()
	srv, err := httpapi.New(httpapi.Config{Networks: noNetworks{}, Chains: served{c}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return pages{dialAll(t, nil, func(ln net.Listener) error { return srv.Run(ctx, ln) }, cancel)}
}

// barePages answers the same body to everything, without any work.
func barePages(t testing.TB, body []byte) pages {
	t.Helper()
	srv := &fasthttp.Server{
		NoDefaultServerHeader: true, ReadBufferSize: 8 << 10, WriteBufferSize: 8 << 10,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.SetContentType("application/json")
			ctx.Response.SetBodyRaw(body)
		},
	}
	return pages{dialAll(t, nil, srv.Serve, func() {
		if err := srv.Shutdown(); err != nil {
			t.Error(err)
		}
	})}
}

func getRequest(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n" }

// get asks once.
func (p pages) get(t testing.TB, path string) (status int, body []byte) {
	t.Helper()
	if _, err := p.conns[0].Write([]byte(getRequest(path))); err != nil {
		t.Fatal(err)
	}
	var resp fasthttp.Response
	if err := resp.Read(p.readers[0]); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode(), resp.Body()
}

// ask asks count times over all connections together.
func (p pages) ask(t testing.TB, path string, count int) {
	request := []byte(getRequest(path))
	var wg sync.WaitGroup
	for i, c := range p.conns {
		wg.Go(func() {
			var resp fasthttp.Response
			for range count / len(p.conns) {
				if err := oneAsk(c, p.readers[i], request, &resp); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

func oneAsk(c net.Conn, r *bufio.Reader, request []byte, resp *fasthttp.Response) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	if err := resp.Read(r); err != nil {
		return err
	}
	if resp.StatusCode() != fasthttp.StatusOK {
		return fmt.Errorf("status %d: %s", resp.StatusCode(), resp.Body())
	}
	return nil
}

// Addresses of the chain that manyTxs makes.
var (
	rareAddress = evm.Address{1, 1}
	busyAddress = evm.Address{2, 2}
)

// manyTxs indexes a chain of transfers in which one address has part in all, and
// another in ten, spread over the whole length.
func manyTxs(t testing.TB, c *index.Chain, txs int) {
	t.Helper()
	const each = 1000
	var parent evm.Hash
	blocks := txs / each
	for n := range blocks {
		b := &evm.Block{Number: uint64(n), Parent: parent, TimeMilli: 1_600_000_000_000 + uint64(n)*2000, BaseFee: uint256.NewInt(25e9)}
		b.Hash = evm.Keccak(parent[:], binary.BigEndian.AppendUint64(nil, uint64(n)))
		for i := range each {
			tx := evm.Tx{Index: uint32(i), From: busyAddress, To: evm.Address{3, byte(i), byte(i >> 8), byte(n)},
				Nonce: uint64(n*each + i), GasLimit: 21000, GasUsed: 21000, GasPrice: *uint256.NewInt(25e9), Value: *uint256.NewInt(uint64(i + 1))}
			if i == each/2 && n%max(blocks/10, 1) == 0 {
				tx.To = rareAddress
			}
			tx.Hash = evm.Keccak(b.Hash[:], binary.BigEndian.AppendUint32(nil, uint32(i)))
			b.Txs = append(b.Txs, tx)
		}
		parent = b.Hash
		if err := c.Commit(context.Background(), []*evm.Block{b}); err != nil {
			t.Fatal(err)
		}
	}
}

func pagePath(a evm.Address) string {
	return "/v1/chains/" + benchChainID + "/addresses/" + a.String() + "/transactions?pageSize=10"
}

// BenchmarkPage is a page of 10 transactions over loopback HTTP, with its clients
// in the same process: of an address with 1,000,000 transactions and of one with
// 10. x/few is the time against that of the page with the few, x/bare the rate
// against that of a bare fasthttp handler that answers the same bytes.
func BenchmarkPage(b *testing.B) {
	const txs = 1_000_000
	_, c, _ := openChain(b, store.Options{NoSync: true})
	manyTxs(b, c, txs)
	api := dataServer(b, c)
	_, body := api.get(b, pagePath(busyAddress))
	bare := barePages(b, append([]byte(nil), body...))
	const count = 800
	few := func() { api.ask(b, pagePath(rareAddress), count) }
	many := func() { api.ask(b, pagePath(busyAddress), count) }
	floor := func() { bare.ask(b, pagePath(busyAddress), count) }
	b.ReportAllocs()
	rounds := 0
	for b.Loop() {
		rounds++
		many()
	}
	b.ReportMetric(float64(rounds*count)/b.Elapsed().Seconds(), "req/s")
	b.StopTimer()
	b.ReportMetric(float64(len(body)), "B/page")
	b.ReportMetric(allocations(5, 1, many)/count, "allocs/req")
	b.ReportMetric(against(wall(), 5, many, few), "x/few")
	b.ReportMetric(1/against(wall(), 5, many, floor), "x/bare")
}

// TestPages: the benchmark above stands on it.
func TestPages(t *testing.T) {
	t.Parallel()
	_, c, _ := openChain(t, store.Options{NoSync: true, MemTableMB: 8})
	manyTxs(t, c, 20_000)
	api := dataServer(t, c)
	for _, a := range []evm.Address{rareAddress, busyAddress} {
		status, body := api.get(t, pagePath(a))
		if n := strings.Count(string(body), `"txHash"`); status != fasthttp.StatusOK || n != 10 {
			t.Errorf("%s: status %d, %d transactions", a, status, n)
		}
	}
	bare := barePages(t, []byte("{}"))
	bare.ask(t, "/", 8)
	api.ask(t, pagePath(busyAddress), 8)
}
