package rpc

import (
	"bytes"
	"strings"
	"testing"

	"quorate/engine/metric"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	a, b := metric.NewSet(), metric.NewSet()
	a.Counter("quorate_a_total", "A.").Add(3)
	b.Counter("quorate_b_total", "B.", "kind", "x").Add(4)
	s := New(Config{Metrics: func() []*metric.Set { return []*metric.Set{a, b} }})
	for range 2 { // a second reading starts afresh
		resp := do(s, "GET", "/ext/metrics?x=1", "")
		if resp.StatusCode() != 200 || string(resp.Header.ContentType()) != metric.ContentType {
			t.Errorf("status %d, content type %s", resp.StatusCode(), resp.Header.ContentType())
		}
		for _, want := range []string{"quorate_a_total 3\n", `quorate_b_total{kind="x"} 4` + "\n", "# TYPE quorate_rpc_calls_total counter\n"} {
			if n := bytes.Count(resp.Body(), []byte(want)); n != 1 {
				t.Errorf("%q is there %d times, want once", want, n)
			}
		}
	}
}

func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	s := New(fullConfig(t))
	rpcCall(s, "admin.memoryProfile", "{}")
	rpcCall(s, "admin.stopCPUProfiler", "{}")
	rpcCall(s, "admin.nope", "{}")
	do(s, "POST", "/ext/admin", "", "Origin", "http://evil.example", "Host", "localhost")
	do(s, "POST", "/ext/bc/C/rpc", "1")
	do(s, "POST", "/ext/bc/C/rpc", "down")
	text := string(do(s, "GET", "/ext/metrics", "").Body())
	for _, want := range []string{
		`{method="admin.memoryProfile",result="ok"} 1`, `{method="admin.stopCPUProfiler",result="error"} 1`,
		`{method="admin",result="invalid"} 1`, `{method="admin",result="foreign_origin"} 1`,
		`{method="bc",result="ok"} 1`, `{method="bc",result="error"} 1`, `{method="health.health",result="ok"} 0`,
	} {
		if !strings.Contains(text, "quorate_rpc_calls_total"+want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}

func TestMetricsAreRead(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		resp := do(s, method, "/ext/metrics", "")
		if resp.StatusCode() != 405 || string(resp.Header.Peek("Allow")) != "GET, HEAD" {
			t.Errorf("%s: status %d, allow %q", method, resp.StatusCode(), resp.Header.Peek("Allow"))
		}
	}
	if resp := do(s, "HEAD", "/ext/metrics", ""); resp.StatusCode() != 200 {
		t.Errorf("HEAD: status %d", resp.StatusCode())
	}
}

// What is not configured is not there, for any verb.
func TestAbsentParts(t *testing.T) {
	t.Parallel()
	s := New(Config{})
	full := fullConfig(t)
	full.Forward = nil
	noForward := New(full)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "OPTIONS"} {
		for _, path := range []string{"/ext", "/ext/", "/ext/metrics/", "/ext/Metrics", "/ext/nothing", "/ext/admin",
			"/ext/health", "/ext/health/liveness", "/ext/bc/C/rpc"} {
			resp := do(s, method, path, "{}")
			if resp.StatusCode() != 404 || string(resp.Body()) != "404 page not found\n" {
				t.Errorf("%s %s: status %d, %q", method, path, resp.StatusCode(), resp.Body())
			}
			if v := resp.Header.Peek("Node-Id"); v != nil {
				t.Errorf("%s %s: Node-Id %q without one given", method, path, v)
			}
		}
		if resp := do(noForward, method, "/ext/bc/C/rpc", "{}"); resp.StatusCode() != 404 {
			t.Errorf("%s without a forwarder: status %d", method, resp.StatusCode())
		}
	}
	bare := New(Config{Admin: &Admin{}})
	for _, m := range adminMethods() {
		if m.name == "alias" {
			continue // needs nothing but the service
		}
		want := failure(errUnavailable.Error())
		if m.name == "setLoggerLevel" || m.name == "getLoggerLevel" || len(m.params) == 0 || m.params[0].name == "chain" {
			if got := rpcCall(bare, "admin."+m.name, `{"logLevel":"INFO"}`); got != want {
				t.Errorf("%s: %s", m.name, got)
			}
		}
	}
}

func TestAnyHost(t *testing.T) {
	t.Parallel()
	s := New(Config{AllowedHosts: []string{"a.example", "*"}})
	if resp := do(s, "GET", "/ext/metrics", "", "Host", "b.example"); resp.StatusCode() != 200 {
		t.Errorf("status %d", resp.StatusCode())
	}
}

func TestIsClean(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/": true, "/ext": true, "/ext/": true, "/ext/a/b": true, "/ext/a/": true, "/ext/...": true, "/ext/.a": true,
		"//": false, "/ext//": false, "/ext//a": false, "/ext/.": false, "/ext/./a": false, "/ext/..": false,
		"/ext/../a": false, "/..": false, "//ext": false,
	} {
		if got := isClean([]byte(path)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
