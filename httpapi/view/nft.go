package view

import (
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// MaxDigits is the length of the largest ID of a token.
const MaxDigits = 78

// NFT writes a token with an ID.
func (w *Writer) NFT(n *index.SeenNFT) {
	w.Comma()
	w.B = append(w.B, '{')
	if n.Kind == index.ERC1155 {
		w.item(&n.NFT)
	} else {
		w.nft(&n.Token, &n.ID)
		if owner, ok := w.Source.Owner(&n.Token, &n.ID); ok && !owner.IsZero() {
			w.address("ownerAddress", &owner)
		}
	}
	w.B = append(w.B, '}')
}

// item writes the members of an ERC-1155 token.
func (w *Writer) item(n *index.NFT) {
	w.address("address", &n.Token)
	w.text("ercType", "ERC-1155")
	w.nftDetails(&n.Token, &n.ID, true)
}

// ItemBalance writes what an address has of an ERC-1155 token.
func (w *Writer) ItemBalance(b *index.ItemBalance) {
	w.Comma()
	w.B = append(w.B, '{')
	w.item(&b.NFT)
	w.text("chainId", w.Chain.ChainID)
	w.amount("balance", &b.Amount)
	w.balanceSource(b.Doubtful, false, 0)
	w.B = append(w.B, '}')
}

// Collection writes what is known of a contract of NFTs.
func (w *Writer) Collection(token *evm.Address, sum index.Collection) {
	meta, _ := w.Source.Token(token)
	for _, m := range [...]struct{ name, value string }{{"nftCollectionName", meta.Name}, {"nftSymbol", meta.Symbol}} {
		if m.value != "" {
			w.Strings(m.name, []string{m.value})
		}
	}
	w.Member("totalHolders")
	w.B = AppendUint(w.B, sum.Holders)
	w.Member("totalTokens")
	w.B = AppendUint(w.B, sum.Tokens)
	w.balanceSource(sum.Doubtful, false, 0)
}
