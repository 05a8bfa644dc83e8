package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/aggregator"
	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/httpapi/limit"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// warpHex is an unsigned warp message of network 12345 without payload.
var warpHex = "000000003039" + strings.Repeat("00", 36)

// fake is an aggregator that answers what it is told.
type fake func(ctx context.Context, req *aggregator.Request) (*aggregator.Result, error)

func (f fake) Aggregate(ctx context.Context, req *aggregator.Request) (*aggregator.Result, error) {
	return f(ctx, req)
}

func (f fake) Validators(ctx context.Context, req *aggregator.Request) (*valset.Set, error) {
	if _, err := f(ctx, req); err != nil {
		return nil, err
	}
	key := bls.SecretKeyFromSeed(make([]byte, 32)).PublicKey().Compressed()
	return valset.New(*req.SigningSubnetID, max(req.PChainHeight, 7), []valset.Member{
		{NodeID: chain.NodeID{1}, PublicKey: key[:], Weight: 40}, {NodeID: chain.NodeID{2}, PublicKey: key[:], Weight: 2}, {Weight: 1 << 63},
	}, nil)
}

func signs(signed string) fake {
	res := &aggregator.Result{Signed: []byte(signed)}
	return func(context.Context, *aggregator.Request) (*aggregator.Result, error) { return res, nil }
}

func fails(err error) fake {
	return func(context.Context, *aggregator.Request) (*aggregator.Result, error) { return nil, err }
}

// networks follows network 12345, served as fuji and testnet.
type networks struct{ agg Aggregator }

func (n networks) ByName(name string) (Aggregator, bool) { return n.agg, name != "mainnet" }
func (n networks) ByID(id uint32) (Aggregator, bool)     { return n.agg, id == 12345 }

// start serves cfg on loopback until the test's end.
func start(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.Networks == nil {
		cfg.Networks = networks{signs("signed")}
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return s, ln.Addr().String()
}

// client is one connection on which requests are written as they are.
type client struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	// Only a hang ends it.
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &client{t: t, Conn: c, r: bufio.NewReader(c)}
}

func (c *client) send(raw string) {
	c.t.Helper()
	if _, err := io.WriteString(c, raw); err != nil {
		c.t.Fatal(err)
	}
}

// reply reads one answer to a request of the given method.
func (c *client) reply(method string) (*http.Response, string) {
	c.t.Helper()
	resp, err := http.ReadResponse(c.r, &http.Request{Method: method})
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp, string(body)
}

// closed waits for the end of the connection.
func (c *client) closed() {
	c.t.Helper()
	b, err := io.ReadAll(c.r)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Error("connection stays open")
	}
	if len(b) > 0 {
		c.t.Errorf("unexpected %q before the connection's end", b)
	}
}

// post is a request as the official SDKs send it.
func post(path, body string) string {
	return request("POST", path, body, "Content-Type: application/json")
}

func request(method, path, body string, headers ...string) string {
	var b strings.Builder
	b.WriteString(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n")
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	if body != "" || method == "POST" {
		b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	return b.String() + "\r\n" + body
}

// goldenAnswers compares what curl and an SDK are answered at paths with a golden file.
func goldenAnswers(t *testing.T, s *Server, name string, paths []string) {
	t.Helper()
	var out bytes.Buffer
	for _, path := range paths {
		for _, agent := range []string{"curl/8", sdkUser} {
			resp := get(s, path, "User-Agent", agent)
			fmt.Fprintf(&out, "GET %s\nUser-Agent: %.13s\n%d %s\n", path, agent, resp.StatusCode(), resp.Header.ContentType())
			if err := json.Indent(&out, resp.Body(), "", "  "); err != nil {
				t.Fatalf("%s: %v: %s", path, err, resp.Body())
			}
			out.WriteString("\n\n")
		}
	}
	golden(t, name, out.Bytes())
}

// golden compares got with testdata/name, or writes it with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		switch {
		case i >= len(g):
			t.Fatalf("%s:%d: missing %q", file, i+1, w[i])
		case i >= len(w):
			t.Fatalf("%s:%d: unexpected %q", file, i+1, g[i])
		case g[i] != w[i]:
			t.Fatalf("%s:%d:\n got %q\nwant %q", file, i+1, g[i], w[i])
		}
	}
}

// eventually waits for what another goroutine is about to do.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not reached: %s", what)
		}
	}
}

func rejected(set *metric.Set, reason string) int {
	return int(set.Value("quorate_http_rejected_total", "reason", reason))
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newLimiter(t testing.TB, cfg limit.Config) *limit.Limiter {
	t.Helper()
	l, err := limit.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
