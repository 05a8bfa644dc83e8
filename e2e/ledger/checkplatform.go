package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
)

// Platform compares subnets, blockchains, stakers, rewards and validators of L1s.
func (k *Checker) Platform(ctx context.Context) {
	k.details(ctx)
	k.subnetPages(ctx)
	k.blockchainPages(ctx)
	k.validators(ctx)
	k.rewardAddresses(ctx)
	k.delegatorPages(ctx)
	k.members(ctx)
	k.rewardPages(ctx)
	k.pendingPages(ctx)
	k.stakingTxs(ctx)
	k.metrics(ctx)
	k.memberFees(ctx)
	k.burnedFees(ctx)
}

func (k *Checker) details(ctx context.Context) {
	validators, staked, delegators, delegated := k.totals(primaryNetwork)
	got := k.get(ctx, k.root, http.StatusOK)
	k.versions(got)
	k.same("network", got, object{
		"validatorDetails": object{
			"validatorCount": validators, "totalAmountStaked": text(staked),
			"stakingRatio": k.StakingRatio(),
		},
		"delegatorDetails": object{"delegatorCount": delegators, "totalAmountStaked": text(delegated)},
	})
}

// StakingRatio returns which part of the supply is staked, as it is shown.
func (l *Ledger) StakingRatio() string {
	_, staked, _, delegated := l.totals(primaryNetwork)
	return strings.TrimRight(strings.TrimRight(string(ratio(staked+delegated, l.supply, 1)), "0"), ".")
}

// withoutGenesis compares the genesis data of blockchains in answers with those of their
// transactions and takes them out.
func (k *Checker) withoutGenesis(v any) any {
	switch v := v.(type) {
	case list:
		for i := range v {
			v[i] = k.withoutGenesis(v[i])
		}
	case object:
		id, vm := v["blockchainId"].(string)
		switch info, ok := v["blockchainInfo"].(object); {
		case ok:
			k.genesisOf(fmt.Sprint(v["txHash"]), info, false)
		case vm && v["vmId"] != nil:
			k.genesisOf(id, v, true)
		}
		if chains, ok := v["blockchains"]; ok {
			k.withoutGenesis(chains)
		}
	}
	return v
}

// genesisOf compares what is shown of a chain's genesis data, of which a server knows
// those of the EVM, with the transaction.
func (k *Checker) genesisOf(id string, got object, numbered bool) {
	i := slices.IndexFunc(k.chains, func(b *Blockchain) bool { return b.tx.ID.String() == id })
	if i < 0 {
		k.problem("blockchain %s is not known", id)
		return
	}
	var want struct {
		Config   struct{ ChainID json.Number }
		GasLimit string
	}
	number := json.Number("0")
	g, shown := got["genesisData"].(object)
	if err := json.Unmarshal(k.chains[i].as.GenesisData, &want); err == nil && want.Config.ChainID != "" {
		number = want.Config.ChainID
		config, _ := g["config"].(object)
		limit, _ := g["gasLimit"].(string)
		if !strings.EqualFold(limit, want.GasLimit) || config["chainId"] != number {
			k.problem("genesis data of %s: %v, want gas limit %s and chain %s", id, g, want.GasLimit, number)
		}
	} else if shown {
		k.problem("genesis data of %s: %v", id, g)
	}
	if numbered {
		k.same("evmChainId of "+id, got["evmChainId"], number)
	}
	delete(got, "genesisData")
	delete(got, "evmChainId")
}

func (k *Checker) subnetPages(ctx context.Context) {
	var want list
	for _, s := range k.subnets {
		form := k.subnetForm(s)
		want = append(want, form)
		k.same("subnet "+s.id.String(), k.get(ctx, k.root+"/subnets/"+s.id.String(), http.StatusOK), form)
	}
	for order, want := range map[string]list{"asc": want, "desc": reversed(want)} {
		got := k.walk(ctx, k.root+"/subnets", "subnets", "sortOrder", order)
		k.sameList("subnets "+order, got, want)
	}
}

func (k *Checker) blockchainPages(ctx context.Context) {
	var want list
	for _, b := range k.chains {
		form := k.blockchain(b)
		want = append(want, form)
		k.same("blockchain "+b.as.ChainName, k.get(ctx, k.root+"/blockchains/"+b.tx.ID.String(), http.StatusOK), form)
	}
	for order, want := range map[string]list{"asc": want, "desc": reversed(want)} {
		got := k.walk(ctx, k.root+"/blockchains", "blockchains", "sortOrder", order)
		k.sameList("blockchains "+order, got, want)
	}
}

// stakersThat returns the forms of stakers.
func (k *Checker) stakersThat(form func(*Staker) object, is func(*Staker) bool) (out list) {
	for _, s := range k.stakes {
		if is(s) {
			out = append(out, form(s))
		}
	}
	return out
}

