package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"quorate/devnet"
)

// TestExamine: what would keep a server from starting is found, each by the parser that
// reads it when it serves, and nothing is made.
func TestExamine(t *testing.T) {
	t.Parallel()
	bad := writeFile(t, "bad.json", `{"1": `)
	chains := writeFile(t, "chains.yaml", "chains:\n- {rpc: 'http://127.0.0.1:1/rpc', blockchain-id: 11111111111111111111111111111111LpoYY, names: [games]}\n")
	short := filepath.Join(t.TempDir(), "short")
	for name, content := range map[string]string{"token.key": "short", "staker.pem": "none", "aliases.json": "{"} {
		if err := os.MkdirAll(short, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(short, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	certs := t.TempDir()
	certificate(t, certs, 1)
	cert, key := filepath.Join(certs, "cert.pem"), filepath.Join(certs, "key.pem")
	for name, c := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"devnet":       {[]string{"--devnet"}, exitDone, []string{"would be made; ", "ok    operators        at the same address", "a simulated one"}},
		"node":         {[]string{"--node-url", "http://user:pw12345@127.0.0.1:1"}, exitDone, []string{"http://127.0.0.1:1; --check=nodes asks them"}},
		"nodes":        {[]string{"--node-url", "http://127.0.0.1:1", "--check=nodes"}, exitFailed, []string{"FAIL  node", "connection refused"}},
		"half":         {[]string{"--devnet", "--check=half"}, exitUsage, []string{`--check "half" is neither files nor nodes`}},
		"flag":         {[]string{"--devnet", "--limits", "buffer-window=9s"}, exitUsage, []string{"limits.buffer-window 9s"}},
		"level":        {[]string{"--devnet", "--log-level", "loud"}, exitUsage, []string{"--log-level"}},
		"no node":      {nil, exitUsage, []string{"no node to follow"}},
		"chains":       {[]string{"--devnet", "--chains-file", chains}, exitDone, []string{"the C-Chain of each network, games, P and X"}},
		"no chains":    {[]string{"--devnet", "--chains-file", bad}, exitFailed, []string{"FAIL  chains, genesis  --chains-file " + bad}},
		"genesis":      {[]string{"--devnet", "--genesis-file", "fuji=" + bad}, exitFailed, []string{"--genesis-file: " + bad}},
		"all at once":  {[]string{"--devnet", "--prices-file", bad, "--tokens-file", bad}, exitFailed, []string{"FAIL  prices-file", "FAIL  tokens-file", "with these settings; failed checks: 2"}},
		"old names":    {[]string{"--devnet", "--methods-file", bad, "--export-queue", "9"}, exitFailed, []string{"FAIL  methods-file", "--methods-file is taken by this release only: it is methods in the file of --tokens-file now", "--export-queue is taken by this release only: it is limits.export-queue now"}},
		"depot":        {[]string{"--devnet", "--archive", "file://" + t.TempDir()}, exitDone, []string{"ok    archive          file:///", "has the history of 0 chains"}},
		"no depot":     {[]string{"--devnet", "--archive", "file://" + bad}, exitFailed, []string{"FAIL  archive", "not a directory"}},
		"keys":         {[]string{"--devnet", "--api-keys-file", bad}, exitFailed, []string{"FAIL  api-keys-file"}},
		"not read":     {[]string{"--devnet", "--index=false", "--prices-file", bad}, exitDone, []string{"note  prices-file"}},
		"certificate":  {[]string{"--devnet", "--tls-cert", cert, "--tls-key", key}, exitDone, []string{"ok    certificate      for 127.0.0.1, until ", "https://127.0.0.1:"}},
		"no key":       {[]string{"--devnet", "--tls-cert", cert, "--tls-key", cert}, exitFailed, []string{"FAIL  certificate"}},
		"port":         {[]string{"--devnet", "--http-port", port}, exitFailed, []string{"FAIL  clients"}},
		"public":       {[]string{"--devnet", "--http-host", "0.0.0.0", "--admin-addr", "127.0.0.1:0"}, exitDone, []string{"ok    operators        http://127.0.0.1:0", "6000 compute units"}},
		"no operators": {[]string{"--devnet", "--admin-addr", "none"}, exitDone, []string{"operators        nowhere"}},
		"file":         {[]string{"--devnet", "--data-dir", bad}, exitFailed, []string{"FAIL  data folder", "not a folder"}},
		"damaged":      {[]string{"--devnet", "--data-dir", short}, exitFailed, []string{"staker.pem", "aliases.json", "token.key has 5 bytes"}},
		"memory":       {[]string{"--devnet", "--memory", "1GiB"}, exitDone, []string{"for caches and buffers: database_blocks 81.9 MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			args := append([]string{"serve", "--check", "--data-dir", dir, "--http-port", "0"}, c.args...)
			before := sumOf(t, short)
			code, out, errs := quorate(t, "", args...)
			for _, want := range c.want {
				if !strings.Contains(out+errs, want) {
					t.Errorf("no %q", want)
				}
			}
			if code != c.code || strings.Contains(out+errs, "pw12345") || t.Failed() {
				t.Errorf("exit code %d\n%s%s", code, out, errs)
			}
			if _, err := os.Stat(dir); err == nil || sumOf(t, short) != before {
				t.Error("something was changed")
			}
		})
	}
}

// TestExamineServed: a configuration can be checked while a server uses its folder and
// its port, and the folder of one that has ended is told with what it has.
func TestExamineServed(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Validators: 5, Blocks: 20})
	dir := t.TempDir()
	p := serveIn(t, d, dir)
	args := []string{"serve", "--check=nodes", "--node-url", d.NodeURL(), "--data-dir", dir, "--http-port", p.url[strings.LastIndexByte(p.url, ':')+1:]}
	code, out, errs := quorate(t, "", args...)
	for _, want := range []string{fmt.Sprintf("note  data folder      %s is in use by process %d", dir, os.Getpid()), "is taken, as it is", "identity         NodeID-", "is of network 12345"} {
		if code != exitDone || !strings.Contains(out, want) {
			t.Errorf("exit code %d, no %q:\n%s%s", code, want, out, errs)
		}
	}
	// A second server finds that out before it starts or writes anything.
	code, _, errs = quorate(t, "", "serve", "--devnet", "--data-dir", dir, "--http-port", "0")
	if want := fmt.Sprintf("%s, process %d: the database is in use by another process", dir, os.Getpid()); code != exitFailed || !strings.Contains(errs, want) {
		t.Errorf("exit code %d, no %q: %s", code, want, errs)
	}
	if _, err := os.Stat(filepath.Join(dir, growthFile)); err == nil {
		t.Error("a second server has started a network on the folder of the first")
	}
	p.stop(t)
	// What another process has open is not called damaged.
	lock, err := os.Open(filepath.Join(dir, "results"))
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, out, errs = quorate(t, "", "verify-data", "--data-dir", dir); code != exitFailed || strings.Contains(out+errs, "DAMAGED") || !strings.Contains(errs, "is in use by another process") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	before := sumOf(t, dir)
	code, out, errs = quorate(t, "", args...)
	if want := "ok    index            is there, with archives of "; code != exitDone || !strings.Contains(out, want) || !strings.Contains(out, "ok    data folder      "+dir+"; ") {
		t.Errorf("exit code %d, no %q:\n%s%s", code, want, out, errs)
	}
	if sumOf(t, dir) != before {
		t.Error("something was changed")
	}
}

// sumOf returns a digest of a folder: names, modes, sizes and times of its files.
func sumOf(t *testing.T, dir string) (sum [32]byte) {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err == nil {
			_, err = fmt.Fprintln(h, path, st.Mode(), st.Size(), st.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return [32]byte(h.Sum(nil))
}
