package oracle

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"strings"

	"github.com/ava-labs/libevm/common"
)

// AddressParts compares the lists of the parts of an address' transactions: those that it
// sent or received, its coins and items that moved, and its internal transactions.
func (k *Checker) AddressParts(ctx context.Context, a common.Address) {
	c := k.cfg.Chain
	var own []*Tx
	for _, tx := range c.Txs {
		if tx.From == a || tx.receiver() == a {
			own = append(own, tx)
		}
	}
	path := k.ofAddress(a) + "/transactions:"
	partList(ctx, k, path+"listNative", own, func(tx *Tx) *Block { return tx.Block }, func(tx *Tx) any { return k.f.native(tx) })
	for name, kind := range map[string]string{"listErc20": ERC20, "listErc1155": ERC1155} {
		moves := k.transfers(func(t *Transfer) bool { return t.Kind == kind && t.concerns(a) })
		partList(ctx, k, path+name, moves, func(t *Transfer) *Block { return t.Tx.Block }, func(t *Transfer) any { return k.f.blockTransfer(t) })
	}
	type inner struct {
		*Call
		of *Tx
	}
	var calls []inner
	for _, tx := range c.Txs {
		for _, call := range tx.Calls {
			if call.concerns(a) {
				calls = append(calls, inner{call, tx})
			}
		}
	}
	partList(ctx, k, path+"listInternals", calls, func(i inner) *Block { return i.of.Block }, func(i inner) any {
		o := k.f.dated(k.f.call(i.Call), i.of.Block)
		o["txHash"] = i.of.Hash.Hex()
		return o
	})
}

// partList compares a list of parts in all windows.
func partList[T any](ctx context.Context, k *Checker, path string, all []T, of func(T) *Block, item func(T) any) {
	for i, w := range k.windows(middle(all, of)) {
		var in []T
		for _, part := range all {
			if w.has(of(part)) {
				in = append(in, part)
			}
		}
		l := list{path: path, query: w.query(), name: "transactions", want: newestFirst(in, item), most: 100, usual: 10, loose: true}
		if i == 0 {
			k.check(ctx, l)
		} else {
			k.checkSize(ctx, l, 100, len(in)+1)
		}
	}
}

// BlockList compares the list of blocks, and every nth of them by number and by hash.
func (k *Checker) BlockList(ctx context.Context, nth int) {
	total := 0
	for i, b := range k.cfg.Chain.Blocks {
		total += len(b.Txs)
		if i%nth == 0 {
			for _, id := range []string{fmt.Sprint(uint64(b.Number)), b.Hash.Hex()} {
				k.one(ctx, k.base+"/blocks/"+id, nil, k.f.block(b, total))
			}
		}
	}
	k.check(ctx, list{path: k.base + "/blocks", name: "blocks", want: k.blockRows(), most: 100, usual: 10})
	k.absent(ctx, k.base+"/blocks/"+common.Hash{1}.Hex(), nil, http.StatusNotFound)
	k.absent(ctx, k.base+"/blocks/0x12", nil, http.StatusBadRequest)
}

// block is a block with the number of transactions up to and with it.
func (f *forms) block(b *Block, total int) object {
	cost, fees := new(big.Int), new(big.Int)
	if b.GasCost != nil {
		cost = b.GasCost.ToInt()
	}
	for _, tx := range b.Txs {
		fees.Add(fees, new(big.Int).Mul(tx.receipt.GasPrice.ToInt(), new(big.Int).SetUint64(uint64(tx.receipt.GasUsed))))
	}
	o := object{
		"chainId": f.chainID, "txCount": len(b.Txs), "baseFee": b.baseFee(), "gasUsed": fmt.Sprint(b.gasUsed()),
		"gasLimit": fmt.Sprint(uint64(b.GasLimit)), "gasCost": cost.String(), "parentHash": b.ParentHash.Hex(),
		"feesSpent": fees.String(), "cumulativeTransactions": fmt.Sprint(total),
	}
	if b.Settled != nil {
		o["reservedGas"], o["reservedBaseFee"] = fmt.Sprint(uint64(b.GasUsed)), b.BaseFee.ToInt().String()
		o["settledHeight"] = fmt.Sprint(uint64(*b.Settled))
	}
	return f.dated(o, b)
}

// making is how a contract came to be.
type making struct {
	contract common.Address
	tx       *Tx
	by       common.Address // who made it in the transaction
}

// makings returns all contracts that were made and not undone, oldest first.
func (c *Chain) makings() (list []making) {
	for _, tx := range c.Txs {
		if tx.rawTx.To == nil && !tx.Failed() {
			list = append(list, making{tx.receiver(), tx, tx.From})
		}
		for _, call := range tx.Calls {
			if (call.Type == "CREATE" || call.Type == "CREATE2") && !call.Reverted && call.To != nil {
				list = append(list, making{*call.To, tx, call.From})
			}
		}
	}
	return list
}

// Contracts compares what is known of contracts: of all that were made, of all tokens,
// and of those who made them.
func (k *Checker) Contracts(ctx context.Context) {
	made, makers := make(map[common.Address]making), make(map[common.Address][]making)
	for _, m := range k.cfg.Chain.makings() {
		if _, again := made[m.contract]; !again {
			made[m.contract] = m
		}
		makers[m.by] = append(makers[m.by], m)
	}
	path := func(a common.Address) string { return k.base + "/contracts/" + strings.ToLower(a.Hex()) }
	for a, m := range made {
		k.one(ctx, k.ofAddress(a), nil, k.f.contract(a, &m))
		k.one(ctx, path(a)+"/transactions:getDeployment", nil, k.f.single(m.tx))
	}
	for token := range k.cfg.Chain.Tokens {
		if _, known := made[token]; !known {
			k.one(ctx, k.ofAddress(token), nil, k.f.contract(token, nil))
		}
	}
	for a, list := range makers {
		k.deployments(ctx, path(a)+"/deployments", list)
		if _, contract := made[a]; !contract {
			k.absent(ctx, k.ofAddress(a), nil, http.StatusNotFound)
			k.absent(ctx, path(a)+"/transactions:getDeployment", nil, http.StatusNotFound)
		}
	}
	k.deployments(ctx, path(common.Address{1})+"/deployments", nil)
}

func (k *Checker) deployments(ctx context.Context, path string, made []making) {
	k.check(ctx, list{path: path, name: "contracts", most: 100, usual: 10, loose: true,
		want: newestFirst(made, func(m making) any { return k.f.contract(m.contract, &m) })})
}

// contract is what is known of one; m is nil if it was there from the first.
func (f *forms) contract(a common.Address, m *making) object {
	o := f.party(a)
	delete(o, "decimals")
	o["ercType"] = "UNKNOWN"
	if t := f.chain.Tokens[a]; t != nil {
		kinds := []string{}
		for _, kind := range []string{ERC20, ERC721, ERC1155} {
			if t.Kinds[kind] {
				kinds = append(kinds, kind)
			}
		}
		o["ercType"] = oneOf(kinds...)
		if t.Kinds[ERC20] && (t.HasDecimals || f.sdk) {
			o["decimals"] = t.Decimals
		}
	}
	if m != nil {
		by := object{"txHash": m.tx.Hash.Hex(), "deployerAddress": m.tx.From.Hex()}
		if m.by != m.tx.From {
			by["deployerContractAddress"] = m.by.Hex()
		}
		o["deploymentDetails"] = by
	}
	return o
}
