package httpapi

import (
	"github.com/valyala/fasthttp"

	"quorate/httpapi/shape"
)

// Routes returns the table: all that a server can serve, in the order of the
// documentation. What is not configured is not served.
func Routes() []Route { return routes(new(Server)) }

func routes(s *Server) []Route {
	list := signingRoutes(s)
	list = append(list, chainRoutes(s)...)
	list = append(list, addressRoutes(s)...)
	list = append(list, blockRoutes(s)...)
	list = append(list, partRoutes(s)...)
	list = append(list, nftRoutes(s)...)
	list = append(list, allChainsRoutes(s)...)
	list = append(list, icmRoutes(s)...)
	list = append(list, operationRoutes(s)...)
	list = append(list, eventRoutes(s)...)
	list = append(list, webhookRoutes(s)...)
	list = append(list, primaryRoutes(s)...)
	list = append(list, metricRoutes(s)...)
	list = append(list, icmMetricRoutes(s)...)
	list = append(list, serviceRoutes(s)...)
	return append(list, extRoutes(s)...)
}

// The patterns that others start with.
const (
	signPattern    = "/v1/signatureAggregator/{network}/aggregateSignatures"
	chainPattern   = "/v1/chains/{chainId}"
	addressPattern = chainPattern + "/addresses/{address}"
)

func signingRoutes(s *Server) []Route {
	return []Route{
		{
			Method: fasthttp.MethodPost, Pattern: signPattern, Units: unitsMedium,
			Doc:    "has a warp message signed by a quorum of validators",
			answer: shape.SignedMessage{}, body: shape.AggregateRequest{}, status: fasthttp.StatusCreated, make: plain(s.aggregateSignatures),
		},
		{
			Method: fasthttp.MethodGet, Pattern: signPattern + "/{txHash}", Units: unitsMedium, cookie: true,
			Doc: "has the warp messages of a transaction signed",
			off: s.cfg.Chains == nil, pathParams: signParams, answer: shape.SignedMessages{}, status: fasthttp.StatusCreated, make: plain(s.signTransaction),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/signatureAggregator/{network}/validators", Units: unitsMedium,
			Doc:    "returns the validators whose signatures the bits of a signed message stand for",
			query:  []param{paramSetHeight, paramSetSubnet},
			answer: shape.SigningSet{}, make: with(s, signingSet),
		},
		{
			Method: fasthttp.MethodPost, Pattern: relayerPath, Units: unitsMedium,
			Doc:    "has a warp message signed, in the form of the relayers' own aggregator",
			answer: shape.RelayerSignedMessage{}, body: shape.RelayerRequest{}, make: plain(s.relayerSignatures),
		},
	}
}

func chainRoutes(s *Server) []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: listPath, Units: unitsFree, Key: KeyNever, Access: Everywhere,
			Doc:    "lists what is served",
			answer: shape.Endpoints{}, make: plain(listRoutes(s)),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/chains", Units: unitsFree,
			Doc:   "lists the chains",
			query: []param{paramNetwork, paramFeature}, off: s.cfg.Chains == nil, answer: shape.Chains{}, make: with(s, listChains),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern, Units: unitsFree, Chain: "chainId",
			Doc: "returns one chain",
			off: s.cfg.Chains == nil, answer: shape.Chain{}, make: chainItself(s, (*call).chainItem),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the latest transactions",
			id:  7, query: []param{paramPageToken, paramPageSize, paramStatus}, size: pagesOf100,
			off: s.cfg.Chains == nil, answer: shape.NativeTransactions{}, make: onChain(s, nil, (*call).latestTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions/{txHash}", Units: unitsMedium, Chain: "chainId",
			Doc: "returns one transaction with all that happened in it",
			id:  9, off: s.cfg.Chains == nil, answer: shape.SingleTransaction{}, make: onChain(s, (*call).itemTx, (*call).singleTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/blocks/{blockId}/transactions", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the transactions of a block, by number or hash",
			id:  5, query: []param{paramPageToken, paramPageSize}, size: wholeBlock,
			off: s.cfg.Chains == nil, answer: shape.NativeTransactions{}, make: onChain(s, (*call).itemBlock, (*call).blockTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/tokens/{address}/transfers", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the transfers of a token",
			id:  4, query: []param{paramPageToken, paramPageSize, paramStartBlock, paramEndBlock}, size: pagesOf100,
			off: s.cfg.Chains == nil, answer: shape.Transfers{}, make: onChain(s, (*call).itemAddress, (*call).tokenTransfers),
		},
	}
}

