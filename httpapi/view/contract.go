package view

import (
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// Deployment says how a contract was made.
type Deployment struct {
	Tx evm.Hash
	// Deployer sent the transaction.
	Deployer evm.Address
	// Contract is the contract whose call made it, nil if the transaction did.
	Contract *evm.Address
}

// Contract writes what is known of a contract; d is nil if nobody knows who made it.
func (w *Writer) Contract(a *evm.Address, d *Deployment) {
	meta, _ := w.Source.Token(a)
	w.B = append(w.B, '{')
	w.known("name", meta.Name)
	w.address("address", a)
	if d != nil {
		w.Member("deploymentDetails")
		w.B = append(w.B, '{')
		w.hash("txHash", &d.Tx)
		w.address("deployerAddress", &d.Deployer)
		if d.Contract != nil {
			w.address("deployerContractAddress", d.Contract)
		}
		w.B = append(w.B, '}')
	}
	if uri := w.Source.Logo(a); uri != "" {
		w.Member("logoAsset")
		w.B = append(w.B, '{')
		w.text("imageUri", uri)
		w.B = append(w.B, '}')
	}
	switch meta.Kind {
	case index.ERC20:
		w.text("ercType", "ERC-20")
		w.known("symbol", meta.Symbol)
		if meta.HasDecimals || w.Dialect != Contract {
			w.integer("decimals", int64(meta.Decimals))
		}
	case index.ERC721, index.ERC1155:
		w.text("ercType", meta.Kind.String())
		w.known("symbol", meta.Symbol)
	default:
		w.text("ercType", "UNKNOWN")
	}
	w.B = append(w.B, '}')
}

// BlockCall writes an internal transaction with its block and transaction.
func (w *Writer) BlockCall(tx *index.Tx, c *evm.Call) {
	w.Comma()
	w.B = append(w.B, '{')
	w.inBlock(&tx.Block, &tx.Hash)
	w.callMembers(c)
	w.B = append(w.B, '}')
}

// Strings writes a member with a list of strings; none is left out.
func (w *Writer) Strings(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.Member(name)
	w.B = append(w.B, '[')
	for _, s := range list {
		w.Comma()
		w.B = AppendString(w.B, s)
	}
	w.B = append(w.B, ']')
}
