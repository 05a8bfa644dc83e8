package bench

import (
	"bytes"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// abused is a run against handler, which honest requests reach with their number
// and garbage with -1.
func abused(t *testing.T, handler func(ctx *fasthttp.RequestCtx, honest int)) (*AbuseReport, *sync.Map) {
	t.Helper()
	var all []string
	for i := range 200 {
		all = append(all, "0x"+hex.EncodeToString(append(make([]byte, messageHead), 0xaa, byte(i))))
	}
	known := make(map[string]int)
	for i, m := range all {
		known[m[2:]] = i
	}
	from := &sync.Map{} // addresses of the flood
	s := serve(t, func(ctx *fasthttp.RequestCtx, _ int) {
		_, rest, _ := bytes.Cut(ctx.PostBody(), []byte(`"message":"`))
		message, _, _ := bytes.Cut(rest, []byte(`"`))
		if i, ok := known[string(message)]; ok {
			handler(ctx, i)
			return
		}
		from.Store(ctx.RemoteIP().String(), true)
		handler(ctx, -1)
	})
	cfg := AbuseConfig{Messages: all, Network: "fuji", Garbage: 200, Clients: 3, Factor: 1e9}
	cfg.URL, cfg.Rate, cfg.Duration = s.url, 20, 500*time.Millisecond
	r, err := RunAbuse(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r, from
}

// TestAbuse: the flood comes from addresses of its own, is of all kinds, and does
// not count among the honest requests.
func TestAbuse(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := make(map[string]int)
	r, from := abused(t, func(ctx *fasthttp.RequestCtx, honest int) {
		if honest >= 0 {
			good(ctx, honest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, member := range []string{"signingSubnetId", "signing-subnet-id", "justification", "pChainHeight", "pchain-height"} {
			if bytes.Contains(ctx.PostBody(), []byte(`"`+member+`"`)) {
				seen[member]++
			}
		}
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	})
	if r.Quiet.OK == 0 || r.Flooded.OK == 0 || r.Bare.OK == 0 {
		t.Errorf("%+v", r)
	}
	for _, e := range slices.Concat(r.Quiet.Errors, r.Flooded.Errors, r.Bare.Errors) {
		if e.Kind != kindUnsent { // a full machine leaves requests unsent
			t.Errorf("an honest request failed: %+v", e)
		}
	}
	mu.Lock() // a handler whose client has gone may still run
	if len(seen) != 5 || len(r.Answers) != 4 {
		t.Errorf("garbage %v, answers %v", seen, r.Answers)
	}
	mu.Unlock()
	for _, ip := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"} {
		if _, ok := from.Load(ip); !ok {
			t.Errorf("no garbage from %s", ip)
		}
	}
}

// TestAbuseText: a report of a server that held says so, and names each part.
func TestAbuseText(t *testing.T) {
	t.Parallel()
	part := Beside{OK: 10, LatencyMs: Latency{P50: 1, P90: 2, P99: 3, Max: 3}}
	r := AbuseReport{
		Garbage: 200, Clients: 3, Honest: 20, Factor: 3, Quiet: part, Flooded: part, Bare: part,
		Answers: []ErrorCount{{Kind: "unknown chain: 404", Count: 7}},
	}
	if err := r.Broken(); err != nil {
		t.Error(err)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"without the flood", "beside the flood", "a bare server", "held", "unknown chain: 404"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, &text)
		}
	}
}

// TestAbuseBroken: a server that drops honest requests beside the flood, or lets
// them wait, breaks the bound.
func TestAbuseBroken(t *testing.T) {
	t.Parallel()
	var flooded sync.Map
	r, _ := abused(t, func(ctx *fasthttp.RequestCtx, honest int) {
		_, now := flooded.Load(true)
		switch {
		case honest < 0:
			flooded.Store(true, true)
			ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		case now:
			ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		default:
			good(ctx, honest)
		}
	})
	if r.Quiet.Failed != 0 || r.Flooded.Failed == 0 || r.Broken() == nil {
		t.Errorf("%+v: %v", r, r.Broken())
	}
	slow := AbuseReport{Factor: 3}
	slow.Quiet = Beside{OK: 10, LatencyMs: Latency{P99: 10}}
	slow.Flooded = Beside{OK: 10, LatencyMs: Latency{P99: 31}}
	slow.Bare = Beside{OK: 10, LatencyMs: Latency{P99: 10}}
	if slow.Broken() == nil {
		t.Error("three times as slow as both is held")
	}
	if slow.Bare.LatencyMs.P99 = 11; slow.Broken() != nil {
		t.Error("what the machine does to a bare server is the server's fault")
	}
}

func TestAbuseConfig(t *testing.T) {
	t.Parallel()
	fine := []string{strings.Repeat("00", messageHead), strings.Repeat("01", messageHead)}
	for name, cfg := range map[string]AbuseConfig{
		"no messages": {Network: "fuji"},
		"no hex":      {Network: "fuji", Messages: []string{"xy", "xy"}},
		"too short":   {Network: "fuji", Messages: []string{"00", "00"}},
		"no network":  {Messages: fine},
		"clients":     {Network: "fuji", Messages: fine, Clients: 201},
		"factor":      {Network: "fuji", Messages: fine, Factor: 0.5},
		"remote":      {Network: "fuji", Messages: fine, Load: Load{URL: "http://192.0.2.1:1"}},
	} {
		if _, err := RunAbuse(t.Context(), cfg); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
