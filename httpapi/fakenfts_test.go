package httpapi

import (
	"bytes"
	"slices"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

func (v *fakeView) SumsNFTs() bool { return !v.c.noSums }

func (v *fakeView) Items(a evm.Address, contract *evm.Address, p index.Page) ([]index.ItemBalance, []byte, error) {
	p.Ascending = true
	list := slices.DeleteFunc(slices.Clone(v.c.items[a]), func(b index.ItemBalance) bool { return contract != nil && b.Token != *contract })
	return scan(v, list, p, func(b index.ItemBalance) []byte { return b.Position() }, everywhere)
}

// kinds are the tokens of a contract that somebody has, and by whom.
func (v *fakeView) kinds(token evm.Address) (list []index.SeenNFT, held map[evm.Address]uint64) {
	held = map[evm.Address]uint64{}
	add := func(who evm.Address, n index.NFT, kind index.TransferKind) {
		if n.Token != token {
			return
		}
		held[who]++
		if s := (index.SeenNFT{NFT: n, Kind: kind}); !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	for who, owned := range v.c.nfts {
		for _, n := range owned {
			add(who, n, index.ERC721)
		}
	}
	for who, balances := range v.c.items {
		for _, b := range balances {
			add(who, b.NFT, index.ERC1155)
		}
	}
	slices.SortFunc(list, func(a, b index.SeenNFT) int { return a.ID.Cmp(&b.ID) })
	return list, held
}

func (v *fakeView) Minted(token evm.Address, p index.Page) ([]index.SeenNFT, []byte, error) {
	p.Ascending = true
	list, _ := v.kinds(token)
	return scan(v, list, p, func(n index.SeenNFT) []byte { id := n.ID.Bytes32(); return id[:] }, everywhere)
}

func (v *fakeView) NFTKind(nft index.NFT) (index.TransferKind, bool, error) {
	list, _ := v.kinds(nft.Token)
	for _, n := range list {
		if n.NFT == nft {
			return n.Kind, true, v.broken
		}
	}
	return 0, false, v.broken
}

func (v *fakeView) NFTHolders(token evm.Address, p index.Page) ([]index.Holder, []byte, error) {
	p.Ascending = true
	_, held := v.kinds(token)
	var list []index.Holder
	for who, n := range held {
		list = append(list, index.Holder{Address: who, Balance: *uint256.NewInt(n)})
	}
	slices.SortFunc(list, func(a, b index.Holder) int { return bytes.Compare(a.Address[:], b.Address[:]) })
	return scan(v, list, p, func(h index.Holder) []byte { return h.Address[:] }, everywhere)
}

func (v *fakeView) Collection(token evm.Address) (index.Collection, bool, error) {
	list, held := v.kinds(token)
	return index.Collection{Holders: uint64(len(held)), Tokens: uint64(len(list)), Doubtful: token == items}, len(list) > 0, v.broken
}
