package bench

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	"quorate/engine/metric"
	store "quorate/engine/store/index"
	"quorate/httpapi"
	"quorate/rollup"
)

// answerKind is a kind of page that clients read.
type answerKind struct {
	name   string
	again  float64 // the share of a bare server's rate that is promised for the same page again and again
	path   string
	others func(i int) string // distinct pages
	pages  int                // number of those
}

// What is promised for all kinds of pages, as shares of a bare server's rate.
const (
	againGzip = 0.45 // the same page again and again, compressed
	// Distinct pages that were not asked for before.
	unread     = 0.28
	unreadGzip = 0.12
)

// answerPages is the number of distinct pages of a kind.
const answerPages = 1000

// answerRig serves a chain as the command does: with admission, and packed for
// clients that take it. The bare servers answer the same bytes.
type answerRig struct {
	dir   string
	kinds []answerKind
	// serve serves what is in dir, with empty caches, to clients that take an encoding.
	// Their end closes all of it.
	serve func(t testing.TB, encoding string) clients
}

const (
	answerBlocks   = 1216
	answerAccounts = 2400
)

func newAnswerRig(t testing.TB) *answerRig {
	t.Helper()
	r := &answerRig{dir: t.TempDir()}
	r.serve = r.serveChain
	db, c := r.open(t)
	gen := indextest.New(indextest.Config{Seed: 3, Txs: madeTxs, Full: true, Accounts: answerAccounts, Step: 1_000_000})
	for range answerBlocks / madeGroup {
		if err := c.Commit(context.Background(), gen.Blocks(madeGroup)); err != nil {
			t.Fatal(err)
		}
	}
	accounts := gen.Accounts()
	of := func(i int) evm.Address { return accounts[100+i] }
	const chainPath = "/v1/chains/" + benchChainID
	latest := r.latest(t, c)
	r.kinds = []answerKind{
		{"address transactions", 0.6, pagePath(of(0)), func(i int) string { return pagePath(of(1 + i)) }, answerPages},
		{"latest 100 transactions", 0.5, chainPath + "/transactions?pageSize=100", func(i int) string { return latest[i] }, answerPages},
		{"ERC-20 list", 0.6, chainPath + "/addresses/" + of(0).String() + "/balances:listErc20", func(i int) string {
			return chainPath + "/addresses/" + of(1+i).String() + "/balances:listErc20"
		}, answerPages},
		{"holders", 0.5, holdersPath(0), func(i int) string { return holdersPath(1 + i) }, answerPages},
		{"metrics", 0.8, metricPath(rollup.TxCount, 100), metricPage, answerPages},
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	r.merge(t)
	return r
}

// merge has the database do what it does by itself once nothing is written any more:
// the kind that is measured first would pay for it.
func (r *answerRig) merge(t testing.TB) {
	t.Helper()
	set := metric.NewSet()
	db := openWith(t, r.dir, store.Options{NoSync: true, Metrics: set})
	for start := time.Now(); set.Value("quorate_store_index_level0_tables") >= 3; {
		if time.Since(start) > time.Minute {
			t.Fatal("the tables are not merged within a minute")
		}
		<-time.After(50 * time.Millisecond)
	}
	settle()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func holdersPath(threshold int) string {
	return fmt.Sprintf("/v2/chains/%s/contracts/%s/balances?pageSize=50&threshold=%d", benchChainID, indextest.Coins[0], threshold)
}

// metricPage is a page of hours, ten hours after the one before.
func metricPage(i int) string {
	m := []rollup.Metric{rollup.TxCount, rollup.GasUsed, rollup.ActiveAddresses, rollup.ActiveSenders, rollup.FeesPaid}[i%5]
	return fmt.Sprintf("%s&timeInterval=hour&endTimestamp=%d", metricPath(m, 100), 1_600_000_000+3600*(110+i))
}

// latest are the pages of the latest transactions, one by one.
func (r *answerRig) latest(t testing.TB, c *index.Chain) []string {
	t.Helper()
	api := shippedServer(t, c, "")
	defer api.end()
	path := "/v1/chains/" + benchChainID + "/transactions?pageSize=100"
	var list []string
	for next := path; len(list) <= answerPages; {
		_, body := api.get(t, next)
		token := between(body, `"nextPageToken":"`, `"`)
		if token == "" {
			t.Fatalf("only %d pages", len(list))
		}
		next = path + "&pageToken=" + token
		list = append(list, next)
	}
	return list
}

func between(b []byte, open, end string) string {
	_, rest, ok := bytes.Cut(b, []byte(open))
	if !ok {
		return ""
	}
	v, _, _ := bytes.Cut(rest, []byte(end))
	return string(v)
}

// open opens the chain with empty caches.
func (r *answerRig) open(t testing.TB) (*store.DB, *index.Chain) {
	t.Helper()
	db, err := store.Open(r.dir, store.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := index.Open(db, chain.ID{1}, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db, c
}

// clients are those of one server.
type clients struct {
	pages
	end func()
}

// serveChain serves the EVM chain.
func (r *answerRig) serveChain(t testing.TB, encoding string) clients {
	t.Helper()
	db, c := r.open(t)
	api := shippedServer(t, c, encoding)
	return api.closing(t, db)
}

// closing closes a database at the end.
func (c clients) closing(t testing.TB, db *store.DB) clients {
	end := c.end
	c.end = func() {
		end()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	return c
}

// tokenKey is the same for all servers: pages of one can be asked of another.
var answerTokenKey = bytes.Repeat([]byte{7}, 64)

// shippedServer serves a chain with all that the command puts before it: a limiter
// that counts each request.
func shippedServer(t testing.TB, c *index.Chain, encoding string) clients {
	t.Helper()
	return shipped(t, httpapi.Config{Networks: noNetworks{}, Chains: serving(c)}, encoding)
}

func shipped(t testing.TB, cfg httpapi.Config, encoding string) clients {
	t.Helper()
	cfg.TokenKey, cfg.Limits = answerTokenKey, generous(t)
	srv, err := httpapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return dialClients(t, encoding, func(ln net.Listener) error { return srv.Run(ctx, ln) }, cancel)
}

// bareClients are those of a server that answers bodies in turns.
func bareClients(t testing.TB, encoding string, bodies [][]byte) clients {
	t.Helper()
	var next atomic.Uint64
	srv := bareHandler(nil)
	srv.Handler = func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentType("application/json")
		if encoding != "" {
			ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, encoding)
		}
		ctx.Response.SetBodyRaw(bodies[next.Add(1)%uint64(len(bodies))])
	}
	return dialClients(t, encoding, srv.Serve, func() {
		if err := srv.Shutdown(); err != nil {
			t.Error(err)
		}
	})
}

func dialClients(t testing.TB, encoding string, serve func(net.Listener) error, stop func()) clients {
	t.Helper()
	s, end := dialUntil(t, serve, stop)
	s.encoding = encoding
	return clients{pages{s}, end}
}

// bodies asks for each page once, on a server of its own.
func (r *answerRig) bodies(t testing.TB, encoding string, paths []string) [][]byte {
	t.Helper()
	api := r.serve(t, encoding)
	var list [][]byte
	for _, p := range paths {
		status, body := api.get(t, p)
		if status != fasthttp.StatusOK {
			t.Fatalf("%s: status %d, %s", p, status, body)
		}
		list = append(list, bytes.Clone(body))
	}
	api.end()
	return list
}

// warm returns how many times the time of a bare server the same page takes.
func (r *answerRig) warm(t testing.TB, k *answerKind, encoding string) float64 {
	t.Helper()
	bodies := r.bodies(t, encoding, []string{k.path})
	api, bare := r.serve(t, encoding), bareClients(t, encoding, bodies)
	defer func() {
		api.end()
		bare.end()
	}()
	const count = 1200
	return against(wall(), 3, func() { api.ask(t, k.path, count) }, func() { bare.ask(t, k.path, count) })
}

// unreadCost is the CPU time of reading distinct pages, in nanoseconds: the median of
// several rounds. The least of them would compare an ordinary round of ours with the
// luckiest of the bare server, whose rounds are a third as long and spread more.
type unreadCost struct {
	ours, bare float64
	bytes      int // of all bodies
}

// cold returns how many times the CPU time of a bare server distinct pages take,
// each of which is asked for once.
func (r *answerRig) cold(t testing.TB, k *answerKind, encoding string) float64 {
	t.Helper()
	c := r.unread(t, k, encoding, 5)
	return c.ours / c.bare
}

func (r *answerRig) unread(t testing.TB, k *answerKind, encoding string, rounds int) (cost unreadCost) {
	t.Helper()
	paths := make([]string, k.pages)
	for i := range paths {
		paths[i] = k.others(i)
	}
	bodies := r.bodies(t, encoding, paths)
	for _, b := range bodies {
		cost.bytes += len(b)
	}
	bare := bareClients(t, encoding, bodies)
	defer bare.end()
	requests := bare.requests(paths)
	var ours, floor []float64
	costRatio(1, rounds, func() float64 {
		api := r.serve(t, encoding)
		took := api.once(t, requests)
		api.end()
		ours = append(ours, took)
		return took
	}, func() float64 {
		took := bare.once(t, requests)
		floor = append(floor, took)
		return took
	})
	cost.ours, cost.bare = median(ours), median(floor)
	return cost
}

// once asks for each page once and returns the CPU time of that in nanoseconds.
func (c clients) once(t testing.TB, requests [][]byte) float64 {
	t.Helper()
	c.ask(t, "/v1", 4*rigConns) // the connections are up
	runtime.GC()                // what is left of opening the database
	start := cpu()
	c.askEach(t, requests, len(requests))
	return float64(cpu() - start)
}

// answerFigures are those of the server as it is shipped.
func answerFigures(t *testing.T, each func(figure)) {
	r := newAnswerRig(t)
	settle()
	for i := range r.kinds {
		k := &r.kinds[i]
		r.kindFigures(t, k, "", k.again, unread, each)
		r.kindFigures(t, k, "gzip", againGzip, unreadGzip, each)
	}
}

// kindFigures are those of pages of a kind, of which shares of a bare server's rate are
// promised; zero: nothing is.
func (r *answerRig) kindFigures(t *testing.T, k *answerKind, encoding string, again, unread float64, each func(figure)) {
	name, fresh := k.name, readRatio
	if encoding != "" {
		name += " in " + encoding
	}
	if unread > 0 {
		fresh = fresh.atMost(1 / unread)
	}
	each(figure{name + ", time / bare HTTP server", timeRatio.atMost(1 / again), func() float64 { return r.warm(t, k, encoding) }})
	each(figure{name + ", never read before, CPU / bare HTTP server", fresh, func() float64 { return r.cold(t, k, encoding) }})
}
