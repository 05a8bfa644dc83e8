package main

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/holiman/uint256"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/httpapi"
	"quorate/httpapi/view"
)

// mainnetID is the network ID of mainnet; all others are test networks.
const mainnetID = 1

// chains gives the HTTP server its view of the engine's EVM chains.
type chains struct {
	eng *engine.Engine
	// baseURL is where clients reach this server.
	baseURL string
}

// Chain implements [httpapi.Chains].
func (c chains) Chain(name string) (httpapi.Chain, bool) {
	list := c.eng.EVMs()
	if n, err := strconv.ParseUint(name, 10, 64); err == nil {
		for _, e := range list {
			if e.Number() == n {
				return evmChain{c, e}, true
			}
		}
		return nil, false
	}
	id, ok := c.eng.Chains().Lookup(name)
	if !ok {
		return nil, false
	}
	for _, e := range list {
		if e.ID() == id {
			return evmChain{c, e}, true
		}
	}
	return nil, false
}

// Chains implements [httpapi.Chains].
func (c chains) Chains() []httpapi.Chain {
	list := c.eng.EVMs()
	out := make([]httpapi.Chain, len(list))
	for i, e := range list {
		out[i] = evmChain{c, e}
	}
	return out
}

// evmChain is one of them.
type evmChain struct {
	of chains
	*engine.EVM
}

// View implements [httpapi.Chain].
func (c evmChain) View(tip *uint64) (httpapi.View, error) {
	v, err := c.Index().At(tip)
	if err != nil {
		return nil, err // a nil *index.View is not a nil View
	}
	return v, nil
}

// NodeBalance implements [httpapi.Chain].
func (c evmChain) NodeBalance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error) {
	return c.Balance(ctx, a, height)
}

// Info implements [httpapi.Chain].
func (c evmChain) Info() *view.ChainInfo {
	d := c.Details()
	info := &view.ChainInfo{
		ChainID: strconv.FormatUint(c.Number(), 10),
		Name:    d.Name, Description: d.Description,
		BlockchainID: c.ID().String(), SubnetID: c.Subnet().String(),
		ExplorerURL: d.ExplorerURL, LogoURI: d.LogoURI, WSURL: d.WSURL, Multicall: d.Multicall,
		RPCURL:    cmp.Or(d.RPCURL, c.of.baseURL+"/ext/bc/"+c.ID().String()+"/rpc"),
		IsTestnet: c.NetworkID() != mainnetID, Private: d.Private, Features: d.Features,
		Token: view.NetworkToken{
			Name: cmp.Or(d.TokenName, "Avalanche"), Symbol: cmp.Or(d.TokenSymbol, "AVAX"),
			Decimals: d.TokenDecimals, LogoURI: d.TokenLogoURI,
		},
	}
	if vm := c.VM(); vm != (chain.ID{}) {
		info.VMID = vm.String()
	}
	if c.Subnet() == chain.PrimaryNetworkID {
		info.Name = cmp.Or(info.Name, "Avalanche C-Chain")
		info.Description = cmp.Or(info.Description, "The contract chain of the Avalanche primary network")
	}
	info.Name = cmp.Or(info.Name, "EVM chain "+info.ChainID)
	if len(info.Features) == 0 {
		info.Features = []string{view.FeatureNFT}
	}
	return info
}

// publicURL gives the address that clients are told, and whether it is one.
func publicURL(s string) (string, bool) {
	u, err := url.Parse(s)
	ok := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	return strings.TrimRight(s, "/"), ok
}
