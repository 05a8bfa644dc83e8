package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/metric"
	"quorate/httpapi/door"
	"quorate/httpapi/forward"
	"quorate/httpapi/limit"
)

var fleetSecret = []byte("the secret of servers in tests")

// fleetRig are servers of one fleet, the first of which is the home.
type fleetRig struct {
	s    []*Server
	url  []string
	sets []*metric.Set
	stop []func()
}

// newFleetRig serves as many servers on loopback; prepare makes them different.
func newFleetRig(t *testing.T, n int, prepare func(i int, cfg *Config, fleet *forward.Config)) *fleetRig {
	t.Helper()
	r := &fleetRig{}
	var lns []net.Listener
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		lns, r.url = append(lns, ln), append(r.url, "http://"+ln.Addr().String())
	}
	for i, ln := range lns {
		set := metric.NewSet()
		cfg, fleet := Config{Metrics: set}, forward.Config{Members: r.url, Secrets: [][]byte{fleetSecret}, Metrics: set, Logger: slog.New(slog.DiscardHandler)}
		if prepare != nil {
			prepare(i, &cfg, &fleet)
		}
		cfg.Fleet = forward.New(fleet)
		s := wholeServer(t, cfg)
		done := make(chan error, 1)
		go func() { done <- s.Serve(ln) }()
		stop := func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Errorf("shutdown: %v", err)
			}
			if done != nil {
				if err := <-done; err != nil && !errors.Is(err, ErrUsed) {
					t.Errorf("serve: %v", err)
				}
				done = nil
			}
		}
		t.Cleanup(stop)
		r.s, r.sets, r.stop = append(r.s, s), append(r.sets, set), append(r.stop, stop)
	}
	return r
}

// ask sends a request to a server; headers come in pairs of name and value.
func (r *fleetRig) ask(t *testing.T, to int, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url[to]+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp, string(text)
}

const aHook = `{"eventType":"address_activity","url":"https://app.example/new","chainId":"43112","metadata":{"addresses":["0xa00000000000000000000000000000000000000a"]}}`

// TestToHome: what has an owner is at the home whichever server is asked, charged where it was
// asked, and its client is the one that asked.
func TestToHome(t *testing.T) {
	t.Parallel()
	r := newFleetRig(t, 2, func(_ int, cfg *Config, _ *forward.Config) {
		limits, err := limit.New(limit.Config{UnitsPerMinute: 60, Burst: 6000})
		if err != nil {
			t.Fatal(err)
		}
		cfg.Limits = limits
	})
	resp, made := r.ask(t, 1, "POST", "/v1/webhooks", aHook)
	if resp.StatusCode != http.StatusCreated || !strings.Contains(made, "app.example/new") {
		t.Fatalf("status %d: %s", resp.StatusCode, made)
	}
	if resp.Header.Get("RateLimit-Remaining") == "" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", resp.Header)
	}
	for i := range r.s {
		if _, list := r.ask(t, i, "GET", "/v1/webhooks", ""); !strings.Contains(list, "app.example/new") {
			t.Errorf("server %d lists %s", i, list)
		}
	}
	if n, err := r.s[1].cfg.Webhooks.List("127.0.0.1"); err != nil || len(n) != 0 {
		t.Errorf("the other server has %d webhooks, %v", len(n), err)
	}
	// The home has charged the list that it was asked for itself, and nothing else.
	left := func(i int) int64 {
		return r.s[i].cfg.Limits.State(limit.ClientAt(netip.MustParseAddr("127.0.0.1"))).Remaining
	}
	if here, there := left(0), left(1); here < 6000-door.UnitsMedium || there > 6000-2*door.UnitsMedium+10 { // a second gives one back
		t.Errorf("the client has %d left at the home, %d at the other server", here, there)
	}
	url := r.s[0].cfg.PublicURL
	_, op := r.ask(t, 1, "GET", "/v1/operations/"+opID, "")
	at := strings.Index(op, url+"/v1/operations/")
	if at < 0 {
		t.Fatalf("no address of a file: %s", op)
	}
	path, _, _ := strings.Cut(op[at+len(url):], `"`)
	path = strings.ReplaceAll(path, `\u0026`, "&")
	if resp, file := r.ask(t, 1, "GET", path, ""); resp.StatusCode != http.StatusOK || file != "abc" || resp.Header.Get("Content-Disposition") == "" {
		t.Errorf("status %d: %q, %v", resp.StatusCode, file, resp.Header)
	}
	if resp, part := r.ask(t, 1, "GET", path, "", "Range", "bytes=1-"); resp.StatusCode != http.StatusPartialContent || part != "bc" {
		t.Errorf("a range: status %d: %q", resp.StatusCode, part)
	}
	if resp, body := r.ask(t, 1, "POST", "/v1/chains/43112/nfts/collections/0xa00000000000000000000000000000000000000a/tokens/1:reindex", ""); resp.StatusCode == http.StatusServiceUnavailable {
		t.Errorf("reindex: status %d: %s", resp.StatusCode, body)
	}
	if got := r.sets[1].Value("quorate_fleet_forwarded_total", "result", "home"); got != 6 {
		t.Errorf("%v requests were passed on, not 6", got)
	}
}

