package httpapi

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/address"
	"quorate/engine/operation"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/exports"
	"quorate/httpapi/limit"
	"quorate/httpapi/reply"
)

// TestSentUnits: no route sends more bytes for a unit than a bound, at the largest page that
// it takes.
func TestSentUnits(t *testing.T) {
	t.Parallel()
	const burst = 1_000_000
	s := wholeServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})})
	long := strings.Repeat("x", 1<<20)
	s.cfg.Ext = func(ctx *fasthttp.RequestCtx, _ Charge) { ctx.SetBodyString(long) }
	left, routes := burst, 0
	for _, r := range Routes() {
		path, body := sampleRequest(&r)
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		if query := u.Query(); r.Size.Max > 0 {
			query.Set("pageSize", strconv.Itoa(r.Size.Max))
			u.RawQuery = query.Encode()
		}
		method := r.Method
		if method == "" {
			method = "GET"
		}
		resp := send(s, method, u.String(), body)
		now, err := strconv.Atoi(string(resp.Header.Peek("RateLimit-Remaining")))
		if err != nil {
			t.Fatalf("%s %s: %v", method, u, err)
		}
		cost := left - now
		left = now
		if resp.IsBodyStream() {
			if err := resp.CloseBodyStream(); err != nil {
				t.Error(err)
			}
			continue
		}
		if routes++; cost < 1 || len(resp.Body()) >= (cost+1)*sentPerUnit {
			t.Errorf("%s %s sends %d bytes for %d units", method, u, len(resp.Body()), cost)
		}
	}
	if routes < 100 {
		t.Errorf("looked at %d routes only", routes)
	}
}

// TestAddressUnits: lists of many addresses cost more than those of one, also in bodies, and
// refused ones nothing.
func TestAddressUnits(t *testing.T) {
	t.Parallel()
	const burst = 1000
	s := wholeServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})})
	names := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = address.Address{1: byte(i), 2: 9}.Text("fuji")
		}
		return strings.Join(list, ",")
	}
	left := burst
	f := func(method, path, body string, status, units int) {
		t.Helper()
		resp := send(s, method, path, body)
		left -= units
		if got := string(resp.Header.Peek("RateLimit-Remaining")); resp.StatusCode() != status || got != strconv.Itoa(left) {
			t.Errorf("%s %.60s: %d, %s units left, want %d and %d", method, path, resp.StatusCode(), got, status, left)
		}
	}
	const x = "/v1/networks/fuji/blockchains/x-chain"
	f("GET", x+"/transactions?addresses="+names(1), "", 200, 20)
	f("GET", x+"/transactions?addresses="+names(10), "", 200, 20+9*5)
	f("GET", x+"/balances?addresses="+names(10), "", 200, 20+9*5)
	f("POST", x+"/utxos", `{"addresses":"`+names(10)+`"}`, 200, 20+9*5)
	f("GET", x+"/transactions?pageSize=x&addresses="+names(10), "", 400, 20)
}

// TestFileUnits: a long file costs more than its address, of a range only what is sent.
func TestFileUnits(t *testing.T) {
	t.Parallel()
	const burst = 1000
	ops := newFakeOperations()
	ops.ops[opID] = operation.Operation{ID: opID, Status: operation.Completed, Request: operation.Request{Compression: operation.Gzip}}
	ops.files[opID] = make([]byte, 100*exports.FilePerUnit)
	s := dataServer(t, Config{Operations: ops, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})}, sampleChain())
	left := burst
	for _, c := range []struct {
		part  string
		units int
	}{{"", 100}, {"bytes=0-9", door.UnitsMedium}, {"bytes=0-" + strconv.Itoa(50*exports.FilePerUnit-1), 50}} {
		resp := send(s, "GET", exportsOf(s).DownloadURL(opID, time.Now()), "", "Range", c.part)
		left -= c.units
		if got := string(resp.Header.Peek("RateLimit-Remaining")); got != strconv.Itoa(left) {
			t.Errorf("range %q: %d, %s units left, want %d", c.part, resp.StatusCode(), got, left)
		}
		if err := resp.CloseBodyStream(); err != nil {
			t.Error(err)
		}
	}
}

// TestLookedUnits: a filter that passes over rows costs as much as they do.
func TestLookedUnits(t *testing.T) {
	t.Parallel()
	const burst = 1000
	n := samplePrimary().withTxs()
	row := n.txs[primary.PChain][0]
	n.txs[primary.PChain] = nil
	for range 3 * reply.RowsPerUnit {
		n.txs[primary.PChain] = append(n.txs[primary.PChain], row)
	}
	s := dataServer(t, Config{Primary: primaries{"fuji": n}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})}, sampleChain())
	resp := send(s, "GET", "/v1/networks/fuji/blockchains/p-chain/transactions?txTypes=TransformSubnetTx", "")
	if got := string(resp.Header.Peek("RateLimit-Remaining")); resp.StatusCode() != 200 || got != strconv.Itoa(burst-door.UnitsMedium-3) {
		t.Errorf("%d, %s units left: %s", resp.StatusCode(), got, resp.Body())
	}
}

// TestPassedUnits: a long answer of a node costs more than its call.
func TestPassedUnits(t *testing.T) {
	t.Parallel()
	const burst = 1000
	s := wholeServer(t, Config{Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst})})
	long := strings.Repeat("x", 100*passedPerUnit)
	s.cfg.Ext = func(ctx *fasthttp.RequestCtx, _ Charge) {
		ctx.Response.SetBodyStream(strings.NewReader(long), len(long))
	}
	resp := send(s, "POST", "/ext/bc/C/rpc", "{}")
	if got := string(resp.Header.Peek("RateLimit-Remaining")); got != strconv.Itoa(burst-100) {
		t.Errorf("%d, %s units left", resp.StatusCode(), got)
	}
}
