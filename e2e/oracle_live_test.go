package e2e

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/ava-labs/libevm/common"

	"quorate/e2e/oracle"
)

// TestOracleGrowing walks lists in small pages while blocks arrive: every row of
// the chain as it was at the first page comes, once.
func TestOracleGrowing(t *testing.T) {
	beside(t)
	d, chains := startEVMDevnet(t, "--blocks", "400", "--txs-per-block", "6", "--block-interval", "100ms")
	c := chains[0]
	s := startIndexer(t, d.URL)
	node, err := oracle.Dial(t.Context(), c.RPCURL)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	ctx, cancel := context.WithTimeout(t.Context(), oracleWait)
	defer cancel()
	walker := oracle.NewChecker(oracle.Config{URL: s.URL, Name: c.ChainID, Node: node, ChainID: c.ChainID, Coin: avaxCoin})
	defer walker.Close()
	var walks []*oracle.Live
	head := uint64(400)
	for i, list := range []oracle.LiveList{
		{Endpoint: 2, Address: common.HexToAddress(c.Address)}, {Endpoint: 2, Address: common.HexToAddress(c.Address), Ascending: true},
		{Endpoint: 6, Address: common.HexToAddress(c.NFTOwner)}, {Endpoint: 8, Address: common.HexToAddress(c.ERC20Token)},
		{Endpoint: 12},
	} {
		for start := head; head == start; { // until blocks arrived during the walk
			if err := walker.WaitIndexed(ctx, start); err != nil {
				t.Fatalf("%v\n%s", err, s.LogTail())
			}
			l, err := walker.WalkLive(ctx, list, 1+i%3, start)
			if err != nil {
				t.Fatal(err)
			}
			walks = append(walks, l)
			if head, err = node.Tip(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	chain, err := oracle.Fetch(ctx, node, head)
	if err != nil {
		t.Fatal(err)
	}
	k := oracle.NewChecker(oracle.Config{URL: s.URL, Name: c.ChainID, Node: node, Chain: chain, ChainID: c.ChainID, Coin: avaxCoin})
	defer k.Close()
	for _, l := range walks {
		k.CheckLive(l)
	}
	if err := k.Err(); err != nil {
		t.Error(err)
	}
	t.Logf("400 blocks grew to %d meanwhile; %+v", head, k.Tally())
}

// TestOracleUntraced holds every endpoint against a node without debug API: there
// are no internal transactions then, and the node itself tells native balances.
func TestOracleUntraced(t *testing.T) {
	beside(t)
	d, chains := startEVMDevnet(t, "--blocks", "60", "--txs-per-block", "6", "--block-interval", "0")
	proxy := httptest.NewServer(withoutDebug(t, d.URL))
	defer proxy.Close()
	s := startIndexer(t, proxy.URL)
	j := newJudge(t, s, proxy.URL+"/ext/bc/C/rpc", chains[0].ChainID, avaxCoin)
	if j.chain.Traced {
		t.Fatal("the node traces")
	}
	j.all(t, 2)
}

// withoutDebug passes requests on to a node, and refuses those to the debug API
// as a node without it does.
func withoutDebug(t *testing.T, nodeURL string) http.Handler {
	t.Helper()
	node, err := url.Parse(nodeURL)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(node)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = bytes.ReplaceAll(body, []byte(`"debug_`), []byte(`"nodebug_`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		pass.ServeHTTP(w, r)
	})
}
