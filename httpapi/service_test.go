package httpapi

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/rpc/health"
)

// TestServiceChecks: the checks have the form that the SDKs know, and tell clients of a
// public listener no names.
func TestServiceChecks(t *testing.T) {
	t.Parallel()
	const alive = `{"status":"ok","info":{},"error":{},"details":{}}`
	f := func(found checks, scope Scope, path string, status int, want string) {
		t.Helper()
		s := dataServer(t, Config{Health: found}, sampleChain())
		resp := get(s, path)
		if scope != All {
			ctx := &fasthttp.RequestCtx{}
			ctx.Request.Header.SetRequestURI(path)
			if strings.HasSuffix(path, "health-check") {
				s.healthCheck(ctx, params{scope: scope})
			} else {
				s.liveCheck(ctx, params{scope: scope})
			}
			resp = &ctx.Response
		}
		if body := string(resp.Body()); resp.StatusCode() != status || body != want {
			t.Errorf("%s for scope %d: %d %s, want %d %s", path, scope, resp.StatusCode(), body, status, want)
		}
	}
	good := checks{"b": {}, "a": {}}
	bad := checks{"b": {Error: "no"}, "a": {}, "c": health.Result{Error: "neither"}}
	names := `{"a":{"status":"up"},"b":{"status":"up"}}`
	for _, version := range []string{"/v1", "/v2"} {
		f(good, All, version+"/health-check", 200, `{"status":"ok","info":`+names+`,"error":{},"details":`+names+`}`)
		f(good, ForClients, version+"/health-check", 200, alive)
		f(bad, All, version+"/health-check", 503,
			`{"message":"the server cannot do its work: b, c","statusCode":503,"error":"Service Unavailable"}`)
		f(bad, ForClients, version+"/health-check", 503,
			`{"message":"the server cannot do its work","statusCode":503,"error":"Service Unavailable"}`)
		f(bad, ForClients, version+"/live-check", 200, alive)
	}
}

// TestMetricChains: the host of metrics has chains in a form of its own.
func TestMetricChains(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain(), secondChain())
	const first = `{"evmChainId":43112,"chainName":"C-Chain","blockchainId":"2CA6j5zYzasynPsFeNoqWkmTCt3VScMvXUZHbfDJ8k3oGzAPtU",` +
		`"subnetId":"11111111111111111111111111111111LpoYY","network":"testnet"}`
	const second = `{"evmChainId":777,"chainName":"Second","blockchainId":"second-id","subnetId":"s","network":"mainnet"}`
	f := func(path, want string) {
		t.Helper()
		if got := string(get(s, path).Body()); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	f("/v2/chains", `{"chains":[`+first+`,`+second+`]}`)
	f("/v2/chains?network=mainnet", `{"chains":[`+second+`]}`)
	f("/v2/chains?feature=nftIndexing&network=fuji", `{"chains":[`+first+`]}`)
	f("/v2/chains/C", first)
	if resp := get(s, "/v2/chains/1"); resp.StatusCode() != 404 || !strings.Contains(string(resp.Body()), "not served here") {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
	if resp := get(s, "/v2/chains?network=near"); resp.StatusCode() != 400 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}
