package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/rpc"

	"quorate/e2e/contracts"
	"quorate/e2e/localnet"
	"quorate/e2e/vectors"
)

// recordUpgrades is where TestUpgrades writes blocks of each phase: the files
// engine/source/evm/testdata/upgrades-*.json are such.
var recordUpgrades = flag.String("record-upgrades", "", "write blocks of each upgrade to files whose names begin so")

const (
	upgradesNetwork = 13337
	// upgradesLead is how long after the node's start the first upgrade comes: by then
	// the server follows it. upgradesGap is how long after each other they come. On a
	// machine too slow for that, upgradesTries networks are tried, each with twice of both.
	upgradesLead, upgradesGap = 25 * time.Second, 4 * time.Second
	upgradesTries             = 3
	upgradesHealth            = 90 * time.Second
	upgradesWait              = 8 * time.Minute
)

// phase is an upgrade and the members of headers that are there from it on.
type phase struct {
	name    string
	at      func(c *upgrade.Config) *time.Time
	members []string
}

// phases are all upgrades that nodes of this module's release can apply, in order. Helicon,
// which changes the C-Chain's headers, needs v1.15.0: it is tried by recordings.
var phases = []phase{
	{"Apricot 1", func(c *upgrade.Config) *time.Time { return &c.ApricotPhase1Time }, nil}, // extDataHash, zero before
	{"Apricot 2", func(c *upgrade.Config) *time.Time { return &c.ApricotPhase2Time }, nil},
	{"Apricot 3", func(c *upgrade.Config) *time.Time { return &c.ApricotPhase3Time }, []string{"baseFeePerGas"}},
	{"Apricot 4", func(c *upgrade.Config) *time.Time { return &c.ApricotPhase4Time }, []string{"extDataGasUsed", "blockGasCost"}},
	{"Apricot 5", func(c *upgrade.Config) *time.Time { return &c.ApricotPhase5Time }, nil},
	{"Apricot before 6", func(c *upgrade.Config) *time.Time { return &c.ApricotPhasePre6Time }, nil},
	{"Apricot 6", func(c *upgrade.Config) *time.Time { return &c.ApricotPhase6Time }, nil},
	{"Apricot after 6", func(c *upgrade.Config) *time.Time { return &c.ApricotPhasePost6Time }, nil},
	{"Banff", func(c *upgrade.Config) *time.Time { return &c.BanffTime }, nil},
	{"Cortina", func(c *upgrade.Config) *time.Time { return &c.CortinaTime }, nil},
	{"Durango", func(c *upgrade.Config) *time.Time { return &c.DurangoTime }, nil},
	{"Etna", func(c *upgrade.Config) *time.Time { return &c.EtnaTime }, []string{"blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot"}},
	{"Fortuna", func(c *upgrade.Config) *time.Time { return &c.FortunaTime }, nil},
	{"Granite", func(c *upgrade.Config) *time.Time { return &c.GraniteTime }, []string{"timestampMilliseconds", "minDelayExcess"}},
}

// optional are the members that came with upgrades.
func optional() (names []string) {
	for _, p := range phases {
		names = append(names, p.members...)
	}
	return names
}

// course is a network with the upgrades that it turns on by time. Those before are
// there from genesis, those after never come.
type course struct {
	name string
	// chain is the EVM chain ID of its C-Chain.
	chain       uint64
	first, last string // phases by name
}

// courses: no single network can turn all upgrades on. Only chains with the main
// network's ID, or Fuji's, have Apricot phases 2 and 3 by time; on any other they are
// there from genesis or never. But on those Berlin and London come by the main
// network's heights, and what needs London, as Etna does, cannot be there before.
var courses = []course{
	{"early", 43114, "Apricot 1", "Durango"},
	{"late", 43112, "Apricot 4", "Granite"},
}

// split returns the phases that are there from genesis, those that come by time, and
// those that never come.
func (c *course) split() (genesis, timed, never []phase) {
	index := func(name string) int { return slices.IndexFunc(phases, func(p phase) bool { return p.name == name }) }
	from, to := index(c.first), index(c.last)+1
	return phases[:from], phases[from:to], phases[to:]
}

