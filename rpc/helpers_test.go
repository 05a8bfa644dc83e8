package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chains"
	"quorate/engine/health"
	"quorate/engine/log"
	"quorate/engine/source"
	"quorate/engine/vm"
	"quorate/rpc/profile"
)

var update = flag.Bool("update", false, "write the answers into the scenario files instead of comparing")

const nodeID = "NodeID-111111111111111111116DBWJs"

var (
	chainC = chain.ID{1, 2, 3}
	chainP = chain.PlatformChainID
	other  = chain.ID{9}
)

// newRegistry returns the real registry, in memory, with two chains.
func newRegistry(t testing.TB) *chains.Registry {
	t.Helper()
	r, err := chains.Open("")
	if err == nil {
		err = errors.Join(r.Add(chainC, "C", "evm"), r.Add(chainP, "P", "platform"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// fakeProfiles knows whether it is running, as the profiler does.
type fakeProfiles struct {
	mu      sync.Mutex
	running bool
	lockErr error
}

func (f *fakeProfiles) StartCPU() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running {
		return errors.New("cpu profiler already running")
	}
	f.running = true
	return nil
}

func (f *fakeProfiles) StopCPU() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.running {
		return errors.New("cpu profiler doesn't exist")
	}
	f.running = false
	return nil
}

func (f *fakeProfiles) Memory() error { return nil }
func (f *fakeProfiles) Lock() error   { return f.lockErr }

type fakeVMs struct {
	loaded map[chain.ID][]string
	failed map[string]string
	err    error
}

func (f *fakeVMs) Load(context.Context) (map[chain.ID][]string, map[string]string, error) {
	return f.loaded, f.failed, f.err
}

// fakeHealth has one global check and one of a chain that fails.
type fakeHealth struct{}

var checked = time.Date(2026, 1, 2, 3, 4, 5, 60_000, time.UTC)

func (fakeHealth) Health(tags []string) health.Report {
	r := health.Report{Healthy: true, Checks: map[string]health.Result{
		"database": {Timestamp: checked, Duration: 42},
	}}
	if len(tags) == 0 || slices.Contains(tags, "C") {
		r.Healthy = false
		r.Checks["C"] = health.Result{Message: json.RawMessage(`{"n":1}`), Error: "stalled <1s>", Timestamp: checked, Duration: 7,
			ContiguousFailures: 2, TimeOfFirstFailure: checked}
	}
	for _, tag := range tags {
		if tag != "C" {
			r.UnknownTags = append(r.UnknownTags, tag)
		}
	}
	return r
}

func (fakeHealth) Readiness([]string) health.Report {
	return health.Report{Healthy: true, Checks: map[string]health.Result{
		"bootstrapped": {Message: json.RawMessage("[]"), Timestamp: checked},
	}}
}

func (fakeHealth) Liveness() health.Report {
	return health.Report{Healthy: true, Checks: map[string]health.Result{}}
}

type forwardFunc func(ctx context.Context, id chain.ID, path string, body []byte) (int, string, []byte, error)

func (f forwardFunc) Forward(ctx context.Context, id chain.ID, path string, body []byte) (a source.Passed, err error) {
	a.Status, a.ContentType, a.Body, err = f(ctx, id, path, body)
	return a, err
}

// infoPath stands for the info API in what a fake is asked.
const infoPath = "info"

func (f forwardFunc) Info(ctx context.Context, body []byte) (source.Passed, error) {
	return f.Forward(ctx, chain.PlatformChainID, infoPath, body)
}

func (f forwardFunc) Dial(context.Context, chain.ID, string) (*websocket.Conn, error) {
	return nil, &source.RefusedError{Node: "http://node", Status: 404}
}

func (f forwardFunc) Swap(chain.ID) (never time.Time) { return never }

// echo answers with the call itself.
func echo(_ context.Context, id chain.ID, path string, body []byte) (int, string, []byte, error) {
	switch string(body) {
	case "down":
		return 0, "", nil, errors.New("dial tcp: https://user:secret@example.org refused")
	case "late":
		return 0, "", nil, fmt.Errorf("waiting: %w", context.DeadlineExceeded)
	case "path":
		return 200, "text/plain", []byte(path), nil
	case "lacking":
		return 0, "", nil, &source.RefusedError{Status: 404}
	case "page":
		return 502, "text/html", []byte("<html>"), nil
	case "portal":
		return 200, "Text/HTML; charset=utf-8", []byte("<script>"), nil
	case "starting":
		return 0, "", nil, fmt.Errorf("forward: %w", &source.RefusedError{Status: 503})
	case "unknown":
		return 0, "", nil, source.ErrNotYet
	case "locked":
		return 0, "", nil, &source.RefusedError{Status: 401}
	case "teapot":
		return 418, "text/x-tea", []byte("short and stout"), nil
	}
	return 200, "application/json", fmt.Appendf(nil, `{"chain":"%s","body":%s}`, id, body), nil
}

func fullConfig(t testing.TB) Config {
	logs, err := log.New(log.Config{Display: discard{}})
	if err != nil {
		t.Fatal(err)
	}
	logs.Logger("main")
	logs.Logger("p2p")
	registry := newRegistry(t)
	return Config{
		NodeID: nodeID,
		Admin: &Admin{Logs: logs, Chains: registry, Profiles: &fakeProfiles{}, VMs: &fakeVMs{
			loaded: map[chain.ID][]string{other: nil, chainC: {"foovm"}},
			failed: map[string]string{"README": `invalid vmID: "README"`},
		}},
		Health: fakeHealth{}, Chains: registry, Forward: forwardFunc(echo), ChainRPC: All, AllowedHosts: []string{"Node.example"},
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// do sends one request. headers are names and values; POST has a content type
// unless they say otherwise.
func do(s *Service, method, path, body string, headers ...string) *fasthttp.Response {
	ctx := request(method, path, body, headers...)
	s.Handler(ctx)
	return &ctx.Response
}

// request makes a request as do sends it.
func request(method, path, body string, headers ...string) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.Header.SetMethod(method)
	req.SetRequestURI(path)
	if method == "POST" {
		req.Header.SetContentType("application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.SetBodyString(body)
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1234}, nil)
	ctx.Response.Header.SetNoDefaultContentType(true)
	return ctx
}

// rpcCall calls a method and gives the answer's body.
func rpcCall(s *Service, method, params string) string {
	service, _, _ := strings.Cut(method, ".")
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	return string(do(s, "POST", "/ext/"+service, body).Body())
}

const done = `{"jsonrpc":"2.0","result":{},"id":1}` + "\n"

func failure(message string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","error":{"code":-32000,"message":%q,"data":null},"id":1}`+"\n", message)
}

// shown are the headers that scenario files hold. Node-Id and Vary are checked on
// every answer.
var shown = []string{
	"Content-Type", "X-Content-Type-Options", "Allow", "Location", "Cache-Control", "Retry-After",
	headerUnknownTag, "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers",
	"Access-Control-Allow-Credentials",
}

// TestScenarios plays testdata/*.txt: a request is a line with method and path,
// header lines and a body; behind ---- is the answer. Requests of one file go to
// one service.
func TestScenarios(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenario files", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := New(fullConfig(t))
			var out []string
			for block := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n\n") {
				request, want, _ := strings.Cut(block, "\n----\n")
				got := play(t, s, request)
				if got != want && !*update {
					t.Errorf("%s\ngot\n%s\nwant\n%s", request, got, want)
				}
				out = append(out, request+"\n----\n"+got)
			}
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(out, "\n\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play sends the request that a block of a scenario file describes and describes
// the answer.
func play(t *testing.T, s *Service, block string) string {
	t.Helper()
	lines := strings.Split(strings.ReplaceAll(block, "CHAINID", chainC.String()), "\n")
	for strings.HasPrefix(lines[0], "#") {
		lines = lines[1:]
	}
	method, path, _ := strings.Cut(lines[0], " ")
	lines = lines[1:]
	var headers []string
	for len(lines) > 0 {
		name, value, ok := strings.Cut(lines[0], ": ")
		if !ok || strings.ContainsAny(name, "{[\" ") {
			break
		}
		headers = append(headers, name, value)
		lines = lines[1:]
	}
	resp := do(s, method, path, strings.Join(lines, "\n"), headers...)
	if id, vary := resp.Header.Peek("Node-Id"), resp.Header.Peek("Vary"); string(id) != nodeID || string(vary) != "Origin" {
		t.Errorf("%s: Node-Id %q, Vary %q", block, id, vary)
	}
	b := fmt.Appendf(nil, "%d\n", resp.StatusCode())
	for _, name := range shown {
		if v := resp.Header.Peek(name); len(v) > 0 {
			b = fmt.Appendf(b, "%s: %s\n", name, v)
		}
	}
	switch body := string(resp.Body()); {
	case body == "":
		b = append(b, "(empty)"...)
	case strings.HasSuffix(body, "\n"):
		b = append(b, strings.TrimSuffix(body, "\n")...)
	default:
		b = append(b, body+" (no newline)"...)
	}
	return string(b)
}

// The parts that the program passes fit.
var (
	_ Logs     = (*log.Logs)(nil)
	_ Chains   = (*chains.Registry)(nil)
	_ Profiles = (*profile.Profiler)(nil)
	_ VMs      = (*vm.Loader)(nil)
	_ Health   = (*health.Checker)(nil)
)
