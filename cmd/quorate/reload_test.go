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
	file := writeFile(t, "tokens.json", `{"methods":["0xc2985578 foo()"]}`)
	s := startChild(t, d, t.TempDir(), "--tokens-file", file, "--log-display-level", "info")
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
	hangup(`{"methods":["0xfebb0f7e bar()"]}`, "SIGHUP: files read again")
	hangup(`{"methods":["0xnothing"]}`, "their former contents stay in use")
	hangup(`{"methods":["0xc2985578 foo()"]}`, "SIGHUP: files read again")
	s.stop(t)
}
