package oracle

import (
	"context"
	"math"
	"math/big"
	"net/http"
	"net/url"
	"slices"

	"github.com/ava-labs/libevm/common"
)

const mostHolders, usualHolders = 5000, 1000

// had is what somebody had of a token from a block on.
type had struct {
	height uint64
	since  int64 // the block's time in Unix seconds
	amount *big.Int
}

// holders returns all that anybody ever had of an ERC-20 token after a block.
func (c *Chain) holders(token common.Address) map[common.Address][]had {
	out := make(map[common.Address][]had)
	move := func(b *Block, a common.Address, by *big.Int) {
		if a == (common.Address{}) {
			return
		}
		list, amount := out[a], new(big.Int).Set(by)
		if n := len(list); n > 0 {
			amount.Add(amount, list[n-1].amount)
			if list[n-1].height == uint64(b.Number) { // within a block nobody has anything yet
				list = list[:n-1]
			}
		}
		out[a] = append(list, had{uint64(b.Number), int64(b.Time), amount})
	}
	for _, tx := range c.Txs {
		for _, t := range c.movesOf(tx) {
			if t.Token == token {
				move(tx.Block, t.From, new(big.Int).Neg(t.Value))
				move(tx.Block, t.To, t.Value)
			}
		}
	}
	return out
}

// above reports whether somebody had more than a threshold at some time of a frame.
func above(history []had, threshold *big.Int, f frame) bool {
	if f.end >= 0 && f.start >= f.end {
		return false
	}
	var before *had // what was held when the frame began
	for _, h := range history {
		switch {
		case h.since < f.start:
			before = &h
		case f.end >= 0 && h.since >= f.end:
		case h.amount.Cmp(threshold) > 0:
			return true
		}
	}
	return before != nil && before.amount.Cmp(threshold) > 0
}

// Holders compares endpoint 18 for all tokens of the chain, with several
// thresholds and frames.
func (k *Checker) Holders(ctx context.Context, chain string) {
	for token := range k.cfg.Chain.Tokens {
		if k.cfg.Chain.Uneven[token] {
			continue // balances are those of the heights at which the server has asked
		}
		all := k.cfg.Chain.holders(token)
		thresholds, at := telling(all)
		for i, threshold := range thresholds {
			k.holderList(ctx, chain, token, all, threshold, frame{-1, -1}, true)
			for _, f := range holderFrames(k.cfg.Chain, at) {
				if i < 3 {
					k.holderList(ctx, chain, token, all, threshold, f, false)
				}
			}
		}
	}
	k.holderList(ctx, chain, common.Address{0: 0xde, 19: 0xad}, nil, new(big.Int), frame{-1, -1}, false)
	path := holdersPath(chain, common.Address{1})
	for _, query := range []url.Values{
		{}, {"threshold": {""}}, {"threshold": {"-1"}}, {"threshold": {"1.5"}}, {"threshold": {"0x10"}}, {"threshold": {"x"}},
		{"threshold": {new(big.Int).Lsh(big.NewInt(1), 256).String()}}, {"threshold": {"1"}, "pageSize": {"0"}},
		{"threshold": {"1"}, "pageSize": {"5001"}}, {"threshold": {"1"}, "startTimestamp": {"-1"}},
		{"threshold": {"1"}, "endTimestamp": {"x"}}, {"threshold": {"1"}, "pageToken": {"forged"}},
	} {
		k.absent(ctx, path, query, http.StatusBadRequest)
	}
	k.absent(ctx, "/v2/chains/"+chain+"/contracts/0x12/balances", url.Values{"threshold": {"1"}}, http.StatusBadRequest)
	for _, name := range []string{"1234567890123", "total", "mainnet"} {
		k.absent(ctx, holdersPath(name, common.Address{1}), url.Values{"threshold": {"1"}}, http.StatusNotFound)
	}
}

func holdersPath(chain string, token common.Address) string {
	return "/v2/chains/" + chain + "/contracts/" + token.Hex() + "/balances"
}

// telling returns thresholds that make a difference: nothing, the middle of what is
// held and of what was ever held, the most and a little less, and all there could
// be. at is the time of a change in the middle.
func telling(all map[common.Address][]had) (thresholds []*big.Int, at int64) {
	var held, ever []*big.Int
	var times []int64
	for _, list := range all {
		held = append(held, list[len(list)-1].amount)
		for _, h := range list {
			ever, times = append(ever, h.amount), append(times, h.since)
		}
	}
	thresholds = []*big.Int{new(big.Int)}
	if len(ever) > 0 {
		slices.SortFunc(held, (*big.Int).Cmp)
		slices.SortFunc(ever, (*big.Int).Cmp)
		slices.Sort(times)
		most := ever[len(ever)-1]
		thresholds = append(thresholds, held[len(held)/2], ever[len(ever)/2], most)
		if most.Sign() > 0 {
			thresholds = append(thresholds, new(big.Int).Sub(most, big.NewInt(1)))
		}
		at = times[len(times)/2]
	}
	all256 := new(big.Int).Lsh(big.NewInt(1), 256)
	return append(thresholds, all256.Sub(all256, big.NewInt(1))), at
}

// holderFrames are those that holders are asked for; at is the time of a change.
func holderFrames(c *Chain, at int64) []frame {
	first, last := int64(c.Blocks[min(1, c.Tip())].Time), int64(c.Blocks[c.Tip()].Time)
	return []frame{
		{at, -1}, {at + 1, -1}, {-1, at}, {-1, at + 1}, {at, at + 1}, {at + 1, at + 2}, {at, at}, {at + 1, at}, {0, first}, {-1, 0},
		{first, last}, {last, last + 1}, {last + 1, last + 2}, {last, -1}, {last + 1, -1}, {at, (at + last) / 2},
	}
}

func (k *Checker) holderList(ctx context.Context, chain string, token common.Address, all map[common.Address][]had, threshold *big.Int, f frame, whole bool) {
	var found []common.Address
	for a, history := range all {
		if above(history, threshold, f) {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, common.Address.Cmp)
	want := []any{}
	for _, a := range found {
		latest := all[a][len(all[a])-1].amount
		row := object{"address": a.Hex(), "sortKey": number(new(big.Rat).SetInt(latest))}
		if k.cfg.SDK {
			row["sortKey"] = latest.String()
		}
		want = append(want, row)
	}
	l := list{path: holdersPath(chain, token), query: f.query(url.Values{"threshold": {threshold.String()}}),
		name: "addresses", want: want, most: mostHolders, usual: usualHolders}
	if whole {
		k.check(ctx, l)
	} else {
		k.checkSize(ctx, l, midSize, math.MaxInt)
	}
}
