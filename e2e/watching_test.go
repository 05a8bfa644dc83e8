package e2e

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/avalanchego/utils/constants"

	"quorate/e2e/emit"
	"quorate/e2e/localnet"
	"quorate/e2e/verify"
)

const (
	watchingNetwork, watchingNumber = 13339, 43113002
	// watchingWait is far more than 100 transactions take, and far less than a node that
	// waits for our votes does.
	watchingWait = 4 * time.Minute
	// A block takes 2 s, so that transactions come by the burst.
	watchingBursts, watchingBurst = 20, 5
)

// TestWatching: a node without sybil protection, which takes every peer for a validator and
// polls it about each block, mines 100 transactions while two servers follow it. Both have
// messages signed in between, and say in health how they are connected.
func TestWatching(t *testing.T) {
	beside(t)
	product(t)
	release, err := localnet.Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), watchingWait)
	defer cancel()
	network, err := localnet.Start(ctx, localnet.Config{
		Nodes: 1, Release: release, Dir: testDir(t), Spawner: shared.spawner, Progress: os.Stderr,
		Custom: &localnet.Custom{NetworkID: watchingNetwork, ChainNumber: watchingNumber, Upgrades: upgrade.Default, Staked: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	node := network.Nodes[0].URL
	servers := []*server{startIndexer(t, node), startIndexer(t, node, "--index=false")}
	emitter, err := emit.Dial(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	defer emitter.Close()
	oracle, err := verify.Fetch(ctx, node, constants.PrimaryNetworkID, verify.Proposed)
	if err != nil {
		t.Fatal(err)
	}
	begin, slowest := time.Now(), time.Duration(0)
	for i := range watchingBursts {
		sent := time.Now()
		messages, err := emitter.Send(ctx, payloads(watchingBurst))
		if err != nil {
			t.Fatalf("%d transactions were mined in %v, and then: %v\n%s", i*watchingBurst, time.Since(begin), err, servers[0].LogTail())
		}
		slowest = max(slowest, time.Since(sent))
		if i%5 != 4 {
			continue
		}
		for k, s := range servers {
			unsigned := messages[k].Unsigned
			signed, _ := s.aggregate(t, unsigned, fullBuffer)
			mustVerify(t, oracle, signed, unsigned)
		}
	}
	t.Logf("%d transactions in %v, the slowest burst of %d in %v", watchingBursts*watchingBurst, time.Since(begin), watchingBurst, slowest)
	for _, s := range servers {
		s.checkOnRequest(ctx, t)
	}
}

// checkOnRequest checks that health says that the only peer has no lasting link, and why.
func (s *server) checkOnRequest(ctx context.Context, t *testing.T) {
	t.Helper()
	await(ctx, t, "health that says it", func() (string, bool) {
		status, body, err := getBody(ctx, s.URL+"/ext/health")
		if err != nil {
			t.Fatal(err)
		}
		var report health.APIReply
		var msg struct {
			ConnectedPeers, PeersOnRequest int
			Note                           string
		}
		if err := json.Unmarshal(body, &report); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
		raw, err := json.Marshal(report.Checks["network"].Details)
		if err == nil {
			err = json.Unmarshal(raw, &msg)
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(body), status == 200 && report.Healthy && msg.ConnectedPeers == 1 && msg.PeersOnRequest == 1 &&
			strings.Contains(msg.Note, "--sybil-protection-enabled=false")
	})
}
