package network

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/source"
	"quorate/engine/source/platform"
)

// parsed reads a version such as 1.14.2; empty is the zero version.
func parsed(t *testing.T, text string) platform.Version {
	t.Helper()
	if text == "" {
		return platform.Version{}
	}
	v, err := platform.ParseVersion("avalanchego/" + text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestClaim: the version that peers are shown, by those of the followed nodes, what the
// time demands and what a third of the stake runs.
func TestClaim(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, demand, seen, want string }{
		{"1.14.2", "", "", "1.14.2"},
		{"1.14.2", "", "1.14.2", "1.14.2"},
		{"1.14.0 1.14.2 1.13.9", "", "1.15.0", "1.14.2"}, // the highest
		{"1.14.2", "1.15.0", "", "1.15.0"},               // a proxy that speaks of an old node
		{"1.14.2", "1.15.0", "1.15.3", "1.15.0"},
		{"1.15.1", "1.15.0", "1.15.3", "1.15.1"},
		{"1.14.2", "1.15.0", "1.14.2", "1.14.2"}, // but the network has not come so far
		{"1.99.0", "", "1.15.0", "1.15.0"},       // a node that boasts
		{"1.99.0", "1.15.0", "", "1.99.0"},
		{"2.0.0", "1.15.0", "2.0.0", "1.15.0"}, // what is not known here is not claimed
		{"2.0.0 1.15.4", "1.15.0", "2.0.0", "1.15.4"},
		{"2.0.0", "", "", "1.15.0"},
		{"2.0.0", "", "1.14.2", "1.14.2"},
		{"", "1.15.0", "", "1.15.0"}, // no node has answered yet
	} {
		var nodes []platform.Version
		for text := range strings.FieldsSeq(c.nodes) {
			nodes = append(nodes, parsed(t, text))
		}
		if got, want := claim(nodes, parsed(t, c.demand), parsed(t, c.seen)), parsed(t, c.want); got != want {
			t.Errorf("nodes %q, demanded %q, seen %q: %s, want %s", c.nodes, c.demand, c.seen, got, want)
		}
	}
	fork := platform.Version{Name: "fork", Major: 1, Minor: 20}
	if got := claim([]platform.Version{fork}, platform.Version{}, parsed(t, "1.15.0")).String(); got != "fork/1.15.0" {
		t.Errorf("another program is called %s", got)
	}
}

// TestDemanded: peers demand 1.15.0 from the activation of Helicon on.
func TestDemanded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		network uint32
		helicon string // empty: never
	}{{1, "2026-09-22T15:00:00Z"}, {5, "2026-07-28T15:00:00Z"}, {12345, ""}} {
		u := rules.UpgradesOf(c.network)
		at := time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC)
		if c.helicon != "" {
			var err error
			if at, err = time.Parse(time.RFC3339, c.helicon); err != nil {
				t.Fatal(err)
			}
			if got := demanded(u, at); got != parsed(t, "1.15.0") {
				t.Errorf("network %d at %s: %s", c.network, at, got)
			}
		}
		if got := demanded(u, at.Add(-time.Second)); got != (platform.Version{}) {
			t.Errorf("network %d before %s: %s", c.network, at, got)
		}
	}
	if got := demanded(rules.Upgrades{}, time.Now()); got != (platform.Version{}) {
		t.Errorf("not known: %s", got)
	}
}

