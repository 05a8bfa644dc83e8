package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/avm"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	platformstatus "github.com/ava-labs/avalanchego/vms/platformvm/status"
)

// TestInfo asks the server, as its only address, for what icm-services' relayer asks at its start
// and wallets for their context, by the official client.
func TestInfo(t *testing.T) {
	beside(t)
	s, _, _ := serveDevnet(t)
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	client := info.NewClient(s.URL)
	tick := time.NewTicker(indexEvery)
	defer tick.Stop()
	network, err := client.GetNetworkID(ctx)
	for ; err != nil && ctx.Err() == nil; network, err = client.GetNetworkID(ctx) {
		<-tick.C // the node has yet to say which chains there are
	}
	if err != nil || network != constants.LocalID {
		t.Fatalf("network %d, %v", network, err)
	}
	if name, err := client.GetNetworkName(ctx); err != nil || name != constants.LocalName {
		t.Errorf("network %q, %v", name, err)
	}
	for alias, vm := range map[string]ids.ID{"P": constants.PlatformVMID, "X": constants.AVMID, "C": constants.EVMID} {
		id, err := client.GetBlockchainID(ctx, alias)
		if err != nil || (alias == "P") != (id == constants.PlatformChainID) {
			t.Errorf("%s is %s, %v", alias, id, err)
		}
		if ok, err := client.IsBootstrapped(ctx, id.String()); err != nil || !ok {
			t.Errorf("%s is bootstrapped: %v, %v", alias, ok, err)
		}
		if vms, err := client.GetVMs(ctx); err != nil || len(vms[vm]) != 1 {
			t.Errorf("virtual machines %v, %v", vms, err)
		}
	}
	if version, err := client.GetNodeVersion(ctx); err != nil || version.VMVersions["platform"] == "" {
		t.Errorf("version %+v, %v", version, err)
	}
	if upgrades, err := client.Upgrades(ctx); err != nil || upgrades.GraniteEpochDuration <= 0 || !upgrades.IsEtnaActivated(time.Now()) {
		t.Errorf("upgrades %+v, %v", upgrades, err)
	}
	// A relayer begins with validators whose addresses are in the list of peers.
	peers, err := client.Peers(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	validators, err := platformvm.NewClient(s.URL).GetCurrentValidators(ctx, constants.PrimaryNetworkID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(peers, func(p info.Peer) bool {
		return p.PublicIP.IsValid() && slices.ContainsFunc(validators, func(v platformvm.ClientPermissionlessValidator) bool { return v.NodeID == p.ID })
	}) {
		t.Errorf("none of %d peers is one of %d validators", len(peers), len(validators))
	}
	if id, _, err := client.GetNodeID(ctx); err == nil {
		t.Errorf("the node behind the server is told of: %s", id)
	}
}

// wallet is what the program in sdk prints of a server.
type wallet struct {
	Context struct {
		PBlockchainID, XBlockchainID, CBlockchainID, AVAXAssetID ids.ID
		BaseTxFee, NetworkID                                     uint64
		HRP                                                      string
	}
	NetworkName, NodeVersion, Helicon, TxID, Status string
	VMs, Peers                                      int
}

// TestWallet asks a server before a real network, as its only address, by Ava Labs' library
// for wallets, and has a transaction accepted through it.
func TestWallet(t *testing.T) {
	inTurn(t)
	node := useNetwork(t).Nodes[entryNode].URL
	s := primaryServer(t, testDir(t), node, "--index=false")
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	await(ctx, t, "the server knows the chains", func() (string, bool) {
		_, err := platformvm.NewClient(s.URL).GetHeight(ctx)
		return fmt.Sprint(err), err == nil
	})
	var got wallet
	out := output(t, installSDKs(t), "node", "wallet.mjs", s.URL, hex.EncodeToString(genesis.EWOQKey.Bytes()))
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
	client := info.NewClient(node)
	for chain, id := range map[string]ids.ID{"P": got.Context.PBlockchainID, "X": got.Context.XBlockchainID, "C": got.Context.CBlockchainID} {
		if want, err := client.GetBlockchainID(ctx, chain); err != nil || id != want {
			t.Errorf("%s is %s, of the node %s, %v", chain, id, want, err)
		}
	}
	asset, err := platformvm.NewClient(node).GetStakingAssetID(ctx, constants.PrimaryNetworkID)
	if err != nil || got.Context.AVAXAssetID != asset {
		t.Errorf("AVAX is %s, of the node %s, %v", got.Context.AVAXAssetID, asset, err)
	}
	fee, _, err := avm.NewClient(node, "X").GetTxFee(ctx)
	if err != nil || got.Context.BaseTxFee != fee {
		t.Errorf("a fee of %d, of the node %d, %v", got.Context.BaseTxFee, fee, err)
	}
	if got.Context.NetworkID != uint64(constants.LocalID) || got.Context.HRP != constants.LocalHRP || got.NetworkName != constants.LocalName ||
		got.VMs < 3 || got.Peers == 0 || got.NodeVersion == "" || got.Helicon == "" {
		t.Errorf("%s", out)
	}
	id, err := ids.FromString(got.TxID)
	if err != nil || got.Status != "Committed" {
		t.Fatalf("transaction %s is %s, %v", got.TxID, got.Status, err)
	}
	if r, err := platformvm.NewClient(node).GetTxStatus(ctx, id); err != nil || r.Status != platformstatus.Committed {
		t.Errorf("of the node the transaction is %v, %v", r, err)
	}
}
