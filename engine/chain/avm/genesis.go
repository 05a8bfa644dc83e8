package avm

import (
	"fmt"

	"quorate/engine/chain/codec"
)

// GenesisAsset is an asset that the chain starts with.
type GenesisAsset struct {
	Alias string
	// Tx creates the asset, whose ID is the transaction's. It is unsigned.
	Tx Tx
}

// ParseGenesis reads the genesis data of the X-Chain, as the P-Chain's genesis state
// holds them. The first asset is AVAX on all networks so far.
func ParseGenesis(b []byte) ([]GenesisAsset, error) {
	var assets []GenesisAsset
	err := codec.Decode(b, version, codec.MaxGenesisLen, func(c *codec.Coder) { codeGenesis(c, &assets) })
	if err != nil {
		return nil, fmt.Errorf("X-Chain genesis: %w", err)
	}
	for i := range assets {
		// The ID is that of a transaction with a type ID and no credentials, which
		// are not written here.
		tx := &assets[i].Tx
		raw, err := tx.Bytes()
		if err != nil {
			return nil, fmt.Errorf("X-Chain genesis: %w", err)
		}
		tx.ID, tx.Size = codec.HashOf(version, raw[codec.VersionLen:])
	}
	return assets, nil
}

// GenesisBytes returns the form that [ParseGenesis] reads.
func GenesisBytes(assets []GenesisAsset) ([]byte, error) {
	return codec.Append(nil, version, func(c *codec.Coder) { codeGenesis(c, &assets) })
}

func codeGenesis(c *codec.Coder, assets *[]GenesisAsset) {
	const least = 2 + minBase + 2 + 2 + 1 + 4
	codec.List(c, assets, least, func(c *codec.Coder, a *GenesisAsset) {
		c.String(&a.Alias)
		if c.Reading() {
			a.Tx.Body = new(CreateAsset)
		}
		create, ok := a.Tx.Body.(*CreateAsset)
		if !ok || len(a.Tx.Credentials) > 0 {
			c.Fail(fmt.Errorf("%w: a genesis asset is made by an unsigned %v", codec.ErrValue, KindCreateAsset))
			return
		}
		create.code(c)
	})
}
