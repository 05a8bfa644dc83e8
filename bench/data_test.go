package bench

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi"
	"quorate/httpapi/view"
)

// benchChainID is the number under which a chain is served here.
const benchChainID = "43112"

// served are chains of which there is one; its node is never asked.
type served []*httpapi.Chain

func serving(rows *index.Chain) served {
	return served{{Chain: rows, Nodes: idleNodes{}, Info: &view.ChainInfo{
		ChainID: benchChainID, Name: "bench", Token: view.NetworkToken{Name: "Avalanche", Symbol: "AVAX", Decimals: 18},
	}}}
}

func (s served) Chain(name string) (*httpapi.Chain, bool) { return s[0], name == benchChainID }
func (s served) Chains() []*httpapi.Chain                 { return s }

// idleNodes have nothing to say.
type idleNodes struct{ httpapi.Nodes }

func (idleNodes) TokenBalances(context.Context, evm.Address, []evm.Address, *evm.Head) ([]uint256.Int, error) {
	return nil, errRig
}

func (idleNodes) Balance(context.Context, evm.Address, *uint64) (*uint256.Int, error) {
	return nil, errRig
}
func (idleNodes) Gaps() ([]view.Gap, string) { return nil, "" }
func (idleNodes) Settled() string            { return "" }
func (idleNodes) Syncing() (uint64, bool)    { return 0, false }
func (idleNodes) Down() error                { return nil }
func (idleNodes) Updated() time.Time         { return time.Time{} }

// noNetworks signs nothing.
type noNetworks struct{}

func (noNetworks) ByName(string) (httpapi.Aggregator, bool) { return nil, false }
func (noNetworks) ByID(uint32) (httpapi.Aggregator, bool)   { return nil, false }

// pages are clients of a server that answers GET requests over loopback.
type pages struct{ *repeats }

// dataServer serves an index over loopback.
func dataServer(t testing.TB, c *index.Chain) pages {
	t.Helper()
	srv, err := httpapi.New(httpapi.Config{Networks: noNetworks{}, Chains: serving(c), Limits: generous(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return pages{dialAll(t, nil, func(ln net.Listener) error { return srv.Run(ctx, ln) }, cancel)}
}

// barePages answers the same body to everything, without any work.
func barePages(t testing.TB, body []byte) pages {
	t.Helper()
	srv := bareHandler([][]byte{body})
	return pages{dialAll(t, nil, srv.Serve, func() {
		if err := srv.Shutdown(); err != nil {
			t.Error(err)
		}
	})}
}

func getRequest(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n" }

// requests asks for each of some paths, in the clients' encoding.
func (p pages) requests(paths []string) [][]byte {
	list := make([][]byte, len(paths))
	for i, path := range paths {
		r := getRequest(path)
		if p.encoding != "" {
			r = r[:len(r)-2] + "Accept-Encoding: " + p.encoding + ", deflate\r\n\r\n"
		}
		list[i] = []byte(r)
	}
	return list
}

// get asks once.
func (p pages) get(t testing.TB, path string) (status int, body []byte) {
	t.Helper()
	if _, err := p.conns[0].Write(p.requests([]string{path})[0]); err != nil {
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
	p.askEach(t, p.requests([]string{path}), count)
}

// askEach asks count times over all connections together, round and round.
func (p pages) askEach(t testing.TB, requests [][]byte, count int) {
	var wg sync.WaitGroup
	for i, c := range p.conns {
		wg.Go(func() {
			var resp fasthttp.Response
			for k := i; k < count; k += len(p.conns) {
				if err := oneAsk(c, p.readers[i], requests[k%len(requests)], &resp); err != nil {
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
