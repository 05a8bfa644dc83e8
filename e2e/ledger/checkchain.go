package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/ava-labs/avalanchego/graft/coreth/plugin/evm/atomic"
	"github.com/ava-labs/avalanchego/ids"
)

// path is where a chain is read.
func (k *Checker) path(c *Chain) string { return k.root + "/blockchains/" + c.Alias }

func (k *Checker) info(c *Chain) object {
	return object{"chainName": c.Alias, "network": k.root[strings.LastIndexByte(k.root, '/')+1:]}
}

// Chains compares blocks, transactions, outputs and balances of all chains.
func (k *Checker) Chains(ctx context.Context) {
	for _, c := range []*Chain{k.P, k.X, k.C} {
		k.blocks(ctx, c)
		k.transactions(ctx, c)
		k.outputLists(ctx, c)
		k.balances(ctx, c)
		k.activity(ctx, c)
	}
	k.assetPages(ctx)
	k.chainIDs(ctx)
	k.noVertices(ctx)
}

// blocks is endpoint 16, and blocks by height, by ID and by node.
func (k *Checker) blocks(ctx context.Context, c *Chain) {
	var want list
	nodes := map[ids.NodeID]list{}
	for _, b := range slices.Backward(c.Blocks) {
		form := k.block(c, b)
		want = append(want, form)
		if b.Node != ids.EmptyNodeID {
			nodes[b.Node] = append(nodes[b.Node], form)
		}
	}
	k.sameList(c.Alias+" blocks", k.walk(ctx, k.path(c)+"/blocks", "blocks"), want)
	k.sameList(c.Alias+" blocks by ID", k.walk(ctx, k.root+"/blockchains/"+c.ID.String()+"/blocks", "blocks", "pageSize", "100"), want)
	for node, list := range nodes {
		k.sameList(c.Alias+" blocks of "+node.String(), k.walk(ctx, k.path(c)+"/nodes/"+node.String()+"/blocks", "blocks"), list)
	}
	for i, b := range c.Blocks {
		names := []string{text(b.Height), b.ID.String()}
		if b.outer != nil {
			names = append(names, b.outer.ID().String())
		}
		for _, name := range names {
			k.same(c.Alias+" block "+name, k.get(ctx, k.path(c)+"/blocks/"+name, http.StatusOK), want[len(want)-1-i])
		}
	}
	from, to := c.Blocks[len(c.Blocks)/3].Time, c.Blocks[len(c.Blocks)*2/3].Time
	var some list
	for i, b := range slices.Backward(c.Blocks) {
		if b.Time >= from && b.Time < to {
			some = append(some, want[len(want)-1-i])
		}
	}
	k.sameList(c.Alias+" blocks of some time", k.walk(ctx, k.path(c)+"/blocks", "blocks", "startTimestamp", text(from), "endTimestamp", text(to)), some)
	k.same(c.Alias+" chainInfo", k.get(ctx, k.path(c)+"/blocks", http.StatusOK)["chainInfo"], k.info(c))
	k.get(ctx, k.path(c)+"/blocks/"+text(c.Height()+1), http.StatusNotFound)
}

// transactions are lists of them and each alone.
func (k *Checker) transactions(ctx context.Context, c *Chain) {
	var all list
	kinds := map[string]list{}
	for _, tx := range c.Txs {
		form := k.transaction(c, tx)
		all = append(all, form)
		kinds[tx.Kind] = append(kinds[tx.Kind], form)
		k.same(c.Alias+" "+tx.Kind+" "+tx.ID.String(), k.get(ctx, k.path(c)+"/transactions/"+tx.ID.String(), http.StatusOK), form)
	}
	path := k.path(c) + "/transactions"
	k.sameList(c.Alias+" transactions", k.walk(ctx, path, "transactions"), reversed(all))
	k.sameList(c.Alias+" transactions from the first", k.walk(ctx, path, "transactions", "sortOrder", "asc"), all)
	for kind, want := range kinds {
		k.sameList(c.Alias+" "+kind, k.walk(ctx, path, "transactions", "sortOrder", "asc", "txTypes", kind), want)
	}
	for _, a := range k.Addresses() {
		var want list
		for i, tx := range c.Txs {
			if k.involves(tx, a) {
				want = append(want, all[i])
			}
		}
		name := k.addresses([]ids.ShortID{a})[0].(string)
		k.sameList(c.Alias+" transactions of "+name, k.walk(ctx, path, "transactions", "sortOrder", "asc", "addresses", name), want)
	}
	k.get(ctx, path+"/"+ids.GenerateTestID().String(), http.StatusNotFound)
}

