package limit

import (
	"bytes"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// headers are a request's, by the names that the limiter asks for.
type headers map[string]string

func (h headers) get(name string) []byte { return []byte(h[name]) }

func withKey(key string) headers { return headers{HeaderKey: key} }

var (
	dataRoute   = Route{Pattern: "/v1/chains/{chainId}/transactions", Chain: named("43114")}
	publicRoute = Route{Pattern: "/v2/chains/{chainId}/metrics/{metric}", Public: true}
	clientA     = netip.MustParseAddr("192.0.2.1")
	clientB     = netip.MustParseAddr("192.0.2.2")
)

func named(chain string) func() string { return func() string { return chain } }

// keysFile writes a keys file; each write has a time of its own.
type keysFile struct {
	path   string
	writes int
}

func newKeysFile(t testing.TB, content string) *keysFile {
	t.Helper()
	f := &keysFile{path: filepath.Join(t.TempDir(), "keys.yaml")}
	f.write(t, content)
	return f
}

func (f *keysFile) write(t testing.TB, content string) {
	t.Helper()
	if err := os.WriteFile(f.path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f.writes++
	at := time.Unix(1_700_000_000+int64(f.writes), 0)
	if err := os.Chtimes(f.path, at, at); err != nil {
		t.Fatal(err)
	}
}

// content returns a keys file with the tiers of the tests.
func content(keys ...string) string {
	return `
tiers:
  - {name: small, unitsPerMinute: 60, burst: 10}
  - {name: large, unitsPerMinute: 60000}
  - name: narrow
    unitsPerMinute: 6000
    routes: ["/v1/chains/*", "/v1/exact"]
    chains: ["43114", "7"]
keys:
` + strings.Join(keys, "")
}

func entry(key, tier string) string {
	return `  - {name: "of ` + tier + `", hash: ` + Hash(key) + `, tier: ` + tier + "}\n"
}

func disabled(key, tier string) string {
	return `  - {hash: ` + Hash(key) + `, tier: ` + tier + ", disabled: true}\n"
}

func newLimiter(t testing.TB, cfg Config) *Limiter {
	t.Helper()
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// status is 200 for what is allowed.
func (d Decision) status() int {
	if d.Allow {
		return 200
	}
	return d.Status
}

func logTo(b *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }
