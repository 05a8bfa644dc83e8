package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"quorate/devnet"
)

// manager is a service manager that listens.
func manager(t *testing.T) (name string, next func() string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "notify")
	ln, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
	})
	return name, func() string {
		t.Helper()
		b := make([]byte, 4096)
		n, err := ln.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
}

// TestNotify: the service manager is told that the server starts, serves, stops.
func TestNotify(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: 20})
	name, next := manager(t)
	c := startChildAs(t, d, t.TempDir(), nil, "NOTIFY_SOCKET="+name, noIndex)
	for _, want := range []string{"STATUS=starts", "READY=1\nSTATUS=serves " + c.url} {
		if got := next(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	c.stop(t)
	if got := next(); !strings.HasPrefix(got, "STOPPING=1\n") {
		t.Errorf("%q at the stop", got)
	}
}

// TestWatchdog: the manager hears of the server as long as it answers itself.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	refused := make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			refused <- struct{}{}
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusServiceUnavailable) // of a server whose nodes are away
	}))
	defer s.Close()
	name, next := manager(t)
	env := map[string]string{"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "20000"}
	var said lockedBuffer
	n := newNotifier(func(key string) string { return env[key] }, slog.New(slog.NewTextHandler(&said, nil)))
	next() // STATUS
	n.ready(context.Background(), s.URL)
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1"} {
		if got := next(); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	silent.Store(true)
	<-refused
	<-refused
	if err := n.close(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "does not answer itself") {
		t.Errorf("no word of it: %s", said.String())
	}
	env["WATCHDOG_PID"] = "1"
	other := newNotifier(func(key string) string { return env[key] }, slog.New(slog.DiscardHandler))
	if other.watch != 0 {
		t.Error("another process is watched")
	}
	if err := other.close(); err != nil {
		t.Error(err)
	}
	nobody := newNotifier(func(string) string { return "" }, slog.New(slog.DiscardHandler))
	nobody.ready(t.Context(), s.URL)
	nobody.stopping()
	if err := nobody.close(); err != nil {
		t.Error(err)
	}
}