// involves reports whether an address had or has an output of a transaction.
func (k *Checker) involves(tx *Tx, a ids.ShortID) bool {
	switch t := tx.unsigned.(type) {
	case *atomic.UnsignedImportTx:
		for _, out := range t.Outs {
			if ids.ShortID(out.Address) == a {
				return true
			}
		}
	case *atomic.UnsignedExportTx:
		for _, in := range t.Ins {
			if ids.ShortID(in.Address) == a {
				return true
			}
		}
	}
	return slices.ContainsFunc(slices.Concat(tx.Consumed, tx.Emitted), func(u *Output) bool { return owns(u, a) })
}

func owns(u *Output, a ids.ShortID) bool {
	o, _ := ownersOf(u)
	return slices.Contains(o.Addrs, a)
}

// of returns the outputs of an address that a test holds of.
func (c *Chain) of(a ids.ShortID, is func(*Output) bool) (out []*Output) {
	for _, u := range c.order {
		if owns(u, a) && is(u) {
			out = append(out, u)
		}
	}
	return out
}

// outputLists are the outputs of addresses, by GET and by POST.
func (k *Checker) outputLists(ctx context.Context, c *Chain) {
	time := map[bool]string{true: "blockTimestamp", false: "timestamp"}[c == k.P]
	for _, a := range k.Addresses() {
		name := k.addresses([]ids.ShortID{a})[0].(string)
		there := k.outputs(c, c.of(a, func(u *Output) bool {
			if c == k.C {
				return !k.arrived(u)
			}
			return u.spent == nil && !u.Exported
		}))
		what := c.Alias + " outputs of " + name
		k.sameSet(what, time, false, k.walk(ctx, k.path(c)+"/utxos", "utxos", "addresses", name), there)
		k.sameSet(what+" from the first", time, true, k.walk(ctx, k.path(c)+"/utxos", "utxos", "addresses", name, "sortOrder", "asc"), there)
		if c != k.C {
			all := k.outputs(c, c.of(a, func(u *Output) bool { return !u.Exported }))
			k.sameSet(what+" with spent ones", time, false,
				k.walk(ctx, k.path(c)+"/utxos", "utxos", "addresses", name, "includeSpent", "true", "pageSize", "100"), all)
		}
		k.asked++
		body, err := json.Marshal(object{"addresses": name})
		if err != nil {
			panic(err)
		}
		path := k.path(c) + "/utxos?pageSize=1024"
		answer, err := k.client.Post(ctx, path, body)
		got, _ := k.parse(path, answer, err, http.StatusOK)["utxos"].(list)
		k.sameSet(what+" by POST", time, false, got, there)
	}
}

// balances are the sums of outputs by what can be done with them.
func (k *Checker) balances(ctx context.Context, c *Chain) {
	names := map[*Chain]string{
		k.P: "unlockedUnstaked unlockedStaked lockedPlatform lockedStakeable lockedStaked pendingStaked atomicMemoryUnlocked atomicMemoryLocked",
		k.X: "locked unlocked atomicMemoryUnlocked atomicMemoryLocked",
		k.C: "atomicMemoryUnlocked atomicMemoryLocked",
	}[c]
	for _, a := range k.Addresses() {
		want := object{}
		for name := range strings.FieldsSeq(names) {
			want[name] = list{}
		}
		for _, u := range c.of(a, func(u *Output) bool {
			return u.spent == nil && (!u.Exported || !k.arrived(u)) && outputKind(u) == "TRANSFER"
		}) {
			name := k.balanceOf(c, u)
			want[name] = k.sumUp(want[name].(list), c, u)
		}
		for name, sums := range want {
			want[name] = sorted(sums.(list))
		}
		text := k.addresses([]ids.ShortID{a})[0].(string)
		got := k.get(ctx, k.path(c)+"/balances?addresses="+text, http.StatusOK)
		balances, _ := got["balances"].(object)
		for name, sums := range balances {
			balances[name] = sorted(sums.(list))
		}
		k.same(c.Alias+" balances of "+text, got, object{"balances": want, "chainInfo": k.info(c)})
	}
}

