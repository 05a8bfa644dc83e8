package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"quorate/devnet"
)

// TestAdminAddr: where operators are served, by where clients are.
func TestAdminAddr(t *testing.T) {
	t.Parallel()
	f := func(host, flag, addr string, shared bool) {
		t.Helper()
		got, gotShared := (&listenFlags{host: host, admin: flag}).adminAddr()
		if got != addr || gotShared != shared {
			t.Errorf("--http-host %q --admin-addr %q: %q, shared %v; want %q, %v", host, flag, got, gotShared, addr, shared)
		}
	}
	f("127.0.0.1", "", "", true)
	f("127.1.2.3", "", "", true)
	f("::1", "", "", true)
	f("localhost", "", "", true)
	f("0.0.0.0", "", defaultAdmin, false)
	f("::", "", defaultAdmin, false)
	f("", "", defaultAdmin, false)
	f("192.0.2.1", "", defaultAdmin, false)
	f("quorate.example", "", defaultAdmin, false)
	f("0.0.0.0", "10.0.0.1:80", "10.0.0.1:80", false)
	f("127.0.0.1", "127.0.0.1:0", "127.0.0.1:0", false)
	f("127.0.0.1", noAdmin, "", false)
	f("0.0.0.0", noAdmin, "", false)
}

// TestPublicURLWithoutIndex: the API's description names the address that clients know,
// whatever is indexed.
func TestPublicURLWithoutIndex(t *testing.T) {
	t.Parallel()
	const front = "http://front.example/quorate"
	p := launch(t, "quorate ready", "serve", "--devnet", "--http-port", "0", "--data-dir", t.TempDir(),
		"--index=false", "--public-url", front, "--log-display-level", "off")
	status, body := fetch(t, &http.Client{Timeout: time.Minute}, p.url+"/openapi.json")
	if status != http.StatusOK || !strings.Contains(string(body), `"servers":[{"url":"`+front+`"}]`) {
		t.Errorf("%d %.400s", status, body)
	}
}

// TestHostInBrackets: an IPv6 address is taken with and without them.
func TestHostInBrackets(t *testing.T) {
	t.Parallel()
	f := &listenFlags{host: "[::1]", admin: "[::1]:0", conns: 1, connsPerIP: 1}
	if err := f.check(); err != nil || f.host != "::1" {
		t.Errorf("%q: %v", f.host, err)
	}
}

func TestListenUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--admin-addr", "9751"}, {"--admin-addr", "127.0.0.1:x"}, {"--admin-addr", "no name:9751"}, {"--admin-addr", "[localhost]:9751"}, {"--admin-addr", "none", "--api-admin-enabled"},
		{"--tls-cert", "x"}, {"--tls-key", "x"}, {"--limits", "max-conns=0"}, {"--limits", "max-conns-per-ip=-1"},
		{"--cors-origins", "example.com"}, {"--cors-origins", "https://a.example/path"}, {"--http-port", "70000"},
		{"--http-host", "[::1"}, {"--http-host", "[127.0.0.1]"}, {"--http-host", "127.0.0.1:80"}, {"--http-host", "http://x"},
	} {
		if code, _, errs := quorate(t, "", append([]string{"serve", "--devnet"}, args...)...); code != exitUsage {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
}

// fetch reads a URL and returns the status and the body.
func fetch(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode, string(body)
}

var operatorsAt = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// TestOperatorsApart: with an address for operators the other one answers clients
// alone, whatever is switched on.
func TestOperatorsApart(t *testing.T) {
	t.Parallel()
	d := startNetwork(t, devnet.Config{Blocks: 20})
	p := launch(t, "quorate ready", "serve", "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", t.TempDir(), "--admin-addr", "127.0.0.1:0", "--api-admin-enabled", "--log-display-level", "info")
	var admin string
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Contains(line, "operators are served") {
			admin = "http://" + operatorsAt.FindString(line)
		}
	}
	client := &http.Client{Timeout: time.Minute}
	f := func(path string, public, operator int) {
		t.Helper()
		if status, body := fetch(t, client, p.url+path); status != public {
			t.Errorf("%s for clients: %d %.200s, want %d", path, status, body, public)
		}
		if status, body := fetch(t, client, admin+path); status != operator {
			t.Errorf("%s for operators: %d %.200s, want %d", path, status, body, operator)
		}
	}
	f("/v1/chains", 200, 200) // operators' pages ask for data, too
	f("/ext/bc/C/rpc", 405, 405)
	f("/ext/info", 405, 405)
	f("/", 200, 200)
	f("/api", 200, 200)
	f("/signatures", 404, 200)
	f("/ops", 404, 200)
	f("/ext/metrics", 404, 200)
	f("/metrics", 404, 200)
	f("/ext/health/liveness", 404, 200)
	f("/ext/admin", 404, 405)
	f("/ext/admin/", 404, 404)
	f("/ext//admin", 404, 405) // redirected to the clean path
	f("/%65xt/admin", 404, 405)
	f("/ext", 404, 404)
	f("/nothing", 404, 404)
	poll(t, 50*time.Millisecond, "healthy", func() bool {
		status, _ := fetch(t, client, p.url+"/health")
		return status == 200
	})
	if _, body := fetch(t, client, p.url+"/health"); body != `{"status":"up"}` {
		t.Errorf("health for clients: %s", body)
	}
	if _, body := fetch(t, client, admin+"/health"); !strings.Contains(body, `"details":{"`) {
		t.Errorf("health for operators: %s", body)
	}
}

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T, dir string, serial int64) (pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secretPart, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secretPart},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(leaf)
	return pool
}