// TestSeenVersion: a third of the stake decides, and what runs later versions counts for
// earlier ones too.
func TestSeenVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ nodes, want string }{ // weight:version; ? is not known
		{"30:1.15.0 30:1.14.2 30:1.14.2", "1.15.0"},
		{"29:1.15.0 31:1.14.2 30:1.14.0", "1.14.2"},
		{"20:1.16.0 10:1.15.0 60:1.14.0", "1.15.0"},
		{"20:1.16.0 9:1.15.0 61:1.14.0", "1.14.0"},
		{"90:1.15.0", "1.15.0"},
		{"30:1.15.0 60:?", "1.15.0"},
		{"29:1.15.0 61:?", ""},
		{"90:?", ""},
		{"30:2.0.0 60:1.15.0", "2.0.0"},
		{"20:1.15.0 10:1.14.2 60:?", "1.14.2"},
		{"18446744073709551600:1.15.0", "1.15.0"},
	} {
		var members []valset.Member
		running := make(map[chain.NodeID]string)
		for i, text := range strings.Fields(c.nodes) {
			weight, version, _ := strings.Cut(text, ":")
			id := chain.NodeID{byte(i + 1)}
			running[id] = "avalanchego/" + version
			w, err := strconv.ParseUint(weight, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			key := bls.SecretKeyFromSeed([]byte(strings.Repeat("seed", 8) + id.String())).PublicKey().Compressed()
			members = append(members, valset.Member{NodeID: id, PublicKey: key[:], Weight: w})
		}
		set, err := valset.New(chain.PrimaryNetworkID, 1, members, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := seenVersion(set, func(id chain.NodeID) (platform.Version, bool) {
			v, err := platform.ParseVersion(running[id])
			return v, err == nil
		})
		if got != parsed(t, c.want) {
			t.Errorf("%s: %s, want %q", c.nodes, got, c.want)
		}
	}
}

// TestPrograms: each followed node is asked what it runs. What one said last holds while
// it is silent; a node that is too old, or later than what is known here, is named.
func TestPrograms(t *testing.T) {
	t.Parallel()
	answers := []string{
		`"version":"avalanchego/1.14.2","rpcProtocolVersion":"45"`,
		`"version":"avalanchego/1.15.0","rpcProtocolVersion":"46"`,
		`"version":"avalanchego/2.0.0","rpcProtocolVersion":"46"`,
		"", // silent
	}
	var silent atomic.Bool // all of them
	var at []string
	for _, answer := range answers {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var req struct{ ID uint64 }
			if err := json.NewDecoder(r.Body).Decode(&req); err != nil || answer == "" || silent.Load() {
				http.Error(w, "not now", http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{%s}}`, req.ID, answer)
		}))
		t.Cleanup(s.Close)
		at = append(at, s.URL)
	}
	client, err := source.Open(at...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	n := &Network{cfg: Config{ID: 7}, source: client, facts: Record{Upgrades: &rules.Upgrades{Helicon: 1767323045}}}
	for _, all := range []bool{true, false} { // answer
		silent.Store(!all)
		first, err := n.askPrograms(t.Context())
		if (err == nil) != all || all && first.String() != "avalanchego/1.14.2" {
			t.Errorf("first %v, %v", first, err)
		}
		if got := n.Plugins(); !slices.Equal(got, []uint32{45, 46}) {
			t.Errorf("protocols %v", got)
		}
		want := "network 7: node " + at[0] + " runs avalanchego/1.14.2, and validators let in avalanchego/1.15.0 or later since 2026-01-02 03:04:05 UTC: upgrade the node, or follow another\n" +
			"network 7: node " + at[2] + " runs avalanchego/2.0.0, and this release knows major version 1 only: upgrade this server"
		if err := n.CheckVersions(); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	nodes, err := source.ParseEndpoints(at[1])
	if err != nil {
		t.Fatal(err)
	}
	client.SetNodes(nodes)
	if _, err := n.askPrograms(t.Context()); err == nil || n.CheckVersions() != nil {
		t.Errorf("of nodes that are followed no more: %v, %v", err, n.CheckVersions())
	}
}

// TestMayRefuse: validators that run a later patch close links for another reason.
func TestMayRefuse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		theirs, shown string
		want          bool
	}{
		{"1.15.0", "1.14.2", true}, {"1.15.3", "1.14.2", true}, {"2.0.0", "1.15.0", true},
		{"1.15.3", "1.15.0", false}, {"1.15.0", "1.15.0", false}, {"1.14.2", "1.15.0", false},
	} {
		if got := mayRefuse(parsed(t, c.theirs), parsed(t, c.shown)); got != c.want {
			t.Errorf("%s may refuse %s: %v", c.theirs, c.shown, got)
		}
	}
}
