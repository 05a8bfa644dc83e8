package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/vms/platformvm"
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
