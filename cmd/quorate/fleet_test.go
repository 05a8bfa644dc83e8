package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/devnet"
)

// newFleet writes the file of a fleet of as many members on this machine, and returns its path
// and the ports, the home's first.
func newFleet(t *testing.T, members int) (path string, ports []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fleet.yaml")
	args := []string{"fleet", "init", "-o", path}
	for range members {
		port := strconv.Itoa(freePort(t))
		args, ports = append(args, "--member", "http://127.0.0.1:"+port), append(ports, port)
	}
	mustCommand(t, nil, args...)
	return path, ports
}

// TestFleetFile: what is wrong with a fleet file is said before anything is started, and a key
// is never printed.
func TestFleetFile(t *testing.T) {
	t.Parallel()
	good, _ := newFleet(t, 2)
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	_, key, _ := strings.Cut(string(text), "- ")
	key, _, _ = strings.Cut(key, "\n")
	edited := func(old, replaced string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), "fleet.yaml")
		if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, replaced, 1)), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	serve := func(path string, more ...string) []string {
		return append([]string{"serve", "--devnet", "--http-port", "0", "--data-dir", t.TempDir(), "--fleet", path}, more...)
	}
	for want, of := range map[string]struct {
		code int
		args []string
	}{
		"others may read it":        {exitFailed, serve(edited("", "", 0o644))},
		"no key under keys":         {exitFailed, serve(edited("- "+key, "", 0o600))},
		"is not http://HOST:PORT":   {exitUsage, serve(edited("http://127", "127", 0o600))},
		"unknown key":               {exitUsage, serve(edited("members:", "member:", 0o600))},
		"a log is nats://HOST:PORT": {exitUsage, serve(edited("members:", "log: http://a:4222\nmembers:", 0o600))},
		"archive: ":                 {exitUsage, serve(edited("members:", "archive: ftp://a\nmembers:", 0o600))},
		"no such file":              {exitFailed, serve(filepath.Join(t.TempDir(), "none.yaml"))},
		"no node to follow: give --node-url URL, which": {exitUsage, []string{"serve", "--fleet", good}},
		"no node to follow: give --node-url URL, or":    {exitUsage, []string{"serve"}},
		"--fleet is missing":                            {exitUsage, []string{"fleet", "status"}},
		"no address under members":                      {exitUsage, []string{"fleet", "init", "-o", filepath.Join(t.TempDir(), "f")}},
		"file exists":                                   {exitFailed, []string{"fleet", "init", "--member", "http://a:1", "-o", good}},
	} {
		code, out, errs := quorate(t, "", of.args...)
		if code != of.code || !strings.Contains(errs, want) {
			t.Errorf("%q: exit code %d, not %d, %s", want, code, of.code, errs)
		}
		if strings.Contains(out+errs, key) {
			t.Errorf("%q: the key is printed: %s", want, errs)
		}
	}
}

// TestFleetStatus: two servers are one API: they take each other's page tokens, the home keeps
// webhooks, and the state of both is printed, with exit code 1 while one is away.
func TestFleetStatus(t *testing.T) {
	t.Parallel()
	path, ports := newFleet(t, 2)
	d := startNetwork(t, devnet.Config{Validators: 2, Blocks: 70, TxsPerBlock: 3})
	_, number := cChain(d)
	depot := "file://" + t.TempDir()
	var p []*program
	for _, port := range ports {
		p = append(p, serveIn(t, d, t.TempDir(), "--http-port", port, "--fleet", path, "--archive", depot, "--webhooks-private", "--webhooks-keyless"))
	}
	for _, of := range p {
		poll(t, 50*time.Millisecond, "the chain is indexed", func() bool { return hasBlock(t, of.url, number, 70) })
	}
	pages, next := backupPages(t, p[0].url)
	again, _ := backupPages(t, p[1].url)
	for path := range pages {
		if pages[path] != again[path] {
			t.Errorf("%s: the servers have different pages", path)
		}
	}
	if status, body := get(t, p[1].url+next); status != http.StatusOK {
		t.Errorf("the next page of the other server: status %d: %s", status, body)
	}
	var made struct{ ID string }
	callAPI(t, http.MethodPost, p[1].url+"/v1/webhooks", fmt.Sprintf(`{"eventType":"address_activity","url":"http://127.0.0.1:1/","chainId":%q,"metadata":{"addresses":[%q]}}`,
		number, d.Facts("").Address), http.StatusCreated, &made)
	if status, body := get(t, p[0].url+"/v1/webhooks/"+made.ID); status != http.StatusOK {
		t.Errorf("the home has no webhook that was made at the other server: %d %s", status, body)
	}
	var code int
	var out, errs string
	poll(t, 200*time.Millisecond, "both servers are ready", func() bool {
		code, out, errs = quorate(t, "", "fleet", "status", "--fleet", path)
		return code == exitDone
	})
	for _, want := range []string{"http://127.0.0.1:" + ports[0] + "  C ", "yes   ready", "no    ready", "ok"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s%s", want, out, errs)
		}
	}
	p[0].stop(t)
	poll(t, 200*time.Millisecond, "the other server misses the home", func() bool {
		code, out, _ = quorate(t, "", "fleet", "status", "--fleet", path)
		return strings.Contains(out, "away")
	})
	if code != exitFailed || !strings.Contains(out, "connection refused") {
		t.Errorf("exit code %d, %s", code, out)
	}
}
