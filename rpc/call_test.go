package rpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestMethodsDoc(t *testing.T) {
	t.Parallel()
	got := methodsDoc()
	const file = "METHODS.md"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the table says; run go test -update. Now:\n%s", file, got)
	}
}

// The methods are those of the contract, and each is there under its own name alone.
func TestTable(t *testing.T) {
	t.Parallel()
	var names []string
	s := New(fullConfig(t))
	for _, m := range table() {
		name := m.service + "." + m.name
		names = append(names, name)
		if got := rpcCall(s, name, `"wrong"`); got != failure(errParams.Error()) {
			t.Errorf("%s of a string: %s", name, got)
		}
		if got := rpcCall(s, strings.ToUpper(name[:1])+name[1:], "{}"); strings.Contains(got, `"result"`) {
			t.Errorf("%s in other case: %s", name, got)
		}
	}
	want := "admin.alias admin.aliasChain admin.getChainAliases admin.getLoggerLevel admin.loadVMs admin.lockProfile " +
		"admin.memoryProfile admin.setLoggerLevel admin.startCPUProfiler admin.stopCPUProfiler " +
		"health.health health.liveness health.readiness"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("methods: %s", got)
	}
}

func TestNotificationsAreDone(t *testing.T) {
	t.Parallel()
	s := New(fullConfig(t))
	resp := do(s, "POST", "/ext/admin", `{"jsonrpc":"2.0","method":"admin.startCPUProfiler"}`)
	if resp.StatusCode() != 200 || len(resp.Body()) > 0 || len(resp.Header.ContentType()) > 0 {
		t.Errorf("status %d, %q, %q", resp.StatusCode(), resp.Body(), resp.Header.ContentType())
	}
	if got := rpcCall(s, "admin.startCPUProfiler", "{}"); got != failure("cpu profiler already running") {
		t.Errorf("it was not done: %s", got)
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	s := New(fullConfig(t))
	const call = `{"jsonrpc":"2.0","id":1,"method":"health.liveness"}`
	if resp := do(s, "POST", "/ext/health", call+strings.Repeat(" ", maxRequest-len(call))); resp.StatusCode() != 200 {
		t.Errorf("at the limit: status %d", resp.StatusCode())
	}
	resp := do(s, "POST", "/ext/health", call+strings.Repeat(" ", maxRequest-len(call)+1))
	if want := "rpc: the body has 1048577 bytes, more than 1048576\n"; resp.StatusCode() != 413 || string(resp.Body()) != want {
		t.Errorf("above: status %d, %q", resp.StatusCode(), resp.Body())
	}
}

// Nothing long is sent back but the id.
func TestEchoIsBounded(t *testing.T) {
	t.Parallel()
	s := New(fullConfig(t))
	long := strings.Repeat("é", 50_000)
	for name, body := range map[string]string{
		"version":        fmt.Sprintf(`{"jsonrpc":%q,"method":%q,"params":[%q],"id":1}`, long, long, long),
		"type":           fmt.Sprintf(`{"jsonrpc":5,"method":%q,"params":[%q],"id":1}`, long, long),
		"id in data":     fmt.Sprintf(`{"jsonrpc":5,"id":%q}`, long),
		"method":         fmt.Sprintf(`{"jsonrpc":"2.0","method":"admin.a%s","id":1}`, long),
		"service":        fmt.Sprintf(`{"jsonrpc":"2.0","method":"%s.a","id":1}`, long),
		"no dot":         fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"id":1}`, long),
		"logger":         fmt.Sprintf(`{"jsonrpc":"2.0","method":"admin.getLoggerLevel","params":{"loggerName":%q},"id":1}`, long),
		"level":          fmt.Sprintf(`{"jsonrpc":"2.0","method":"admin.setLoggerLevel","params":{"logLevel":%q},"id":1}`, long),
		"endpoint":       fmt.Sprintf(`{"jsonrpc":"2.0","method":"admin.alias","params":{"alias":"x","endpoint":%q},"id":1}`, long),
		"chain":          fmt.Sprintf(`{"jsonrpc":"2.0","method":"admin.aliasChain","params":{"alias":"x","chain":%q},"id":1}`, long),
		"wrong argument": fmt.Sprintf(`{"jsonrpc":"2.0","method":"admin.alias","params":%q,"id":1}`, long),
	} {
		got := do(s, "POST", "/ext/admin", body).Body()
		limit := 5 << 10
		if name == "id in data" {
			limit += len(long) + 2
		}
		if len(got) > limit || !json.Valid(got) || !bytes.Contains(got, []byte(`"error"`)) {
			t.Errorf("%s: %d bytes: %.300s", name, len(got), got)
		}
	}
	resp := do(s, "POST", "/ext/admin", "{}", "Content-Type", strings.Repeat("x", 5000))
	if resp.StatusCode() != 415 || len(resp.Body()) > 400 {
		t.Errorf("content type: status %d, %d bytes", resp.StatusCode(), len(resp.Body()))
	}
	var tags []string
	for i := range maxTags + 1 {
		tags = append(tags, fmt.Sprint(i))
	}
	text, err := json.Marshal(tags)
	if err != nil {
		t.Fatal(err)
	}
	if got := rpcCall(s, "health.health", `{"tags":`+string(text)+`}`); got != failure("there are 1025 tags, more than 1024") {
		t.Errorf("tags: %.300s", got)
	}
}

func TestAudit(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cfg := fullConfig(t)
	cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
	s := New(cfg)
	line := func() string {
		text := out.String()
		out.Reset()
		if strings.Count(text, "\n") != 1 || len(text) > 2000 {
			t.Errorf("not one short line: %q", text)
		}
		return text
	}
	for _, c := range []struct {
		method, params string
		want           []string
	}{
		{"admin.memoryProfile", `{}`, []string{"level=INFO", "method=admin.memoryProfile", "remote=127.0.0.1:1234", "outcome=ok"}},
		{"admin.stopCPUProfiler", `{}`, []string{"level=WARN", `outcome="cpu profiler doesn't exist"`}},
		{"admin.alias", `{"endpoint":"health","alias":"a\nlevel=INFO msg=forged"}`, []string{"level=WARN", `must not have the character`}},
		{"admin.nope\n", `{}`, []string{"level=WARN", `method="admin.nope\n"`}},
		{"admin.alias", `"` + strings.Repeat("x", 100_000) + `"`, []string{"level=WARN", "..."}},
	} {
		rpcCall(s, c.method, c.params)
		got := line()
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s %.100s: no %s in %s", c.method, c.params, want, got)
			}
		}
	}
	do(s, "POST", "/ext/admin", "{}", "Host", "localhost", "Origin", "http://evil.example/"+strings.Repeat("x", 5000))
	if got := line(); !strings.Contains(got, "origin=http://evil.example/") {
		t.Errorf("refused origin: %s", got)
	}
	rpcCall(s, "health.health", "{}")
	if out.Len() > 0 {
		t.Errorf("health is no administration: %s", out.String())
	}
}

// Errors of files tell what failed, not where.
func TestErrorsHidePaths(t *testing.T) {
	t.Parallel()
	cfg := fullConfig(t)
	cfg.Admin.Profiles = &fakeProfiles{lockErr: fmt.Errorf("lock profile in /secret/place: %w",
		&fs.PathError{Op: "open", Path: "/secret/place/lock.profile", Err: syscall.EACCES})}
	cfg.Admin.VMs = &fakeVMs{err: errors.New("the plugin folder does not exist")}
	s := New(cfg)
	if got := rpcCall(s, "admin.lockProfile", "{}"); got != failure("a file operation failed: open: permission denied") {
		t.Error(got)
	}
	if got := rpcCall(s, "admin.loadVMs", "{}"); got != failure("the plugin folder does not exist") {
		t.Error(got)
	}
}

func TestNoVMs(t *testing.T) {
	t.Parallel()
	cfg := fullConfig(t)
	cfg.Admin.VMs = &fakeVMs{failed: map[string]string{}}
	if got := rpcCall(New(cfg), "admin.loadVMs", "{}"); got != `{"jsonrpc":"2.0","result":{"newVMs":{}},"id":1}`+"\n" {
		t.Error(got)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abcd", 4, "abcd"}, {"abcde", 4, "a..."}, {"ééé", 5, "é..."}, {"aéé", 4, "a..."}, {"", 4, ""}} {
		if got := clip(c.in, c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.in, c.n, got, c.want)
		}
	}
}