// names begins with that of the time before the first upgrade, which is empty.
func (c *course) names() []string {
	names := []string{""}
	_, timed, _ := c.split()
	for _, p := range timed {
		names = append(names, p.name)
	}
	return names
}

// config has the upgrades come one by one from first on.
func (c *course) config(first time.Time, gap time.Duration) upgrade.Config {
	cfg := upgrade.Default
	genesis, timed, never := c.split()
	for _, p := range genesis {
		*p.at(&cfg) = upgrade.InitiallyActiveTime
	}
	for i, p := range timed {
		*p.at(&cfg) = first.Add(time.Duration(i) * gap).UTC()
	}
	for _, p := range never {
		*p.at(&cfg) = upgrade.UnscheduledActivationTime
	}
	return cfg
}

// TestUpgrades has networks of one node turn upgrades on, one after the other, with
// blocks in between: all are checked against their hash by a server that follows and
// by one that catches up, and are what the node says.
func TestUpgrades(t *testing.T) {
	beside(t)
	product(t) // or else it is built while the upgrades come
	release, err := localnet.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range courses {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), upgradesWait)
			defer cancel()
			lead, gap := upgradesLead, upgradesGap
			for try := 1; ; try++ {
				n, missed := startUpgrades(ctx, t, release, &c, lead, gap)
				if len(missed) == 0 {
					n.judge(ctx, t)
					return
				}
				n.Close()
				if try == upgradesTries {
					t.Fatalf("no block in phases %v, with %v between them", missed, gap)
				}
				t.Logf("no block in phases %v: once more, with twice the time", missed)
				lead, gap = 2*lead, 2*gap
			}
		})
	}
}

// upgraded is a network whose upgrades have all come.
type upgraded struct {
	*localnet.Network
	course *course
	server *server             // that has followed
	counts map[string][]uint64 // heights of the blocks by phase; the one before all is ""
}

func (n *upgraded) url() string { return n.Nodes[0].URL + "/ext/bc/C/rpc" }

