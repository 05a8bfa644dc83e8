package httpapi

import "github.com/valyala/fasthttp"

// The patterns that routes of the primary network start with.
const (
	networkPattern    = "/v1/networks/{network}"
	blockchainPattern = networkPattern + "/blockchains/{blockchainId}"
)

// primaryRoutes are what is served of the P-, X- and C-Chain as those of the primary
// network.
func primaryRoutes() []Route {
	return append(contractRoutes(), platformRoutes()...)
}

// contractRoutes are those of the documented API.
func contractRoutes() []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/subnets", Units: unitsMedium,
			Doc: "lists the subnets of a network with their blockchains",
			id:  20, query: []param{paramPageToken, paramPageSize, paramSortOrder}, size: pagesOfSubnets,
			needs: needsPrimary, make: onPrimary(onPlatform, nil, (*primaryCall).listSubnets),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/rewards", Units: unitsMedium,
			Doc: "lists the rewards that addresses or nodes were paid",
			id:  21, size: pagesOf100,
			query: []param{paramPageToken, paramPageSize, paramAddresses, paramNodeIDs, paramSortOrder, paramCurrency},
			needs: needsPrimary, make: onPrimary(onPlatform, (*primaryCall).someone, (*primaryCall).historicalRewards),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/delegators", Units: unitsMedium,
			Doc: "lists the delegators of the primary network",
			id:  22, size: pagesOf100,
			query: []param{paramPageToken, paramPageSize, paramRewardAddresses, paramSortOrder, paramDelegation, paramNodeIDs},
			needs: needsPrimary, make: onPrimary(onPlatform, nil, (*primaryCall).listDelegators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices:listByHeight", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the vertices of the X-Chain at a height",
			id:  23, query: []param{paramPageToken, paramPageSize, paramVertexHeight, paramSortOrder}, size: pagesOf100,
			needs: needsPrimary, make: onPrimary(onVertices, (*primaryCall).atHeight, (*primaryCall).verticesAt),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/blocks", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the latest blocks of a chain of the primary network",
			id:  24, query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp}, size: pagesOf100,
			needs: needsPrimary, make: onPrimary(onAny, nil, (*primaryCall).latestBlocks),
		},
	}
}

// platformRoutes are what both SDKs know besides of subnets, stakers, blocks and
// vertices.
func platformRoutes() []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern, Units: unitsMedium,
			Doc:   "returns the sums over the validators and delegators of a network",
			needs: needsPrimary, make: onPrimary(onPlatform, nil, (*primaryCall).networkDetails),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/subnets/{subnetId}", Units: unitsMedium,
			Doc:   "returns a subnet with its blockchains",
			needs: needsPrimary, make: onPrimary(onPlatform, (*primaryCall).readSubnet, (*primaryCall).subnet),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/blockchains", Units: unitsMedium,
			Doc: "lists the blockchains of a network",
			id:  25, query: []param{paramPageToken, paramPageSize, paramSortOrder}, size: pagesOf100,
			needs: needsPrimary, make: onPrimary(onPlatform, nil, (*primaryCall).listBlockchains),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern, Units: unitsMedium, Chain: "blockchainId", anyChain: true,
			Doc:   "returns a blockchain of any subnet",
			needs: needsPrimary, make: onPrimary(onPlatform, (*primaryCall).readBlockchain, (*primaryCall).blockchain),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/validators", Units: unitsMedium,
			Doc: "lists the validators of the primary network or a subnet",
			id:  26, size: pagesOf100,
			query: []param{paramPageToken, paramPageSize, paramNodeIDs, paramSortBy, paramSortOrder, paramValidation, paramSubnetID},
			needs: needsPrimary, make: onPrimary(onPlatform, nil, (*primaryCall).listValidators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/validators/{nodeId}", Units: unitsMedium,
			Doc: "lists what a node validates and validated",
			id:  27, query: []param{paramPageToken, paramPageSize, paramValidation, paramSortOrder}, size: pagesOf100,
			needs: needsPrimary, make: onPrimary(onPlatform, (*primaryCall).readNode, (*primaryCall).listValidators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/l1Validators", Units: unitsMedium,
			Doc: "lists the validators of L1s",
			id:  28, size: pagesOf100,
			query: []param{paramPageToken, paramPageSize, paramValidationID, paramInactive, paramNodeID, paramSubnetID},
			needs: needsPrimary, make: onPrimary(onPlatform, nil, (*primaryCall).listL1Validators),
		},
		{
			Method: fasthttp.MethodGet, Pattern: networkPattern + "/rewards:listPending", Units: unitsMedium,
			Doc: "lists the rewards that addresses or nodes expect",
			id:  29, query: []param{paramPageToken, paramPageSize, paramAddresses, paramNodeIDs, paramSortOrder}, size: pagesOf100,
			needs: needsPrimary, make: onPrimary(onPlatform, (*primaryCall).someone, (*primaryCall).pendingRewards),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/blocks/{blockId}", Units: unitsMedium, Chain: "blockchainId",
			Doc:   "returns a block of a chain of the primary network, by height or ID",
			needs: needsPrimary, make: onPrimary(onAny, (*primaryCall).readBlock, (*primaryCall).block),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/nodes/{nodeId}/blocks", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the blocks that a node proposed",
			id:  30, query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp}, size: pagesOf100,
			needs: needsPrimary, make: onPrimary(onAny, (*primaryCall).readNode, (*primaryCall).blocksOfNode),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices", Units: unitsMedium, Chain: "blockchainId",
			Doc: "lists the latest vertices of the X-Chain",
			id:  31, query: []param{paramPageToken, paramPageSize}, size: pagesOf100,
			needs: needsPrimary, make: onPrimary(onVertices, nil, (*primaryCall).latestVertices),
		},
		{
			Method: fasthttp.MethodGet, Pattern: blockchainPattern + "/vertices/{vertexHash}", Units: unitsMedium, Chain: "blockchainId",
			Doc:   "returns a vertex of the X-Chain",
			needs: needsPrimary, make: onPrimary(onVertices, (*primaryCall).readVertex, (*primaryCall).vertex),
		},
	}
}
