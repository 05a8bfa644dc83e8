package evm

import (
	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

var _ view.Source = (*Request)(nil)

// Token implements [view.Source].
func (r *Request) Token(a *evm.Address) (index.TokenMeta, bool) {
	if !r.V.MayBeToken(a) {
		return index.TokenMeta{}, false
	}
	e := r.EVM.tokens.get(r.Info.ChainID, r.Version, a)
	if e == nil {
		e = &tokenEntry{chain: r.Info.ChainID, version: r.Version, address: *a}
		var err error
		if e.meta, e.known, err = r.V.Token(*a); err != nil {
			r.Note(err)
			return index.TokenMeta{}, false
		}
		r.EVM.tokens.put(e)
	}
	return e.meta, e.known
}

// TokenURI implements [view.Source].
func (r *Request) TokenURI(t *evm.Address, id *uint256.Int) string {
	uri, _, err := r.V.TokenURI(*t, *id)
	if err != nil {
		r.Note(err)
	}
	return uri
}

// Owner implements [view.Source].
func (r *Request) Owner(t *evm.Address, id *uint256.Int) (evm.Address, bool) {
	r.Shows.Still = nil // any block may bring another owner
	block := r.V.Tip().Hash
	if e := r.EVM.owners.get(r.Info.ChainID, &block, t, id); e != nil {
		return e.owner, true
	}
	owner, found, err := r.V.NFTOwner(index.NFT{Token: *t, ID: *id})
	if err != nil {
		r.Note(err)
	} else if found { // older blocks that come later may bring one where there was none
		r.EVM.owners.put(&ownerEntry{chain: r.Info.ChainID, block: block, token: *t, id: *id, owner: owner})
	}
	return owner, found
}

// Logo implements [view.Source].
func (r *Request) Logo(t *evm.Address) string {
	if r.EVM.Logos == nil {
		return ""
	}
	return r.EVM.Logos.Logo(r.Info.ChainID, t)
}

// Metadata implements [view.Source].
func (r *Request) Metadata(t *evm.Address, id *uint256.Int) *view.Metadata {
	if r.EVM.NFTMetadata != nil {
		if m := r.EVM.NFTMetadata.Metadata(r.Info.ChainID, t, id); m != nil {
			return m
		}
	}
	if r.EVM.NFTs == nil {
		return nil
	}
	m, err := r.EVM.NFTs.Metadata(r.Info.BlockchainID, t, id)
	if err != nil {
		r.Note(err)
	}
	return m
}

// Price implements [view.Source].
func (r *Request) Price(t *evm.Address) string {
	if r.EVM.Prices == nil {
		return ""
	}
	return r.EVM.Prices.Price(r.Info.ChainID, t, r.Q.Currency)
}

// Reputation implements [view.Source].
func (r *Request) Reputation(t *evm.Address) view.Reputation {
	if r.EVM.Reputation == nil {
		return view.Unknown
	}
	return r.EVM.Reputation.Reputation(r.Info.ChainID, t)
}

// MethodName implements [view.Source].
func (r *Request) MethodName(selector [4]byte) string {
	if r.EVM.Methods == nil {
		return ""
	}
	return r.EVM.Methods.MethodName(selector)
}
