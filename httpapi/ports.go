package httpapi

import (
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/sign"
)

// What signs.
type (
	Aggregator = sign.Aggregator
	Networks   = sign.Networks
)

// What the EVM chains are read by.
type (
	Chains = evmapi.Chains
	Chain  = evmapi.Chain
	Nodes  = evmapi.Nodes
)
