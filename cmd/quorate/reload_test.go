package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"quorate/devnet"
)

// TestHangup: SIGHUP does not end the server but has its files read again, those
// after a broken one too.
func TestHangup(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 3})
	file := writeFile(t, "methods.txt", "0xc2985578 foo()\n")
	s := startChild(t, d, t.TempDir(), "--methods-file", file, "--log-display-level", "info")
	hangup := func(text, line string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := strings.Count(s.stderr.String(), line)
		if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		poll(t, 5*time.Millisecond, line, func() bool { return strings.Count(s.stderr.String(), line) > before })
	}
	hangup("0xfebb0f7e bar()\n", "SIGHUP: files read again")
	hangup("0xnothing\n", "what they said before stays")
	hangup("0xc2985578 foo()\n", "SIGHUP: files read again")
	s.stop(t)
}

// TestMethodsAgain: names that are read again replace those from before, and a
// broken file leaves them.
func TestMethodsAgain(t *testing.T) {
	t.Parallel()
	foo, bar := [4]byte{0xc2, 0x98, 0x55, 0x78}, [4]byte{0xfe, 0xbb, 0x0f, 0x7e}
	m := &methods{}
	read := func(text string) error {
		m.file = writeFile(t, "methods.txt", text)
		return m.Reload()
	}
	if err := read("0xc2985578 foo()\n"); err != nil || m.MethodName(foo) != "foo()" || m.MethodName(bar) != "" {
		t.Errorf("%v, %q, %q", err, m.MethodName(foo), m.MethodName(bar))
	}
	if err := read("0xfebb0f7e bar()\n"); err != nil || m.MethodName(foo) != "" || m.MethodName(bar) != "bar()" {
		t.Errorf("%v, %q, %q", err, m.MethodName(foo), m.MethodName(bar))
	}
	if err := read("0xfebb0f7e other()\n"); err == nil || m.MethodName(bar) != "bar()" {
		t.Errorf("a broken file: %v, %q", err, m.MethodName(bar))
	}
}
