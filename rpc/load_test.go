package rpc

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/health"
)

// Levels, aliases, profiles and health are called at once; each answer is whole.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	cfg := fullConfig(t)
	s := New(cfg)
	const workers, rounds = 8, 15
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("n%d-%d", w, i)
				if got := rpcCall(s, "admin.alias", fmt.Sprintf(`{"endpoint":"health","alias":%q}`, name)); got != done {
					t.Errorf("alias: %s", got)
				}
				if got := do(s, "GET", "/ext/"+name+"/liveness", "").StatusCode(); got != 200 {
					t.Errorf("%s: status %d", name, got)
				}
				if got := rpcCall(s, "admin.alias", `{"endpoint":"metrics","alias":"one"}`); got != done && !strings.Contains(got, "already") {
					t.Errorf("the same alias: %s", got)
				}
				if got := rpcCall(s, "admin.aliasChain", fmt.Sprintf(`{"chain":"C","alias":%q}`, name)); got != done {
					t.Errorf("chain alias: %s", got)
				}
				if got := do(s, "POST", "/ext/bc/"+name+"/rpc", "1").StatusCode(); got != 200 {
					t.Errorf("bc/%s: status %d", name, got)
				}
				level := []string{"INFO", "debug", "Off"}[i%3]
				if got := rpcCall(s, "admin.setLoggerLevel", fmt.Sprintf(`{"displayLevel":%q}`, level)); got != done {
					t.Errorf("level: %s", got)
				}
				if got := rpcCall(s, "admin.getLoggerLevel", `{}`); !strings.Contains(got, `"main":{"logLevel":"OFF"`) {
					t.Errorf("levels: %s", got)
				}
				rpcCall(s, "admin.startCPUProfiler", `{}`)
				rpcCall(s, "admin.stopCPUProfiler", `{}`)
				if got := rpcCall(s, "admin.memoryProfile", `{}`); got != done {
					t.Errorf("profile: %s", got)
				}
				if got := do(s, "GET", "/ext/health", ""); got.StatusCode() != 503 || !strings.HasSuffix(string(got.Body()), "\"healthy\":false}\n") {
					t.Errorf("health: %d %s", got.StatusCode(), got.Body())
				}
				do(s, "GET", "/ext/metrics", "")
			}
		})
	}
	all.Wait()
	names, err := cfg.Chains.Aliases("C")
	if err != nil || len(names) != 3+workers*rounds {
		t.Errorf("%d names, %v", len(names), err)
	}
}

// cachedHealth answers as the checker does: with a report made before.
type cachedHealth struct{ report health.Report }

func (c cachedHealth) Health([]string) health.Report    { return c.report }
func (c cachedHealth) Readiness([]string) health.Report { return c.report }
func (c cachedHealth) Liveness() health.Report          { return c.report }

func healthRequest(t testing.TB) (*Service, *fasthttp.RequestCtx) {
	checker, err := health.New(health.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{NodeID: nodeID, Health: cachedHealth{checker.Health(nil)}})
	var req fasthttp.Request
	req.SetRequestURI("/ext/health")
	req.Header.SetHost("127.0.0.1:9750")
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, &net.TCPAddr{}, nil)
	return s, ctx
}

// Reading health is what every monitor does all the time.
func TestHealthAllocs(t *testing.T) {
	s, ctx := healthRequest(t)
	if n := testing.AllocsPerRun(100, func() { s.Handler(ctx) }); n > 1 {
		t.Errorf("%v allocations for one GET", n)
	}
	if ctx.Response.StatusCode() != 200 {
		t.Errorf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
}

func BenchmarkHealthGet(b *testing.B) {
	s, ctx := healthRequest(b)
	b.ReportAllocs()
	for b.Loop() {
		s.Handler(ctx)
	}
}

func BenchmarkHealthPost(b *testing.B) {
	s, ctx := healthRequest(b)
	ctx.Request.Header.SetMethod("POST")
	ctx.Request.Header.SetContentType("application/json")
	ctx.Request.SetBodyString(`{"jsonrpc":"2.0","id":1,"method":"health.health","params":{}}`)
	b.ReportAllocs()
	for b.Loop() {
		s.Handler(ctx)
	}
}
