package oracle

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/ava-labs/libevm/common"
)

// replay is who owns what after a block.
type replay struct {
	coins  map[holding]*big.Int // ERC-20; zeros are left out
	owners map[NFT]common.Address
}

type holding struct{ holder, token common.Address }

// NFT names an ERC-721 or ERC-1155 token.
type NFT struct {
	Token common.Address
	ID    string // decimal
}

// at moves all tokens from genesis up to a height.
func (c *Chain) at(height uint64) *replay {
	if r := c.replays[height]; r != nil {
		return r
	}
	r := &replay{coins: make(map[holding]*big.Int), owners: make(map[NFT]common.Address)}
	add := func(h holding, v *big.Int) {
		if h.holder == (common.Address{}) {
			return
		}
		if r.coins[h] == nil {
			r.coins[h] = new(big.Int)
		}
		if r.coins[h].Add(r.coins[h], v).Sign() == 0 {
			delete(r.coins, h)
		}
	}
	for _, tx := range c.Txs {
		if uint64(tx.Block.Number) > height {
			break
		}
		for _, t := range c.movesOf(tx) {
			add(holding{t.From, t.Token}, new(big.Int).Neg(t.Value))
			add(holding{t.To, t.Token}, t.Value)
		}
		for _, t := range tx.Transfers {
			if t.Kind == ERC721 {
				r.owners[NFT{t.Token, t.ID.String()}] = t.To
			}
		}
	}
	c.replays[height] = r
	return r
}

// CheckTokens holds the replay against balanceOf and ownerOf of the contracts
// themselves at a height, and returns how many it compared. Those in
// c.Uneven are left out: their events do not say what they hold.
func (c *Chain) CheckTokens(ctx context.Context, n *Node, height uint64) (int, error) {
	r := c.at(height)
	var calls []contractCall
	var want []common.Hash
	var what []string
	for h := range c.everHeld(height) {
		if c.Uneven[h.token] {
			continue
		}
		amount := r.coins[h]
		if amount == nil {
			amount = new(big.Int)
		}
		calls = append(calls, contractCall{h.token, input("balanceOf(address)", common.BytesToHash(h.holder[:])), height})
		want = append(want, common.BigToHash(amount))
		what = append(what, fmt.Sprintf("%s of %s", h.token, h.holder))
	}
	for nft, owner := range r.owners {
		id, _ := new(big.Int).SetString(nft.ID, 10)
		calls = append(calls, contractCall{nft.Token, input("ownerOf(uint256)", common.BigToHash(id)), height})
		want = append(want, common.BytesToHash(owner[:]))
		what = append(what, fmt.Sprintf("owner of %s %s", nft.Token, nft.ID))
	}
	got, err := n.read(ctx, calls)
	if err != nil {
		return 0, err
	}
	for i := range calls {
		// The owner of what was burnt is nobody: the contract refuses to say.
		if common.BytesToHash(got[i]) != want[i] {
			return i, fmt.Errorf("block %d: %s: the contract says %x, the logs %s", height, what[i], got[i], want[i])
		}
	}
	return len(calls), nil
}

// everHeld returns all accounts with the ERC-20 tokens that they were sent or sent.
func (c *Chain) everHeld(height uint64) map[holding]bool {
	held := make(map[holding]bool)
	for _, tx := range c.Txs {
		for _, t := range c.movesOf(tx) {
			for _, a := range []common.Address{t.From, t.To} {
				if uint64(tx.Block.Number) <= height && a != (common.Address{}) {
					held[holding{a, t.Token}] = true
				}
			}
		}
	}
	return held
}

// coinsOf returns the ERC-20 tokens of an account in the order of their addresses.
func (c *Chain) coinsOf(a common.Address, height uint64) (tokens []common.Address) {
	for h := range c.at(height).coins {
		if h.holder == a && !c.Uneven[h.token] {
			tokens = append(tokens, h.token)
		}
	}
	for token := range c.Uneven {
		if amount := c.said[saidAt{holding{a, token}, height}]; amount != nil && amount.Sign() > 0 {
			tokens = append(tokens, token)
		}
	}
	slices.SortFunc(tokens, common.Address.Cmp)
	return tokens
}

// nftsOf returns the ERC-721 tokens of an account in the order of contracts and IDs.
func (c *Chain) nftsOf(a common.Address) (list []NFT) {
	for nft, owner := range c.at(c.Tip()).owners {
		if owner == a && a != (common.Address{}) {
			list = append(list, nft)
		}
	}
	slices.SortFunc(list, NFT.compare)
	return list
}

// compare orders tokens by contract and ID.
func (n NFT) compare(o NFT) int {
	return cmp.Or(n.Token.Cmp(o.Token), n.number().Cmp(o.number()))
}

func (n NFT) number() *big.Int {
	i, _ := new(big.Int).SetString(n.ID, 10) // ours
	return i
}