func (k *Checker) validators(ctx context.Context) {
	const time = "startTimestamp"
	path := k.root + "/validators"
	said, err := k.askNode(ctx)
	if err != nil {
		k.problem("what the node says of validators: %w", err)
	}
	check := func(what, path string, want list, query ...string) {
		k.sameSet(what, time, false, k.untold(said, k.walk(ctx, path, "validators", query...)), want)
		k.sameSet(what+" from the first", time, true, k.untold(said, k.walk(ctx, path, "validators", append(query, "sortOrder", "asc")...)), want)
	}
	for _, s := range k.subnets {
		of := func(status string) list {
			return k.stakersThat(k.validatorForm, func(v *Staker) bool { return !v.delegator && v.Subnet == s.id && (status == "" || v.Status == status) })
		}
		check("validators of "+s.id.String(), path, of(""), "subnetId", s.id.String())
		for _, status := range []string{active, completed, removed, "pending"} {
			check(status+" validators of "+s.id.String(), path, of(status), "subnetId", s.id.String(), "validationStatus", status)
		}
		if s.tx == nil {
			check("validators", path, of(""))
		}
	}
	nodes := map[ids.NodeID]bool{}
	for _, s := range k.stakes {
		if nodes[s.Node] {
			continue
		}
		nodes[s.Node] = true
		of := func(primary bool) list {
			return k.stakersThat(k.validatorForm, func(v *Staker) bool {
				return !v.delegator && v.Node == s.Node && (!primary || v.Subnet == primaryNetwork)
			})
		}
		check("node "+s.Node.String(), path+"/"+s.Node.String(), of(false))
		check("validators by node "+s.Node.String(), path, of(true), "nodeIds", s.Node.String())
	}
}

// rewardAddresses are those that get the rewards of a subnet's validators, the latest
// start first, of all and of those that started before one of them.
func (k *Checker) rewardAddresses(ctx context.Context) {
	for _, s := range k.subnets {
		untils := []uint64{0}
		for _, v := range k.stakes {
			if v.Subnet == s.id && !v.delegator && !v.permissioned() {
				untils = append(untils, v.Start)
			}
		}
		slices.Sort(untils)
		for _, until := range slices.Compact(untils) {
			var want list
			for _, v := range k.stakes {
				if v.Subnet == s.id && !v.delegator && !v.permissioned() && (until == 0 || v.Start < until) {
					want = append(want, object{"addresses": k.addresses(v.owner.Addrs), "sortKey": text(v.Start)})
				}
			}
			what, query := "reward addresses of "+s.id.String(), []string(nil)
			if until > 0 {
				what, query = what+" before "+text(until), []string{"endTimestamp", text(until)}
			}
			got := k.walk(ctx, "/v2/subnets/"+s.id.String()+"/validators:getAddresses", "addresses", query...)
			if !slices.IsSortedFunc(got, func(a, b any) int { return cmp.Compare(startOf(b), startOf(a)) }) {
				k.problem("%s are not sorted by start", what)
			}
			k.sameList(what, sorted(got), sorted(want))
		}
	}
}

// startOf returns the start of a validator whose reward addresses are listed.
func startOf(v any) uint64 {
	o, _ := v.(object)
	text, _ := o["sortKey"].(string)
	start, _ := strconv.ParseUint(text, 10, 64)
	return start
}

func (k *Checker) delegatorPages(ctx context.Context) {
	const time = "startTimestamp"
	check := func(what string, is func(*Staker) bool, query ...string) {
		want := k.stakersThat(k.delegatorForm, func(s *Staker) bool { return s.delegator && is(s) })
		k.sameSet(what, time, false, k.walk(ctx, k.root+"/delegators", "delegators", query...), want)
		k.sameSet(what+" from the first", time, true, k.walk(ctx, k.root+"/delegators", "delegators", append(query, "sortOrder", "asc")...), want)
	}
	check("delegators", func(*Staker) bool { return true })
	for _, status := range []string{active, completed, "pending"} {
		check(status+" delegators", func(s *Staker) bool { return s.Status == status }, "delegationStatus", status)
	}
	seen := map[ids.NodeID]bool{}
	for _, v := range k.stakes {
		if !seen[v.Node] {
			seen[v.Node] = true
			check("delegators of "+v.Node.String(), func(s *Staker) bool { return s.Node == v.Node }, "nodeIds", v.Node.String())
		}
	}
	for _, a := range k.Addresses() {
		name := k.addresses([]ids.ShortID{a})[0].(string)
		check("delegators that reward "+name, func(s *Staker) bool { return slices.Contains(s.owner.Addrs, a) }, "rewardAddresses", name)
	}
}

