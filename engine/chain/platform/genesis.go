package platform

import (
	"crypto/sha256"
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/utxo"
)

// Genesis is the state that the P-Chain starts with.
type Genesis struct {
	// ID is the SHA-256 of the genesis state's bytes. The block at height 0 names it
	// as its parent.
	ID chain.ID

	UTXOs         []GenesisUTXO
	Validators    []Tx
	Chains        []Tx
	Time          uint64 // Unix seconds
	InitialSupply uint64 // nAVAX
	Message       string
}

// GenesisUTXO is an output that the chain starts with.
type GenesisUTXO struct {
	utxo.UTXO
	Message []byte
}

// ParseGenesis reads a network's genesis state.
func ParseGenesis(b []byte) (*Genesis, error) {
	g := &Genesis{ID: sha256.Sum256(b)}
	if err := codec.Decode(b, version, codec.MaxGenesisLen, g.code); err != nil {
		return nil, fmt.Errorf("P-Chain genesis: %w", err)
	}
	return g, nil
}

// Bytes returns the form that [ParseGenesis] reads.
func (g *Genesis) Bytes() ([]byte, error) { return codec.Append(nil, version, g.code) }

func (g *Genesis) code(c *codec.Coder) {
	codec.List(c, &g.UTXOs, utxo.MinUTXO+4, func(c *codec.Coder, u *GenesisUTXO) {
		utxo.CodeUTXO(c, &u.UTXO, true)
		c.Bytes(&u.Message)
	})
	codeTxs(c, &g.Validators)
	codeTxs(c, &g.Chains)
	c.Uint64(&g.Time)
	c.Uint64(&g.InitialSupply)
	c.String(&g.Message)
}
