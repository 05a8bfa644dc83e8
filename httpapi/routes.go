package httpapi

import (
	"github.com/valyala/fasthttp"

	"quorate/httpapi/shape"
)

// What requests cost, in compute units: as on the public service.
const (
	unitsFree   = 1
	unitsMedium = 20
	unitsLarge  = 100
)

// KeyPolicy says whether a route needs an API key.
type KeyPolicy uint8

const (
	// KeyAsConfigured: where the server asks for API keys, the route needs one.
	KeyAsConfigured KeyPolicy = iota
	// KeyNever: the route never needs a key. A known one still counts, so that it
	// raises the rate.
	KeyNever
	// KeyAlways: the route is about what belongs to its client, so that it needs a key also
	// where others do not: an address is shared with whoever is behind it, such as the web
	// pages in a browser. See [Config.WebhooksKeyless].
	KeyAlways
)

// Access says on which listeners a route is served; see [Scope].
type Access uint8

const (
	// Public routes are for clients, and so for pages of other origins: CORS is theirs
	// alone. Operators' listeners have them for our own pages there, without CORS.
	Public Access = iota
	// Operator routes are for whoever runs the server.
	Operator
	// Everywhere is for probes and pages, which are asked for from both sides.
	Everywhere
)

// Route is a line of the table of what is served. Everything that depends on the
// route follows from its line: what a request costs, whether it needs a key, which
// chain it names, and on which listeners it is answered.
type Route struct {
	// Method is the only one served; HEAD comes with GET, and OPTIONS with any. Empty
	// leaves the method to the handler.
	Method string
	// Pattern has literal segments, such as "balances:getNative", segments "{name}",
	// which take any one segment, "{name}:verb", which take one that ends so, and at the end perhaps "*", which takes any rest,
	// also none.
	Pattern string
	// Doc says what the route answers.
	Doc string
	// Units is the price of a request in compute units. For /ext/bc it is the least:
	// [Config.ExtCost] knows the price of a call.
	Units int
	// Key says whether a request needs an API key.
	Key KeyPolicy
	// Chain is the parameter of Pattern that names a chain, empty if none does.
	Chain string
	// Access says on which listeners the route is served.
	Access Access
	// Probe routes are charged but never refused: answering costs no more than
	// refusing, and a health check must not fail because others share its address.
	Probe bool

	// id stands for the route in page tokens: a number is never used again.
	id    uint8
	query []param // parameters of the query that it knows
	size  pageSize
	needs need
	make  maker
	// anyChain: the chain of the pattern need not be one of the primary network.
	anyChain bool
	// page routes are for browsers: what they refuse is a page, too. Answers of kept ones
	// are kept for a moment.
	page, kept bool
	// cookie routes take the API key also from the cookie that pages set: browsers open
	// them without a header of their own.
	cookie bool

	// For the description of the API; tests hold real answers against them.

	// answer is a value of the type of a success's body, of package shape; body is that of
	// the request's, nil if it has none.
	answer, body any
	// status is that of a success; 0 is 200.
	status int
	// refused are statuses of refusals that do not follow from the pattern's parameters,
	// the query and the body: see [Route.refuses].
	refused []int
	// choices are what the pattern's metric can be.
	choices []string
}

// need is what a server must have been given to serve a route.
type need uint8

const (
	needsNothing need = iota
	needsChains
	needsPrimary
	needsExt
	needsHealth
	needsOperations
	needsEvents
	needsWebhooks
)

// maker makes the handler of a route.
type maker func(s *Server, r *Route) handler

// plain makes a handler of a method that needs nothing of its route.
func plain(h func(s *Server, ctx *fasthttp.RequestCtx, p params)) maker {
	return func(s *Server, _ *Route) handler {
		return func(ctx *fasthttp.RequestCtx, p params) { h(s, ctx, p) }
	}
}

// Routes returns the table: all that a server can serve, in the order of the
// documentation. What is not configured is not served.
func Routes() []Route {
	list := signingRoutes()
	list = append(list, chainRoutes()...)
	list = append(list, addressRoutes()...)
	list = append(list, blockRoutes()...)
	list = append(list, partRoutes()...)
	list = append(list, nftRoutes()...)
	list = append(list, allChainsRoutes()...)
	list = append(list, icmRoutes()...)
	list = append(list, operationRoutes()...)
	list = append(list, eventRoutes()...)
	list = append(list, webhookRoutes()...)
	list = append(list, primaryRoutes()...)
	list = append(list, metricRoutes()...)
	list = append(list, icmMetricRoutes()...)
	list = append(list, serviceRoutes()...)
	return append(list, extRoutes()...)
}

