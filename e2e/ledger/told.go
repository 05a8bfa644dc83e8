package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ava-labs/avalanchego/ids"
)

// toldAge is how old an uptime may be that a server shows.
const toldAge = 6 * time.Minute

// told is what the node says of validators that no block does.
type told struct {
	uptimes  map[ids.ID]float64 // by the validator's transaction, in per cent
	versions map[ids.NodeID]string
}

func (k *Checker) askNode(ctx context.Context) (*told, error) {
	out := &told{map[ids.ID]float64{}, map[ids.NodeID]string{}}
	validators, err := k.pClient.GetCurrentValidators(ctx, primaryNetwork, nil)
	if err != nil {
		return out, err
	}
	for _, v := range validators {
		if v.Uptime != nil {
			out.uptimes[v.TxID] = float64(*v.Uptime)
		}
	}
	peers, err := k.iClient.Peers(ctx, nil)
	if err != nil {
		return out, err
	}
	for _, p := range peers {
		out.versions[p.ID] = p.Version
	}
	self, _, err := k.iClient.GetNodeID(ctx)
	if err != nil {
		return out, err
	}
	version, err := k.iClient.GetNodeVersion(ctx)
	out.versions[self] = version.Version
	return out, err
}

// untold compares uptimes and versions of validators with what the node says now, and
// takes them out.
func (k *Checker) untold(said *told, got list) list {
	for _, v := range got {
		o, _ := v.(object)
		version, hasVersion := o["avalancheGoVersion"]
		uptime, hasUptime := o["uptimePerformance"]
		delete(o, "avalancheGoVersion")
		delete(o, "uptimePerformance")
		id, err := ids.FromString(fmt.Sprint(o["txHash"]))
		s := k.stakers[id]
		if err != nil || s == nil {
			continue // which is found when the rest is compared
		}
		if s.Status != active {
			if hasVersion || hasUptime {
				k.problem("validator %s is %s and has version %v and uptime %v", id, s.Status, version, uptime)
			}
			continue
		}
		if want, ok := said.versions[s.Node]; ok != hasVersion || ok && version != want {
			k.problem("validator %s is of version %v, want %s", id, version, want)
		}
		k.uptime(s, uptime, said)
	}
	return got
}

// uptime compares an uptime, which is of some time within what it may be old. Of who has
// begun since then, after the genesis, there may be none.
func (k *Checker) uptime(s *Staker, got any, said *told) {
	want, ok := said.uptimes[s.tx.ID]
	age := time.Since(time.Unix(int64(s.Start), 0))
	if got == nil && (!ok || s.Start >= k.P.Blocks[1].Time && age < toldAge) {
		return
	}
	n, _ := got.(json.Number)
	v, err := n.Float64()
	margin := 0.1 + 100*min(1, float64(toldAge)/float64(max(age, 1)))
	if err != nil || !ok || v < 0 || v > 100 || math.Abs(v-want) > margin {
		k.problem("validator %s has the uptime %v, want %v", s.tx.ID, got, want)
	}
}

// versions checks how stake is distributed over versions and takes it out: it is that of
// some moment, and all nodes run the same version.
func (k *Checker) versions(network object) {
	details, _ := network["validatorDetails"].(object)
	shares, _ := details["stakingDistributionByVersion"].(list)
	delete(details, "stakingDistributionByVersion")
	if len(shares) != 1 {
		k.problem("stake of versions: %v", shares)
		return
	}
	genesis, all := 0, 0
	for _, s := range k.stakes {
		if s.Subnet == primaryNetwork && !s.delegator {
			all++
			if s.ended == nil && s.Start < k.P.Blocks[1].Time {
				genesis++
			}
		}
	}
	o, _ := shares[0].(object)
	version, _ := o["version"].(string)
	if n := numberOf(o, "validatorCount"); n < int64(genesis) || n > int64(all) || !strings.HasPrefix(version, "avalanchego/") || o["amountStaked"] == nil {
		k.problem("stake of version %v, want %d to %d validators", o, genesis, all)
	}
}
