package bench

import (
	"context"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	store "quorate/engine/store/index"
)

// Addresses of the chain that manyTxs makes.
var (
	rareAddress = evm.Address{1, 1}
	busyAddress = evm.Address{2, 2}
)

// perRegular is about the number of transactions of a regular.
const perRegular = 20

// regular is one of the addresses to which the busy one sends.
func regular(i int) evm.Address {
	return evm.Address{3, byte(i >> 16), byte(i >> 8), byte(i)}
}

// manyTxs indexes a chain of transfers in which one address has part in all,
// another in ten, spread over the whole length, and each of the regulars in
// some 20, no two in the same block if the chain has 21,000 or more.
func manyTxs(t testing.TB, c *index.Chain, txs int) {
	t.Helper()
	each := 1000
	if txs < 2*each {
		each = txs / 12
	}
	var parent evm.Hash
	blocks := txs / each
	for n := range blocks {
		b := &evm.Block{Number: uint64(n), Parent: parent, TimeMilli: 1_600_000_000_000 + uint64(n)*2000, BaseFee: uint256.NewInt(25e9)}
		b.Hash = evm.Keccak(parent[:], binary.BigEndian.AppendUint64(nil, uint64(n)))
		for i := range each {
			nonce := n*each + i
			tx := evm.Tx{Index: uint32(i), From: busyAddress, To: regular(nonce % (txs / perRegular)),
				Nonce: uint64(nonce), GasLimit: 21000, GasUsed: 21000, GasPrice: *uint256.NewInt(25e9), Value: *uint256.NewInt(uint64(i + 1))}
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

// pageRig serves the pages of a chain, and beside it a bare fasthttp handler
// that answers the bytes of one of them to everything.
type pageRig struct {
	api, bare pages
	size      int // bytes of a page
	regulars  [][]byte
	next      int // of the regulars
	chain     *index.Chain
}

func newPageRig(t testing.TB, txs int) *pageRig {
	t.Helper()
	_, c, _ := openChain(t, store.Options{NoSync: true})
	manyTxs(t, c, txs)
	r := &pageRig{api: dataServer(t, c), chain: c}
	for i := range txs / perRegular {
		r.regulars = append(r.regulars, []byte(getRequest(pagePath(regular(i)))))
	}
	_, body := r.api.get(t, pagePath(busyAddress))
	r.size = len(body)
	r.bare = barePages(t, append([]byte(nil), body...))
	settle()
	return r
}

// pageRound is the number of pages that are asked for at once.
const pageRound = 800

func (r *pageRig) many(t testing.TB) { r.api.ask(t, pagePath(busyAddress), pageRound) }
func (r *pageRig) few(t testing.TB)  { r.api.ask(t, pagePath(rareAddress), pageRound) }
func (r *pageRig) floor(t testing.TB) {
	r.bare.ask(t, pagePath(busyAddress), pageRound)
}

// unread asks for pages of regulars, each of which was never asked for, or so
// long ago that caches have forgotten it.
func (r *pageRig) unread(t testing.TB) {
	if r.next+pageRound > len(r.regulars) {
		r.next = 0
	}
	r.api.askEach(t, r.regulars[r.next:r.next+pageRound], pageRound)
	r.next += pageRound
}

// BenchmarkPage is a page of 10 transactions over loopback HTTP, with its clients
// in the same process. of=busy is the same page again and again, of an address
// with 1,000,000 transactions, of=unread another one each time, of addresses with
// 20. x/few is the time against that of the page of an address with 10, x/bare the
// rate against that of a bare fasthttp handler that answers the same bytes.
func BenchmarkPage(b *testing.B) {
	r := newPageRig(b, 1_000_000)
	for _, of := range []struct {
		name string
		ask  func(testing.TB)
	}{{"busy", r.many}, {"unread", r.unread}} {
		b.Run("of="+of.name, func(b *testing.B) {
			ask, few, floor := func() { of.ask(b) }, func() { r.few(b) }, func() { r.floor(b) }
			few() // connections that were idle for too long would be closed
			floor()
			b.ReportAllocs()
			rounds := 0
			for b.Loop() {
				rounds++
				ask()
			}
			b.ReportMetric(float64(rounds*pageRound)/b.Elapsed().Seconds(), "req/s")
			b.StopTimer()
			b.ReportMetric(float64(r.size), "B/page")
			b.ReportMetric(allocations(5, 1, ask)/pageRound, "allocs/req")
			b.ReportMetric(against(wall(), 5, ask, few), "x/few")
			b.ReportMetric(1/against(wall(), 5, ask, floor), "x/bare")
		})
	}
}

// pageFigures are those of BenchmarkPage.
func pageFigures(t *testing.T, each func(figure)) {
	r := newPageRig(t, 1_000_000)
	many, few, floor, unread := func() { r.many(t) }, func() { r.few(t) }, func() { r.floor(t) }, func() { r.unread(t) }
	each(figure{"page allocations", allocs, func() float64 { return allocations(5, 1, many) / pageRound }})
	each(figure{"page unread allocations", allocs, func() float64 { return allocations(5, 1, unread) / pageRound }})
	each(figure{"page of 1,000,000 time / of 10", flatRatio, func() float64 { return against(wall(), 5, many, few) }})
	each(figure{"page time / bare HTTP server", timeRatio, func() float64 { return against(wall(), 5, many, floor) }})
	each(figure{"page unread CPU / bare HTTP server", readRatio, func() float64 { return against(cpu, 5, unread, floor) }})
	settle()
	each(figure{"indexing beside 1,000,000 time / of none", fullRatio, func() float64 { return besideMany(t, r.chain, perGroup) }})
}

// TestPages: the benchmark above stands on it.
func TestPages(t *testing.T) {
	t.Parallel()
	txs := torture.Pick(1200, 20_000)
	_, c, _ := openChain(t, store.Options{NoSync: true, MemTableMB: 8})
	manyTxs(t, c, txs)
	api := dataServer(t, c)
	for _, a := range []evm.Address{rareAddress, busyAddress, regular(0), regular(txs/perRegular - 1)} {
		status, body := api.get(t, pagePath(a))
		if n := strings.Count(string(body), `"txHash"`); status != fasthttp.StatusOK || n != 10 {
			t.Errorf("%s: status %d, %d transactions", a, status, n)
		}
	}
	bare := barePages(t, []byte("{}"))
	bare.ask(t, "/", 8)
	api.ask(t, pagePath(busyAddress), 8)
}
