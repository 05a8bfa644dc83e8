package httpapi

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/limit"
)

// foreignSite is the origin of a page that its visitors have no reason to trust.
const foreignSite = "https://evil.example"

// ownKey is an API key of the client that has the webhooks of samples.
const ownKey = "quorate_own"

// keyedLimiter knows ownKey, of a client called acme.
func keyedLimiter(t testing.TB, cfg limit.Config) *limit.Limiter {
	t.Helper()
	cfg.KeysFile = filepath.Join(t.TempDir(), "keys.yaml")
	text := "tiers: [{name: a, unitsPerMinute: 100000}]\nkeys: [{name: acme, tier: a, hash: " + limit.Hash(ownKey) + "}]\n"
	if err := os.WriteFile(cfg.KeysFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return newLimiter(t, cfg)
}

// ownedBy makes the webhooks of samples those of a client.
func ownedBy(h *fakeHooks, client string) *fakeHooks {
	for i := range h.list {
		h.list[i].Client = client
	}
	h.secrets = map[string]string{client: strings.Repeat("ab", 32)}
	return h
}

// ownedRoutes are the routes of what belongs to a client.
func ownedRoutes() (list []listing) {
	for _, r := range Routes() {
		if strings.HasPrefix(r.Pattern, "/v1/webhooks") {
			list = append(list, listing{method: r.Method, pattern: strings.ReplaceAll(r.Pattern, "{webhookId}", hookID)})
		}
	}
	return list
}

// TestOwnedByStrangers: the web page of another origin, in the browser of whoever runs the
// server, reads nothing of what belongs to a client, and changes nothing, whatever the
// server allows and however the page asks.
func TestOwnedByStrangers(t *testing.T) {
	t.Parallel()
	bodies := map[string]string{"POST": goodHook, "PATCH": `{"url":"https://evil.example/","status":"inactive"}`, "DELETE": `{"addresses":["` + alice.String() + `"]}`}
	none := limit.Config{NoLimit: true}
	for name, c := range map[string]struct {
		limits  *limit.Limiter
		keyless bool
		owner   string // of the webhooks
	}{
		"no keys":          {newLimiter(t, none), false, "0.0.0.0"},
		"no limits at all": {nil, false, "0.0.0.0"},
		"keys":             {keyedLimiter(t, none), false, "key:acme"},
		"keys required":    {keyedLimiter(t, limit.Config{NoLimit: true, RequireKey: true}), false, "key:acme"},
		"keyless":          {newLimiter(t, none), true, "0.0.0.0"},
		"keyless and keys": {keyedLimiter(t, none), true, "0.0.0.0"},
	} {
		hooks := ownedBy(sampleHooks(), c.owner)
		s := dataServer(t, Config{Webhooks: hooks, Limits: c.limits, WebhooksKeyless: c.keyless, Origins: []string{"*"}}, sampleChain())
		before := fmt.Sprintf("%+v %v", hooks.list, hooks.secrets)
		for _, l := range ownedRoutes() {
			for _, asks := range [][]string{
				{"Origin", foreignSite},
				{"Origin", "null"},
				{"Origin", foreignSite, "Content-Type", "text/plain"},
				{"Origin", foreignSite, "X-Service-Api-Key", ""},
				{"Origin", foreignSite, "X-Service-Api-Key", "invented"},
				{"Origin", foreignSite, "X-Glacier-Api-Key", "invented"},
				{"Origin", foreignSite, "Cookie", keyCookie + "=" + ownKey},
				{"Origin", foreignSite, "Sec-Fetch-Site", "cross-site"},
				{"Sec-Fetch-Site", "cross-site"},
				{"Sec-Fetch-Site", "same-site", "Origin", "http://localhost:1"},
			} {
				for _, withBody := range []bool{true, false} {
					body := ""
					if withBody {
						body = bodies[l.method]
					}
					resp := send(s, l.method, l.pattern, body, asks...)
					told := string(resp.Body())
					if status := resp.StatusCode(); status != 401 && status != 403 || strings.Contains(told, "secret\"") || strings.Contains(told, "app.example") {
						t.Errorf("%s: %s %s %v: %d %s", name, l.method, l.pattern, asks, status, told)
					}
					readable := len(resp.Header.Peek("Access-Control-Allow-Origin")) > 0
					if sent := len(asks) == 4 && asks[3] == "invented"; readable && !sent {
						t.Errorf("%s: %s %s %v: the page may read the answer", name, l.method, l.pattern, asks)
					}
				}
			}
			resp := send(s, "OPTIONS", l.pattern, "", "Origin", foreignSite, "Access-Control-Request-Method", l.method, "Access-Control-Request-Headers", "content-type")
			if h := &resp.Header; len(h.Peek("Access-Control-Allow-Origin"))+len(h.Peek("Access-Control-Allow-Methods"))+len(h.Peek("Access-Control-Allow-Headers")) > 0 {
				t.Errorf("%s: before %s %s: %s", name, l.method, l.pattern, h)
			}
		}
		if after := fmt.Sprintf("%+v %v", hooks.list, hooks.secrets); after != before {
			t.Errorf("%s: something was changed:\n%s\n%s", name, before, after)
		}
	}
}

// TestOwnedWithKey: the client itself, and its own page, which knows the key, get all.
func TestOwnedWithKey(t *testing.T) {
	t.Parallel()
	for _, header := range []string{limit.HeaderKey, limit.HeaderKeySDK} {
		s := dataServer(t, Config{Webhooks: ownedBy(sampleHooks(), "key:acme"), Limits: keyedLimiter(t, limit.Config{NoLimit: true}), Origins: []string{"*"}}, sampleChain())
		for path, want := range map[string]string{"/v1/webhooks:getSharedSecret": "abab", "/v1/webhooks/" + hookID: "app.example", "/v1/webhooks": hookID} {
			resp := send(s, "GET", path, "", header, ownKey, "Origin", page)
			if resp.StatusCode() != 200 || !strings.Contains(string(resp.Body()), want) || string(resp.Header.Peek("Access-Control-Allow-Origin")) != "*" {
				t.Errorf("%s: %s: %d %s %s", header, path, resp.StatusCode(), &resp.Header, resp.Body())
			}
			resp = send(s, "OPTIONS", path, "", "Origin", page, "Access-Control-Request-Method", "GET", "Access-Control-Request-Headers", "content-type, "+strings.ToLower(header))
			if string(resp.Header.Peek("Access-Control-Allow-Origin")) != "*" {
				t.Errorf("%s: before %s: %s", header, path, &resp.Header)
			}
		}
		if resp := send(s, "POST", "/v1/webhooks", goodHook, header, ownKey); resp.StatusCode() != 201 {
			t.Errorf("%s: %d %s", header, resp.StatusCode(), resp.Body())
		}
	}
}

// TestOwnedKeyless: with the operator's leave a client without a key has webhooks, also by
// the server's own page; without it the answer names the way.
func TestOwnedKeyless(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{Webhooks: sampleHooks(), Limits: newLimiter(t, limit.Config{NoLimit: true}), WebhooksKeyless: true, Origins: []string{"*"}}, sampleChain())
	for _, own := range [][]string{nil, {"Origin", "http://localhost", "Sec-Fetch-Site", "same-origin"}, {"Sec-Fetch-Site", "none"}} {
		if resp := send(s, "GET", "/v1/webhooks:getSharedSecret", "", own...); resp.StatusCode() != 200 || len(resp.Header.Peek("Access-Control-Allow-Origin")) > 0 {
			t.Errorf("%v: %d %s %s", own, resp.StatusCode(), &resp.Header, resp.Body())
		}
	}
	s = dataServer(t, Config{Webhooks: sampleHooks(), Limits: newLimiter(t, limit.Config{NoLimit: true})}, sampleChain())
	for _, l := range ownedRoutes() {
		resp := send(s, l.method, l.pattern, map[string]string{"POST": goodHook}[l.method])
		for _, way := range []string{`"statusCode":401`, `"error":"Unauthorized"`, "x-service-api-key", "quorate key", "--api-keys-file", "--limits webhooks-keyless=true"} {
			if !strings.Contains(string(resp.Body()), way) {
				t.Errorf("%s %s: %d %s lacks %s", l.method, l.pattern, resp.StatusCode(), resp.Body(), way)
			}
		}
	}
	if got := s.cfg.Webhooks.(*fakeHooks).list; !reflect.DeepEqual(got, sampleHooks().list) {
		t.Errorf("%+v", got)
	}
	// Exports have no owner: whoever knows the ID may ask.
	if resp := send(extServer(t, Config{}), "GET", "/v1/operations/1b4e28ba-2fa1-41d2-883f-0016d3cca427", ""); resp.StatusCode() != 404 {
		t.Errorf("an export: %d %s", resp.StatusCode(), resp.Body())
	}
}

