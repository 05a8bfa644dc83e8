package httpapi

import (
	"strings"
	"testing"

	"quorate/httpapi/service"
)

// TestServiceChecks: the checks have the form that the SDKs know, say no more than yes
// or no, and pages may read them.
func TestServiceChecks(t *testing.T) {
	t.Parallel()
	f := func(found checks, path string, status int, want string) {
		t.Helper()
		s := dataServer(t, Config{Health: found, Origins: []string{"*"}}, sampleChain())
		resp := get(s, path, "Origin", "https://page.example")
		if body := string(resp.Body()); resp.StatusCode() != status || body != want {
			t.Errorf("%s: %d %s, want %d %s", path, resp.StatusCode(), body, status, want)
		}
		if origin := string(resp.Header.Peek("Access-Control-Allow-Origin")); origin != "*" {
			t.Errorf("%s: pages of %q may read it", path, origin)
		}
	}
	good, bad := checks{"b": {}, "a": {}}, checks{"b": {Error: "a secret"}, "a": {}}
	for _, version := range []string{"/v1", "/v2"} {
		f(good, version+"/health-check", 200, service.AliveBody)
		f(bad, version+"/health-check", 503,
			`{"message":"the server cannot do its work; its operator sees at /health why","statusCode":503,"error":"Service Unavailable"}`)
		f(bad, version+"/live-check", 200, service.AliveBody)
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
