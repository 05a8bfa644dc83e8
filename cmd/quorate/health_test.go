package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quorate/devnet"
)

// TestHealthCommand: the exit code says whether a server can do its work, and what is
// printed why not, where the server says so.
func TestHealthCommand(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/health" {
				t.Errorf("asked for %s", r.URL)
			}
			w.WriteHeader(status)
			if _, err := w.Write([]byte(body)); err != nil {
				t.Error(err)
			}
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	down := answer(http.StatusServiceUnavailable, `{"status":"down","details":{"C":{"status":"up"},"network":{"status":"down","error":"no validator"}}}`)
	for _, c := range []struct {
		args []string
		code int
		out  string
		errs string
	}{
		{[]string{"--url", answer(http.StatusOK, `{"status":"up"}`)}, exitDone, "up\n", ""},
		{[]string{"--url", answer(http.StatusOK, `{"status":"up","details":{"webhooks":{"status":"up","warning":"none has them"}}}`)}, exitDone, "up\nwebhooks: none has them\n", ""},
		{[]string{"--url", down}, exitFailed, "down\nnetwork: no validator\n", "cannot do its work"},
		{[]string{"--url", down, "--alive"}, exitDone, "down\nnetwork: no validator\n", ""},
		{[]string{"--url", answer(http.StatusOK, "<html>")}, exitFailed, "", "no server of ours"},
		{[]string{"--url", answer(http.StatusTooManyRequests, `{"message":"slow down"}`), "--alive"}, exitFailed, "", "no server of ours"},
		{[]string{"--url", "http://127.0.0.1:1"}, exitFailed, "", "there is no server: start it with quorate serve, or give its --url: Get "},
		{[]string{"--url", "127.0.0.1:9750"}, exitUsage, "", "http://HOST:PORT"},
		{[]string{"now"}, exitUsage, "", "at most 0"},
	} {
		code, out, errs := quorate(t, "", append([]string{"health"}, c.args...)...)
		if code != c.code || out != c.out || !strings.Contains(errs, c.errs) {
			t.Errorf("%q: exit code %d, %q, %q", c.args, code, out, errs)
		}
	}
}

// TestHealthServed asks a server.
func TestHealthServed(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: 20})
	p := serveIn(t, d, t.TempDir(), noIndex, "--health-check-frequency", "250ms")
	awaitHealth(t, p.url, http.StatusOK)
	if code, out, errs := quorate(t, "", "health", "--url", p.url); code != exitDone || out != "up\n" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
}