// The patterns that others start with.
const (
	signPattern    = "/v1/signatureAggregator/{network}/aggregateSignatures"
	chainPattern   = "/v1/chains/{chainId}"
	addressPattern = chainPattern + "/addresses/{address}"
)

func signingRoutes() []Route {
	return []Route{
		{
			Method: fasthttp.MethodPost, Pattern: signPattern, Units: unitsMedium,
			Doc:    "has a warp message signed by a quorum of validators",
			answer: shape.SignedMessage{}, body: shape.AggregateRequest{}, status: fasthttp.StatusCreated, make: plain((*Server).aggregateSignatures),
		},
		{
			Method: fasthttp.MethodGet, Pattern: signPattern + "/{txHash}", Units: unitsMedium, cookie: true,
			Doc:   "has the warp messages of a transaction signed",
			needs: needsChains, answer: shape.SignedMessages{}, status: fasthttp.StatusCreated, make: plain((*Server).signTransaction),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/signatureAggregator/{network}/validators", Units: unitsMedium,
			Doc:    "returns the validators whose signatures the bits of a signed message stand for",
			query:  []param{paramSetHeight, paramSetSubnet},
			answer: shape.SigningSet{}, make: signingSet,
		},
		{
			Method: fasthttp.MethodPost, Pattern: relayerPath, Units: unitsMedium,
			Doc:    "has a warp message signed, in the form of the relayers' own aggregator",
			answer: shape.RelayerSignedMessage{}, body: shape.RelayerRequest{}, make: plain((*Server).relayerSignatures),
		},
	}
}

func chainRoutes() []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: listPath, Units: unitsFree, Key: KeyNever, Access: Everywhere,
			Doc:    "lists what is served",
			answer: shape.Endpoints{}, make: listRoutes,
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/chains", Units: unitsFree,
			Doc:   "lists the chains",
			query: []param{paramNetwork, paramFeature}, needs: needsChains, answer: shape.Chains{}, make: listChains,
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern, Units: unitsFree, Chain: "chainId",
			Doc:   "returns one chain",
			needs: needsChains, answer: shape.Chain{}, make: chainItself((*call).chainItem),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the latest transactions",
			id:  7, query: []param{paramPageToken, paramPageSize, paramStatus}, size: pagesOf100,
			needs: needsChains, answer: shape.NativeTransactions{}, make: onChain(nil, (*call).latestTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions/{txHash}", Units: unitsMedium, Chain: "chainId",
			Doc: "returns one transaction with all that happened in it",
			id:  9, needs: needsChains, answer: shape.SingleTransaction{}, make: onChain((*call).itemTx, (*call).singleTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/blocks/{blockId}/transactions", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the transactions of a block, by number or hash",
			id:  5, query: []param{paramPageToken, paramPageSize}, size: wholeBlock,
			needs: needsChains, answer: shape.NativeTransactions{}, make: onChain((*call).itemBlock, (*call).blockTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/tokens/{address}/transfers", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the transfers of a token",
			id:  4, query: []param{paramPageToken, paramPageSize, paramStartBlock, paramEndBlock}, size: pagesOf100,
			needs: needsChains, answer: shape.Transfers{}, make: onChain((*call).itemAddress, (*call).tokenTransfers),
		},
	}
}

