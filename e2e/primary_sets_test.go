package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	platformapi "github.com/ava-labs/avalanchego/vms/platformvm/api"

	"quorate/e2e/ledger"
)

// printedSet is a line of what quorate validators prints.
type printedSet struct {
	Height     uint64
	SubnetID   ids.ID
	Validators []struct {
		NodeID    ids.NodeID
		PublicKey string
		Weight    uint64 `json:",string"`
	}
}

// wantSets compares the validator sets of all subnets at each height of the P-Chain, as a
// server's rows have them, with the node's. The server must have stopped.
func (w *world) wantSets(ctx context.Context, t *testing.T, l *ledger.Ledger, dataDir string) {
	t.Helper()
	last := l.P.Height()
	r := command(t, "validators", "--data-dir", dataDir, "0", fmt.Sprint(last))
	if r.Code != 0 {
		t.Fatalf("validators: exit code %d: %s", r.Code, r.Stderr)
	}
	type place struct {
		height uint64
		subnet ids.ID
	}
	got := map[place]map[ids.NodeID]string{}
	for d := json.NewDecoder(strings.NewReader(r.Stdout)); d.More(); {
		var s printedSet
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		members := map[ids.NodeID]string{}
		for _, v := range s.Validators {
			members[v.NodeID] = fmt.Sprint(v.Weight, " ", v.PublicKey)
		}
		got[place{s.Height, s.SubnetID}] = members
	}
	client := platformvm.NewClient(w.entry())
	compared, others, keyless := 0, 0, 0
	for h := uint64(0); h <= last; h++ {
		for _, subnet := range l.Subnets() {
			set, err := client.GetValidatorsAt(ctx, subnet, platformapi.Height(h))
			if err != nil {
				t.Fatalf("validators of %s at %d: %v", subnet, h, err)
			}
			at := got[place{h, subnet}]
			delete(got, place{h, subnet})
			if len(at) != len(set) {
				t.Errorf("%d validators of %s at %d, want %d", len(at), subnet, h, len(set))
			}
			for id, v := range set {
				want := fmt.Sprint(v.Weight, " ")
				if v.PublicKey != nil {
					want += fmt.Sprintf("0x%x", bls.PublicKeyToCompressedBytes(v.PublicKey))
				} else {
					keyless++
				}
				if at[id] != want {
					t.Errorf("validator %s of %s at %d has %q, want %q", id, subnet, h, at[id], want)
				}
			}
			compared++
			if subnet != constants.PrimaryNetworkID {
				others += len(set)
			}
		}
	}
	if len(got) > 0 || others == 0 {
		t.Errorf("%d sets of %d heights are compared, %d members of subnets; the node has nothing of %v", compared, last+1, others, got)
	}
	t.Logf("%d sets of %d heights are the node's, with %d members of subnets, %d members without a key", compared, last+1, others, keyless)
}
