package oracle

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ava-labs/libevm/common"
)

// AddressTxs compares endpoint 2 for an address, in all windows if every.
func (k *Checker) AddressTxs(ctx context.Context, a common.Address, every bool) {
	var part []*Tx
	for _, tx := range k.cfg.Chain.Txs {
		if tx.Concerns(a) {
			part = append(part, tx)
		}
	}
	item := func(tx *Tx) any { return k.f.details(tx, a) }
	for i, w := range k.windows(middle(part, func(t *Tx) *Block { return t.Block })) {
		var in []*Tx
		for _, tx := range part {
			if w.has(tx.Block) {
				in = append(in, tx)
			}
		}
		for _, order := range []string{"", "desc", "asc"} {
			l := list{path: k.ofAddress(a) + "/transactions", query: w.query(), name: "transactions", most: 100, usual: 10}
			if order != "" {
				l.query.Set("sortOrder", order)
			}
			l.want = newestFirst(in, item)
			if order == "asc" {
				slices.Reverse(l.want)
			}
			switch {
			case i == 0 && order != "desc":
				k.check(ctx, l)
			case every || order == "asc":
				k.checkSize(ctx, l, 100, len(in)+1)
			}
		}
	}
}

// middle returns the height of the block of the middle row.
func middle[T any](rows []T, of func(T) *Block) uint64 {
	if len(rows) == 0 {
		return 1
	}
	return uint64(of(rows[len(rows)/2]).Number)
}

// transfers returns all transfers for which keep holds, oldest first.
func (k *Checker) transfers(keep func(t *Transfer) bool) (list []*Transfer) {
	for _, tx := range k.cfg.Chain.Txs {
		for _, t := range tx.Transfers {
			if keep(t) {
				list = append(list, t)
			}
		}
	}
	return list
}

func (k *Checker) transferLists(ctx context.Context, path, name string, all []*Transfer) {
	item := func(t *Transfer) any { return k.f.blockTransfer(t) }
	for i, w := range k.windows(middle(all, func(t *Transfer) *Block { return t.Tx.Block })) {
		var in []*Transfer
		for _, t := range all {
			if w.has(t.Tx.Block) {
				in = append(in, t)
			}
		}
		l := list{path: path, query: w.query(), name: name, want: newestFirst(in, item), most: 100, usual: 10}
		if i == 0 {
			k.check(ctx, l)
		} else {
			k.checkSize(ctx, l, 100, len(in)+1)
		}
	}
}

// AddressNFTTransfers compares endpoint 6 for an address.
func (k *Checker) AddressNFTTransfers(ctx context.Context, a common.Address) {
	k.transferLists(ctx, k.ofAddress(a)+"/transactions:listErc721", "transactions",
		k.transfers(func(t *Transfer) bool { return t.Kind == ERC721 && t.concerns(a) }))
}

// TokenTransfers compares endpoint 8 for a token, or any other address.
func (k *Checker) TokenTransfers(ctx context.Context, a common.Address) {
	k.transferLists(ctx, k.base+"/tokens/"+strings.ToLower(a.Hex())+"/transfers", "transfers",
		k.transfers(func(t *Transfer) bool { return t.Token == a }))
}

// native asks the node for the coins of an address: at the tip, and at the heights.
func (k *Checker) native(ctx context.Context, a common.Address, heights []uint64) (asks []NativeAsk, wei []*big.Int, err error) {
	asks = []NativeAsk{{a, k.cfg.Chain.Tip()}}
	for _, h := range heights {
		asks = append(asks, NativeAsk{a, h})
	}
	wei, err = k.cfg.Node.Balances(ctx, asks)
	return asks, wei, err
}

// Balances compares endpoints 7, 11 and 15 for an address: 11 at the tip, the
// others at the heights given too.
func (k *Checker) Balances(ctx context.Context, a common.Address, heights []uint64) {
	asks, wei, err := k.native(ctx, a, heights)
	if err != nil {
		k.report(a.Hex(), err.Error())
		return
	}
	for i, ask := range asks {
		if err := k.cfg.Chain.Say(ctx, k.cfg.Node, a, ask.Height); err != nil {
			k.report(a.Hex(), err.Error())
			return
		}
		query := url.Values{}
		if i > 0 {
			query.Set("blockNumber", fmt.Sprint(ask.Height))
		}
		rest := object{"nativeTokenBalance": k.f.balance(wei[i])}
		k.one(ctx, k.ofAddress(a)+"/balances:getNative", query, rest)
		coins := list{path: k.ofAddress(a) + "/balances:listErc20", query: query, name: "erc20TokenBalances",
			want: k.f.coins(a, ask.Height, nil), rest: rest, most: 500, usual: 10}
		if i == 0 {
			k.check(ctx, coins)
			k.someCoins(ctx, a, coins)
			k.owned(ctx, a, wei[0])
		} else {
			k.checkSize(ctx, coins, 500, 501)
		}
	}
}

// someCoins asks for the balances of some contracts only.
func (k *Checker) someCoins(ctx context.Context, a common.Address, l list) {
	some := []common.Address{a}
	for i, token := range k.cfg.Chain.coinsOf(a, k.cfg.Chain.Tip()) {
		if i%2 == 0 && len(some) < 50 {
			some = append(some, token)
		}
	}
	var texts []string
	for _, token := range slices.Backward(some) {
		texts = append(texts, token.Hex())
	}
	l.query = url.Values{"contractAddresses": {strings.Join(texts, ",")}, "filterSpamTokens": {"false"}}
	l.want = k.f.coins(a, k.cfg.Chain.Tip(), some)
	k.check(ctx, l)
}