// TestTLS: the server speaks HTTPS, and takes a new certificate at SIGHUP without
// an end to what is connected. SIGHUP ends nothing.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := certificate(t, dir, 1)
	d := startNetwork(t, devnet.Config{Blocks: 1})
	c := startChild(t, d, t.TempDir(), noIndex, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
	if !strings.HasPrefix(c.url, "https://") {
		t.Fatalf("ready at %s", c.url)
	}
	client := func(pool *x509.CertPool) *http.Client {
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
		t.Cleanup(tr.CloseIdleConnections)
		return &http.Client{Transport: tr, Timeout: time.Minute}
	}
	old := client(first)
	if status, body := fetch(t, old, c.url+"/ext/health/liveness"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	second := certificate(t, dir, 2)
	if err := c.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	poll(t, 20*time.Millisecond, "the new certificate", func() bool {
		renewed := client(second)
		resp, err := renewed.Get(c.url + "/ext/health/liveness")
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == 200
	})
	if status, body := fetch(t, old, c.url+"/ext/health/liveness"); status != 200 { // on its connection from before
		t.Errorf("%d %s", status, body)
	}
	c.stop(t)
}

func TestTLSBroken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certificate(t, dir, 1)
	if err := os.WriteFile(filepath.Join(dir, "key.pem"), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := quorate(t, "", "serve", "--devnet", "--data-dir", t.TempDir(), "--http-port", "0",
		"--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem"))
	if code != exitFailed || !strings.Contains(errs, "--tls-cert and --tls-key: TLS certificate") || !strings.Contains(errs, "key.pem") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestCannotStart: what keeps a server from its address or its folder is said by its flag, with
// what it is.
func TestCannotStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(want string, args ...string) {
		t.Helper()
		code, _, errs := quorate(t, "", append([]string{"serve", "--devnet", "--data-dir", t.TempDir()}, args...)...)
		if code != exitFailed || !strings.Contains(errs, "quorate: "+want+"\n") {
			t.Errorf("exit %d, %s, want %s", code, errs, want)
		}
	}
	f("--http-host and --http-port: cannot listen at "+taken.Addr().String()+": bind: address already in use: stop what uses it, or choose another", "--http-port", port)
	f("--admin-addr: cannot listen at "+taken.Addr().String()+": bind: address already in use: stop what uses it, or choose another",
		"--http-port", "0", "--admin-addr", taken.Addr().String())
	f("--http-host and --http-port: cannot listen at 192.0.2.1:0: bind: cannot assign requested address: this machine does not have it",
		"--http-host", "192.0.2.1", "--http-port", "0", "--admin-addr", "none")
	f("data folder: "+file+" is a file, not a folder", "--http-port", "0", "--data-dir", file)
}
