package p2p

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
)

func TestConfigErrors(t *testing.T) {
	good := testConfig(t, nil)
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	f := func(want string, change func(c *Config)) {
		t.Helper()
		c := good
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	f("network ID", func(c *Config) { c.NetworkID = 0 })
	f("no certificate", func(c *Config) { c.Certificate = tls.Certificate{} })
	f("no private key", func(c *Config) { c.Certificate.PrivateKey = nil })
	f("unacceptable certificate", func(c *Config) { c.Certificate = ed25519Identity(t) })
	f("client version", func(c *Config) { c.ClientVersion.Name = "" })
	f("IP proof", func(c *Config) { c.IPProof = nil })
	f("discovery", func(c *Config) { c.DiscoverEvery = time.Millisecond })
	f("window", func(c *Config) { c.Window = -1 })
	f("window", func(c *Config) { c.Window = maxWindow + 1 })
	f("bounds", func(c *Config) { c.Burst = -1 })
	f("bounds", func(c *Config) { c.MaxDials = -1 })
}

func ed25519Identity(t *testing.T) tls.Certificate {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, public, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestPrivateAddressesByNetwork(t *testing.T) {
	f := func(network uint32, asked, want bool) {
		t.Helper()
		c := testConfig(t, nil)
		c.NetworkID, c.AllowPrivate = network, asked
		if err := c.validate(); err != nil || c.AllowPrivate != want {
			t.Errorf("network %d: %v, %v", network, c.AllowPrivate, err)
		}
	}
	f(chain.MainnetID, false, false)
	f(chain.FujiID, false, false)
	f(chain.FujiID, true, true)
	f(testNetwork, false, true)
}

func TestMetricsNames(t *testing.T) {
	set := metric.NewSet()
	c := testConfig(t, nil)
	c.Metrics = set
	if _, err := New(c); err != nil {
		t.Fatal(err)
	}
	text := set.String()
	for _, want := range []string{"quorate_p2p_peers_wanted 0", "quorate_p2p_peers_connected 0",
		"quorate_p2p_peers_ready 0", `quorate_p2p_dial_failures_total{kind="bare_close"} 0`, "quorate_p2p_received_bytes_total 0"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestCertificateFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "staking", "peer.pem")
	first, err := LoadOrCreateCertificate(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if key, ok := first.PrivateKey.(*ecdsa.PrivateKey); !ok || key.Curve.Params().BitSize != 256 {
		t.Errorf("key %T", first.PrivateKey)
	}
	again, err := LoadOrCreateCertificate(path)
	if err != nil || !bytes.Equal(first.Certificate[0], again.Certificate[0]) {
		t.Errorf("another identity the second time: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("files left behind: %v, %v", entries, err)
	}
	if err := os.WriteFile(path, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadOrCreateCertificate(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("junk: %v", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "junk" {
		t.Errorf("a file that does not parse was overwritten: %q, %v", content, err)
	}
	if _, err := LoadOrCreateCertificate(filepath.Join(path, "below")); err == nil {
		t.Error("a path below a file was accepted")
	}
}

func TestBucket(t *testing.T) {
	at := time.Unix(0, 0)
	b := newBucket(100, 200, at)
	f := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	f("the burst", b.take(200, at), true)
	f("empty", b.take(1, at), false)
	f("half a second later", b.take(50, at.Add(500*time.Millisecond)), true)
	f("time running back", b.take(1, at), false)
	f("an hour later", b.take(201, at.Add(time.Hour)), false)
	f("an hour later", b.take(200, at.Add(time.Hour)), true)
	f("debt", b.spend(300, at.Add(time.Hour)), 3*time.Second)
	f("paid back", b.spend(0, at.Add(time.Hour+3*time.Second)), time.Duration(0))
	off := newBucket(-1, 0, at)
	f("off", off.take(1<<30, at), true)
	f("off", off.spend(1<<30, at), time.Duration(0))
}

func TestBackoff(t *testing.T) {
	local, far, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	at := time.Unix(1000, 0)
	var b backoff
	if b.next(far, false).After(at) {
		t.Error("the first dial waits")
	}
	b.dial(at)
	b.upgrade(far, at)
	b.end(far, true, at.Add(time.Hour))
	if d := b.next(far, false).Sub(at.Add(time.Hour)); d < minRedial || d > 2*minRedial {
		t.Errorf("after a good link: %v", d)
	}
	b.dial(at)
	b.end(far, false, at)
	f := func(what string, got time.Time, least, most time.Duration) {
		t.Helper()
		if d := got.Sub(at); d < least || d > most {
			t.Errorf("%s: %v, want %v to %v", what, d, least, most)
		}
	}
	f("after TLS, the same address", b.next(far, true), upgradePause, upgradePause+time.Second)
	f("after TLS, another address", b.earliest(other), minRedial, minRedial)
	f("loopback", b.earliest(local), minRedialLocal, minRedialLocal)
	for range 100 {
		b.end(other, false, at)
		f("in a long row", b.next(other, false), minRedial, maxRedial)
	}
	f("in a long row", b.next(other, false), maxRedial/2, maxRedial)
	f("in a long row, urgent", b.next(other, true), maxRedial/2/urgentShare, maxRedial/urgentShare)
}
