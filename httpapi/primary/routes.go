package primary

import (
	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// The patterns that routes of the primary network start with.
const (
	networkPattern    = "/v1/networks/{network}"
	blockchainPattern = networkPattern + "/blockchains/{blockchainId}"
)

// contractRoutes are those of the documented API.
func (m *Room) contractRoutes() []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/subnets", Units: door.UnitsMedium,
			Doc: "lists the subnets of a network with their blockchains",
			ID:  20, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamSortOrder}, Size: pagesOfSubnets,
			Answer: shape.Subnets{}, Make: m.on(onPlatform, nil, listSubnets),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/rewards", Units: door.UnitsMedium,
			Doc: "lists the rewards that addresses or nodes were paid",
			ID:  21, Size: reply.PagesOf100,
			Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, paramAddresses, paramNodeIDs, door.ParamSortOrder, door.ParamCurrency},
			Answer: shape.HistoricalRewards{}, Make: m.on(onPlatform, someone, historicalRewards),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/delegators", Units: door.UnitsMedium,
			Doc: "lists the delegators of the primary network",
			ID:  22, Size: reply.PagesOf100,
			Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, paramRewardAddresses, door.ParamSortOrder, paramDelegation, paramNodeIDs},
			Answer: shape.Delegators{}, Make: m.on(onPlatform, nil, listDelegators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices:listByHeight", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the vertices of the X-Chain at a height",
			ID:  23, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.Needed(paramVertexHeight), door.ParamSortOrder}, Size: reply.PagesOf100,
			Answer: shape.Vertices{}, Make: m.on(onVertices, nil, verticesAt),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/blocks", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the latest blocks of a chain of the primary network",
			ID:  24, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp}, Size: reply.PagesOf100,
			Answer: shape.PrimaryBlocks{}, Make: m.on(onAny, nil, latestBlocks),
		},
	}
}

// platformRoutes are what both SDKs know besides of subnets, stakers, blocks and
// vertices.
func (m *Room) platformRoutes() []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern, Units: door.UnitsMedium,
			Doc:    "returns the sums over the validators and delegators of a network",
			Answer: shape.NetworkDetails{}, Make: m.on(onPlatform, nil, networkDetails),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/subnets/{subnetId}", Units: door.UnitsMedium,
			Doc:    "returns a subnet with its blockchains",
			Answer: shape.Subnet{}, Make: m.on(onPlatform, readSubnet, subnet),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/blockchains", Units: door.UnitsMedium,
			Doc: "lists the blockchains of a network",
			ID:  25, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamSortOrder}, Size: reply.PagesOf100,
			Answer: shape.Blockchains{}, Make: m.on(onPlatform, nil, listBlockchains),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern, Units: door.UnitsMedium, Chain: "blockchainId", AnyChain: true,
			Doc:    "returns a blockchain of any subnet",
			Answer: shape.Blockchain{}, Refused: []int{fasthttp.StatusBadRequest}, Make: m.on(onPlatform, readBlockchain, blockchain),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/validators", Units: door.UnitsMedium,
			Doc: "lists the validators of the primary network or a subnet",
			ID:  26, Size: reply.PagesOf100,
			Query: append([]door.Param{door.ParamPageToken, door.ParamPageSize, paramNodeParts, paramSortBy, door.ParamSortOrder, paramValidation, paramSubnetID, paramRewardAddresses},
				validatorBounds...),
			Answer: shape.Validators{}, Make: m.on(onPlatform, nil, listValidators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/validators/{nodeId}", Units: door.UnitsMedium,
			Doc: "lists what a node validates and validated",
			ID:  27, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramValidation, door.ParamSortOrder}, Size: reply.PagesOf100,
			Answer: shape.Validators{}, Make: m.on(onPlatform, readNode, listValidators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/l1Validators", Units: door.UnitsMedium,
			Doc: "lists the validators of L1s",
			ID:  28, Size: reply.PagesOf100,
			Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, paramValidationID, paramInactive, paramNodeID, paramSubnetID},
			Answer: shape.L1Validators{}, Make: m.on(onPlatform, nil, listL1Validators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/rewards:listPending", Units: door.UnitsMedium,
			Doc: "lists the rewards that addresses or nodes expect",
			ID:  29, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramAddresses, paramNodeIDs, door.ParamSortOrder}, Size: reply.PagesOf100,
			Answer: shape.PendingRewards{}, Make: m.on(onPlatform, someone, pendingRewards),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/blocks/{blockId}", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc:    "returns a block of a chain of the primary network, by height or ID",
			Answer: shape.PrimaryBlock{}, Make: m.on(onAny, readBlock, block),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/nodes/{nodeId}/blocks", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the blocks that a node proposed",
			ID:  30, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp}, Size: reply.PagesOf100,
			Answer: shape.PrimaryBlocks{}, Make: m.on(onAny, readNode, blocksOfNode),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the latest vertices of the X-Chain",
			ID:  31, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: reply.PagesOf100,
			Answer: shape.Vertices{}, Make: m.on(onVertices, nil, latestVertices),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices/{vertexHash}", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc:    "returns a vertex of the X-Chain",
			Answer: shape.Vertex{}, Make: m.on(onVertices, readVertex, vertex),
		},
	}
}