func addressRoutes() []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the transactions of an address",
			id:  1, query: []param{paramPageToken, paramPageSize, paramStartBlock, paramEndBlock, paramSortOrder}, size: pagesOf100,
			needs: needsChains, answer: shape.Transactions{}, make: onChain((*call).itemAddress, (*call).addressTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions:listErc721", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the ERC-721 transfers of an address",
			id:  2, query: []param{paramPageToken, paramPageSize, paramStartBlock, paramEndBlock}, size: pagesOf100,
			needs: needsChains, answer: shape.TransferTransactions{}, make: onChain((*call).itemAddress, (*call).addressNFTTransfers),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:getNative", Units: unitsMedium, Chain: "chainId",
			Doc: "returns the balance of an address in the chain's own coin",
			id:  8, query: []param{paramBlockNumber, paramCurrency},
			needs: needsChains, answer: shape.NativeBalance{}, make: onChain((*call).itemAddress, (*call).nativeBalance),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc20", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the ERC-20 balances of an address",
			id:  3, size: pagesOf500,
			query: []param{paramPageToken, paramPageSize, paramBlockNumber, paramFilterSpam, paramContracts, paramCurrency},
			needs: needsChains, answer: shape.ERC20Balances{}, make: onChain((*call).itemAddress, (*call).tokenBalances),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc721", Units: unitsMedium, Chain: "chainId",
			Doc: "lists the NFTs of an address",
			id:  6, query: []param{paramPageToken, paramPageSize, paramContract}, size: pagesOf500,
			needs: needsChains, answer: shape.ERC721Balances{}, make: onChain((*call).itemAddress, (*call).ownedNFTs),
		},
	}
}

func metricRoutes() []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/metrics/{metric}", Units: unitsMedium,
			Key: KeyNever, Chain: "chainId",
			Doc: "lists the points of a metric",
			id:  11, size: pagesOfPoints,
			query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp, paramTimeInterval},
			needs: needsChains, answer: shape.Points{}, choices: metricNames(), make: onMetric((*metricCall).metric),
		},
		rollingRoute(),
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/contracts/{address}/balances", Units: unitsMedium,
			Key: KeyNever, Chain: "chainId",
			Doc: "lists who held more of an ERC-20 token than a threshold",
			id:  10, size: pagesOfHolders,
			query: []param{paramPageToken, paramPageSize, paramStartTimestamp, paramEndTimestamp, needed(paramThreshold)},
			needs: needsChains, answer: shape.Holders{}, make: onChain((*call).itemAddress, (*call).holders),
		},
		{
			Method: fasthttp.MethodGet, Pattern: avgTPSPattern, Units: unitsMedium, Key: KeyNever, Chain: "chainId",
			Doc: "lists transactions a second by day, in the form of the API's first version",
			id:  12, query: []param{paramPageToken},
			needs: needsChains, answer: shape.AvgTPS{}, make: onMetric((*metricCall).avgTPS),
		},
	}
}

// avgTPSPattern is that of endpoint 19, whose errors have a form of their own.
const avgTPSPattern = "/v1/avg_tps/{chainId}"

// extRoutes are what [Config.Ext] serves, and probes.
func extRoutes() []Route {
	return []Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/health", Units: unitsFree, Key: KeyNever, Access: Everywhere, Probe: true,
			Doc:   "says whether the server can do its work",
			needs: needsHealth, answer: shape.Health{}, make: plain((*Server).health),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/metrics", Units: unitsLarge, Key: KeyNever, Access: Operator, Probe: true,
			Doc:   "returns Prometheus metrics",
			needs: needsExt, answer: shape.Text, make: metricsAlias,
		},
		{
			Pattern: "/ext/bc/{chain}/*", Units: unitsFree, Chain: "chain",
			Doc:   "passes calls on to a chain's RPC",
			needs: needsExt, answer: shape.Any{}, make: passOn,
		},
		{
			Pattern: "/ext/P/*", Units: unitsFree,
			Doc:   "passes calls on to the P-Chain's RPC, where avalanchego's client asks for it",
			needs: needsExt, answer: shape.Any{}, make: passOn,
		},
		{
			Pattern: "/ext/info", Units: unitsFree,
			Doc:   "passes calls on to the info API of a followed node",
			needs: needsExt, answer: shape.Any{}, make: passOn,
		},
		{
			Pattern: "/ext/health/*", Units: unitsFree, Key: KeyNever, Access: Operator, Probe: true,
			Doc:   "returns what the health checks found",
			needs: needsExt, answer: shape.Any{}, make: passOn,
		},
		{
			Pattern: metricsPath, Units: unitsLarge, Key: KeyNever, Access: Operator, Probe: true,
			Doc:   "returns Prometheus metrics",
			needs: needsExt, answer: shape.Text, make: passOn,
		},
		{
			Pattern: "/ext/*", Units: unitsFree, Key: KeyNever, Access: Operator,
			Doc:   "answers the rest of a node's RPC, and the names that it gave to parts of it",
			needs: needsExt, answer: shape.Any{}, make: passOn,
		},
	}
}
