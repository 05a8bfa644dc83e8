package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"quorate/e2e/quorate"
)

// primaryWait bounds the wait for blocks that exist.
const primaryWait = 90 * time.Second

// primaryServer starts a server that follows the primary network of a node.
func primaryServer(t *testing.T, dir, nodeURL string, args ...string) *server {
	t.Helper()
	return launch(t, quorate.Config{
		Args: append(append([]string{"serve", "--node-url", nodeURL, "--http-host", "127.0.0.1", "--http-port", freePort(t),
			"--data-dir", filepath.Join(dir, "data"), "--sign-ahead=false", "--health-check-frequency", "1s"}, admitting...), args...),
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
}

// awaitMetric waits until the sum of a metric's series of a chain is at least want.
func (s *server) awaitMetric(t *testing.T, name, chain string, want float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), primaryWait)
	defer cancel()
	tick := time.NewTicker(connectEvery)
	defer tick.Stop()
	for {
		got, err := s.client.Metric(ctx, name+`{chain="`+chain+`",network="12345"}`)
		if err == nil && got >= want {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s of %s is %v, want %v: %v\n%s", name, chain, got, want, err, s.LogTail())
		}
	}
}

// withoutIndex passes requests on to a node but for those to its index.
func withoutIndex(t *testing.T, nodeURL string) string {
	t.Helper()
	u, err := url.Parse(nodeURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(u)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/ext/index/") {
			http.NotFound(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestPrimaryNetwork follows the P-, X- and C-Chain of a real network while
// transactions of all types are accepted.
func TestPrimaryNetwork(t *testing.T) {
	inTurn(t)
	w := useNetwork(t)
	node := w.Nodes[entryNode]
	dir := testDir(t)
	genesisFile := localGenesis(t, dir)
	s := primaryServer(t, dir, node.URL, "--genesis-file", genesisFile)
	ctx, cancel := context.WithTimeout(t.Context(), primaryTestWait)
	defer cancel()
	walks := s.walkAll(ctx)
	l := w.perform(ctx, t)
	// The first container of a chain's index is that of the block at height 1.
	chains := map[string]float64{
		"P": float64(l.P.Height()), "X": float64(l.X.Height()), "C-containers": float64(l.C.Height()),
	}
	for chain, want := range chains {
		s.awaitMetric(t, "quorate_index_height", chain, want)
	}
	if bare := s.metric(t, "quorate_container_bare_blocks_total"); bare != 0 {
		t.Errorf("%v blocks without a header", bare)
	}
	s.wantChecks(t, "P", "X", "C")
	t.Run("all answers", func(t *testing.T) { compareLedger(ctx, t, l, s) })
	t.Run("pages while blocks arrive", func(t *testing.T) { walks.judge(t, l) })
	t.Run("validators of each height", func(t *testing.T) {
		w.signHeights(ctx, t, s, w.emit(t, 1)[0].Unsigned, l.P.Height())
	})

	t.Run("a crash and no node", func(t *testing.T) {
		s.kill(t)
		dark := launch(t, quorate.Config{
			Args: append([]string{"serve", "--node-url", "http://127.0.0.1:" + freePort(t), "--http-host", "127.0.0.1", "--http-port", freePort(t),
				"--data-dir", filepath.Join(dir, "data"), "--sign-ahead=false", "--health-check-frequency", "1s"}, admitting...),
			Ready:   "quorate ready",
			LogPath: filepath.Join(dir, "dark.log"),
		})
		for chain, want := range chains {
			dark.awaitMetric(t, "quorate_index_height", chain, want)
		}
		dark.kill(t)
		s.restart(t)
		for chain, want := range chains {
			s.awaitMetric(t, "quorate_ingest_height", chain, want)
		}
		if err := s.Stop(); err != nil {
			t.Fatal(err)
		}
		s.running = false
		r := command(t, "verify-data", "--data-dir", filepath.Join(dir, "data"))
		for chain, want := range map[string]float64{"P": chains["P"] + 1, "X": chains["X"] + 1, "C": chains["C-containers"]} {
			// Every container, decoded by the server's codec and encoded again, is the same.
			line := regexp.MustCompile(`chain network-12345-` + strings.ToLower(chain) + `: .* sound, (\d+) decoded and encoded again\n`)
			found := line.FindStringSubmatch(r.Stdout)
			if r.Code != 0 || len(found) != 2 {
				t.Fatalf("verify-data: exit code %d, nothing of %s in %s%s", r.Code, chain, r.Stdout, r.Stderr)
			}
			if n, err := strconv.ParseFloat(found[1], 64); err != nil || n < want {
				t.Errorf("%v containers of %s are encoded again as they were, want %v", n, chain, want)
			}
		}
		w.wantSets(ctx, t, l, filepath.Join(dir, "data"))
	})
	t.Run("a node without an index", func(t *testing.T) {
		s := primaryServer(t, testDir(t), withoutIndex(t, node.URL))
		s.awaitMetric(t, "quorate_index_height", "P", chains["P"])
		s.awaitMetric(t, "quorate_index_height", "X", chains["X"])
		s.awaitMetric(t, "quorate_container_bare_blocks_total", "P", chains["P"])
		s.wantChecks(t, "P", "X", "C")
		// Without the genesis the supply does not follow from the blocks: it is the node's.
		want := `"stakingRatio":"` + l.StakingRatio() + `"`
		await(ctx, t, "the staking ratio of the node", func() (string, bool) {
			a, err := s.client.Get(ctx, "/v1/networks/fuji")
			if err != nil {
				return err.Error(), false
			}
			return string(a.Body) + ", want " + want, strings.Contains(string(a.Body), want)
		})
	})
}

// wantChecks waits until checks of chains pass.
func (s *server) wantChecks(t *testing.T, names ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), primaryWait)
	defer cancel()
	for _, name := range names {
		for {
			a, err := s.client.Get(ctx, "/ext/health")
			if err != nil {
				t.Fatal(err)
			}
			failing := failure(t, a.Body, name)
			if failing == "" {
				break
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				t.Fatalf("check %s: %s", name, failing)
			}
		}
	}
}

// failure returns why a check fails, empty if it passes.
func failure(t *testing.T, report []byte, name string) string {
	t.Helper()
	var r struct {
		Checks map[string]struct {
			Error     *string
			Timestamp time.Time
		}
	}
	if err := json.Unmarshal(report, &r); err != nil {
		t.Fatalf("%v in %s", err, report)
	}
	switch c, ok := r.Checks[name]; {
	case !ok:
		return "there is none"
	case c.Error != nil:
		return *c.Error
	}
	return ""
}
