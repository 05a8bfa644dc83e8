package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"quorate/devnet"
)

// nodeGate stands before a node: what admits says no to it answers itself.
func nodeGate(t *testing.T, node string, admits func(w http.ResponseWriter, r *http.Request) bool) *httptest.Server {
	t.Helper()
	at, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(at)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if admits(w, r) {
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// smallDevnet runs a network of a short history for the length of a test.
func smallDevnet(t *testing.T, cfg devnet.Config) *devnet.Devnet {
	t.Helper()
	cfg.Blocks, cfg.BlockInterval = 20, 250*time.Millisecond
	return startNetwork(t, cfg)
}

func chainCall(t *testing.T, url, method, params string) (status int, body string) {
	t.Helper()
	status, _, answer := ask(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":5,"method":"`+method+`","params":`+params+`}`)
	return status, string(answer)
}

// awaitHead subscribes to new heads and returns the first.
func awaitHead(t *testing.T, base string) *websocket.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(base, "http"), nil) //nolint:bodyclose // the library closes it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":"me","method":"eth_subscribe","params":["newHeads"]}`)); err != nil {
		t.Fatal(err)
	}
	var first struct{ ID, Result string }
	var head struct {
		Params struct {
			Subscription string
			Result       struct{ Number string }
		}
	}
	for _, dst := range []any{&first, &head} {
		_, text, err := conn.Read(ctx)
		if err == nil {
			err = json.Unmarshal(text, dst)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if first.ID != "me" || first.Result == "" || head.Params.Subscription != first.Result || head.Params.Result.Number == "" {
		t.Errorf("subscribed %+v, head %+v", first, head)
	}
	return conn
}

// TestChainRPCPaths: every path of a chain that the node has is there, under every
// name, and WebSockets end in order when the server stops.
func TestChainRPCPaths(t *testing.T) {
	d := smallDevnet(t, devnet.Config{PrimaryBlocks: 200})
	p := launch(t, "quorate ready", "serve", "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", t.TempDir(), "--log-display-level", "warn")
	id := d.Facts("").BlockchainID
	awaitChains(t, p.url+"/ext/bc/C/rpc", "eth_chainId")
	for _, c := range []struct{ path, method, params, want string }{
		{"P", "platform.getHeight", "{}", `"height":"`},
		{"platform", "platform.getHeight", "{}", `"height":"`},
		{"11111111111111111111111111111111LpoYY", "platform.getTimestamp", "{}", `"timestamp":"`},
		{"C/rpc", "eth_chainId", "[]", `"result":"0xa868"`},
		{"evm/rpc", "eth_chainId", "[]", `"result":"0xa868"`},
		{id + "/rpc", "eth_chainId", "[]", `"result":"0xa868"`},
		{id + "/avax", "avax.getUTXOs", "{}", `"numFetched":"0"`},
		{"C/proposervm", "proposervm.getProposedHeight", "{}", `"height":"`},
		{"../P", "platform.getHeight", "{}", `"height":"`},
		{"C/rpc", "debug_traceBlockByNumber", `["0x1"]`, `"code":-32601`},
		{"P", "platform.getBalances", "{}", `"code":-32000`},
	} {
		if status, body := chainCall(t, p.url+path.Join("/ext/bc", c.path), c.method, c.params); status != 200 || !strings.Contains(body, c.want) || !strings.Contains(body, `"id":5`) {
			t.Errorf("%s at %s: %d %s", c.method, c.path, status, body)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"info.getNetworkID", "{}", `"result":{"networkID":"12345"}`},
		{"info.getNetworkName", "{}", `"result":{"networkName":"local"}`},
		{"info.getBlockchainID", `{"alias":"C"}`, `"result":{"blockchainID":"` + id + `"}`},
		{"info.getBlockchainID", `{"alias":"Q"}`, `"error":{"code":-32000,"message":"there is no ID with alias: Q","data":null}`},
		{"info.isBootstrapped", `{"chain":"P"}`, `"result":{"isBootstrapped":true}`},
		{"info.getNodeVersion", "{}", `"result":{"version":"avalanchego/`},
		{"info.getVMs", "{}", `"mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6":["evm"]`},
		{"info.getTxFee", "{}", `"result":{"txFee":"1000000",`},
		{"info.upgrades", "{}", `"graniteTime":"`},
		{"info.peers", "{}", `"result":{"numPeers":"`},
		{"info.getNodeID", "{}", `"error":{"code":-32000,"message":"the method info.getNodeID is not available here`},
	} {
		if status, body := chainCall(t, p.url+"/ext/info", c.method, c.params); status != 200 || !strings.Contains(body, c.want) || !strings.Contains(body, `"id":5`) {
			t.Errorf("%s: %d %s", c.method, status, body)
		}
	}
	if status, body := chainCall(t, p.url+"/ext/bc/C/validators", "validators.getCurrentValidators", "{}"); status != 404 || !strings.Contains(body, "no such path") {
		t.Errorf("a path that the chain does not have: %d %s", status, body)
	}
	for _, c := range []struct{ path, want string }{{"/ext/bc/C/rpc", "*"}, {"/ext/P", "*"}, {"/ext/info", "*"}, {"/ext/health", ""}, {"/ext/metrics", ""}} {
		if got := allowedOrigin(t, p.url+c.path); got != c.want {
			t.Errorf("%s allows origin %q, want %q", c.path, got, c.want)
		}
	}
	awaitHead(t, p.url+"/ext/bc/C/ws")
	conn := awaitHead(t, p.url+"/ext/bc/"+id+"/ws")
	ended := make(chan error, 1)
	go func() {
		for {
			if _, _, err := conn.Read(context.Background()); err != nil {
				ended <- err
				return
			}
		}
	}()
	p.stop(t)
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("at the stop: %v", err)
	}
}

// awaitChains waits until a chain can be called.
func awaitChains(t *testing.T, url, method string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		status, body := chainCall(t, url, method, "[]")
		if status == http.StatusOK {
			return
		}
		if status != http.StatusServiceUnavailable {
			t.Fatalf("%s: %d %s", url, status, body)
		}
		<-tick.C
	}
}

