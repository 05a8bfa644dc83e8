package main

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/holiman/uint256"

	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/httpapi"
	"quorate/httpapi/view"
	"quorate/rollup"
)

// mainnetID is the network ID of mainnet; all others are test networks.
const mainnetID = 1

// chains gives the HTTP server its view of the engine's EVM chains.
type chains struct {
	eng *engine.Engine
	// baseURL is where clients reach this server; empty when it serves no chain RPC.
	baseURL string
	// metadata says that the metadata of NFTs are known, where a file has them.
	metadata bool
	// known are the chains that were asked for so far, in the engine's order: they
	// are the same for each request, with all that is told about them.
	known *atomic.Pointer[[]httpapi.Chain]
}

func newChains(eng *engine.Engine, baseURL string, metadata bool) chains {
	return chains{eng, baseURL, metadata, &atomic.Pointer[[]httpapi.Chain]{}}
}

// Chain implements [httpapi.Chains].
func (c chains) Chain(name string) (httpapi.Chain, bool) {
	list, known := c.eng.EVMs(), c.Chains()
	if n, err := strconv.ParseUint(name, 10, 64); err == nil {
		for i, e := range list {
			if e.Number() == n {
				return known[i], true
			}
		}
		return nil, false
	}
	id, ok := c.eng.Chains().Lookup(name)
	if !ok {
		return nil, false
	}
	for i, e := range list {
		if e.ID() == id {
			return known[i], true
		}
	}
	return nil, false
}

// Chains implements [httpapi.Chains].
func (c chains) Chains() []httpapi.Chain {
	var known []httpapi.Chain
	if p := c.known.Load(); p != nil {
		known = *p
	}
	list := c.eng.EVMs()
	if len(known) >= len(list) { // chains are only ever added
		return known
	}
	known = slices.Clone(known)
	for _, e := range list[len(known):] {
		known = append(known, &evmChain{EVM: e, info: c.info(e)})
	}
	c.known.Store(&known)
	return known
}

// evmChain is one of them.
type evmChain struct {
	*engine.EVM
	info *view.ChainInfo
}

// View implements [httpapi.Chain].
func (c *evmChain) View(tip *uint64) (httpapi.View, error) {
	v, err := c.Index().At(tip)
	if err != nil {
		return nil, err // a nil *index.View is not a nil View
	}
	return v, nil
}

// Cursor implements [httpapi.Chain].
func (c *evmChain) Cursor() (uint64, evm.Hash, bool) { return c.Index().Cursor() }

// TokenVersion implements [httpapi.Chain].
func (c *evmChain) TokenVersion() uint64 { return c.Index().TokenVersion() }

// NodeBalance implements [httpapi.Chain].
func (c *evmChain) NodeBalance(ctx context.Context, a evm.Address, height *uint64) (*uint256.Int, error) {
	return c.Balance(ctx, a, height)
}

// RollupState implements [httpapi.Chain].
func (c *evmChain) RollupState() (rollup.State, uint32, error) { return c.Index().RollupState() }

// Buckets implements [httpapi.Chain].
func (c *evmChain) Buckets(i rollup.Interval, newest, oldest uint32, take func(uint32, *rollup.Record)) error {
	return c.Index().Buckets(i, newest, oldest, take)
}

// Info implements [httpapi.Chain].
func (c *evmChain) Info() *view.ChainInfo { return c.info }

// info is what is told about a chain.
func (c chains) info(e *engine.EVM) *view.ChainInfo {
	d := e.Details()
	info := &view.ChainInfo{
		ChainID: strconv.FormatUint(e.Number(), 10),
		Name:    d.Name, Description: d.Description,
		BlockchainID: e.ID().String(), SubnetID: e.Subnet().String(),
		ExplorerURL: d.ExplorerURL, LogoURI: d.LogoURI, WSURL: d.WSURL, Multicall: d.Multicall,
		RPCURL:    d.RPCURL,
		IsTestnet: e.NetworkID() != mainnetID, Private: d.Private, Features: d.Features,
		Token: view.NetworkToken{
			Name: cmp.Or(d.TokenName, "Avalanche"), Symbol: cmp.Or(d.TokenSymbol, "AVAX"),
			Decimals: d.TokenDecimals, LogoURI: d.TokenLogoURI, Description: d.TokenDescription,
		},
	}
	if c.baseURL != "" {
		rpcURL, wsURL := chainURLs(c.baseURL, e.ID().String())
		info.RPCURL = cmp.Or(info.RPCURL, rpcURL)
		if e.HasSocket() {
			info.WSURL = cmp.Or(info.WSURL, wsURL)
		}
	}
	if vm := e.VM(); vm != (chain.ID{}) {
		info.VMID = vm.String()
	}
	if e.Subnet() == chain.PrimaryNetworkID {
		info.Name = cmp.Or(info.Name, "Avalanche C-Chain")
		info.Description = cmp.Or(info.Description, "The contract chain of the Avalanche primary network")
	}
	info.Name = cmp.Or(info.Name, "EVM chain "+info.ChainID)
	if len(info.Features) == 0 && c.metadata {
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
