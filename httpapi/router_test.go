package httpapi

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/metric"
	"quorate/httpapi/door"
)

// patterns are those of the whole contract, and some that overlap.
var patterns = []string{
	"/v1/signatureAggregator/{network}/aggregateSignatures",
	"/v1/chains/{chainId}/addresses/{address}/transactions",
	"/v1/chains/{chainId}/addresses/{address}/transactions:listErc721",
	"/v1/chains/{chainId}/addresses/{address}/balances:listErc20",
	"/v1/chains/{chainId}/addresses/{address}/balances:getNative",
	"/v1/chains/{chainId}/blocks/{blockId}/transactions",
	"/v1/chains/{chainId}/transactions/{txHash}",
	"/v1/chains/{chainId}",
	"/v1/chains",
	"/v1/chains/address/{address}",
	"/v1/chains/allBlocks",
	"/v1/operations/transactions:export",
	"/v1/operations/{operationId}",
	"/v1/networks/{network}/blockchains/{blockchainId}/vertices:listByHeight",
	"/ext/bc/{chain}/*",
	"/ext/info",
	"/ext/health/*",
	"/ext/*",
}

func endpointsAt(patterns []string) []door.Endpoint {
	var list []door.Endpoint
	for _, p := range patterns {
		list = append(list, door.Endpoint{Route: &door.Route{Method: "GET", Pattern: p}, Handle: func(*fasthttp.RequestCtx, door.Params) {}})
	}
	return list
}

func testRouter(t testing.TB) *door.Router {
	t.Helper()
	r, err := door.NewRouter(endpointsAt(patterns), door.Stats{Set: metric.NewSet()}.Route)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFind(t *testing.T) {
	t.Parallel()
	r := testRouter(t)
	f := func(path, wantPattern string, wantParams ...string) {
		t.Helper()
		rt, p := r.Find([]byte(path))
		if rt == nil {
			if wantPattern != "" {
				t.Errorf("%s: no route, want %s", path, wantPattern)
			}
			return
		}
		if rt.Pattern != wantPattern {
			t.Errorf("%s: route %s, want %q", path, rt.Pattern, wantPattern)
			return
		}
		for i, name := range rt.Params {
			if got := string(p.Get(name)); got != wantParams[i] {
				t.Errorf("%s: %s is %q, want %q", path, name, got, wantParams[i])
			}
		}
		if p.Get("other") != nil {
			t.Errorf("%s: a parameter that is not there has a value", path)
		}
	}
	f("/v1/signatureAggregator/fuji/aggregateSignatures", patterns[0], "fuji")
	f("/v1/signatureAggregator/fu%6Ai/aggregate%53ignatures", patterns[0], "fuji")
	f("/v1/signatureAggregator/a%2Fb/aggregateSignatures", patterns[0], "a/b")
	f("/v1/signatureAggregator/a%2fb%25/aggregateSignatures", patterns[0], "a/b%")
	f("/v1/signatureAggregator/a+b/aggregateSignatures", patterns[0], "a+b")
	f("/v1/signatureAggregator/../aggregateSignatures", patterns[0], "..")
	f("/v1/chains/43114/addresses/0xab/transactions", patterns[1], "43114", "0xab")
	f("/v1/chains/43114/addresses/0xab/transactions:listErc721", patterns[2], "43114", "0xab")
	f("/v1/chains/43114/addresses/0xab/transactions%3AlistErc721", patterns[2], "43114", "0xab")
	f("/v1/chains/43114/addresses/0xab/balances:getNative", patterns[4], "43114", "0xab")
	f("/v1/chains/43114/addresses/0xab/balances:getnative", "")
	f("/v1/chains", "/v1/chains")
	f("/v1/chains/43114", "/v1/chains/{chainId}", "43114")
	f("/v1/chains/allBlocks", "/v1/chains/allBlocks")
	f("/v1/chains/allBlocks/transactions/0x1", "/v1/chains/{chainId}/transactions/{txHash}", "allBlocks", "0x1")
	f("/v1/chains/address", "/v1/chains/{chainId}", "address")
	f("/v1/chains/address/transactions", "/v1/chains/address/{address}", "transactions")
	f("/v1/chains/address/transactions/0x1", "/v1/chains/{chainId}/transactions/{txHash}", "address", "0x1")
	f("/v1/operations/transactions:export", "/v1/operations/transactions:export")
	f("/v1/operations/transactions:exportx", "/v1/operations/{operationId}", "transactions:exportx")

	f("/ext/bc/C", "/ext/bc/{chain}/*", "C")
	f("/ext/bc/C/", "/ext/bc/{chain}/*", "C")
	f("/ext/bc/C/rpc", "/ext/bc/{chain}/*", "C")
	f("/ext/bc/C/a/b/%zz//", "/ext/bc/{chain}/*", "C")
	f("/ext/bc/C/../../admin", "/ext/bc/{chain}/*", "C")
	f("/%65xt/bc/a%2fb", "/ext/bc/{chain}/*", "a/b")
	f("/ext/info", "/ext/info")
	f("/ext/health", "/ext/health/*")
	f("/ext/health/readiness", "/ext/health/*")
	for _, path := range []string{"/ext", "/ext/", "/ext//bc/C", "/ext/bc", "/ext/bc/", "/ext/bc//C", "/ext/bc/%zz", "/ext/./bc/C", "/ext/admin", "/ext/healthy"} {
		f(path, "/ext/*")
	}
	for _, path := range []string{
		"", "/", "/extra", "/EXT/bc/C", "/v1/ext/bc/C", "//", "v1/chains", "/v1", "/v1/", "/v1/chains/", "/v1//chains", "//v1/chains", "/V1/chains", "/v1/chains/1/",
		"/v1/chains/1/blocks", "/v1/chains/%", "/v1/chains/%4", "/v1/chains/%4g", "/v1/chains/%g4", "/v1/./chains", "*",
		"/v1/signatureAggregator//aggregateSignatures", "/v1/signatureAggregator/fuji/aggregateSignatures/0x1",
	} {
		f(path, "")
	}
}

func TestRouterRefuses(t *testing.T) {
	t.Parallel()
	f := func(want string, patterns ...string) {
		t.Helper()
		_, err := door.NewRouter(endpointsAt(patterns), door.Stats{Set: metric.NewSet()}.Route)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", patterns, err, want)
		}
	}
	f("slash", "v1")
	f("empty segment", "/v1//a")
	f("empty segment", "/v1/")
	f("star", "/v1/*/a")
	f("twice", "/v1/*", "/v1/*")
	f("twice", "/v1/a", "/v1/a")
	f("same paths", "/v1/{a}", "/v1/{b}")
	f("parameters", "/{a}/{b}/{c}/{d}/{e}")
}

