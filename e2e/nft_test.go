package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"quorate/e2e/quorate"
)

// ipfsGateway is a gateway on loopback that has something for each path. Documents say how
// often they were asked for.
type ipfsGateway struct {
	mu    sync.Mutex
	asked map[string]int
}

func (g *ipfsGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked[r.URL.Path]++
	n := g.asked[r.URL.Path]
	g.mu.Unlock()
	if !strings.HasPrefix(r.URL.Path, "/ipfs/") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"name": "%s, %d", "description": "a document", "image": "ipfs://QmImage/%d.png"}`, r.URL.Path, n, n)
}

// TestSDKMetadata: both SDKs see metadata that were fetched from a gateway, have one
// token's fetched again, and see the new ones.
func TestSDKMetadata(t *testing.T) {
	beside(t)
	program := installSDKs(t)
	gateway := &ipfsGateway{asked: map[string]int{}}
	web := httptest.NewServer(gateway)
	t.Cleanup(web.Close)
	s, facts, f := serveDevnet(t, "--nft-metadata", "--nft-ipfs-gateway", web.URL)
	s.waitIndexed(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), sdkWait)
	defer cancel()
	result, err := quorate.Run(ctx, "node", filepath.Join(program, "metadata.mjs"), facts, s.URL)
	if err != nil || result.Stderr != "" {
		t.Fatalf("%v\n%s%s", err, result.Stdout, result.Stderr)
	}
	seen := 0
	for line := range strings.Lines(result.Stdout) {
		var got struct {
			SDK, TokenID, Error string
			First, Second       struct {
				Name, Description, ImageURI  string
				MetadataLastUpdatedTimestamp int64
			}
			Again int
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		seen++
		t.Logf("%s", strings.TrimSpace(line))
		first, second := got.First, got.Second
		name, ok := strings.CutSuffix(first.Name, ", 1")
		switch {
		case got.Error != "":
			t.Errorf("%s: %s\n%s", got.SDK, got.Error, s.LogTail())
		case !ok || !strings.HasSuffix(name, "/"+got.TokenID) || second.Name != name+", 2":
			t.Errorf("%s: %q, then %q", got.SDK, first.Name, second.Name)
		case second.Description != "a document" || second.ImageURI != "ipfs://QmImage/2.png" ||
			second.MetadataLastUpdatedTimestamp < first.MetadataLastUpdatedTimestamp || first.MetadataLastUpdatedTimestamp == 0:
			t.Errorf("%s: %+v, then %+v", got.SDK, first, second)
		case got.Again != http.StatusTooManyRequests:
			t.Errorf("%s: asked for a second time: %d, want 429", got.SDK, got.Again)
		}
	}
	if seen != 2 || result.Code != 0 {
		t.Errorf("%d SDKs, exit code %d", seen, result.Code)
	}
}
