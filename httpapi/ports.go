package httpapi

import (
	"context"

	"quorate/aggregator"
	"quorate/aggregator/valset"
	evmapi "quorate/httpapi/evm"
)

// Aggregator has messages signed. It must answer within bounded time on its own
// account: ctx ends only when the server is stopped by force.
// Its errors should be of type *[aggregator.Error].
type Aggregator interface {
	Aggregate(ctx context.Context, req *aggregator.Request) (*aggregator.Result, error)
	// Validators returns the set that a request's SigningSubnetID has at its PChainHeight.
	Validators(ctx context.Context, req *aggregator.Request) (*valset.Set, error)
}

// Networks returns the networks that are followed. It is called for each request.
type Networks interface {
	// ByName returns the network called mainnet, fuji or testnet.
	ByName(name string) (Aggregator, bool)
	// ByID returns the network whose messages carry networkID.
	ByID(networkID uint32) (Aggregator, bool)
}

// What the EVM chains are read by.
type (
	Chains      = evmapi.Chains
	Chain       = evmapi.Chain
	View        = evmapi.View
	Prices      = evmapi.Prices
	Logos       = evmapi.Logos
	NFTMetadata = evmapi.NFTMetadata
	NFTs        = evmapi.NFTs
	Reputation  = evmapi.Reputation
	MethodNames = evmapi.MethodNames
)
