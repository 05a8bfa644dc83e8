package etherscan

import (
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

func tokentx(c *call) error     { return c.transfers(index.ERC20) }
func tokennfttx(c *call) error  { return c.transfers(index.ERC721) }
func token1155tx(c *call) error { return c.transfers(index.ERC1155) }

// transfers lists the transfers of a standard: those of an address, of a token, or of both.
func (c *call) transfers(kind index.TransferKind) error {
	w, err := c.window()
	if err != nil {
		return err
	}
	of, err := c.optional("address")
	if err != nil {
		return err
	}
	token, err := c.optional("contractaddress")
	if err != nil {
		return err
	}
	if of == nil && token == nil {
		return refusal("Missing address or contractaddress")
	}
	rows, err := c.collect(w, func(p index.Page, take takeRow) ([]byte, error) {
		return c.transfersOf(kind, of, token, p, take)
	})
	if err != nil {
		return err
	}
	return c.list(rows, noTxs, c.transfer)
}

// transfersOf reads the list that has them.
func (c *call) transfersOf(kind index.TransferKind, of, token *evm.Address, p index.Page, take takeRow) ([]byte, error) {
	one := func(t *index.AddressedTransfer) bool {
		if t.Kind != kind || !concerns(&t.Transfer, token) {
			c.passed++
			return true
		}
		return take(row{tx: t.Tx, transfer: t.Transfer})
	}
	switch {
	case of == nil:
		return c.v.TokenTransfers(*token, p, one)
	case kind == index.ERC721:
		return c.v.AddressTransfers(*of, kind, p, one)
	}
	part := index.PartERC20
	if kind == index.ERC1155 {
		part = index.PartERC1155
	}
	return c.v.AddressParts(*of, part, p, func(tx *index.Tx, i int) bool {
		return one(&index.AddressedTransfer{Tx: refTo(tx), Transfer: tx.Transfers[i]})
	})
}

// transfer writes a transfer with its transaction.
func (c *call) transfer(r *row) error {
	tx, err := c.whole(&r.tx.Hash)
	if err != nil {
		return err
	}
	meta, err := c.token(&r.transfer.Token)
	if err != nil {
		return err
	}
	w, t := &c.w, &r.transfer
	c.place(&r.tx)
	w.count("nonce", tx.Nonce)
	w.count("logIndex", uint64(t.LogIndex))
	w.address("from", &t.From)
	w.address("to", &t.To)
	w.address("contractAddress", &t.Token)
	if t.Kind != index.ERC20 {
		w.amount("tokenID", &t.ID)
	}
	switch t.Kind {
	case index.ERC20:
		w.amount("value", &t.Value)
	case index.ERC1155:
		w.amount("tokenValue", &t.Value)
	case index.ERC721:
	}
	w.text("tokenName", meta.Name)
	w.text("tokenSymbol", meta.Symbol)
	if t.Kind != index.ERC1155 {
		w.count("tokenDecimal", uint64(meta.Decimals))
	}
	w.text("input", "deprecated")
	return c.gas(&r.tx, tx)
}
