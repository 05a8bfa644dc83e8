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
