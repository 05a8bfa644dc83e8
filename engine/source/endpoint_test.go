package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestSchemeIsMissing: an address without a scheme is the mistake of the first day.
func TestSchemeIsMissing(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"127.0.0.1:9650": "did you mean http://127.0.0.1:9650?", "localhost:9650": "did you mean http://localhost:9650?", "[::1]:9650": "did you mean http://[::1]:9650?",
		"user:SECRET@127.0.0.1:9650": errEndpoint.Error(), "node.example:9650/x?token=SECRET": errEndpoint.Error(),
	} {
		if _, err := ParseEndpoint(raw); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

// secretly parses an address and adds headers.
func secretly(t *testing.T, raw string, headers ...string) Endpoint {
	t.Helper()
	e, err := ParseEndpoint(raw)
	for i := 0; err == nil && i < len(headers); i += 2 {
		e, err = e.WithHeader(headers[i], headers[i+1])
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// No way of printing an endpoint shows a credential.
func TestEndpointIsRedacted(t *testing.T) {
	t.Parallel()
	e := secretly(t, "https://ursula:SECRETpass@node.example:9650/v3/SECRETpathSECRETpath?token=SECRETquery", "X-Token", "SECRETheader")
	holder := struct {
		name string
		at   Endpoint
		list []Endpoint
		At   *Endpoint
	}{"x", e, []Endpoint{e}, &e}
	var log strings.Builder
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("x", "node", e, "holder", holder)
	}
	text, err := json.Marshal(map[string]any{"a": e, "b": holder})
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%s\n%s\n%v %+v %#v %s %q %x\n%v %+v %#v", log.String(), text, e, e, e, e, e, e, holder, holder, holder)
	if strings.Contains(all, "SECRET") || strings.Contains(all, "ursula") {
		t.Error(all)
	}
	if got := e.String(); got != "https://node.example:9650/..." {
		t.Error(got)
	}
	if got := (Endpoint{}).String(); got != "no address" {
		t.Error(got)
	}
}

func TestParseEndpointRefuses(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "127.0.0.1:9650", "ftp://user:SECRET@127.0.0.1", "http://", "http://user:SECRET@:9650", "http://user:SECRET@host:port",
		"http://host/#SECRET", "http://user:SECRET@ho st", "://SECRET", "ws://host", "http://[::1",
	} {
		if _, err := ParseEndpoint(raw); err == nil {
			t.Errorf("%q is accepted", raw)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the error tells a password: %v", err)
		}
	}
	e := secretly(t, "http://user:SECRETpass@host")
	for _, h := range [][2]string{
		{"", "x"}, {"A B", "SECRET"}, {"X", ""}, {"X", "SECRET\r\nY: 1"}, {"Host", "SECRET"}, {"sec-websocket-key", "SECRET"},
		{"content-length", "1"}, {"authorization", "SECRET"}, {"X:", "SECRET"},
	} {
		if _, err := e.WithHeader(h[0], h[1]); err == nil {
			t.Errorf("header %q is accepted", h)
		} else if strings.Contains(err.Error(), "SECRET") {
			t.Errorf("the error tells a value: %v", err)
		}
	}
}

// TestParseEndpointsWhole: a node's address is that of all it has, below whatever path it is.
func TestParseEndpointsWhole(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"http://h:1/ext/bc/C/rpc", "http://h:1/ext/info", "http://h:1/ext", "http://h:1/ext/", "http://h:1/SECRETpath/ext/bc/P"} {
		const want = "the address of node h:1 has a path of one of its APIs: leave out what begins with /ext"
		if _, err := ParseEndpoints("http://other", raw); err == nil || err.Error() != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{"http://h", "http://h/", "http://h/key/node", "http://h/extra/external"} {
		if _, err := ParseEndpoints(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// TestWrongScheme: a node that speaks HTTP and is asked by HTTPS is told of as that.
func TestWrongScheme(t *testing.T) {
	t.Parallel()
	node := httptest.NewServer(http.NotFoundHandler())
	defer node.Close()
	c, err := Open(strings.Replace(node.URL, "http://", "https://", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const want = "it speaks HTTP, not HTTPS, so its address begins with http://"
	if err := c.Call(t.Context(), "/ext/info", "x", nil, nil); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), want) {
		t.Errorf("a call: %v", err)
	}
	if _, err := c.Forward(t.Context(), "/ext/info", []byte("{}"), 0); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), want) {
		t.Errorf("what is passed on: %v", err)
	}
}

// Each request carries the credentials of its node, and those of no other.
func TestCredentialsAreSent(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 16)
	handle := func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		seen <- fmt.Sprintf("%s %s|%s|%s:%s", r.URL.Path, r.URL.RawQuery, r.Header.Get("X-Token"), user, password)
		if r.Header.Get("Upgrade") != "" {
			conn, err := websocket.Accept(w, r, nil)
			if err == nil {
				_ = conn.CloseNow()
			}
			return
		}
		result("1")(w, 1)
	}
	s := httptest.NewServer(http.HandlerFunc(handle))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path, u.RawQuery = url.UserPassword("us:er", "p@ss"), "/base/", "token=a%2Fb&x"
	u.User = url.UserPassword("user", "p@ss:w")
	e := secretly(t, u.String(), "x-token", "v, w")
	c := newTestClient(t, Config{Nodes: []Endpoint{e}})
	want := " token=a%2Fb&x|v, w|user:p@ss:w"
	if err := c.Call(t.Context(), "/ext/info", "x", nil, nil); err != nil {
		t.Error(err)
	}
	if got := <-seen; got != "/base/ext/info"+want {
		t.Error(got)
	}
	if _, err := forwarded(t.Context(), c, "/ext/bc/C/rpc", "{}", 0); err != nil {
		t.Error(err)
	}
	if got := <-seen; got != "/base/ext/bc/C/rpc"+want {
		t.Error(got)
	}
	conn, err := DialWebSocket(t.Context(), e.At("/ext/bc/C/ws"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.CloseNow()
	if got := <-seen; got != "/base/ext/bc/C/ws"+want {
		t.Error(got)
	}
}

// A node that redirects is not followed: credentials stay with their host.
func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("asked: %s %v", r.URL, r.Header)
	}))
	defer thief.Close()
	s := httptest.NewServer(http.RedirectHandler(thief.URL+"/x", http.StatusTemporaryRedirect))
	defer s.Close()
	e := secretly(t, s.URL+"?token=SECRETquery", "X-Token", "SECRETheader")
	c := newTestClient(t, Config{Nodes: []Endpoint{e}})
	if err := c.Call(t.Context(), "/ext/info", "x", nil, nil); err == nil {
		t.Error("a redirect is an answer")
	}
	if _, err := DialWebSocket(t.Context(), e); err == nil {
		t.Error("a redirect is a WebSocket")
	}
}