func TestChainRPCModes(t *testing.T) {
	d := smallDevnet(t, devnet.Config{})
	for mode, want := range map[string]string{"all": `"result":[`, "off": "404 page not found"} {
		p := launch(t, "quorate ready", "serve", "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", t.TempDir(),
			"--log-display-level", "warn", "--chain-rpc", mode)
		if mode == "all" {
			awaitChains(t, p.url+"/ext/bc/C/rpc", "eth_chainId")
		}
		if _, body := chainCall(t, p.url+"/ext/bc/C/rpc", "debug_traceBlockByNumber", `["0x1",{"tracer":"callTracer"}]`); !strings.Contains(body, want) {
			t.Errorf("mode %s: %s", mode, body)
		}
		p.stop(t)
	}
}

// TestChainOnOneNode: of two nodes only the second runs an L1. Chain RPC goes there,
// also while the first says 404, and to the chain's own RPC where one is configured.
func TestChainOnOneNode(t *testing.T) {
	campaign(t)
	d := smallDevnet(t, devnet.Config{L1s: 1})
	l1 := d.Facts("").EVMChains[1]
	var asked atomic.Int64
	first := nodeGate(t, d.NodeURL(), func(w http.ResponseWriter, r *http.Request) bool {
		path, below := strings.CutPrefix(r.URL.Path, "/ext/bc/"+l1.BlockchainID)
		if !below {
			return true
		}
		if path != "/proposervm" { // which tells the epoch, and is asked for now and then
			asked.Add(1)
		}
		http.Error(w, "404 page not found", http.StatusNotFound)
		return false
	})
	args := []string{"serve", "--node-url", first.URL, "--http-port", "0", "--log-display-level", "error", "--data-dir"}
	p := launch(t, "quorate ready", append(args, t.TempDir(), "--node-url", d.NodeURL(), noIndex)...)
	at := p.url + "/ext/bc/" + l1.BlockchainID
	awaitChains(t, at+"/rpc", "eth_chainId")
	for range 5 {
		if status, body := chainCall(t, at+"/rpc", "eth_blockNumber", "[]"); status != 200 || !strings.Contains(body, `"result":"0x`) {
			t.Errorf("%d %s", status, body)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the node without the chain was asked %d times", n)
	}
	awaitHead(t, at+"/ws")
	p.stop(t)

	// The only followed node does not run it, but the chain's own RPC is configured.
	asked.Store(0)
	p = launch(t, "quorate ready", append(args, t.TempDir(), "--chains-file", chainsFile(t, d, "first"))...)
	at = p.url + "/ext/bc/first"
	awaitChains(t, at+"/rpc", "eth_chainId")
	if status, body := chainCall(t, at+"/rpc", "eth_blockNumber", "[]"); status != 200 || !strings.Contains(body, `"result":"0x`) {
		t.Errorf("%d %s", status, body)
	}
	awaitHead(t, at+"/ws")
	if n := asked.Load(); n != 0 {
		t.Errorf("the followed node was asked %d times", n)
	}
	p.stop(t)
}

// TestSecrets: a node that wants credentials gets them with each request, and they
// are found nowhere: not in logs at the finest level, metrics, health, errors,
// answers or files.
func TestSecrets(t *testing.T) {
	campaign(t)
	const user, password, token, key = "uSECRETser", "pSECRETword", "tSECRETtoken", "hSECRETheader"
	d := smallDevnet(t, devnet.Config{})
	var broken atomic.Bool
	gate := nodeGate(t, d.NodeURL(), func(w http.ResponseWriter, r *http.Request) bool {
		u, p, _ := r.BasicAuth()
		well := u == user && p == password && r.URL.Query().Get("token") == token && r.Header.Get("X-Key") == "Bearer "+key
		if well && !broken.Load() {
			r.URL.RawQuery = ""
			r.Header.Del("Authorization")
			r.Header.Del("X-Key")
			return true
		}
		if !well {
			t.Errorf("without credentials: %s %s", r.Method, r.URL.Path)
		}
		// It tells all that it was asked with, as some do.
		http.Error(w, fmt.Sprintf("no: %s %s", r.URL.RawQuery, r.Header), http.StatusUnauthorized)
		return false
	})
	at := strings.Replace(gate.URL, "http://", "http://"+user+":"+password+"@", 1) + "?token=" + token
	dir := t.TempDir()
	p := launch(t, "quorate ready", "serve", "--node-url", at, "--node-header", "X-Key: Bearer "+key, "--http-port", "0", "--data-dir", dir,
		"--log-display-level", "verbo", "--log-level", "verbo", "--health-check-frequency", "50ms", "--api-admin-enabled")
	awaitChains(t, p.url+"/ext/bc/C/rpc", "eth_chainId")
	awaitHead(t, p.url+"/ext/bc/C/ws")
	awaitHealth(t, p.url, http.StatusOK)
	said := &strings.Builder{}
	look := func() {
		for _, path := range []string{"/ext/metrics", "/ext/health", "/ext/health/readiness", "/v1/chains", "/v1/chains/C/transactions", "/metrics", "/health"} {
			_, body := get(t, p.url+path)
			fmt.Fprintf(said, "%s\n%s\n", path, body)
		}
		for _, path := range []string{"/ext/bc/C/rpc", "/ext/bc/P", "/ext/info", "/ext/bc/C/avax", "/ext/bc/C/ws"} {
			status, body := chainCall(t, p.url+path, "eth_chainId", "[]")
			fmt.Fprintf(said, "%s %d\n%s\n", path, status, body)
		}
		_, body := chainCall(t, p.url+"/ext/admin", "admin.getChainAliases", `{"chain":"C"}`)
		said.WriteString(body)
		_, answer := post(t, p.url+endpoint1, `{"message":"00"}`)
		fmt.Fprintln(said, answer)
	}
	look()
	broken.Store(true)
	awaitHealth(t, p.url, http.StatusServiceUnavailable)
	look()
	if status, body := chainCall(t, p.url+"/ext/bc/C/rpc", "eth_chainId", "[]"); status != 502 || !strings.Contains(body, "does not take requests") {
		t.Errorf("credentials that are not taken: %d %s", status, body)
	}
	p.stop(t)
	said.WriteString(p.stderr.String())
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			fmt.Fprintf(said, "%s\n%s\n", path, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	for line := range strings.SplitSeq(said.String(), "\n") {
		if strings.Contains(line, "SECRET") || strings.Contains(line, "dVNFQ1JFVHNlcjpw") {
			t.Errorf("shown: %.400s", line)
		}
	}
	// What is wrong with the flags does not show them either.
	for _, args := range [][]string{
		{"--node-url", "htp://" + password + "@x"}, {"--node-url", at, "--node-header", "X Key:" + key}, {"--node-url", at, "--node-header", key},
		{"--node-url", at + "#" + token}, {"--node-url", "http://a:b:" + password},
	} {
		code, out, errs := quorate(t, "", append([]string{"serve", "--http-port", "0", "--data-dir", t.TempDir()}, args...)...)
		if code != exitUsage || strings.Contains(out+errs, "SECRET") {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
	}
}

// TestAdvertised: clients are told addresses that they can use.
func TestAdvertised(t *testing.T) {
	d := smallDevnet(t, devnet.Config{})
	told := func(p *program) (rpcURL, wsURL string) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			_, body := get(t, p.url+"/v1/chains")
			var list struct {
				Chains []struct{ RPCURL, WSURL string }
			}
			if err := json.Unmarshal(body, &list); err != nil {
				t.Fatal(err)
			}
			if len(list.Chains) > 0 {
				return list.Chains[0].RPCURL, list.Chains[0].WSURL
			}
			<-tick.C
		}
	}
	id := d.Facts("").BlockchainID
	args := []string{"serve", "--node-url", d.NodeURL(), "--http-port", "0", "--log-display-level", "error"}
	p := launch(t, "quorate ready", append(args, "--data-dir", t.TempDir(), "--cors-origins", "https://wallet.example", "--public-url", "https://rpc.example/x/")...)
	rpcURL, wsURL := told(p)
	if rpcURL != "https://rpc.example/x/ext/bc/"+id+"/rpc" || wsURL != "wss://rpc.example/x/ext/bc/"+id+"/ws" {
		t.Errorf("told %s, %s", rpcURL, wsURL)
	}
	// The host of the public address is one of ours; others are refused in words
	// that help.
	for host, want := range map[string]string{"rpc.example": `"0xa868"`, "rpc.example:443": `"0xa868"`, "evil.example": "--http-allowed-hosts"} {
		if _, _, body := ask(t, http.MethodPost, p.url+"/ext/bc/C/rpc", `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`, "Host", host); !strings.Contains(string(body), want) {
			t.Errorf("host %s: %s", host, body)
		}
	}
	// Pages open WebSockets where they may read answers.
	for origin, want := range map[string]int{"https://wallet.example": http.StatusSwitchingProtocols, "https://evil.example": http.StatusForbidden} {
		conn, resp, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(p.url, "http")+"/ext/bc/C/ws", //nolint:bodyclose // the library closes it
			&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		if resp == nil || resp.StatusCode != want {
			t.Errorf("a page of %s: %v", origin, err)
		}
		if err == nil {
			_ = conn.CloseNow()
		}
	}
	p.stop(t)
	p = launch(t, "quorate ready", append(args, "--data-dir", t.TempDir(), "--chain-rpc", "off")...)
	if rpcURL, wsURL = told(p); rpcURL+wsURL != "" {
		t.Errorf("told %s, %s where nothing is", rpcURL, wsURL)
	}
	p.stop(t)
}

func TestClientURL(t *testing.T) {
	t.Parallel()
	own := func(list ...string) func() ([]net.Addr, error) {
		return func() (out []net.Addr, err error) {
			for _, s := range list {
				ip, n, err := net.ParseCIDR(s)
				if err != nil {
					return nil, err
				}
				out = append(out, &net.IPNet{IP: ip, Mask: n.Mask})
			}
			return out, err
		}
	}
	for _, c := range []struct {
		listens string
		own     []string
		want    string
	}{
		{"127.0.0.1:1", []string{"10.0.0.5/8"}, "http://127.0.0.1:1"},
		{"192.0.2.7:1", nil, "http://192.0.2.7:1"},
		{"0.0.0.0:1", []string{"127.0.0.1/8", "fe80::1/64", "10.0.0.5/8", "10.0.0.6/8"}, "http://10.0.0.5:1"},
		{"[::]:1", []string{"::1/128", "2001:db8::1/64", "10.0.0.5/8"}, "http://10.0.0.5:1"},
		{"[::]:1", []string{"2001:db8::1/64"}, "http://[2001:db8::1]:1"},
		{"0.0.0.0:1", []string{"127.0.0.1/8"}, "http://127.0.0.1:1"},
		{"0.0.0.0:1", nil, "http://127.0.0.1:1"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", c.listens)
		if err != nil {
			t.Fatal(err)
		}
		if got := clientURL(addr, own(c.own...)); got != c.want {
			t.Errorf("%s with %v: %s, want %s", c.listens, c.own, got, c.want)
		}
	}
	failing := func() ([]net.Addr, error) { return nil, errors.New("none") }
	if got := clientURL(&net.TCPAddr{IP: net.IPv4zero, Port: 1}, failing); got != "http://127.0.0.1:1" {
		t.Error(got)
	}
}

// allowedOrigin asks as a page of another origin.
func allowedOrigin(t *testing.T, url string) string {
	t.Helper()
	_, header, _ := ask(t, http.MethodPost, url, "{}", "Origin", "https://page.example")
	return header.Get("Access-Control-Allow-Origin")
}
