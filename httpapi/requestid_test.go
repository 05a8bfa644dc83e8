package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
)

// logLines takes log lines of several goroutines.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) all(t *testing.T) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.buf.Bytes()) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// TestRequestID: every answer has a request ID, the client's if that is well
// formed; at debug the log has one line for each, without secrets.
func TestRequestID(t *testing.T) {
	t.Parallel()
	lines := new(logLines)
	_, addr := start(t, Config{
		Logger: slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ext:    func(*fasthttp.RequestCtx, Charge) { panic("a defect") },
	})
	made := regexp.MustCompile(`^[0-9a-f]{10}-[0-9a-f]+$`)
	seen := make(map[string]bool)
	f := func(raw string, status int, want string) {
		t.Helper()
		c := dial(t, addr)
		c.send(raw)
		resp, _ := c.reply("POST")
		id := resp.Header.Get("X-Request-Id")
		if resp.StatusCode != status || want != "" && id != want || want == "" && (!made.MatchString(id) || seen[id]) {
			t.Errorf("%.70q: status %d, request ID %q", raw, resp.StatusCode, id)
		}
		seen[id] = true
		for _, line := range lines.all(t) {
			if line["request"] == id && line["status"] == float64(status) {
				return
			}
		}
		t.Errorf("%.70q: no line of request %s in %v", raw, id, lines.all(t))
	}
	with := func(id string) string {
		return request("GET", "/nothing?key=s3cret", "", "X-Request-Id: "+id, "X-Glacier-Api-Key: s3cret")
	}
	f(goodPost, 201, "")
	f(goodPost, 201, "")
	f(with("8f14e45f-ceea-467f-a8ee-b3d9e2c6e1b1"), 404, "8f14e45f-ceea-467f-a8ee-b3d9e2c6e1b1")
	f(with(strings.Repeat("a", 64)), 404, strings.Repeat("a", 64))
	f(with(strings.Repeat("a", 65)), 404, "")
	f(with("a b"), 404, "")
	f(with(`"><script>`), 404, "")
	f(with(""), 404, "")
	f("no HTTP\r\n\r\n", 400, "")
	f(request("GET", "/ext/x", ""), 500, "")
	if text := fmt.Sprint(lines.all(t)); strings.Contains(text, "s3cret") {
		t.Errorf("the log shows a key: %s", text)
	}
}