// TestHosts: a page whose name was made to lead to this server is no page of this server.
func TestHosts(t *testing.T) {
	t.Parallel()
	own := func(h []byte) bool {
		return string(h) == "localhost" || string(h) == "api.example" || string(h) == "192.0.2.7:9750"
	}
	ask := func(s *Server, scope door.Scope, path, host string, proxied bool) *fasthttp.Response {
		peer := "198.51.100.1:99"
		if proxied {
			peer = "127.0.0.1:99"
		}
		return visit(s, scope, "GET", path, "Host", host, "Peer", peer)
	}
	trusting := newLimiter(t, limit.Config{NoLimit: true, TrustedProxies: Loopback()})
	s := wholeServer(t, Config{OwnHost: own, Limits: trusting, Webhooks: &fakeHooks{}})
	for _, path := range []string{"/v1/chains", base + "/transactions", "/v1/webhooks", "/openapi.json", "/v1", "/v2/chains"} {
		for _, c := range []struct {
			host    string
			scope   door.Scope
			proxied bool
			refused bool
		}{
			{"evil.example", door.ForClients, false, true}, {"evil.example:9750", door.ForClients, false, true}, {"evil.example", door.All, false, true}, {"evil.example", door.ForOperators, false, true},
			{"localhost.evil.example", door.ForClients, false, true}, {"127.0.0.1.evil.example", door.ForClients, false, true}, {"evil.example.", door.ForClients, false, true},
			{"api.example", door.ForClients, false, false}, {"192.0.2.7:9750", door.ForClients, false, false}, {"localhost", door.All, false, false},
			// What only a network of one's own resolves.
			{"quorate:9750", door.ForClients, false, false}, {"quorate.local", door.ForClients, false, false}, {"quorate.space.svc.cluster.local:9750", door.ForClients, false, false},
			{"quorate", door.All, false, true}, {"quorate.local", door.ForOperators, false, true},
			// A proxy that is trusted has let the name in.
			{"evil.example", door.ForClients, true, false}, {"evil.example", door.ForOperators, true, true},
		} {
			resp := ask(s, c.scope, path, c.host, c.proxied)
			body := string(resp.Body())
			if refused := resp.StatusCode() == 403 && strings.Contains(body, "is not a name of this server"); refused != c.refused {
				t.Errorf("%s at %s on %d: %d %s", path, c.host, c.scope, resp.StatusCode(), body)
			}
			for _, way := range []string{`"statusCode":403`, "--public-url", "--http-allowed-hosts", "--trusted-proxies"} {
				if c.refused && !strings.Contains(body, way) {
					t.Errorf("%s lacks %s", body, way)
				}
			}
		}
	}
	// Whether the server lives is for whoever asks, what of it fails is not.
	if got := ask(s, door.ForClients, "/health", "balancer.example", false).StatusCode(); got != 200 {
		t.Errorf("health: %d", got)
	}
	if got := ask(s, door.All, "/health", "evil.example", false).StatusCode(); got != 403 {
		t.Errorf("health in detail: %d", got)
	}
}