func (k *Checker) owned(ctx context.Context, a common.Address, wei *big.Int) {
	l := list{path: k.ofAddress(a) + "/balances:listErc721", name: "erc721TokenBalances",
		rest: object{"nativeTokenBalance": k.f.balance(wei)}, most: 500, usual: 10}
	l.want = k.f.owned(a, nil)
	k.check(ctx, l)
	for token, t := range k.cfg.Chain.Tokens {
		if t.Kinds[ERC721] {
			l.query, l.want = url.Values{"contractAddress": {token.Hex()}}, k.f.owned(a, &token)
			k.checkSize(ctx, l, 2, len(l.want)+1)
		}
	}
}

// NativeBalances compares endpoint 15 at the tip for many addresses.
func (k *Checker) NativeBalances(ctx context.Context, list []common.Address) {
	asks := make([]NativeAsk, len(list))
	for i, a := range list {
		asks[i] = NativeAsk{a, k.cfg.Chain.Tip()}
	}
	wei, err := k.cfg.Node.Balances(ctx, asks)
	if err != nil {
		k.report("balances", err.Error())
		return
	}
	for i, a := range list {
		k.one(ctx, k.ofAddress(a)+"/balances:getNative", nil, object{"nativeTokenBalance": k.f.balance(wei[i])})
	}
}

// Blocks compares endpoint 10 for every nth block, by number and by hash.
func (k *Checker) Blocks(ctx context.Context, nth int) {
	for i, b := range k.cfg.Chain.Blocks {
		if i%nth != 0 {
			continue
		}
		want := []any{}
		for _, tx := range b.Txs {
			want = append(want, k.f.native(tx))
		}
		for j, id := range []string{fmt.Sprint(uint64(b.Number)), b.Hash.Hex()} {
			l := list{path: k.base + "/blocks/" + id + "/transactions", name: "transactions", want: want, most: 100}
			k.checkSize(ctx, l, 0, len(want)+1)
			if j == i%2 {
				k.checkSize(ctx, l, 1, tinyRows)
				k.checkSize(ctx, l, 3, len(want)+1)
				k.checkSize(ctx, l, 100, len(want)+1)
			}
		}
	}
	k.absent(ctx, k.base+"/blocks/"+fmt.Sprint(k.cfg.Chain.Tip()+1_000_000)+"/transactions", nil, http.StatusNotFound)
	k.absent(ctx, k.base+"/blocks/"+common.Hash{1}.Hex()+"/transactions", nil, http.StatusNotFound)
}

// LatestTxs compares endpoint 12 with each status.
func (k *Checker) LatestTxs(ctx context.Context) {
	for _, status := range []string{"", "success", "failed"} {
		var in []*Tx
		for _, tx := range k.cfg.Chain.Txs {
			if status == "" || tx.Failed() == (status == "failed") {
				in = append(in, tx)
			}
		}
		l := list{path: k.base + "/transactions", query: url.Values{}, name: "transactions",
			want: newestFirst(in, func(tx *Tx) any { return k.f.native(tx) }), most: 100, usual: 10}
		if status != "" {
			l.query.Set("status", status)
		}
		k.check(ctx, l)
	}
}

// SingleTxs compares the complete view of every nth transaction.
func (k *Checker) SingleTxs(ctx context.Context, nth int) {
	for i, tx := range k.cfg.Chain.Txs {
		if i%nth == 0 {
			k.one(ctx, k.base+"/transactions/"+tx.Hash.Hex(), nil, k.f.single(tx))
		}
	}
	k.absent(ctx, k.base+"/transactions/"+common.Hash{1}.Hex(), nil, http.StatusNotFound)
}

// Listed compares the server's item of the chain in the list of chains.
type Listed struct {
	Name, Description, BlockchainID, SubnetID, VMID, RPCURL string
	// More are members that only a configuration tells.
	More map[string]any
}

// socketURL returns the address of the WebSocket beside an address of chain RPC.
func socketURL(rpc string) string {
	return "ws" + strings.TrimSuffix(strings.TrimPrefix(rpc, "http"), "rpc") + "ws"
}

// ChainList compares endpoint 17: all chains of the server, in any order.
func (k *Checker) ChainList(ctx context.Context, chains map[string]Listed, query url.Values) {
	body, err := k.client.ok(ctx, "/v1/chains", query)
	if err != nil {
		k.report("/v1/chains", err.Error())
		return
	}
	got, _ := body["chains"].([]any)
	if len(got) != len(chains) {
		k.report("/v1/chains?"+query.Encode(), fmt.Sprintf("%d chains, want %d", len(got), len(chains)))
	}
	for _, item := range got {
		o, _ := item.(map[string]any)
		id, _ := o["chainId"].(string)
		c, known := chains[id]
		if !known {
			k.report("/v1/chains", "chain "+id+" is not known")
			continue
		}
		want := object{
			"chainId": id, "status": "OK", "chainName": c.Name, "description": c.Description, "platformChainId": c.BlockchainID,
			"subnetId": c.SubnetID, "vmName": "EVM", "rpcUrl": c.RPCURL, "wsUrl": socketURL(c.RPCURL), "isTestnet": true, "private": false,
			"networkToken": k.f.networkToken(), "enabledFeatures": []any{},
		}
		if c.VMID != "" {
			want["vmId"] = c.VMID
		}
		for name, v := range c.More {
			want[name] = plain(v)
		}
		if settled, is := o["settledHeight"]; is { // it moves with the chain
			if text, ok := settled.(string); !ok || strings.Trim(text, "0123456789") != "" {
				k.report("/v1/chains", fmt.Sprintf("%s: settledHeight is %s", id, show(settled)))
			}
			want["settledHeight"] = settled
		}
		k.tally.Rows++
		k.report("/v1/chains", diff(nil, id, want, o)...)
	}
}
