package view

import (
	"cmp"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// BlockTransfer writes a transfer with its block and transaction.
func (w *Writer) BlockTransfer(t *index.AddressedTransfer) {
	w.Comma()
	w.B = append(w.B, '{')
	w.inBlock(&t.Tx.Block, &t.Tx.Hash)
	w.transfer(&t.Transfer)
	w.B = append(w.B, '}')
}

// inBlock writes the members that say which transaction a row is of.
func (w *Writer) inBlock(ref *index.BlockRef, tx *evm.Hash) {
	w.count("blockNumber", ref.Number)
	w.Member("blockTimestamp")
	w.B = AppendUint(w.B, ref.TimeMilli/1000)
	if w.Dialect == SDK {
		w.Member("blockTimestampMilliseconds")
		w.B = AppendUint(w.B, ref.TimeMilli)
	}
	w.hash("blockHash", &ref.Hash)
	w.hash("txHash", tx)
}

// transfer writes the members of a transfer.
func (w *Writer) transfer(t *index.Transfer) {
	w.party("from", &t.From)
	w.party("to", &t.To)
	w.integer("logIndex", int64(t.LogIndex))
	switch t.Kind {
	case index.ERC721:
		w.Member("erc721Token")
		w.B = append(w.B, '{')
		w.nft(&t.Token, &t.ID)
		if owner, ok := w.Source.Owner(&t.Token, &t.ID); ok && !owner.IsZero() {
			w.address("ownerAddress", &owner)
		}
	case index.ERC1155:
		w.amount("value", &t.Value)
		w.Member("erc1155Token")
		w.B = append(w.B, '{')
		w.address("address", &t.Token)
		w.text("ercType", "ERC-1155")
		w.nftDetails(&t.Token, &t.ID, true)
	default:
		w.amount("value", &t.Value)
		w.Member("erc20Token")
		w.B = append(w.B, '{')
		w.erc20(&t.Token)
		w.price("price", w.Source.Price(&t.Token))
	}
	w.B = append(w.B, '}')
}

// erc20 writes the members of an ERC-20 token but for its price.
func (w *Writer) erc20(token *evm.Address) (meta index.TokenMeta) {
	meta, _ = w.Source.Token(token)
	w.address("address", token)
	w.names(&meta)
	if meta.HasDecimals || w.Dialect != Contract {
		w.integer("decimals", int64(meta.Decimals))
	}
	w.known("logoUri", w.Source.Logo(token))
	w.Raw(`,"ercType":"ERC-20"`)
	return meta
}

// nft writes the members of an ERC-721 token but for its owner.
func (w *Writer) nft(token *evm.Address, id *uint256.Int) {
	meta, _ := w.Source.Token(token)
	w.address("address", token)
	w.names(&meta)
	w.text("ercType", "ERC-721")
	w.nftDetails(token, id, false)
}

// nftDetails writes what both kinds of NFT have.
func (w *Writer) nftDetails(token *evm.Address, id *uint256.Int, multi bool) {
	w.amount("tokenId", id)
	var uri string
	var m *Metadata
	if w.tx.roomForDocuments() {
		uri, m = w.Source.TokenURI(token, id), w.Source.Metadata(token, id)
	}
	start := len(w.B)
	w.demanded("tokenUri", uri)
	w.Member("metadata")
	if m == nil {
		w.Raw(`{"indexStatus":"UNINDEXED"}`)
	} else {
		w.metadata(m, multi)
	}
	if uri != "" || m != nil {
		w.tx.documents += len(w.B) - start
	}
}

func (w *Writer) metadata(m *Metadata, multi bool) {
	w.B = append(w.B, '{')
	if m.Status == "" {
		w.text("indexStatus", "INDEXED")
	} else {
		w.text("indexStatus", m.Status)
	}
	if m.UpdatedAt != 0 {
		w.integer("metadataLastUpdatedTimestamp", m.UpdatedAt)
	}
	w.known("name", m.Name)
	w.known("symbol", m.Symbol)
	w.known("imageUri", m.ImageURI)
	w.known("description", m.Description)
	w.known("animationUri", m.AnimationURI)
	w.known("externalUrl", m.ExternalURL)
	w.known("background", m.Background)
	switch {
	case !multi:
		w.known("attributes", m.Attributes)
	case m.Decimals != nil:
		w.integer("decimals", int64(*m.Decimals))
		fallthrough
	default:
		w.known("properties", m.Properties)
	}
	w.B = append(w.B, '}')
}

// NativeBalance writes the member nativeTokenBalance.
func (w *Writer) NativeBalance(wei *uint256.Int) {
	t, price := &w.Chain.Token, w.Source.Price(nil)
	w.Member("nativeTokenBalance")
	w.B = append(w.B, '{')
	w.text("name", t.Name)
	w.text("symbol", t.Symbol)
	w.integer("decimals", int64(t.Decimals))
	w.known("logoUri", w.coinLogo())
	w.text("chainId", w.Chain.ChainID)
	w.price("price", price)
	w.amount("balance", wei)
	w.worth("balanceValue", wei, t.Decimals, price)
	w.B = append(w.B, '}')
}

// coinLogo returns the logo of the chain's coin: the file's, or else the chain's.
func (w *Writer) coinLogo() string {
	return cmp.Or(w.Source.Logo(nil), w.Chain.Token.LogoURI)
}

// TokenBalance writes an ERC-20 balance.
func (w *Writer) TokenBalance(b *index.TokenBalance) {
	w.Comma()
	w.B = append(w.B, '{')
	meta := w.erc20(&b.Token)
	price := w.Source.Price(&b.Token)
	w.price("price", price)
	w.text("chainId", w.Chain.ChainID)
	w.amount("balance", &b.Amount)
	w.balanceSource(b.Doubtful, b.Said, b.SaidAt)
	if meta.HasDecimals {
		w.worth("balanceValue", &b.Amount, meta.Decimals, price)
	}
	switch r := w.Source.Reputation(&b.Token); {
	case r != Unknown:
		w.text("tokenReputation", string(r))
	case w.Dialect != Contract:
		w.Raw(`,"tokenReputation":null`)
	}
	w.B = append(w.B, '}')
}

// balanceSource says where a balance is from that transfers do not tell: from the
// contract, after a block, or from transfers although they do not add up.
func (w *Writer) balanceSource(doubtful, said bool, at uint64) {
	switch {
	case doubtful && said:
		w.text("balanceSource", "contract")
		w.count("balanceBlockNumber", at)
	case doubtful:
		w.text("balanceSource", "transfers")
	}
}

// Holder writes an address and what it has of a token, in base units.
func (w *Writer) Holder(h *index.Holder) {
	w.Comma()
	w.B = append(w.B, '{')
	w.address("address", &h.Address)
	if w.Dialect == SDK {
		w.amount("sortKey", &h.Balance)
	} else {
		w.Member("sortKey")
		w.B = AppendAmount(w.B, &h.Balance)
	}
	w.B = append(w.B, '}')
}

// OwnedNFT writes an ERC-721 token with its owner.
func (w *Writer) OwnedNFT(n *index.ItemBalance, owner *evm.Address) {
	w.Comma()
	w.B = append(w.B, '{')
	w.nft(&n.Token, &n.ID)
	w.address("ownerAddress", owner)
	w.text("chainId", w.Chain.ChainID)
	w.balanceSource(n.Doubtful, false, 0)
	w.B = append(w.B, '}')
}
