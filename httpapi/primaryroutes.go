package httpapi

import (
	"slices"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/shape"
)

// The patterns that routes of the primary network start with.
const (
	networkPattern    = "/v1/networks/{network}"
	blockchainPattern = networkPattern + "/blockchains/{blockchainId}"
)

// primaryRoutes are what is served of the P-, X- and C-Chain as those of the primary
// network.
func primaryRoutes(s *Server) []Route {
	list := slices.Concat(contractRoutes(s), platformRoutes(s), fundsRoutes(s), stakingRoutes(s), feeRoutes(s), []Route{supplyRoute(s)})
	for i := range list {
		list[i].off, list[i].pathParams = s.cfg.Primary == nil, primaryParams
	}
	return list
}

// contractRoutes are those of the documented API.
func contractRoutes(s *Server) []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/subnets", Units: unitsMedium,
			Doc: "lists the subnets of a network with their blockchains",
			id:  20, query: []param{paramPageToken, paramPageSize, paramSortOrder}, size: pagesOfSubnets,
			answer: shape.Subnets{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).listSubnets),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/rewards", Units: unitsMedium,
			Doc: "lists the rewards that addresses or nodes were paid",
			id:  21, size: pagesOf100,
			query:  []param{paramPageToken, paramPageSize, paramAddresses, paramNodeIDs, paramSortOrder, paramCurrency},
			answer: shape.HistoricalRewards{}, make: onPrimary(s, onPlatform, (*primaryCall).someone, (*primaryCall).historicalRewards),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/delegators", Units: unitsMedium,
			Doc: "lists the delegators of the primary network",
			id:  22, size: pagesOf100,
			query:  []param{paramPageToken, paramPageSize, paramRewardAddresses, paramSortOrder, paramDelegation, paramNodeIDs},
			answer: shape.Delegators{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).listDelegators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices:listByHeight", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the vertices of the X-Chain at a height",
			id:  23, query: []param{paramPageToken, paramPageSize, needed(paramVertexHeight), paramSortOrder}, size: pagesOf100,
			answer: shape.Vertices{}, make: onPrimary(s, onVertices, nil, (*primaryCall).verticesAt),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/blocks", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the latest blocks of a chain of the primary network",
			id:  24, query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp}, size: pagesOf100,
			answer: shape.PrimaryBlocks{}, make: onPrimary(s, onAny, nil, (*primaryCall).latestBlocks),
		},
	}
}

// platformRoutes are what both SDKs know besides of subnets, stakers, blocks and
// vertices.
func platformRoutes(s *Server) []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern, Units: unitsMedium,
			Doc:    "returns the sums over the validators and delegators of a network",
			answer: shape.NetworkDetails{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).networkDetails),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/subnets/{subnetId}", Units: unitsMedium,
			Doc:    "returns a subnet with its blockchains",
			answer: shape.Subnet{}, make: onPrimary(s, onPlatform, (*primaryCall).readSubnet, (*primaryCall).subnet),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/blockchains", Units: unitsMedium,
			Doc: "lists the blockchains of a network",
			id:  25, query: []param{paramPageToken, paramPageSize, paramSortOrder}, size: pagesOf100,
			answer: shape.Blockchains{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).listBlockchains),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern, Units: unitsMedium, Chain: "blockchainId", anyChain: true,
			Doc:    "returns a blockchain of any subnet",
			answer: shape.Blockchain{}, refused: []int{fasthttp.StatusBadRequest}, make: onPrimary(s, onPlatform, (*primaryCall).readBlockchain, (*primaryCall).blockchain),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/validators", Units: unitsMedium,
			Doc: "lists the validators of the primary network or a subnet",
			id:  26, size: pagesOf100,
			query: append([]param{paramPageToken, paramPageSize, paramNodeParts, paramSortBy, paramSortOrder, paramValidation, paramSubnetID, paramRewardAddresses},
				validatorBounds...),
			answer: shape.Validators{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).listValidators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/validators/{nodeId}", Units: unitsMedium,
			Doc: "lists what a node validates and validated",
			id:  27, query: []param{paramPageToken, paramPageSize, paramValidation, paramSortOrder}, size: pagesOf100,
			answer: shape.Validators{}, make: onPrimary(s, onPlatform, (*primaryCall).readNode, (*primaryCall).listValidators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/l1Validators", Units: unitsMedium,
			Doc: "lists the validators of L1s",
			id:  28, size: pagesOf100,
			query:  []param{paramPageToken, paramPageSize, paramValidationID, paramInactive, paramNodeID, paramSubnetID},
			answer: shape.L1Validators{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).listL1Validators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/rewards:listPending", Units: unitsMedium,
			Doc: "lists the rewards that addresses or nodes expect",
			id:  29, query: []param{paramPageToken, paramPageSize, paramAddresses, paramNodeIDs, paramSortOrder}, size: pagesOf100,
			answer: shape.PendingRewards{}, make: onPrimary(s, onPlatform, (*primaryCall).someone, (*primaryCall).pendingRewards),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/blocks/{blockId}", Units: unitsMedium, Chain: "blockchainId",
			Doc:    "returns a block of a chain of the primary network, by height or ID",
			answer: shape.PrimaryBlock{}, make: onPrimary(s, onAny, (*primaryCall).readBlock, (*primaryCall).block),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/nodes/{nodeId}/blocks", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the blocks that a node proposed",
			id:  30, query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp}, size: pagesOf100,
			answer: shape.PrimaryBlocks{}, make: onPrimary(s, onAny, (*primaryCall).readNode, (*primaryCall).blocksOfNode),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the latest vertices of the X-Chain",
			id:  31, query: []param{paramPageToken, paramPageSize}, size: pagesOf100,
			answer: shape.Vertices{}, make: onPrimary(s, onVertices, nil, (*primaryCall).latestVertices),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices/{vertexHash}", Units: unitsMedium, Chain: "blockchainId",
			Doc:    "returns a vertex of the X-Chain",
			answer: shape.Vertex{}, make: onPrimary(s, onVertices, (*primaryCall).readVertex, (*primaryCall).vertex),
		},
	}
}

