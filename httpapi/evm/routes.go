package evm

import (
	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// The patterns that others start with.
const (
	chainPattern   = "/v1/chains/{chainId}"
	addressPattern = chainPattern + "/addresses/{address}"
)

func (m *Room) chainRoutes() []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/chains", Units: door.UnitsFree,
			Doc:   "lists the chains",
			Query: []door.Param{door.ParamNetwork, paramFeature}, Answer: shape.Chains{}, Make: m.calls.Make(listChains),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern, Units: door.UnitsFree, Chain: "chainId",
			Doc:    "returns one chain",
			Answer: shape.Chain{}, Make: m.chainItself((*call).chainItem),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the latest transactions",
			ID:  7, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramStatus}, Size: reply.PagesOf100,
			Answer: shape.NativeTransactions{}, Make: m.onChain(nil, latestTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions/{txHash}", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns one transaction with all that happened in it",
			ID:  9, Answer: shape.SingleTransaction{}, Make: m.onChain((*call).itemTx, singleTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/blocks/{blockId}/transactions", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the transactions of a block, by number or hash",
			ID:  5, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: wholeBlock,
			Answer: shape.NativeTransactions{}, Make: m.onChain((*call).itemBlock, blockTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/tokens/{address}/transfers", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the transfers of a token",
			ID:  4, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramStartBlock, paramEndBlock}, Size: reply.PagesOf100,
			Answer: shape.Transfers{}, Make: m.onChain((*call).itemAddress, tokenTransfers),
		},
	}
}

func (m *Room) addressRoutes() []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the transactions of an address",
			ID:  1, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramStartBlock, paramEndBlock, door.ParamSortOrder}, Size: reply.PagesOf100,
			Answer: shape.Transactions{}, Make: m.onChain((*call).itemAddress, addressTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions:listErc721", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the ERC-721 transfers of an address",
			ID:  2, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramStartBlock, paramEndBlock}, Size: reply.PagesOf100,
			Answer: shape.TransferTransactions{}, Make: m.onChain((*call).itemAddress, addressNFTTransfers),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:getNative", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns the balance of an address in the chain's own coin",
			ID:  8, Query: []door.Param{paramBlockNumber, door.ParamCurrency},
			Answer: shape.NativeBalance{}, Make: m.onChain((*call).itemAddress, nativeBalance),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc20", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the ERC-20 balances of an address",
			ID:  3, Size: pagesOf500,
			Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, paramBlockNumber, paramFilterSpam, paramContracts, door.ParamCurrency},
			Answer: shape.ERC20Balances{}, Make: m.onChain((*call).itemAddress, tokenBalances),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc721", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the NFTs of an address",
			ID:  6, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, paramContract}, Size: pagesOf500,
			Answer: shape.ERC721Balances{}, Make: m.onChain((*call).itemAddress, ownedNFTs),
		},
	}
}

// metricRoutes are those on the host of metrics.
func (m *Room) metricRoutes() []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/contracts/{address}/balances", Units: door.UnitsMedium,
			Key: door.KeyNever, Chain: "chainId",
			Doc: "lists who held more of an ERC-20 token than a threshold",
			ID:  10, Size: pagesOfHolders,
			Query:  []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp, door.Needed(paramThreshold)},
			Answer: shape.Holders{}, Make: m.onChain((*call).itemAddress, holders),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains", Units: door.UnitsFree, Key: door.KeyNever,
			Doc:   "lists the chains that have metrics",
			Query: []door.Param{door.ParamNoPageToken, door.ParamNetwork, paramFeature}, Answer: shape.MetricChains{}, Make: m.calls.Make(metricChains),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}", Units: door.UnitsFree, Key: door.KeyNever, Chain: "chainId",
			Doc:    "returns one of them",
			Answer: shape.MetricChain{}, Make: m.chainItself((*call).metricChain),
		},
	}
}