func TestFindAllocatesNothing(t *testing.T) {
	r := testRouter(t)
	path := []byte("/v1/chains/43114/addresses/0xab/balances:getNative")
	if n := testing.AllocsPerRun(100, func() {
		rt, p := r.Find(path)
		if rt == nil || len(p.Get("address")) == 0 {
			t.Fatal("not found")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzFind(f *testing.F) {
	for _, p := range patterns {
		f.Add(p)
	}
	f.Add("/v1/chains/%2e%2E/%00")
	r := testRouter(f)
	f.Fuzz(func(t *testing.T, path string) {
		rt, p := r.Find([]byte(path))
		if rt == nil {
			return
		}
		// What was found must be spelt by the pattern and the parameters.
		segs := strings.Split(path[1:], "/")
		want := strings.Split(rt.Pattern[1:], "/")
		if len(segs) != len(want) {
			t.Fatalf("%q taken for %s", path, rt.Pattern)
		}
		for i, w := range want {
			got, ok := door.Unescape([]byte(segs[i]))
			if name, isParam := strings.CutPrefix(w, "{"); isParam {
				w = string(p.Get(strings.TrimSuffix(name, "}")))
			}
			if !ok || string(got) != w || len(got) == 0 {
				t.Fatalf("%q taken for %s: segment %q", path, rt.Pattern, segs[i])
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	r := testRouter(b)
	path := []byte("/v1/signatureAggregator/fuji/aggregateSignatures")
	b.ReportAllocs()
	for b.Loop() {
		if rt, _ := r.Find(path); rt == nil {
			b.Fatal("not found")
		}
	}
}