func (k *Checker) balanceOf(c *Chain, u *Output) string {
	o, lock := ownersOf(u)
	now := k.now
	if c != k.P {
		now = c.Blocks[len(c.Blocks)-1].Time
	}
	switch {
	case u.Exported && o.Locktime > now:
		return "atomicMemoryLocked"
	case u.Exported:
		return "atomicMemoryUnlocked"
	case c == k.X && o.Locktime > now:
		return "locked"
	case c == k.X:
		return "unlocked"
	case u.Staked && (o.Locktime > now || lock > now):
		return "lockedStaked"
	case u.Staked:
		return "unlockedStaked"
	case o.Locktime > now:
		return "lockedPlatform"
	case lock > now:
		return "lockedStakeable"
	}
	return "unlockedUnstaked"
}

// sumUp adds an output to balances of one name.
func (k *Checker) sumUp(to list, c *Chain, u *Output) list {
	for _, b := range to {
		b := b.(object)
		if b["assetId"] == u.AssetID().String() && (!u.Exported || b["sharedWithChainId"] == u.other.String()) {
			var n uint64
			fmt.Sscan(b["amount"].(string), &n)
			b["amount"], b["utxoCount"] = text(n+amountOf(u)), b["utxoCount"].(int)+1
			return to
		}
	}
	b := k.amount(u.AssetID(), amountOf(u))
	b["utxoCount"] = 1
	if u.Exported {
		b["sharedWithChainId"] = u.other.String()
		if c == k.P {
			b["status"] = "exported"
		}
	}
	return append(to, b)
}

// activity is what addresses did last.
func (k *Checker) activity(ctx context.Context, c *Chain) {
	for _, a := range k.Addresses() {
		name := k.addresses([]ids.ShortID{a})[0].(string)
		var last *Tx
		for _, tx := range c.Txs {
			if k.involves(tx, a) {
				last = tx
			}
		}
		path := k.path(c) + "/lastActivityTimestampByAddresses"
		if last == nil {
			k.get(ctx, path+"?addresses="+name, http.StatusNotFound)
			continue
		}
		want := object{
			"timestamp": last.time, "blockNumber": text(last.height), "txHash": last.ID.String(), "isConsumed": false,
			"chainName": c.Alias, "network": k.info(c)["network"],
		}
		mine := func(u *Output) bool { return owns(u, a) }
		if i := slices.IndexFunc(last.Emitted, mine); i >= 0 {
			want["utxoId"] = last.Emitted[i].InputID().String()
		} else {
			want["isConsumed"] = true
			if i := slices.IndexFunc(last.Consumed, mine); i >= 0 {
				want["utxoId"] = last.Consumed[i].InputID().String()
			}
		}
		k.same(c.Alias+" activity of "+name, k.get(ctx, path+"?addresses="+name, http.StatusOK), want)
		k.asked++
		answer, err := k.client.Post(ctx, path, []byte(`{"addresses":"`+name+`"}`))
		k.same(c.Alias+" activity of "+name+" by POST", k.parse(path, answer, err, http.StatusOK), want)
	}
}

func (k *Checker) assetPages(ctx context.Context) {
	path := k.path(k.X) + "/assets/"
	for id, a := range k.assets {
		k.same("asset "+a.name, k.get(ctx, path+id.String(), http.StatusOK), k.asset(a))
		var want list
		for _, tx := range slices.Backward(a.moved) {
			want = append(want, k.transaction(k.X, tx))
		}
		k.sameList("transactions of asset "+a.name, k.walk(ctx, path+id.String()+"/transactions", "transactions"), want)
	}
}

func (k *Checker) chainIDs(ctx context.Context) {
	for _, a := range k.Addresses() {
		name := k.addresses([]ids.ShortID{a})[0].(string)
		chains := list{}
		for _, c := range []*Chain{k.P, k.X, k.C} {
			if slices.ContainsFunc(c.Txs, func(tx *Tx) bool { return k.involves(tx, a) }) {
				chains = append(chains, c.ID.String())
			}
		}
		k.same("chains of "+name, k.get(ctx, k.root+"/addresses:listChainIds?addresses="+name, http.StatusOK),
			object{"addresses": list{object{"address": name, "blockchainIds": chains}}})
	}
}

// noVertices: the network never had any.
func (k *Checker) noVertices(ctx context.Context) {
	want := object{"vertices": list{}, "chainInfo": k.info(k.X)}
	k.same("vertices", k.get(ctx, k.path(k.X)+"/vertices", http.StatusOK), want)
	k.same("vertices by height", k.get(ctx, k.path(k.X)+"/vertices:listByHeight?vertexHeight=0", http.StatusOK), want)
}