// What a node or a library says of a request does not show its credentials.
func TestErrorsAreClean(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := fmt.Sprintf("no access for %s %s %s", r.URL.RawQuery, r.Header.Get("X-Token"), r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/status":
			http.Error(w, text, http.StatusUnauthorized)
		case "/busy":
			http.Error(w, text, http.StatusServiceUnavailable)
		case "/result":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%q}`, text)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":%q}}`, text)
		}
	}))
	defer s.Close()
	at := strings.Replace(s.URL, "http://", "http://ursula:SECRETpass@", 1) + "?token=SECRETqu"
	live := secretly(t, at, "X-Token", "Bearer SECRETheader")
	dead := secretly(t, strings.Replace(deadAddress(t), "http://", "http://ursula:SECRETpass@", 1)+"?token=SECRETqu", "X-Token", "SECRETheader")
	check := func(what string, err error) {
		t.Helper()
		text := fmt.Sprint(err)
		for _, secret := range []string{"SECRET", "ursula", "dXJzdWxh"} {
			if err == nil || strings.Contains(text, secret) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	for _, path := range []string{"/status", "/busy", "/error"} {
		c := newTestClient(t, Config{Nodes: []Endpoint{live}})
		err := c.Call(t.Context(), path, "x", nil, nil)
		check(path, err)
		var rpc *RPCError
		if errors.As(err, &rpc) {
			check("RPC error", rpc)
		}
		check("batch "+path, c.CallBatch(t.Context(), path, make([]BatchCall, 1)))
	}
	c := newTestClient(t, Config{Nodes: []Endpoint{dead}})
	check("dead", c.Call(t.Context(), "/", "x", nil, nil))
	_, err := forwarded(t.Context(), c, "/", "{}", 0)
	check("dead forward", err)
	_, err = DialWebSocket(t.Context(), dead)
	check("dead socket", err)
	if !errors.Is(err, ErrUnreachable) {
		t.Errorf("class of %v", err)
	}
	_, err = DialWebSocket(t.Context(), live.At("/status"))
	check("refused socket", err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = DialWebSocket(ctx, live)
	check("late socket", err)
	// What is data for others has none of the long ones.
	for _, path := range []string{"/result", "/status"} {
		c := newTestClient(t, Config{Nodes: []Endpoint{live}})
		if got, _ := forwarded(t.Context(), c, path, "{}", 0); strings.Contains(got, "SECRETheader") {
			t.Error(got)
		}
	}
}

func TestSameHostAndSibling(t *testing.T) {
	t.Parallel()
	a := secretly(t, "http://Host:80/a/rpc?k=1")
	for raw, want := range map[string]bool{
		"http://host": true, "http://host:81": false, "https://host:80": false, "http://host2": false, "http://u:p@HOST/x?y": true,
	} {
		if got := a.SameHost(secretly(t, raw)); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
	if b, ok := a.Sibling("/rpc", "/ws"); !ok || b.target("") != "http://Host:80/a/ws?k=1" {
		t.Error(b.target(""))
	}
	if _, ok := a.Sibling("/ext", "/ws"); ok {
		t.Error("it does not end so")
	}
}
