package platform

import (
	"context"
	"crypto/sha256"

	"quorate/engine/chain"
	"quorate/engine/source"
)

const (
	// MaxBlockchains bounds the blockchains of one answer.
	MaxBlockchains = 100_000
	// maxChainName bounds a blockchain's name in bytes; the P-Chain has the same bound.
	maxChainName = 128
)

// Tip is the last accepted block of a chain.
type Tip struct {
	Height uint64
	// ID is the block's own. Consensus wraps blocks, so a node's log and health
	// report may name the same block by the ID of its wrapping.
	ID chain.ID
}

// Head returns the node's last accepted P-Chain block. With several nodes the
// second of its two questions may go to one that is behind: [ErrNotFound].
func (c *Client) Head(ctx context.Context) (Tip, error) {
	h, err := c.Height(ctx)
	if err != nil {
		return Tip{}, err
	}
	var r struct {
		Block string `json:"block"`
	}
	params := map[string]string{"height": decimal(h), "encoding": "hex"}
	if err := c.platform(ctx, "getBlockByHeight", params, &r); err != nil {
		return Tip{}, err
	}
	block, err := source.DecodeHex(r.Block)
	if err != nil {
		return Tip{}, err
	}
	return Tip{Height: h, ID: sha256.Sum256(block)}, nil
}

// Blockchain is a chain that was made on the P-Chain.
type Blockchain struct {
	ID, SubnetID, VMID chain.ID
	Name               string
}

type blockchainsAnswer struct {
	Blockchains []struct {
		ID       string `json:"id"`
		Name     string `json:"name"`
		SubnetID string `json:"subnetID"`
		VMID     string `json:"vmID"`
	} `json:"blockchains"`
}

// Blockchains returns all chains of the network but the P-Chain itself. It is
// costly for the node: ask seldom.
func (c *Client) Blockchains(ctx context.Context) ([]Blockchain, error) {
	var r blockchainsAnswer
	if err := c.platform(ctx, "getBlockchains", nil, &r); err != nil {
		return nil, err
	}
	return r.blockchains()
}

func (r *blockchainsAnswer) blockchains() ([]Blockchain, error) {
	if r.Blockchains == nil {
		return nil, bad("no blockchains")
	}
	if len(r.Blockchains) > MaxBlockchains {
		return nil, bad("more than %d blockchains", MaxBlockchains)
	}
	out := make([]Blockchain, len(r.Blockchains))
	for i, b := range r.Blockchains {
		if len(b.Name) > maxChainName {
			return nil, bad("blockchain %.60q: name of %d bytes", b.ID, len(b.Name))
		}
		out[i].Name = b.Name
		for _, f := range []struct {
			dst  *chain.ID
			text string
		}{{&out[i].ID, b.ID}, {&out[i].SubnetID, b.SubnetID}, {&out[i].VMID, b.VMID}} {
			var err error
			if *f.dst, err = chain.ParseID(f.text); err != nil {
				return nil, bad("blockchain %.60q: %w", b.ID, err)
			}
		}
	}
	return out, nil
}
