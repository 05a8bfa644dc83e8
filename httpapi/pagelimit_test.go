package httpapi

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/ui"
)

// TestPageKeys: a key that is good for certain chains opens pages of no others.
func TestPageKeys(t *testing.T) {
	t.Parallel()
	key, hash := limit.NewKey()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	text := "tiers:\n  - name: one\n    unitsPerMinute: 100000\n    chains: [\"43112\", \"7\"]\nkeys:\n  - hash: " + hash + "\n    tier: one\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	second := secondChain()
	second.alias = "7" // which is no chain number
	s := dataServer(t, Config{
		Pages: &ui.Config{}, Limits: newLimiter(t, limit.Config{KeysFile: file, RequireKey: true}),
	}, sampleChain(), second)
	for path, status := range map[string]int{
		"/chain/43112/blocks": 200, "/chain/C/blocks": 200, "/chain/7/blocks": 403, "/chain/777/blocks": 403, "/chain/777/metrics/txCount/csv": 403, "/primary/p": 403,
	} {
		if r := visit(s, door.ForClients, "GET", path, "x-service-api-key", key); r.StatusCode() != status {
			t.Errorf("%s: %d", path, r.StatusCode())
		}
		if r := visit(s, door.ForClients, "GET", path); r.StatusCode() != 401 || !isPage(r) {
			t.Errorf("%s without a key: %d", path, r.StatusCode())
		}
	}
}

// TestPageAsksMore: a page that asks for more than it costs is charged for that, and without
// the units nothing of it is shown.
func TestPageAsksMore(t *testing.T) {
	t.Parallel()
	nowhere := "/search?q=0x" + strings.Repeat("ab", 32) // asks everything there is
	f := func(burst int64, want int) {
		t.Helper()
		s := dataServer(t, Config{
			Pages: &ui.Config{}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: burst}),
		}, slices.Repeat([]*testChain{sampleChain()}, 12)...)
		if r := visit(s, door.ForClients, "GET", nowhere, "Peer", "192.0.2.1:99"); r.StatusCode() != want || !isPage(r) {
			t.Errorf("with %d units: %d, want %d", burst, r.StatusCode(), want)
		}
	}
	f(110, 429)
	f(1000, 404)
}

// TestShellHost: what a host has for a shell does not come into the commands of a page.
func TestShellHost(t *testing.T) {
	t.Parallel()
	s := pageServer(t, Config{}, ui.On)
	for host, shown := range map[string]bool{"explorer.example:8443": true, "[::1]:9750": true, "a$(id).example": false, "a';id;'.example": false} {
		r := visit(s, door.All, "GET", "/", "Host", host)
		if body := string(r.Body()); r.StatusCode() != 200 || strings.Contains(body, "curl -s http://"+host+"/v1") != shown || !shown && strings.Contains(body, "id") && strings.Contains(body, ".example") {
			t.Errorf("%s: %d", host, r.StatusCode())
		}
	}
}
