package bench

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

var update = flag.Bool("update", false, "rewrite the golden files and, with -guard, the baseline")

// fakeServer is a server on loopback.
type fakeServer struct {
	url    string
	mu     sync.Mutex
	bodies []string
}

func serve(t *testing.T, handler func(ctx *fasthttp.RequestCtx, n int)) *fakeServer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{url: "http://" + ln.Addr().String()}
	srv := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		f.mu.Lock()
		n := len(f.bodies)
		f.bodies = append(f.bodies, string(ctx.Path())+" "+string(ctx.PostBody()))
		f.mu.Unlock()
		handler(ctx, n)
	}}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		err := srv.Shutdown()
		_ = ln.Close() // Shutdown does not know it if Serve has only just begun
		if err := errors.Join(err, <-done); err != nil {
			t.Error(err)
		}
	})
	return f
}

func good(ctx *fasthttp.RequestCtx, _ int) {
	_, rest, _ := bytes.Cut(ctx.PostBody(), []byte(`"message":"`))
	message, _, _ := bytes.Cut(rest, []byte(`"`))
	if string(ctx.Path()) == "/aggregate-signatures" {
		ctx.SetBodyString(`{"signed-message":"` + string(message) + `00ff"}`)
		return
	}
	ctx.SetStatusCode(fasthttp.StatusCreated)
	ctx.SetBodyString(`{"signedMessage":"0x` + string(message) + `00ff"}` + "\n")
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, good)
	for _, c := range []struct {
		style Style
		want  string
	}{
		{Camel, `/v1/signatureAggregator/fuji/aggregateSignatures {"message":"ab01","quorumPercentage":80,"quorumPercentageBuffer":5}`},
		{Kebab, `/aggregate-signatures {"message":"ab01","quorum-percentage":80,"quorum-percentage-buffer":5}`},
	} {
		s.bodies = nil
		r, err := Run(t.Context(), Config{Load: Load{URL: s.url}, Style: c.style, Messages: []string{"0xAB01"}, Quorum: 80, Buffer: 5})
		if err != nil || r.Servers[0].OK != 1 || r.Servers[0].Failed != 0 || !r.Exhausted {
			t.Errorf("%s: %v, %+v", c.style, err, r)
		}
		if len(s.bodies) != 1 || s.bodies[0] != c.want {
			t.Errorf("%s: asked %q", c.style, s.bodies)
		}
	}
}

// TestHTTPErrors counts each kind that a server on loopback can produce.
func TestHTTPErrors(t *testing.T) {
	t.Parallel()
	answers := []func(ctx *fasthttp.RequestCtx){
		func(ctx *fasthttp.RequestCtx) { good(ctx, 0) },
		func(ctx *fasthttp.RequestCtx) { ctx.Error("not JSON\x00 at all", 500) },
		func(ctx *fasthttp.RequestCtx) {
			ctx.Error(`{"message":"quorum of 67% of the stake not reached: connected 60.0%","statusCode":503,"error":"Service Unavailable"}`, 503)
		},
		func(ctx *fasthttp.RequestCtx) { ctx.Error(`{"error":"too much"}`, 503) },
		func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(201); ctx.SetBodyString(`{"signedMessage":"ffff"}`) },
		func(ctx *fasthttp.RequestCtx) { ctx.SetStatusCode(201); ctx.SetBodyString(`{"signed":"00"}`) },
		func(ctx *fasthttp.RequestCtx) { ctx.HijackSetNoResponse(true); ctx.Hijack(func(net.Conn) {}) },
		func(*fasthttp.RequestCtx) { <-time.After(4 * time.Second) },
	}
	s := serve(t, func(ctx *fasthttp.RequestCtx, n int) { answers[n](ctx) })
	r, err := Run(t.Context(), Config{Load: Load{URL: s.url, Concurrency: 1, Timeout: 2 * time.Second}, Messages: messages(len(answers))})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"500 not JSON at all":            1,
		"503 quorum of 67% of the stake": 1,
		"503 too much":                   1,
		kindGarbage:                      2,
		kindTimeout:                      1,
		"no answer: connection closed":   1,
	}
	if srv := r.Servers[0]; srv.OK != 1 || srv.Failed != 7 {
		t.Errorf("%+v", srv)
	}
	for _, e := range r.Servers[0].Errors {
		if want[e.Kind] != e.Count {
			t.Errorf("%d times %q", e.Count, e.Kind)
		}
		delete(want, e.Kind)
	}
	for kind := range want {
		t.Errorf("never %q", kind)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	r, err = Run(t.Context(), Config{Load: Load{URL: closed, Concurrency: 1}, Messages: messages(2)})
	if err != nil || len(r.Servers[0].Errors) != 1 || r.Servers[0].Errors[0] != (ErrorCount{"no answer: dial: connection refused", 2}) {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestGivenUp: requests in flight are cut when the run is.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	s := serve(t, func(*fasthttp.RequestCtx, int) {
		cancel(errors.New("enough"))
		<-release
	})
	r, err := Run(ctx, Config{Load: Load{URL: s.url, Concurrency: 3, Timeout: time.Minute, Duration: time.Minute}, Messages: messages(10)})
	close(release)
	if err == nil || err.Error() != "enough" || r == nil || r.Servers[0].OK+r.Servers[0].Failed != 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	s := serve(t, good)
	refused := func(want string, cfg Config) {
		t.Helper()
		if cfg.URL == "" {
			cfg.URL = s.url
		}
		if cfg.Messages == nil {
			cfg.Messages = messages(3)
		}
		if _, err := Run(t.Context(), cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	refused("no messages", Config{Messages: []string{}})
	refused("message 1 is not hex", Config{Messages: []string{"00", "0g"}})
	refused("message 0 is not hex", Config{Messages: []string{"0x"}})
	refused("style", Config{Style: "snake"})
	refused("together at most 100", Config{Buffer: 34})
	refused("concurrency", Config{Load: Load{Concurrency: MaxConcurrency + 1}})
	refused("rate", Config{Load: Load{Rate: -1}})
	refused("requests, at most", Config{Load: Load{Rate: MaxRate, Duration: time.Hour}})
	refused("duration", Config{Load: Load{Duration: 2 * time.Hour}})
	refused("timeout", Config{Load: Load{Timeout: -1}})
	refused("at least 3 pairs", Config{Load: Load{Slice: 5 * time.Second}, Vs: s.url})
	refused("no second server", Config{VsPID: 1})
	refused("is positive", Config{Load: Load{PID: -1}})
	refused("http://HOST:PORT", Config{Load: Load{URL: "127.0.0.1:80"}})
	refused("http://HOST:PORT", Config{Load: Load{URL: "https://127.0.0.1:80"}})
	refused("not on this machine's loopback", Config{Load: Load{URL: "http://192.0.2.1:80"}})
	refused("not on this machine's loopback", Config{Vs: "http://192.0.2.1:80"})
	refused("no process", Config{Load: Load{PID: 1 << 30}})
	if len(s.bodies) != 0 {
		t.Errorf("sent %q", s.bodies)
	}
}

// TestProcess measures this very process: it must have taken CPU time and memory.
func TestProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	s := serve(t, func(ctx *fasthttp.RequestCtx, n int) {
		for start := time.Now(); time.Since(start) < 2*time.Millisecond; {
		}
		good(ctx, n)
	})
	r, err := Run(t.Context(), Config{Load: Load{URL: s.url, PID: os.Getpid()}, Messages: messages(200)})
	if err != nil {
		t.Fatal(err)
	}
	p := r.Servers[0].Process
	if p == nil || p.PID != os.Getpid() || p.CPUMs < 10 || p.CPUMsPerRequest <= 0 || p.StartRSS < 1<<20 || p.PeakRSS < p.StartRSS {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S", "1 (a) b) S 1 2 3 4 5 6 7 8 9 10 x 12 13"} {
		if d, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q gives %s", bad, d)
		}
	}
	if d, err := parseStat([]byte("1 (a) (b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14")); err != nil || d != 230*time.Millisecond {
		t.Errorf("%s, %v", d, err)
	}
}

// golden compares with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: got\n%s", path, got)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := &Report{Style: Camel, Concurrency: 16, Rate: 200, Quorum: 67, Buffer: 10, Messages: 1000, Exhausted: true}
	meters := [2]*meter{newMeter(), newMeter()}
	for i, m := range meters {
		for k := range 1000 {
			m.add(time.Duration(k+1)*time.Millisecond/time.Duration(i+1), "", true)
			m.sentLate(time.Duration(k) * time.Microsecond)
		}
	}
	meters[0].add(time.Second, "503 quorum <not> reached", true)
	sides := []*side{
		{url: "http://127.0.0.1:1", meter: meters[0], busy: 10 * time.Second, usage: &usage{process: process{7}, cpuTime: 3 * time.Second, firstRSS: 50 << 20, peak: 60 << 20}},
		{url: "http://127.0.0.1:2", meter: meters[1], busy: 10 * time.Second},
	}
	pair := pairOf(slice{meters[0], time.Second}, slice{meters[1], 2 * time.Second})
	if err := r.fill(sides, []Pair{pair, {1, 2, 3}, {0, 1, 4}}, true); err != nil {
		t.Fatal(err)
	}
	var text, js bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&js)); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", text.Bytes())
	golden(t, "report.json", js.Bytes())
}