func (k *Checker) members(ctx context.Context) {
	const time = "creationTimestamp"
	check := func(what string, is func(*Member) bool, query ...string) {
		var some, all list
		for _, m := range k.joined {
			if is(m) {
				all = append(all, k.memberForm(m))
				if m.limit != 0 {
					some = append(some, k.memberForm(m))
				}
			}
		}
		k.sameSet(what, time, false, k.walk(ctx, k.root+"/l1Validators", "validators", query...), some)
		k.sameSet(what+" with inactive ones", time, false,
			k.walk(ctx, k.root+"/l1Validators", "validators", append(query, "includeInactiveL1Validators", "true")...), all)
	}
	check("validators of L1s", func(*Member) bool { return true })
	for _, s := range k.subnets {
		check("validators of L1 "+s.id.String(), func(m *Member) bool { return m.Subnet == s.id }, "subnetId", s.id.String())
	}
	for _, one := range k.joined {
		check("validator "+one.ID.String(), func(m *Member) bool { return m == one }, "l1ValidationId", one.ID.String())
		check("validators of L1s of "+one.Node.String(), func(m *Member) bool { return m.Node == one.Node }, "nodeId", one.Node.String())
	}
	k.same("height of the validators of L1s", k.get(ctx, k.root+"/l1Validators", http.StatusOK)["blockHeight"], text(k.P.Height()))
}

// rewardPages is endpoint 9.
func (k *Checker) rewardPages(ctx context.Context) {
	check := func(what string, is func(*Reward) bool, query ...string) {
		var want list
		for _, r := range k.paidAll {
			if is(r) {
				want = append(want, k.rewardForm(r))
			}
		}
		k.sameList(what, k.walk(ctx, k.root+"/rewards", "historicalRewards", append(query, "sortOrder", "asc")...), want)
		k.sameList(what+" from the last", k.walk(ctx, k.root+"/rewards", "historicalRewards", query...), reversed(want))
	}
	for _, a := range k.Addresses() {
		name := k.addresses([]ids.ShortID{a})[0].(string)
		check("rewards of "+name, func(r *Reward) bool { return owns(r.output, a) }, "addresses", name)
	}
	for node := range k.nodes() {
		check("rewards of "+node.String(), func(r *Reward) bool { return r.of.Node == node }, "nodeIds", node.String())
	}
}

func (k *Checker) nodes() map[ids.NodeID]bool {
	seen := map[ids.NodeID]bool{}
	for _, s := range k.stakes {
		seen[s.Node] = true
	}
	return seen
}

func (k *Checker) pendingPages(ctx context.Context) {
	check := func(what string, is func(*Staker) bool, wants func(*secp256k1fx.OutputOwners) bool, query ...string) {
		var want list
		for _, s := range k.stakes {
			if s.Status == active && !s.permissioned() && is(s) {
				want = append(want, k.pendingForms(s, wants)...)
			}
		}
		k.sameSet(what, "endTimestamp", true, k.walk(ctx, k.root+"/rewards:listPending", "pendingRewards", append(query, "sortOrder", "asc")...), want)
	}
	for _, a := range k.Addresses() {
		name := k.addresses([]ids.ShortID{a})[0].(string)
		check("pending rewards of "+name, func(*Staker) bool { return true },
			func(o *secp256k1fx.OutputOwners) bool { return slices.Contains(o.Addrs, a) }, "addresses", name)
	}
	for node := range k.nodes() {
		check("pending rewards of "+node.String(), func(s *Staker) bool { return s.Node == node },
			func(*secp256k1fx.OutputOwners) bool { return true }, "nodeIds", node.String())
	}
}

func (k *Checker) stakingTxs(ctx context.Context) {
	want := k.stakersThat(func(s *Staker) object { return k.platformTx(s.tx) }, func(s *Staker) bool { return s.Status == active })
	got := k.walk(ctx, k.path(k.P)+"/transactions:listStaking", "transactions")
	k.sameSet("staking transactions", "startTimestamp", false, got, want)
}

// metrics are the sums over stakers after the last block of the last day.
func (k *Checker) metrics(ctx context.Context) {
	network := k.root[strings.LastIndexByte(k.root, '/')+1:]
	for _, s := range k.subnets {
		if s.conversion != nil {
			continue
		}
		validators, staked, delegators, delegated := k.totals(s.id)
		for metric, want := range map[string]uint64{
			"validatorCount": validators, "validatorWeight": staked, "delegatorCount": delegators, "delegatorWeight": delegated,
			"totalStake": staked + delegated,
		} {
			o := k.get(ctx, "/v2/networks/"+network+"/metrics/"+metric+"?subnetId="+s.id.String(), http.StatusOK)
			points, _ := o["results"].(list)
			if len(points) == 0 {
				if want != 0 {
					k.problem("%s of %s: no points", metric, s.id)
				}
				continue
			}
			k.same(metric+" of "+s.id.String(), points[0], object{"value": want, "timestamp": k.now / day * day})
		}
	}
}