// fundsRoutes are what both SDKs know of transactions, outputs and assets.
func (m *Room) fundsRoutes() []door.Route {
	txParams := []door.Param{
		door.ParamPageToken, door.ParamPageSize, paramAddresses, paramValidationID, paramTxTypes, door.ParamStartTimestamp, door.ParamEndTimestamp, door.ParamSortOrder,
	}
	outParams := []door.Param{door.ParamPageToken, door.ParamPageSize, paramAssetID, paramMinAmount, paramSpent, paramSortOutputs, door.ParamSortOrder}
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/transactions", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the transactions of a chain of the primary network, or of addresses",
			ID:  32, Query: txParams, Size: reply.PagesOf100,
			Answer: shape.PrimaryTransactions{}, Make: m.on(onAny, nil, latestTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/transactions:listStaking", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the transactions whose stake is active",
			ID:  33, Size: reply.PagesOf100,
			Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, paramAddresses, paramTxTypes, door.ParamStartTimestamp, door.ParamEndTimestamp, door.ParamSortOrder},
			Answer: shape.PrimaryTransactions{}, Make: m.on(onPlatform, nil, stakingTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/transactions/{txHash}", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc:    "returns a transaction of a chain of the primary network",
			Answer: shape.PrimaryTransaction{}, Make: m.on(onAny, readTx, singleTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/assets/{assetId}", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc:    "returns an asset of the X-Chain",
			Answer: shape.Asset{}, Make: m.on(onExchange, readAsset, assetDetails),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/assets/{assetId}/transactions", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the transactions that create or move an asset",
			ID:  34, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramTxTypes, door.ParamStartTimestamp, door.ParamEndTimestamp}, Size: reply.PagesOf100,
			Answer: shape.PrimaryTransactions{}, Make: m.on(onExchange, readAsset, assetTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/balances", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc:    "returns what addresses have on a chain of the primary network",
			Query:  []door.Param{door.Needed(paramAddresses), paramBlockTimestamp},
			Answer: shape.Balances{}, Make: m.on(onAny, nil, balances),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/utxos", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the outputs of addresses",
			ID:  35, Query: append(outParams[:len(outParams):len(outParams)], door.Needed(paramAddresses)), Size: reply.PagesOf100,
			Answer: shape.UTXOs{}, Make: m.on(onAny, nil, listOutputs),
		},
		{
			Method: fasthttp.MethodPost, Pattern: blockchainPattern + "/utxos", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc: "lists the outputs of the addresses in the body",
			ID:  36, Query: outParams, Size: pagesOf1024, Body: shape.Addresses{},
			Answer: shape.UTXOs{}, Make: m.on(onAny, nil, listOutputs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/lastActivityTimestampByAddresses", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc:    "returns what addresses did last",
			Query:  []door.Param{door.Needed(paramAddresses)},
			Answer: shape.LastActivity{}, Make: m.on(onAny, nil, lastActivity),
		},
		{
			Method: fasthttp.MethodPost, Pattern: blockchainPattern + "/lastActivityTimestampByAddresses", Units: door.UnitsMedium, Chain: "blockchainId",
			Doc:    "returns what the addresses in the body did last",
			Body:   shape.Addresses{},
			Answer: shape.LastActivity{}, Make: m.on(onAny, nil, lastActivity),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/addresses:listChainIds", Units: door.UnitsMedium,
			Doc:    "lists the chains of the primary network that addresses have part in",
			Query:  []door.Param{door.Needed(paramAddresses)},
			Answer: shape.ChainIDs{}, Make: m.on(onPlatform, nil, chainIDs),
		},
	}
}
