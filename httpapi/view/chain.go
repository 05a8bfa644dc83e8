package view

import (
	"slices"
	"strconv"
)

// The features that chains can have.
const (
	FeatureNFT        = "nftIndexing"
	FeatureWebhooks   = "webhooks"
	FeatureTeleporter = "teleporter"
)

// ChainInfo is what clients see of a chain. Empty members are left out of
// answers unless said otherwise.
type ChainInfo struct {
	// ChainID is the EVM chain number in decimal. Required.
	ChainID string
	// Name and Description are always there.
	Name, Description string
	// BlockchainID (platformChainId), SubnetID and VMID are CB58.
	BlockchainID, SubnetID, VMID string
	// VMName is EVM, BITCOIN or ETHEREUM; empty is EVM.
	VMName             string
	ExplorerURL, WSURL string
	RPCURL             string // always there
	IsTestnet          bool
	Multicall          string // address of the multicall contract
	LogoURI            string
	Private            bool
	Features           []string // of the Feature constants
	Token              NetworkToken
}

// NetworkToken is the coin that a chain's fees are paid in.
type NetworkToken struct {
	Name, Symbol         string
	Decimals             uint8
	LogoURI, Description string
}

// Has reports whether a chain has a feature.
func (c *ChainInfo) Has(feature string) bool { return slices.Contains(c.Features, feature) }

// ChainItem writes the chain for the list of chains; up is false when its nodes do
// not answer, or its index is still far behind them. logo is that of the chain's coin.
// settled is the height of the last settled block, gaps are what is missing of the chain:
// further members, left out if empty.
func (w *Writer) ChainItem(c *ChainInfo, up bool, logo, settled string, gaps []Gap) {
	w.Comma()
	w.B = append(w.B, '{')
	w.text("chainId", c.ChainID)
	if up {
		w.text("status", "OK")
	} else {
		w.text("status", "UNAVAILABLE")
	}
	w.text("chainName", c.Name)
	w.text("description", c.Description)
	w.known("platformChainId", c.BlockchainID)
	w.known("subnetId", c.SubnetID)
	w.known("vmId", c.VMID)
	if c.VMName == "" {
		w.text("vmName", "EVM")
	} else {
		w.text("vmName", c.VMName)
	}
	w.known("explorerUrl", c.ExplorerURL)
	w.text("rpcUrl", c.RPCURL)
	w.known("wsUrl", c.WSURL)
	w.boolean("isTestnet", c.IsTestnet)
	if c.Multicall != "" {
		w.Member("utilityAddresses")
		w.B = append(w.B, '{')
		w.text("multicall", c.Multicall)
		w.B = append(w.B, '}')
	}
	w.networkToken(&c.Token, logo)
	w.known("chainLogoUri", c.LogoURI)
	w.boolean("private", c.Private)
	w.Member("enabledFeatures")
	w.B = append(w.B, '[')
	for _, f := range c.Features {
		w.Comma()
		w.B = AppendString(w.B, f)
	}
	w.Raw("]")
	w.known("settledHeight", settled)
	w.gaps(gaps)
	w.Raw("}")
}

// MetricChain writes the chain for the list of chains that have metrics.
func (w *Writer) MetricChain(c *ChainInfo) {
	w.Comma()
	w.Raw(`{"evmChainId":`)
	w.Raw(c.ChainID)
	w.text("chainName", c.Name)
	w.text("blockchainId", c.BlockchainID)
	w.text("subnetId", c.SubnetID)
	if c.IsTestnet {
		w.text("network", "testnet")
	} else {
		w.text("network", "mainnet")
	}
	w.B = append(w.B, '}')
}

// Kinds of gaps that metrics over all blocks cannot be told with.
const (
	// GapUntraced is the gap of blocks of a chain of which no node has had the debug API.
	GapUntraced = "untraced"
	// GapBelow is the gap below the block with which an index begins.
	GapBelow = "below-start"
	// GapUnsummed are blocks that lists show and sums lack.
	GapUnsummed = "unsummed"
)

// Gap is a range of blocks of which something is missing.
type Gap struct {
	Kind     string
	From, To uint64
	Reason   string
}

func (w *Writer) gaps(list []Gap) {
	if len(list) == 0 {
		return
	}
	w.Member("gaps")
	w.B = append(w.B, '[')
	for i := range list {
		g := &list[i]
		w.Comma()
		w.B = append(w.B, '{')
		w.text("kind", g.Kind)
		w.text("fromBlock", strconv.FormatUint(g.From, 10))
		w.text("toBlock", strconv.FormatUint(g.To, 10))
		w.text("reason", g.Reason)
		w.B = append(w.B, '}')
	}
	w.B = append(w.B, ']')
}

func (w *Writer) networkToken(t *NetworkToken, logo string) {
	w.Member("networkToken")
	w.B = append(w.B, '{')
	w.text("name", t.Name)
	w.text("symbol", t.Symbol)
	w.integer("decimals", int64(t.Decimals))
	w.known("logoUri", logo)
	w.known("description", t.Description)
	w.B = append(w.B, '}')
}
