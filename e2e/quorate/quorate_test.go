package quorate

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quorate/e2e/proc"
)

func TestSumMetric(t *testing.T) {
	t.Parallel()
	const text = `# HELP a_total text
# TYPE a_total counter
a_total{kind="x y"} 2
a_total{kind="z"} 3.5
a_total_more 100
b 7
`
	for name, want := range map[string]float64{"a_total": 5.5, "a_total_more": 100, "b": 7} {
		if got, err := sumMetric(text, name); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"c", "a", "a_tot"} {
		if got, err := sumMetric(text, name); err == nil {
			t.Errorf("%s: %v and no error", name, got)
		}
	}
	if _, err := sumMetric("a nonsense\n", "a"); err == nil {
		t.Error("took a word for a value")
	}
}

func TestSigned(t *testing.T) {
	t.Parallel()
	f := func(status int, body, want string) {
		t.Helper()
		got, err := (&Answer{Status: status, Body: []byte(body)}).Signed()
		if (err == nil) != (want != "") || string(got) != want {
			t.Errorf("%d %s: %q, %v", status, body, got, err)
		}
	}
	f(http.StatusCreated, `{"signedMessage":"6869"}`, "hi")
	f(http.StatusCreated, `{"signedMessage":"0x6869"}`, "hi")
	f(http.StatusOK, `{"signedMessage":"6869"}`, "")
	f(http.StatusCreated, `{"signed-message":"6869"}`, "")
	f(http.StatusCreated, `{"signedMessage":"6869","more":""}`, "")
	f(http.StatusCreated, `{"signedMessage":"zz"}`, "")
	f(http.StatusCreated, `{}`, "")
	f(http.StatusCreated, ``, "")
}

func TestFailure(t *testing.T) {
	t.Parallel()
	f := func(status int, body string, ok bool) {
		t.Helper()
		if _, err := (&Answer{Status: status, Body: []byte(body)}).Failure(); (err == nil) != ok {
			t.Errorf("%d %s: %v", status, body, err)
		}
	}
	f(503, `{"message":"m","statusCode":503,"error":"Service Unavailable"}`, true)
	f(503, `{"message":"m","statusCode":500,"error":"Service Unavailable"}`, false)
	f(503, `{"message":"m","statusCode":503,"error":"Bad Request"}`, false)
	f(503, `{"message":"","statusCode":503,"error":"Service Unavailable"}`, false)
	f(503, `{"message":"m","statusCode":503,"error":"Service Unavailable","extra":1}`, false)
	f(200, `{"message":"m","statusCode":200,"error":"OK"}`, false)
	f(503, `upstream`, false)
}

// TestServer runs shell scripts in place of the product.
func TestServer(t *testing.T) {
	t.Parallel()
	spawner := proc.NewSpawner()
	defer spawner.Close()
	config := func(script string) Config {
		return Config{
			Spawner: spawner, Binary: "/bin/sh", Args: []string{"-c", script},
			Ready: "quorate ready", LogPath: filepath.Join(t.TempDir(), "log"),
		}
	}
	start := func(script string) *Server {
		t.Helper()
		s, err := Start(t.Context(), config(script))
		if err != nil {
			t.Fatal(err)
		}
		if s.URL != "http://h:1" {
			t.Errorf("URL %q", s.URL)
		}
		return s
	}
	const serve = "echo quorate ready http://h:1; while :; do sleep 0.01; done"

	s := start("trap 'exit 0' TERM; " + serve)
	if err := s.Stop(); err != nil {
		t.Errorf("orderly end: %v", err)
	}
	s, err := s.Restart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(); err != nil {
		t.Errorf("kill: %v", err)
	}
	if b, err := os.ReadFile(s.cfg.LogPath); err != nil || strings.Count(string(b), "quorate ready") != 2 {
		t.Errorf("log of two runs: %q, %v", b, err)
	}
	if err := start("trap 'exit 3' TERM; " + serve).Stop(); err == nil || !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("end with code 3: %v", err)
	}
	if _, err := Start(t.Context(), config("echo no use >&2; exit 1")); err == nil || !strings.Contains(err.Error(), "no use") {
		t.Errorf("start of a server that ends: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, config("while :; do sleep 0.01; done")); err == nil {
		t.Error("start of a server that is never ready gave no error")
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	r, err := Run(t.Context(), "/bin/sh", "-c", "echo out; echo err >&2; exit 2")
	if err != nil || r.Code != 2 || r.Stdout != "out\n" || r.Stderr != "err\n" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Run(t.Context(), "/bin/sh", "-c", "kill -9 $$"); err == nil {
		t.Error("a command ended by a signal gave no error")
	}
}