// TestHomeAway: without the home only what it has cannot be answered, and retrying helps.
func TestHomeAway(t *testing.T) {
	t.Parallel()
	r := newFleetRig(t, 2, nil)
	r.stop[0]()
	resp, body := r.ask(t, 1, "GET", "/v1/webhooks", "")
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") != "1" || !strings.Contains(body, "is away") {
		t.Errorf("status %d, %v: %s", resp.StatusCode, resp.Header, body)
	}
	if resp, _ := r.ask(t, 1, "GET", "/v1/chains", ""); resp.StatusCode != http.StatusOK {
		t.Errorf("chains: status %d", resp.StatusCode)
	}
}

// TestNotOfFleet: a request with a signature that is wrong, old, or of another request is any
// client's: it is charged, and its client is whoever sent it.
func TestNotOfFleet(t *testing.T) {
	t.Parallel()
	r := newFleetRig(t, 2, nil)
	now := time.Now()
	sign := func(secret []byte, path, client string, at time.Time) string {
		return forward.Sign(secret, "GET", path, "tester", client, nil, at)
	}
	const path, owner = "/v1/webhooks", "0.0.0.0"
	if _, list := r.ask(t, 0, "GET", path, "", forward.Header, sign(fleetSecret, path, owner, now)); !strings.Contains(list, hookID) {
		t.Fatalf("signed: %s", list)
	}
	for name, header := range map[string]string{
		"another secret": sign([]byte("another secret than that"), path, owner, now), "old": sign(fleetSecret, path, owner, now.Add(-61*time.Second)),
		"of the future": sign(fleetSecret, path, owner, now.Add(62*time.Second)), "another path": sign(fleetSecret, path+"?a", owner, now),
		"nothing": "v1", "another client": strings.Replace(sign(fleetSecret, path, "1.1.1.1", now), "MS4xLjEuMQ", "MC4wLjAuMA", 1),
	} {
		if resp, list := r.ask(t, 0, "GET", path, "", forward.Header, header); resp.StatusCode != http.StatusOK || strings.Contains(list, hookID) {
			t.Errorf("%s: status %d: %s", name, resp.StatusCode, list)
		}
		if resp, _ := r.ask(t, 0, "GET", "/ext/metrics", "", forward.Header, header); name == "nothing" && resp.StatusCode != http.StatusOK {
			t.Errorf("metrics: status %d", resp.StatusCode) // this listener serves all
		}
	}
	if got := r.sets[0].Value("quorate_fleet_refused_total"); got != 12 {
		t.Errorf("%v were refused, not 12", got)
	}
	signed := forward.Sign(fleetSecret, "POST", path, "tester", owner, []byte(aHook), now)
	if resp, body := r.ask(t, 0, "POST", path, strings.Replace(aHook, "new", "old", 1), forward.Header, signed); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("another body: status %d: %s", resp.StatusCode, body)
	}
	if resp, body := r.ask(t, 0, "GET", path, "", forward.Header, sign(fleetSecret, path, "key:gone", now)); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a key that is not known: status %d: %s", resp.StatusCode, body)
	}
}

