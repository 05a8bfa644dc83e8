package bench

import (
	"os"
	"strconv"
	"testing"
	"time"

	"quorate/engine/archive"
	"quorate/engine/archive/container"
	"quorate/engine/chain"
	"quorate/engine/chain/genesis"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/follow"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	"quorate/engine/source"
	containersource "quorate/engine/source/container"
	store "quorate/engine/store/index"
)

// The environment variables of BenchmarkCatchUpNode: the address of a real node with an
// index, the ID of its network, and avalanchego's own genesis file of it.
const (
	nodeURL     = "QUORATE_BENCH_NODE"
	nodeNetwork = "QUORATE_BENCH_NETWORK"
	nodeGenesis = "QUORATE_BENCH_GENESIS"
)

// realNode is the P-Chain of a real node.
type realNode struct {
	catchUpRig
	network uint32
	last    uint64
}

func newRealNode(t testing.TB) *realNode {
	t.Helper()
	if os.Getenv(nodeURL) == "" {
		t.Skipf("without %s there is no real node", nodeURL)
	}
	node, err := source.Open(os.Getenv(nodeURL))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	network, err := strconv.ParseUint(os.Getenv(nodeNetwork), 10, 32)
	if err != nil {
		t.Fatalf("%s: %v", nodeNetwork, err)
	}
	file, err := os.ReadFile(os.Getenv(nodeGenesis))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := genesis.FromConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &realNode{network: uint32(network), catchUpRig: catchUpRig{primaryHistory: &primaryHistory{}, node: node}}
	if r.genesis, err = platform.ParseGenesis(raw); err != nil {
		t.Fatal(err)
	}
	r.begin = primary.GenesisID(raw)
	client, err := containersource.New(containersource.Config{Chain: primary.PChain, Node: node, Genesis: r.begin})
	if err != nil {
		t.Fatal(err)
	}
	head, err := client.Tip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.last = head.Height
	return r
}

// alone returns what it takes to read all blocks and to keep nothing.
func (r *realNode) alone(t testing.TB, now clock) time.Duration {
	t.Helper()
	start := now()
	if err := r.read(primary.PChain, chain.PlatformChainID, r.last, new(unkept)); err != nil {
		t.Fatal(err)
	}
	return now() - start
}

// whole returns what it takes to archive all blocks and to make all their rows.
func (r *realNode) whole(t testing.TB, now clock) time.Duration {
	t.Helper()
	db := openWith(t, t.TempDir(), store.Options{})
	rows, err := pchain.Open(db, pchain.Config{Network: r.network, Genesis: r.genesis, Upgrades: &rules.Upgrades{}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: container.KindOf(primary.PChain)})
	if err != nil {
		t.Fatal(err)
	}
	start := now()
	if err := r.read(primary.PChain, chain.PlatformChainID, r.last, follow.NewPrimarySink(a, rows, primary.PChain)); err != nil {
		t.Fatal(err)
	}
	took := now() - start
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return took
}

// BenchmarkCatchUpNode is BenchmarkCatchUp with the P-Chain of a real node, which
// environment variables name.
func BenchmarkCatchUpNode(b *testing.B) {
	r := newRealNode(b)
	r.alone(b, wall())
	var ours, alone []float64
	for b.Loop() {
		alone = append(alone, float64(r.alone(b, wall())))
		ours = append(ours, float64(r.whole(b, wall())))
	}
	blocks := float64(r.last + 1)
	b.ReportMetric(blocks/(median(ours)/1e9), "blocks/s")
	b.ReportMetric(blocks/(median(alone)/1e9), "alone-blocks/s")
	b.ReportMetric(median(alone)/median(ours), "x/alone")
}