// fundsRoutes are what both SDKs know of transactions, outputs and assets.
func fundsRoutes(s *Server) []Route {
	txParams := []param{
		paramPageToken, paramPageSize, paramAddresses, paramValidationID, paramTxTypes, paramStartTimestamp, paramEndTimestamp, paramSortOrder,
	}
	outParams := []param{paramPageToken, paramPageSize, paramAssetID, paramMinAmount, paramSpent, paramSortOutputs, paramSortOrder}
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/transactions", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the transactions of a chain of the primary network, or of addresses",
			id:  32, query: txParams, size: pagesOf100,
			answer: shape.PrimaryTransactions{}, make: onPrimary(s, onAny, nil, (*primaryCall).latestPrimaryTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/transactions:listStaking", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the transactions whose stake is active",
			id:  33, size: pagesOf100,
			query:  []param{paramPageToken, paramPageSize, paramAddresses, paramTxTypes, paramStartTimestamp, paramEndTimestamp, paramSortOrder},
			answer: shape.PrimaryTransactions{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).stakingTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/transactions/{txHash}", Units: unitsMedium, Chain: "blockchainId",
			Doc:    "returns a transaction of a chain of the primary network",
			answer: shape.PrimaryTransaction{}, make: onPrimary(s, onAny, (*primaryCall).readPrimaryTx, (*primaryCall).singlePrimaryTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/assets/{assetId}", Units: unitsMedium, Chain: "blockchainId",
			Doc:    "returns an asset of the X-Chain",
			answer: shape.Asset{}, make: onPrimary(s, onExchange, (*primaryCall).readAsset, (*primaryCall).assetDetails),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/assets/{assetId}/transactions", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the transactions that create or move an asset",
			id:  34, query: []param{paramPageToken, paramPageSize, paramTxTypes, paramStartTimestamp, paramEndTimestamp}, size: pagesOf100,
			answer: shape.PrimaryTransactions{}, make: onPrimary(s, onExchange, (*primaryCall).readAsset, (*primaryCall).assetTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/balances", Units: unitsMedium, Chain: "blockchainId",
			Doc:    "returns what addresses have on a chain of the primary network",
			query:  []param{needed(paramAddresses), paramBlockTimestamp},
			answer: shape.Balances{}, make: onPrimary(s, onAny, nil, (*primaryCall).primaryBalances),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/utxos", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the outputs of addresses",
			id:  35, query: append(outParams[:len(outParams):len(outParams)], needed(paramAddresses)), size: pagesOf100,
			answer: shape.UTXOs{}, make: onPrimary(s, onAny, nil, (*primaryCall).listOutputs),
		},
		{
			Method: fasthttp.MethodPost, Pattern: blockchainPattern + "/utxos", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the outputs of the addresses in the body",
			id:  36, query: outParams, size: pagesOf1024, body: shape.Addresses{},
			answer: shape.UTXOs{}, make: onPrimary(s, onAny, nil, (*primaryCall).listOutputs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/lastActivityTimestampByAddresses", Units: unitsMedium, Chain: "blockchainId",
			Doc:    "returns what addresses did last",
			query:  []param{needed(paramAddresses)},
			answer: shape.LastActivity{}, make: onPrimary(s, onAny, nil, (*primaryCall).lastActivity),
		},
		{
			Method: fasthttp.MethodPost, Pattern: blockchainPattern + "/lastActivityTimestampByAddresses", Units: unitsMedium, Chain: "blockchainId",
			Doc:    "returns what the addresses in the body did last",
			body:   shape.Addresses{},
			answer: shape.LastActivity{}, make: onPrimary(s, onAny, nil, (*primaryCall).lastActivity),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/addresses:listChainIds", Units: unitsMedium,
			Doc:    "lists the chains of the primary network that addresses have part in",
			query:  []param{needed(paramAddresses)},
			answer: shape.ChainIDs{}, make: onPrimary(s, onPlatform, nil, (*primaryCall).chainIDs),
		},
	}
}