func addressRoutes(s *Server) []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the transactions of an address",
			id:  1, query: []param{paramPageToken, paramPageSize, paramStartBlock, paramEndBlock, paramSortOrder}, size: pagesOf100,
			off: s.cfg.Chains == nil, answer: shape.Transactions{}, make: onChain(s, (*call).itemAddress, (*call).addressTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions:listErc721", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the ERC-721 transfers of an address",
			id:  2, query: []param{paramPageToken, paramPageSize, paramStartBlock, paramEndBlock}, size: pagesOf100,
			off: s.cfg.Chains == nil, answer: shape.TransferTransactions{}, make: onChain(s, (*call).itemAddress, (*call).addressNFTTransfers),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:getNative", Units: unitsMedium, Chain: "chainId",
			Doc: "returns the balance of an address in the chain's own coin",
			id:  8, query: []param{paramBlockNumber, paramCurrency},
			off: s.cfg.Chains == nil, answer: shape.NativeBalance{}, make: onChain(s, (*call).itemAddress, (*call).nativeBalance),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc20", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the ERC-20 balances of an address",
			id:  3, size: pagesOf500,
			query: []param{paramPageToken, paramPageSize, paramBlockNumber, paramFilterSpam, paramContracts, paramCurrency},
			off:   s.cfg.Chains == nil, answer: shape.ERC20Balances{}, make: onChain(s, (*call).itemAddress, (*call).tokenBalances),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc721", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the NFTs of an address",
			id:  6, query: []param{paramPageToken, paramPageSize, paramContract}, size: pagesOf500,
			off: s.cfg.Chains == nil, answer: shape.ERC721Balances{}, make: onChain(s, (*call).itemAddress, (*call).ownedNFTs),
		},
	}
}

func metricRoutes(s *Server) []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/metrics/{metric}", Units: unitsMedium,
			Key: KeyNever, Chain: "chainId",
			Doc: "lists the points of a metric",
			id:  11, size: pagesOfPoints,
			query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp, paramTimeInterval},
			off:   s.cfg.Chains == nil, answer: shape.Points{}, choices: metricNames(), make: onMetric(s, (*metricCall).metric),
		},
		rollingRoute(s),
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/contracts/{address}/balances", Units: unitsMedium,
			Key: KeyNever, Chain: "chainId",
			Doc: "lists who held more of an ERC-20 token than a threshold",
			id:  10, size: pagesOfHolders,
			query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp, needed(paramThreshold)},
			off:   s.cfg.Chains == nil, answer: shape.Holders{}, make: onChain(s, (*call).itemAddress, (*call).holders),
		},
		{
			Method: fasthttp.MethodGet, Pattern: avgTPSPattern, Units: unitsMedium, Key: KeyNever, Chain: "chainId",
			Doc: "lists transactions a second by day, in the form of the API's first version",
			id:  12, query: []param{paramPageToken},
			off: s.cfg.Chains == nil, answer: shape.AvgTPS{}, make: onMetric(s, (*metricCall).avgTPS),
		},
	}
}

// avgTPSPattern is that of endpoint 19, whose errors have a form of their own.
const avgTPSPattern = "/v1/avg_tps/{chainId}"

// extRoutes are what [Config.Ext] serves, and probes.
func extRoutes(s *Server) []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/health", Units: unitsFree, Key: KeyNever, Access: Everywhere, Probe: true,
			Doc: "says whether the server can do its work",
			off: s.cfg.Health == nil, answer: shape.Health{}, make: plain(s.health),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/metrics", Units: unitsLarge, Key: KeyNever, Access: Operator, Probe: true,
			Doc: "returns Prometheus metrics",
			off: s.cfg.Ext == nil, node: true, answer: shape.Text, make: plain(metricsAlias(s)),
		},
		{
			Pattern: "/ext/bc/{chain}/*", Units: unitsFree, Chain: "chain",
			Doc: "passes calls on to a chain's RPC",
			off: s.cfg.Ext == nil, node: true, answer: shape.Any{}, make: plain(passOn(s)),
		},
		{
			Pattern: "/ext/P/*", Units: unitsFree,
			Doc: "passes calls on to the P-Chain's RPC, where avalanchego's client asks for it",
			off: s.cfg.Ext == nil, node: true, answer: shape.Any{}, make: plain(passOn(s)),
		},
		{
			Pattern: "/ext/info", Units: unitsFree,
			Doc: "passes calls on to the info API of a followed node",
			off: s.cfg.Ext == nil, node: true, answer: shape.Any{}, make: plain(passOn(s)),
		},
		{
			Pattern: "/ext/health/*", Units: unitsFree, Key: KeyNever, Access: Operator, Probe: true,
			Doc: "returns what the health checks found",
			off: s.cfg.Ext == nil, node: true, answer: shape.Any{}, make: plain(passOn(s)),
		},
		{
			Pattern: metricsPath, Units: unitsLarge, Key: KeyNever, Access: Operator, Probe: true,
			Doc: "returns Prometheus metrics",
			off: s.cfg.Ext == nil, node: true, answer: shape.Text, make: plain(passOn(s)),
		},
		{
			Pattern: "/ext/*", Units: unitsFree, Key: KeyNever, Access: Operator,
			Doc: "answers the rest of a node's RPC, and the names that it gave to parts of it",
			off: s.cfg.Ext == nil, node: true, answer: shape.Any{}, make: plain(passOn(s)),
		},
	}
}

// with makes a handler that needs its route.
func with(s *Server, make func(s *Server, r *Route) handler) maker {
	return func(r *Route) handler { return make(s, r) }
}