// TestForwardedTwice: one hop is all.
func TestForwardedTwice(t *testing.T) {
	t.Parallel()
	r := newFleetRig(t, 2, func(_ int, _ *Config, fleet *forward.Config) { fleet.CanSign = func(string) bool { return false } })
	for _, of := range []struct{ method, path, body string }{
		{"GET", "/v1/webhooks", ""}, {"POST", "/v1/signatureAggregator/fuji/aggregateSignatures", `{"message":"` + warpHex + `"}`},
	} {
		signed := forward.Sign(fleetSecret, of.method, of.path, "tester", "1.2.3.4", []byte(of.body), time.Now())
		if resp, body := r.ask(t, 1, of.method, of.path, of.body, forward.Header, signed); resp.StatusCode != http.StatusLoopDetected {
			t.Errorf("%s: status %d: %s", of.path, resp.StatusCode, body)
		}
	}
	resp, body := r.ask(t, 1, "POST", "/v1/signatureAggregator/fuji/aggregateSignatures", `{"message":"`+warpHex+`"}`)
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("nobody can sign: status %d: %s", resp.StatusCode, body)
	}
}

// TestToMember: a server without stake, or without a node, has another one answer; a member
// that is silent or away costs 250 ms at most.
func TestToMember(t *testing.T) {
	t.Parallel()
	r := newFleetRig(t, 3, func(i int, cfg *Config, fleet *forward.Config) {
		fleet.CanSign = func(network string) bool { return i == 1 && (network == "fuji" || network == "") }
		fleet.CanReach = func(chain string) bool { return i == 1 && chain == "C" }
		cfg.Networks = networks{signs("by server " + string(rune('0'+i)))}
	})
	r.stop[2]()
	for _, of := range []struct{ path, body string }{
		{"/v1/signatureAggregator/fuji/aggregateSignatures", `{"message":"` + warpHex + `"}`}, {"/aggregate-signatures", `{"message":"` + warpHex + `"}`},
		{"/ext/bc/C/rpc", `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`},
	} {
		for _, to := range []int{0, 1} {
			resp, body := r.ask(t, to, "POST", of.path, of.body)
			if resp.StatusCode/100 != 2 || strings.Contains(of.path, "ggregat") && !strings.Contains(body, "62792073657276657220"+"31") {
				t.Errorf("%s of server %d: status %d: %s", of.path, to, resp.StatusCode, body)
			}
		}
	}
	if got := r.sets[0].Value("quorate_fleet_forwarded_total", "result", "member"); got != 3 {
		t.Errorf("%v requests were passed on, not 3", got)
	}
}

// TestLateMember: a member that does not answer is left behind.
func TestLateMember(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and no more
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	answers := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("here") }}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = answers.Serve(ln) }()
	t.Cleanup(func() { _ = answers.Shutdown() })
	r := newFleetRig(t, 1, func(_ int, _ *Config, fleet *forward.Config) {
		fleet.Members = []string{"http://" + silent.Addr().String(), "http://" + ln.Addr().String()}
		fleet.CanReach = func(string) bool { return false }
	})
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} { // some have the silent one first
		begun := time.Now()
		resp, body := r.ask(t, 0, "POST", "/ext/bc/C/rpc", `{"jsonrpc":"2.0","id":`+id+`,"method":"eth_blockNumber"}`)
		if resp.StatusCode != http.StatusOK || body != "here" || time.Since(begun) > 5*time.Second {
			t.Errorf("status %d after %s: %s", resp.StatusCode, time.Since(begun), body)
		}
	}
}

// TestStarting: a server that does not know its chains yet does not say that there are none.
func TestStarting(t *testing.T) {
	t.Parallel()
	ready := make(chan struct{})
	r := newFleetRig(t, 1, func(_ int, _ *Config, fleet *forward.Config) { fleet.Ready = ready })
	for path, status := range map[string]int{"/v1/chains/7/blocks": 503, "/v1/chains": 503, "/ready": 200, "/livez": 200} {
		if resp, body := r.ask(t, 0, "GET", path, ""); resp.StatusCode != status {
			t.Errorf("%s: status %d: %s", path, resp.StatusCode, body)
		}
	}
	close(ready)
	if resp, _ := r.ask(t, 0, "GET", "/v1/chains/7/blocks", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("ready: status %d", resp.StatusCode)
	}
}
