package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/e2e/quorate"
)

const (
	// browserWait bounds all calls of both SDKs in a browser.
	browserWait = 6 * time.Minute
	maxLine     = 1 << 20
)

// browserNames are what Chromium and its kin are called.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "headless_shell"}

// page is a bundle of both SDKs with our calls, served from an origin of its own.
type page struct {
	url     string
	browser string

	mu    sync.Mutex
	lines []json.RawMessage
	ended chan struct{}
}

// TestBrowser has both official SDKs make all their calls from a page of another
// origin in a browser, without a key and with one.
func TestBrowser(t *testing.T) {
	beside(t)
	program := installSDKs(t)
	browser := findBrowser(t)
	script := bundle(t, program)
	s, factsPath, f := serveDevnet(t, admitting...)
	s.waitIndexed(t, f)
	t.Run("Keyless", func(t *testing.T) {
		p := newPage(t, browser, script, factsPath)
		if !torture { // all calls are made with a key
			checkProbe(t, p, s.URL, "", http.StatusOK)
			return
		}
		checkSDKCalls(t, p.calls(t, url.Values{"server": {s.URL}}))
	})
	keys, key := newKey(t)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.running = false
	s, factsPath, f = serveDevnet(t, "--api-keys-file", keys, "--require-api-key", "--rate-limit", "on")
	s.waitKeyIndexed(t, f, key)
	t.Run("Keyed", func(t *testing.T) {
		p := newPage(t, browser, script, factsPath)
		checkSDKCalls(t, p.calls(t, url.Values{"server": {s.URL}, "key": {key}}))
	})
	t.Run("Readable", func(t *testing.T) {
		p := newPage(t, browser, script, factsPath)
		checkProbe(t, p, s.URL, "", http.StatusUnauthorized)
		checkProbe(t, p, s.URL, key, http.StatusOK)
	})
}

// checkProbe: a page can read the status, the body and our headers of an answer,
// also of one that refuses it.
func checkProbe(t *testing.T, p *page, server, key string, want int) {
	t.Helper()
	query := url.Values{"server": {server}, "probe": {"1"}}
	if key != "" {
		query.Set("key", key)
	}
	lines := p.run(t, query)
	var seen struct {
		Call    string
		Status  int
		Body    map[string]any
		Headers map[string]string
		Error   any
	}
	if len(lines) != 1 {
		t.Fatalf("the page told of %d answers: %s", len(lines), lines)
	}
	if err := json.Unmarshal(lines[0], &seen); err != nil {
		t.Fatal(err)
	}
	if seen.Status != want || seen.Error != nil || len(seen.Body) == 0 {
		t.Errorf("status %d, want %d: %s", seen.Status, want, lines[0])
	}
	limited := false
	for name := range seen.Headers {
		limited = limited || strings.Contains(name, "ratelimit") || strings.Contains(name, "rate-limit")
	}
	if want == http.StatusOK && !limited {
		t.Errorf("the page does not see what remains of its rate: %v", seen.Headers)
	}
}

// findBrowser finds a browser that can run without a screen.
func findBrowser(t *testing.T) string {
	t.Helper()
	for _, name := range browserNames {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("no browser is installed, none of %s: install Debian's chromium (make e2e does where it may)", strings.Join(browserNames, ", "))
	return ""
}

// bundle makes one script of the page's code and both SDKs.
func bundle(t *testing.T, program string) string {
	t.Helper()
	begin := time.Now()
	out := filepath.Join(testDir(t), "browser.js")
	output(t, program, filepath.Join(program, "node_modules", ".bin", "esbuild"), "browser.mjs",
		"--bundle", "--platform=browser", "--alias:crypto=./nothing.mjs", "--format=esm", "--log-level=warning", "--outfile="+out)
	t.Logf("bundled in %v", time.Since(begin).Round(time.Millisecond))
	return out
}

// newKey makes a keys file with one key that no calls of ours exhaust.
func newKey(t *testing.T) (file, key string) {
	t.Helper()
	result, err := quorate.Run(t.Context(), product(t), "key", "browser", "--tier", "test")
	if err != nil || result.Code != 0 {
		t.Fatalf("%v, %+v", err, result)
	}
	for line := range strings.Lines(result.Stdout) {
		line = strings.TrimSpace(line)
		if _, text, ok := strings.Cut(line, "key, shown only now: "); ok {
			key = text
		}
		if entry, ok := strings.CutPrefix(line, "- "); ok {
			file = filepath.Join(testDir(t), "keys.yaml")
			text := fmt.Sprintf("tiers:\n  - {name: test, unitsPerMinute: 100000000}\nkeys:\n  - %s\n", entry)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if key == "" || file == "" {
		t.Fatalf("quorate key printed %s", result.Stdout)
	}
	return file, key
}

// newPage serves the bundle, and takes what the page tells.
func newPage(t *testing.T, browser, script, facts string) *page {
	t.Helper()
	p := &page{browser: browser, ended: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, `<!doctype html><title>calls</title><script type="module" src="/browser.js"></script>`)
	})
	mux.HandleFunc("GET /browser.js", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, script) })
	mux.HandleFunc("GET /facts.json", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, facts) })
	mux.HandleFunc("POST /line", func(w http.ResponseWriter, r *http.Request) {
		line, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLine))
		if err != nil {
			line, _ = json.Marshal(map[string]any{"call": "line", "error": map[string]string{"message": err.Error()}})
		}
		p.mu.Lock()
		p.lines = append(p.lines, line)
		p.mu.Unlock()
	})
	mux.HandleFunc("POST /end", func(http.ResponseWriter, *http.Request) {
		select {
		case p.ended <- struct{}{}:
		default:
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

// run opens the page in a browser of its own and returns what it told.
func (p *page) run(t *testing.T, query url.Values) []json.RawMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), browserWait)
	defer cancel()
	dir := testDir(t)
	log, err := os.Create(filepath.Join(dir, "browser.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(p.browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		// Pages and servers are on loopback addresses; nothing else can be looked up.
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--enable-logging=stderr", "--user-data-dir="+filepath.Join(dir, "profile"), p.url+"/?"+query.Encode())
	cmd.Stdout, cmd.Stderr = log, log
	p.lines = nil
	process, err := shared.spawner.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer process.Kill() // its children end with it
	select {
	case <-p.ended:
	case <-process.Done():
		err = fmt.Errorf("the browser ended by itself, %s", process.Status())
	case <-ctx.Done():
		err = errors.New("the page does not end")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Fatalf("%v; it told of %d calls\n%s", err, len(p.lines), text[:min(len(text), 4<<10)])
	}
	return p.lines
}

// calls runs the page and reads the lines as those of the program in Node.js.
func (p *page) calls(t *testing.T, query url.Values) []sdkCall {
	t.Helper()
	begin := time.Now()
	var calls []sdkCall
	for _, line := range p.run(t, query) {
		var c sdkCall
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("the page told %s: %v", line, err)
		}
		calls = append(calls, c)
	}
	t.Logf("%d calls in %v", len(calls), time.Since(begin).Round(time.Millisecond))
	return calls
}