// startUpgrades runs a network up to its last upgrade. missed are the phases
// without a block.
func startUpgrades(ctx context.Context, t *testing.T, release *localnet.Release, c *course, lead, gap time.Duration) (n *upgraded, missed []string) {
	t.Helper()
	first := time.Now().Add(lead).Truncate(time.Second)
	cfg := c.config(first, gap)
	_, timed, _ := c.split()
	end := *timed[len(timed)-1].at(&cfg)
	network, err := localnet.Start(ctx, localnet.Config{
		Nodes: 1, Release: release, Dir: testDir(t), Spawner: shared.spawner, Progress: os.Stderr, HealthTimeout: upgradesHealth,
		Custom: &localnet.Custom{NetworkID: upgradesNetwork, ChainNumber: c.chain, Upgrades: cfg},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	n = &upgraded{Network: network, course: c, counts: make(map[string][]uint64)}
	s, err := contracts.NewSession(ctx, n.url())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	last := n.note(ctx, t, &cfg, s)
	n.server = startIndexer(t, network.Nodes[0].URL, "--verify=full")
	for last.Before(end) {
		last = n.note(ctx, t, &cfg, s)
	}
	for _, name := range c.names() {
		if len(n.counts[name]) == 0 {
			missed = append(missed, name)
		}
	}
	return n, missed
}

// note has a transaction accepted, notes the phase of its block and returns its time.
func (n *upgraded) note(ctx context.Context, t *testing.T, cfg *upgrade.Config, s *contracts.Session) time.Time {
	t.Helper()
	receipts, err := s.Send(ctx, contracts.Tx{From: s.Rich, To: &s.Rich.Address, Value: wei(1), Gas: 21_000})
	if err != nil {
		t.Fatalf("a transaction after %v: %v", slices.Sorted(maps.Keys(n.counts)), err)
	}
	height := receipts[0].BlockNumber.Uint64()
	header := n.headers(ctx, t, height, height)[0]
	var seconds hexutil.Uint64
	if err := json.Unmarshal(header["timestamp"], &seconds); err != nil {
		t.Fatal(err)
	}
	at, name := time.Unix(int64(seconds), 0), ""
	_, timed, _ := n.course.split()
	for _, p := range timed {
		if !at.Before(*p.at(cfg)) {
			name = p.name
		}
	}
	n.counts[name] = append(n.counts[name], height)
	return at
}

// headers reads blocks of the node as it writes them.
func (n *upgraded) headers(ctx context.Context, t *testing.T, from, to uint64) []map[string]json.RawMessage {
	t.Helper()
	client, err := rpc.DialContext(ctx, n.url())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	list := make([]map[string]json.RawMessage, to-from+1)
	for i := range list {
		if err := client.CallContext(ctx, &list[i], "eth_getBlockByNumber", hexutil.Uint64(from+uint64(i)), false); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// judge compares what servers have of the chain, once all upgrades have come.
func (n *upgraded) judge(ctx context.Context, t *testing.T) {
	t.Helper()
	n.checkMembers(ctx, t)
	n.changeFields(ctx, t)
	late := startIndexer(t, n.Nodes[0].URL, "--verify=full")
	for _, s := range []*server{n.server, late} {
		j := newJudge(t, s, n.url(), "C", avaxCoin)
		k := j.checker(t, false)
		k.Blocks(ctx, 1)
		k.SingleTxs(ctx, 1)
		if err := k.Err(); err != nil {
			t.Error(err)
		}
		checkVerified(t, s)
		// Its health is red all the time: a node alone has no validators to connect to.
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		s.running = false
		data := filepath.Join(filepath.Dir(s.LogPath()), "data")
		if r := command(t, "check", "--data-dir", data); r.Code != 0 || !strings.Contains(r.Stdout, " 0 differ") {
			t.Errorf("check: exit code %d: %s%s", r.Code, r.Stdout, r.Stderr)
		}
	}
}

// checkMembers checks that headers have the members of their phase and no others:
// or else nothing was tried of them.
func (n *upgraded) checkMembers(ctx context.Context, t *testing.T) {
	t.Helper()
	const zero = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
	var want []string
	genesis, timed, _ := n.course.split()
	for _, p := range genesis {
		want = append(want, p.members...)
	}
	for i, name := range n.course.names() {
		if i > 0 {
			want = append(want, timed[i-1].members...)
		}
		for _, height := range n.counts[name] {
			header := n.headers(ctx, t, height, height)[0]
			for _, m := range optional() {
				if _, has := header[m]; has != slices.Contains(want, m) {
					t.Errorf("block %d of phase %q: %s there: %v", height, name, m, has)
				}
			}
			if got := string(header["extDataHash"]) == zero; got != (i == 0 && len(genesis) == 0) {
				t.Errorf("block %d of phase %q: extDataHash %s", height, name, header["extDataHash"])
			}
		}
		t.Logf("%-16s blocks %v", name, n.counts[name])
	}
}

// changeFields has coreth's own package hash a block of each phase, as it is and with each
// field of its header changed.
func (n *upgraded) changeFields(ctx context.Context, t *testing.T) {
	t.Helper()
	client, err := rpc.DialContext(ctx, n.url())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var list []*vectors.Block
	for _, name := range n.course.names() {
		height := hexutil.Uint64(n.counts[name][0])
		var block, receipts json.RawMessage
		if err := client.CallContext(ctx, &block, "eth_getBlockByNumber", height, true); err != nil {
			t.Fatal(err)
		}
		if err := client.CallContext(ctx, &receipts, "eth_getBlockReceipts", height); err != nil {
			t.Fatal(err)
		}
		b, err := vectors.ReadFields(cmp.Or(name, "before"), block, receipts)
		if err != nil {
			t.Errorf("block %d: %v", height, err)
			continue
		}
		list = append(list, b)
	}
	if *recordUpgrades == "" || t.Failed() {
		return
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fmt.Sprintf("%s-%s.json", *recordUpgrades, n.course.name), append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
}
