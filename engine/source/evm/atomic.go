package evm

import (
	"encoding/hex"
	"errors"

	"github.com/holiman/uint256"

	"quorate/engine/chain"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/evm"
)

// weiPerNano is the number of wei in the unit that the other chains count in.
const weiPerNano = 1_000_000_000

var errNoAsset = errors.New("the chain has atomic transactions, but the ID of AVAX is not configured")

// decodeExtra reads blockExtraData, 0x and hex digits. Only amounts of assetID
// are kept: those of AVAX.
func decodeExtra(text []byte, assetID evm.Hash) ([]byte, []evm.Atomic, error) {
	if assetID.IsZero() {
		return nil, nil, errNoAsset
	}
	n, err := hexLen(text)
	if err != nil {
		return nil, nil, err
	}
	b := make([]byte, n)
	if _, err := hex.Decode(b, text[2:]); err != nil {
		return nil, nil, hexErr("hex digits", text)
	}
	found, err := decodeAtomic(b, assetID)
	return b, found, err
}

func decodeAtomic(b []byte, assetID evm.Hash) (found []evm.Atomic, err error) {
	txs, err := atomic.Parse(b)
	if err != nil {
		return nil, err
	}
	for i := range txs {
		for _, account := range txs[i].Accounts {
			if account.Asset != chain.ID(assetID) {
				continue
			}
			a := evm.Atomic{Address: account.Address, Export: txs[i].Kind == atomic.Export}
			a.Wei.Mul(uint256.NewInt(account.Amount), uint256.NewInt(weiPerNano))
			found = append(found, a)
		}
	}
	return found, nil
}
