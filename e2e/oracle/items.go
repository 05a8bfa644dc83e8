package oracle

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"slices"

	"github.com/ava-labs/libevm/common"
)

// Items compares what an address has of tokens with IDs: at the tip, and of ERC-1155
// tokens at the heights given too.
func (k *Checker) Items(ctx context.Context, a common.Address, heights []uint64) {
	asks, wei, err := k.native(ctx, a, heights)
	if err != nil {
		k.report(a.Hex(), err.Error())
		return
	}
	for i, ask := range asks {
		l := list{path: k.ofAddress(a) + "/balances:listErc1155", name: "erc1155TokenBalances", most: 500, usual: 10,
			want: k.f.itemsOf(a, ask.Height, nil), rest: object{"nativeTokenBalance": k.f.balance(wei[i])}}
		if i == 0 {
			k.check(ctx, l)
			continue
		}
		l.query = url.Values{"blockNumber": {fmt.Sprint(ask.Height)}}
		k.checkSize(ctx, l, 500, len(l.want)+1)
	}
	k.collectibles(ctx, a, nil)
	for token, t := range k.cfg.Chain.Tokens {
		if t.Kinds[ERC721] || t.Kinds[ERC1155] {
			k.collectibles(ctx, a, &token)
		}
	}
}

// collectibles compares all that an address has of tokens with IDs, of one contract if
// contract is not nil.
func (k *Checker) collectibles(ctx context.Context, a common.Address, contract *common.Address) {
	l := list{path: k.ofAddress(a) + "/balances:listCollectibles", name: "collectibleBalances", most: 500, usual: 10,
		want: append(k.f.owned(a, contract), k.f.itemsOf(a, k.cfg.Chain.Tip(), contract)...)}
	if contract != nil {
		l.query = url.Values{"contractAddress": {contract.Hex()}}
	}
	k.check(ctx, l)
}

// Collections compares the tokens of all contracts that have some with IDs, each by
// itself too, and who holds how many of them.
func (k *Checker) Collections(ctx context.Context, chain string) {
	items := k.cfg.Chain.items(k.cfg.Chain.Tip())
	for token, t := range k.cfg.Chain.Tokens {
		if !t.Kinds[ERC721] && !t.Kinds[ERC1155] {
			continue
		}
		var nfts []NFT
		held := make(map[common.Address]int)
		for nft, owner := range k.cfg.Chain.at(k.cfg.Chain.Tip()).owners {
			if nft.Token == token && owner != (common.Address{}) {
				nfts = append(nfts, nft)
				held[owner]++
			}
		}
		for nft, by := range items {
			if nft.Token == token && len(by) > 0 {
				nfts = append(nfts, nft)
			}
			for a := range by {
				if nft.Token == token {
					held[a]++
				}
			}
		}
		slices.SortFunc(nfts, NFT.compare)
		path := k.base + "/nfts/collections/" + token.Hex() + "/tokens"
		l := list{path: path, name: "tokens", most: 100, usual: 10, want: []any{}}
		for i, nft := range nfts {
			l.want = append(l.want, k.f.token(nft))
			if i%7 == 0 {
				k.one(ctx, path+"/"+nft.ID, nil, k.f.token(nft))
			}
		}
		k.check(ctx, l)
		k.absent(ctx, path+"/123456789123456789", nil, http.StatusNotFound)
		k.nftHolders(ctx, chain, token, held, len(nfts))
	}
}

// token is one with an ID.
func (f *forms) token(nft NFT) object {
	owner := f.chain.at(f.chain.Tip()).owners[nft]
	if owner == (common.Address{}) {
		o := f.nft(nft)
		o["ercType"] = ERC1155
		return o
	}
	o := f.erc721(nft)
	o["ownerAddress"] = owner.Hex()
	return o
}

func (k *Checker) nftHolders(ctx context.Context, chain string, token common.Address, held map[common.Address]int, tokens int) {
	var all []common.Address
	for a := range held {
		all = append(all, a)
	}
	slices.SortFunc(all, common.Address.Cmp)
	l := list{path: "/v2/chains/" + chain + "/contracts/" + token.Hex() + "/nfts:listHolders", name: "addresses",
		most: mostHolders, usual: usualHolders, want: []any{}, rest: object{"totalHolders": len(all), "totalTokens": tokens}}
	for _, a := range all {
		row := object{"address": a.Hex(), "sortKey": held[a]}
		if k.cfg.SDK {
			row["sortKey"] = fmt.Sprint(held[a])
		}
		l.want = append(l.want, row)
	}
	t := k.cfg.Chain.Tokens[token]
	for name, text := range map[string]string{"nftCollectionName": t.Name, "nftSymbol": t.Symbol} {
		if text != "" {
			l.rest[name] = []any{text}
		}
	}
	k.check(ctx, l)
}

// Collectors returns some of those who have tokens with IDs, no more than most.
func (c *Chain) Collectors(most int) []common.Address {
	var all []common.Address
	for _, owner := range c.at(c.Tip()).owners {
		all = append(all, owner)
	}
	for _, by := range c.items(c.Tip()) {
		for a := range by {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, common.Address.Cmp)
	all = slices.Compact(all)
	return all[:min(most, len(all))]
}

// items returns who has how much of each ERC-1155 token after a block.
func (c *Chain) items(height uint64) map[NFT]map[common.Address]*big.Int {
	out := make(map[NFT]map[common.Address]*big.Int)
	for _, tx := range c.Txs {
		if uint64(tx.Block.Number) > height {
			break
		}
		for _, t := range tx.Transfers {
			if t.Kind != ERC1155 {
				continue
			}
			nft := NFT{t.Token, t.ID.String()}
			if out[nft] == nil {
				out[nft] = make(map[common.Address]*big.Int)
			}
			for a, by := range map[common.Address]*big.Int{t.From: new(big.Int).Neg(t.Value), t.To: t.Value} {
				if t.From == t.To || a == (common.Address{}) {
					continue
				}
				had := out[nft][a]
				if had == nil {
					had = new(big.Int)
				}
				if out[nft][a] = new(big.Int).Add(had, by); out[nft][a].Sign() == 0 {
					delete(out[nft], a)
				}
			}
		}
	}
	return out
}

// itemsOf is the list of an account's ERC-1155 balances; only those of a contract, unless
// that is nil.
func (f *forms) itemsOf(a common.Address, height uint64, contract *common.Address) []any {
	held := f.chain.items(height)
	var nfts []NFT
	for nft, by := range held {
		if by[a] != nil && (contract == nil || nft.Token == *contract) {
			nfts = append(nfts, nft)
		}
	}
	slices.SortFunc(nfts, NFT.compare)
	list := []any{}
	for _, nft := range nfts {
		o := f.nft(nft)
		o["ercType"], o["chainId"], o["balance"] = ERC1155, f.chainID, held[nft][a].String()
		list = append(list, o)
	}
	return list
}
