package e2e

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/vms/platformvm"

	"quorate/e2e/localnet"
	"quorate/e2e/verify"
)

const dialWait = 5 * time.Second

// nodeAPI is what the official clients say of a node.
type nodeAPI struct {
	self ids.NodeID
	set  *verify.Verifier
}

// checkNodeAPI asks a node, by avalanchego's own clients, everything that the
// existing relayer aggregator asks, and checks that the answers fit together. The
// same checks hold for a real node and for the simulated one.
func checkNodeAPI(t *testing.T, url string, validators int) nodeAPI {
	t.Helper()
	// At the start the relayer aggregator asks for height 0.
	if _, err := verify.Fetch(t.Context(), url, constants.PrimaryNetworkID, 0); err != nil {
		t.Errorf("validators at height 0: %v", err)
	}
	v, err := verify.Fetch(t.Context(), url, constants.PrimaryNetworkID, verify.Proposed)
	if err != nil {
		t.Fatal(err)
	}
	if v.NetworkID != localnet.NetworkID {
		t.Errorf("network %d, want %d", v.NetworkID, localnet.NetworkID)
	}
	if got := len(v.Set.Validators); got != validators {
		t.Errorf("%d validators with a key, want %d", got, validators)
	}
	api := nodeAPI{set: v, self: checkInfo(t, url)}
	checkPeers(t, url, api, validators)
	checkPlatform(t, url, api, validators)
	return api
}

func checkInfo(t *testing.T, url string) ids.NodeID {
	t.Helper()
	ctx, client := t.Context(), info.NewClient(url)
	self, pop, err := client.GetNodeID(ctx)
	if err != nil {
		t.Fatalf("info.getNodeID: %v", err)
	}
	if pop == nil {
		t.Error("info.getNodeID gives no proof of possession")
	} else if err := pop.Verify(); err != nil {
		t.Errorf("proof of possession of the node's key: %v", err)
	}
	version, err := client.GetNodeVersion(ctx)
	if err != nil {
		t.Errorf("info.getNodeVersion: %v", err)
	} else if !strings.HasPrefix(version.Version, "avalanchego/1.") {
		t.Errorf("version %q", version.Version)
	}
	for _, chain := range []string{"P", "C"} {
		ok, err := client.IsBootstrapped(ctx, chain)
		if err != nil || !ok {
			t.Errorf("info.isBootstrapped of %s: %v, %v", chain, ok, err)
		}
	}
	address, err := client.GetNodeIP(ctx)
	if err != nil {
		t.Errorf("info.getNodeIP: %v", err)
	} else if !address.Addr().IsLoopback() {
		t.Errorf("info.getNodeIP gives %v", address)
	} else {
		dial(t, address.String())
	}
	return self
}

// checkPeers wants all validators but the node itself, each at an address that accepts connections.
func checkPeers(t *testing.T, url string, api nodeAPI, validators int) {
	t.Helper()
	ctx, client := t.Context(), info.NewClient(url)
	known := map[ids.NodeID]bool{}
	for _, v := range api.set.Set.Validators {
		for _, id := range v.NodeIDs {
			known[id] = true
		}
	}
	if !known[api.self] {
		t.Errorf("the node itself, %s, is no validator", api.self)
	}
	peers, err := client.Peers(ctx, nil)
	if err != nil {
		t.Fatalf("info.peers: %v", err)
	}
	if len(peers) != validators-1 {
		t.Fatalf("%d peers, want %d", len(peers), validators-1)
	}
	for _, p := range peers {
		if p.ID == api.self || !known[p.ID] {
			t.Errorf("peer %s is the node itself or no validator", p.ID)
		}
		known[p.ID] = false // each once
		if !strings.HasPrefix(p.Version, "avalanchego/1.") {
			t.Errorf("peer %s has version %q", p.ID, p.Version)
		}
		dial(t, p.PublicIP.String())
	}
	one, err := client.Peers(ctx, []ids.NodeID{peers[0].ID})
	if err != nil || len(one) != 1 || one[0].ID != peers[0].ID {
		t.Errorf("info.peers of %s alone: %v, %v", peers[0].ID, one, err)
	}
}

func dial(t *testing.T, address string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, dialWait)
	if err != nil {
		t.Errorf("connect to a claimed address: %v", err)
		return
	}
	conn.Close()
}

func checkPlatform(t *testing.T, url string, api nodeAPI, validators int) {
	t.Helper()
	ctx, client := t.Context(), platformvm.NewClient(url)
	height, err := client.GetHeight(ctx)
	if err != nil {
		t.Errorf("platform.getHeight: %v", err)
	}
	proposed, err := client.GetProposedHeight(ctx)
	if err != nil || proposed > height {
		t.Errorf("platform.getProposedHeight: %d above the height %d, or %v", proposed, height, err)
	}
	cChain, err := info.NewClient(url).GetBlockchainID(ctx, "C")
	if err != nil {
		t.Fatalf("info.getBlockchainID of C: %v", err)
	}
	subnet, err := client.ValidatedBy(ctx, cChain)
	if err != nil || subnet != constants.PrimaryNetworkID {
		t.Errorf("platform.validatedBy of the C-Chain: %s, %v", subnet, err)
	}
	unknown := ids.GenerateTestID()
	if subnet, err := client.ValidatedBy(ctx, unknown); err == nil {
		t.Errorf("platform.validatedBy of an unknown chain: %s and no error", subnet)
	}
	for _, id := range []ids.ID{constants.PrimaryNetworkID, unknown} {
		if _, err := client.GetSubnet(ctx, id); err == nil {
			t.Errorf("platform.getSubnet of %s, which is no subnet, gives no error", id)
		}
	}
	checkCurrent(t, client, api, validators)
}

// checkCurrent compares the current validators with the set by height.
func checkCurrent(t *testing.T, client *platformvm.Client, api nodeAPI, validators int) {
	t.Helper()
	current, err := client.GetCurrentValidators(t.Context(), constants.PrimaryNetworkID, nil)
	if err != nil {
		t.Fatalf("platform.getCurrentValidators: %v", err)
	}
	if len(current) != validators {
		t.Errorf("%d current validators, want %d", len(current), validators)
	}
	type entry struct {
		weight uint64
		key    []byte
	}
	want := map[ids.NodeID]entry{}
	for _, v := range api.set.Set.Validators {
		for _, id := range v.NodeIDs {
			want[id] = entry{v.Weight, bls.PublicKeyToCompressedBytes(v.PublicKey)}
		}
	}
	for _, c := range current {
		w, weight := want[c.NodeID], c.Weight
		if c.DelegatorWeight != nil {
			weight += *c.DelegatorWeight // the set has them in the validator's weight
		}
		if weight != w.weight {
			t.Errorf("%s has weight %d now and %d in the set", c.NodeID, weight, w.weight)
		}
		if c.Signer == nil || !bytes.Equal(c.Signer.PublicKey[:], w.key) {
			t.Errorf("%s has another key now than in the set", c.NodeID)
		}
	}
}

// TestNodeClients shows that the checks of the simulated network hold for a real node.
func TestNodeClients(t *testing.T) {
	w := useNetwork(t)
	api := checkNodeAPI(t, w.entry(), localnet.MaxNodes)
	if want := w.Nodes[entryNode].NodeID; api.self != want {
		t.Errorf("node ID %s, want %s", api.self, want)
	}
}
