package e2e

import (
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	platformapi "github.com/ava-labs/avalanchego/vms/platformvm/api"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"

	"quorate/e2e/author"
	"quorate/e2e/l1"
	"quorate/e2e/ledger"
	"quorate/e2e/localnet"
	"quorate/e2e/verify"
)

const (
	// primaryTestWait bounds all that the test of the primary network waits for.
	primaryTestWait = 8 * time.Minute
	// shortStake is how long the stakes take that end during the test. All of them have
	// to be accepted before the shortest ends, after two thirds of it.
	shortStake = 45 * time.Second
)

// localGenesis writes the genesis of the network "local" of today as its nodes make it,
// and returns the argument that names it.
func localGenesis(t *testing.T, dir string) string {
	t.Helper()
	raw, _, err := genesis.FromConfig(&genesis.LocalConfig)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "genesis")
	if err := os.WriteFile(path, []byte(hex.EncodeToString(raw)), 0o644); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d=%s", localnet.NetworkID, path)
}

// perform has the network accept transactions of all types while the server follows,
// waits until all stakes that are short have ended, and returns what came of it.
func (w *world) perform(ctx context.Context, t *testing.T) *ledger.Ledger {
	t.Helper()
	node := w.Nodes[entryNode]
	guests, err := w.Prepare(localnet.Join{Name: "staker", Count: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guests[0].Stop)
	if err := guests[0].Start(); err != nil {
		t.Fatal(err)
	}
	proof, err := guests[0].Possession()
	if err != nil {
		t.Fatal(err)
	}
	a, err := author.New(ctx, node.URL)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := a.Issue(node.NodeID); err != nil {
		t.Fatal(err)
	}
	w.awaitPeer(ctx, t, guests[0].NodeID)
	end, err := a.Perform(ctx, &author.Scene{
		Node: node.NodeID, Guest: guests[0].NodeID, Proof: proof, Short: shortStake,
		Sign: func(m *warp.UnsignedMessage) ([]byte, error) { return w.signNow(ctx, t, m.Bytes()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.emit(t, 2) // blocks of the C-Chain
	t.Logf("issued all in %v", time.Since(begin).Round(time.Millisecond))
	client := platformvm.NewClient(node.URL)
	await(ctx, t, "all short stakes end", func() (string, bool) {
		list, err := client.GetCurrentValidators(ctx, constants.PrimaryNetworkID, nil)
		if err != nil {
			return err.Error(), false
		}
		due := slices.ContainsFunc(list, func(v platformvm.ClientPermissionlessValidator) bool { return v.EndTime <= uint64(end.Unix()) })
		return "some do not", !due
	})
	// One more block, by whose time the subnet's validator has ended and an L1's cannot pay.
	if err := a.Pay(); err != nil {
		t.Fatal(err)
	}
	l, err := ledger.Read(ctx, node.URL)
	if err != nil {
		t.Fatal(err)
	}
	if left := l.Due(end); len(left) > 0 {
		t.Errorf("stakes that have not ended: %v", left)
	}
	kinds := l.Rewarded()
	for _, kind := range []string{"VALIDATOR", "DELEGATOR", "VALIDATOR_FEE", "refused"} {
		if kinds[kind] == 0 {
			t.Errorf("no stake ended with what is called %s: %v", kind, kinds)
		}
	}
	if err := l.Settle(ctx); err != nil {
		t.Fatalf("the ledger is not what the node says: %v", err)
	}
	t.Logf("the ledger has %s after %v", l, time.Since(begin).Round(time.Millisecond))
	return l
}

// awaitPeer waits until all nodes are connected to another one.
func (w *world) awaitPeer(ctx context.Context, t *testing.T, id ids.NodeID) {
	t.Helper()
	for _, node := range w.Nodes {
		client := info.NewClient(node.URL)
		await(ctx, t, "a connection to the guest", func() (string, bool) {
			peers, err := client.Peers(ctx, []ids.NodeID{id})
			return fmt.Sprint(err), err == nil && len(peers) == 1
		})
	}
}

// signNow signs with the keys of all nodes for the epoch that the P-Chain is in.
func (w *world) signNow(ctx context.Context, t *testing.T, unsigned []byte) ([]byte, error) {
	epoch, err := l1.Epoch(ctx, w.entry(), "P")
	if err != nil {
		return nil, err
	}
	v, err := verify.Fetch(ctx, w.entry(), constants.PrimaryNetworkID, platformapi.Height(epoch.PChainHeight))
	if err != nil {
		return nil, err
	}
	return w.signFor(t, v, unsigned, len(w.Nodes)), nil
}

// compareLedger compares all answers of a server with a ledger.
func compareLedger(ctx context.Context, t *testing.T, l *ledger.Ledger, s *server) {
	t.Helper()
	k := ledger.NewChecker(l, s.client, "fuji")
	k.Platform(ctx)
	k.Chains(ctx)
	t.Logf("compared %d answers", k.Asked())
	if err := k.Err(); err != nil {
		t.Error(err)
	}
}
