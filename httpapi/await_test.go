package httpapi

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"quorate/engine/chain/evm"
	"quorate/engine/metric"
	"quorate/httpapi/forward"
)

// laggingChain is one whose index may be behind its node by a few blocks.
type laggingChain struct{ *testChain }

func (c laggingChain) height() uint64 {
	tip, _, _ := c.testChain.Chain.Cursor()
	return tip
}

// Syncing returns the node's height, which is that of the index unless target says more.
func (c laggingChain) Syncing() (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return max(c.target, c.height()), false
}

func (c laggingChain) Chain(string) (*Chain, bool) { return c.Chains()[0], true }

func (c laggingChain) Chains() []*Chain {
	return []*Chain{{Chain: c.testChain.Chain, Nodes: c, Info: &c.info}}
}

func (c laggingChain) grow(n int) {
	for range n {
		growBusy(c.testChain)
	}
}

// lagging returns a server of a fleet, or alone, and its chain.
func lagging(t *testing.T, inFleet bool) (*Server, laggingChain) {
	t.Helper()
	c := laggingChain{busyChain()}
	cfg := Config{Networks: networks{signs("x")}, Chains: c, TokenKey: []byte("the key of all tests")}
	if inFleet {
		cfg.Fleet = forward.New(forward.Config{Members: []string{"http://127.0.0.1:1"}, Secrets: [][]byte{fleetSecret}, Metrics: metric.NewSet(), Logger: slog.New(slog.DiscardHandler)})
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// nextOf returns the path of the second page of a list.
func nextOf(t *testing.T, s *Server, path string, headers ...string) string {
	t.Helper()
	var page struct{ NextPageToken string }
	if err := json.Unmarshal(get(s, path, headers...).Body(), &page); err != nil || page.NextPageToken == "" {
		t.Fatalf("%s: no next page: %v", path, err)
	}
	return path + "&pageToken=" + url.QueryEscape(page.NextPageToken)
}

// TestAwait: what another server of the fleet has shown is awaited for a moment and then "not
// yet", never "not"; without a fleet only a request that asks for it by its header is answered so.
func TestAwait(t *testing.T) {
	t.Parallel()
	const list = "/v1/chains/43112/transactions?pageSize=2"
	ahead, at := lagging(t, true)
	at.grow(3)
	next := nextOf(t, ahead, list)
	page := string(get(ahead, next).Body())
	for _, inFleet := range []bool{true, false} {
		s, c := lagging(t, inFleet)
		var asks []string
		if !inFleet {
			asks = []string{"X-Min-Height", "1"}
			if got := get(s, next).StatusCode(); got != http.StatusBadRequest {
				t.Errorf("alone, a token of a block that is not there: status %d", got)
			}
			if got := get(s, list); got.Header.Peek("X-Indexed-Height") != nil {
				t.Error("alone, the height is told")
			}
		}
		begun := time.Now()
		if got := get(s, next, asks...); got.StatusCode() != http.StatusServiceUnavailable || string(got.Header.Peek("Retry-After")) != "1" || time.Since(begun) < 250*time.Millisecond {
			t.Errorf("behind: status %d after %s: %s", got.StatusCode(), time.Since(begun), got.Body())
		}
		if got := string(get(s, list, asks...).Header.Peek("X-Indexed-Height")); got != fmt.Sprint(c.height()) {
			t.Errorf("indexed height %q, not %d", got, c.height())
		}
		if got := get(s, list, "X-Min-Height", fmt.Sprint(c.height()+3)).StatusCode(); got != http.StatusServiceUnavailable {
			t.Errorf("a height that is not there: status %d", got)
		}
		if got := get(s, list, "X-Min-Height", "high").StatusCode(); got != http.StatusBadRequest {
			t.Errorf("no height: status %d", got)
		}
		tip := c.height()
		c.mu.Lock()
		c.target = tip + 3
		c.mu.Unlock()
		for path, status := range map[string]int{
			fmt.Sprintf("/v1/chains/43112/blocks/%d", tip+3): 503, fmt.Sprintf("/v1/chains/43112/blocks/%d", tip+4): 503, // it may be there already
			"/v1/chains/43112/blocks/" + evm.Hash{0xee}.String(): 503, "/v1/chains/43112/transactions/" + evm.Hash{0xee}.String(): 503,
			fmt.Sprintf("/v1/chains/43112/addresses/%s/balances:listErc20?blockNumber=%d", alice, tip+3): 503,
			fmt.Sprintf("/v1/chains/43112/blocks/%d", tip):                                               200, "/v1/chains/7/blocks/x": 400,
		} {
			if got := get(s, path, asks...); got.StatusCode() != status {
				t.Errorf("%s: status %d, not %d: %s", path, got.StatusCode(), status, got.Body())
			}
		}
		grown := time.AfterFunc(50*time.Millisecond, func() { c.grow(3) })
		defer grown.Stop()
		if got := get(s, next, asks...); got.StatusCode() != http.StatusOK || string(got.Body()) != page {
			t.Errorf("the block came: status %d: %s", got.StatusCode(), got.Body())
		} else if h := string(got.Header.Peek("X-Indexed-Height")); h != fmt.Sprint(tip+3) {
			t.Errorf("the block came, indexed height %s", h)
		}
		for path, status := range map[string]int{fmt.Sprintf("/v1/chains/43112/blocks/%d", tip+3): 200, "/v1/chains/43112/transactions/" + evm.Hash{0xee}.String(): 404} {
			if got := get(s, path, asks...); got.StatusCode() != status {
				t.Errorf("%s: status %d, not %d", path, got.StatusCode(), status)
			}
		}
		// A kept answer is not older than asked for either.
		for range 3 {
			get(s, list, asks...)
		}
		if got := get(s, list, "X-Min-Height", fmt.Sprint(tip+4)).StatusCode(); got != http.StatusServiceUnavailable {
			t.Errorf("a kept answer is older than asked for: status %d", got)
		}
	}
}

// TestAwaitPrimary: lists of the primary network are not pinned, so that in a fleet their tokens
// say how far the server was: another one that is behind would skip rows.
func TestAwaitPrimary(t *testing.T) {
	t.Parallel()
	const list = "/v1/networks/fuji/blockchains/p-chain/transactions?pageSize=1"
	r := newFleetRig(t, 1, nil)
	in, alone := r.s[0], wholeServer(t, Config{})
	next := nextOf(t, in, list)
	if same := nextOf(t, alone, list); same == next {
		t.Error("the token of a fleet does not say how far the server was")
	}
	if got := get(in, next).StatusCode(); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	for _, of := range in.cfg.Primary.(primaries) {
		for _, c := range of.chains {
			c.mu.Lock()
			c.height -= min(c.height, 5)
			c.mu.Unlock()
		}
	}
	if got := get(in, next); got.StatusCode() != http.StatusServiceUnavailable || !strings.Contains(string(got.Body()), "not indexed here yet") {
		t.Errorf("behind: status %d: %s", got.StatusCode(), got.Body())
	}
}
