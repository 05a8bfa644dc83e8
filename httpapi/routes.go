package httpapi

import (
	"cmp"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/httpapi/door"
	"quorate/httpapi/exports"
	"quorate/httpapi/probe"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// Routes returns the table: all that a server can serve, in the order of the patterns.
// What is not configured is not served.
func Routes() []door.Route { return routes(new(Server)) }

func routes(s *Server) []door.Route {
	list := signingRoutes(s)
	list = append(list, chainRoutes(s)...)
	list = append(list, addressRoutes(s)...)
	list = append(list, blockRoutes(s)...)
	list = append(list, partRoutes(s)...)
	list = append(list, nftRoutes(s)...)
	list = append(list, allChainsRoutes(s)...)
	list = append(list, icmRoutes(s)...)
	list = append(list, exportsOf(s).Routes()...)
	list = append(list, eventRoutes(s)...)
	list = append(list, webhookRoutes(s)...)
	list = append(list, primaryRoutes(s)...)
	list = append(list, metricRoutes(s)...)
	list = append(list, icmMetricRoutes(s)...)
	list = append(list, serviceRoutes(s)...)
	list = append(list, extRoutes(s)...)
	slices.SortFunc(list, func(a, b door.Route) int {
		return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.Method, b.Method))
	})
	return list
}

// The patterns that others start with.
const (
	signPattern    = "/v1/signatureAggregator/{network}/aggregateSignatures"
	chainPattern   = "/v1/chains/{chainId}"
	addressPattern = chainPattern + "/addresses/{address}"
)

func signingRoutes(s *Server) []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodPost, Pattern: signPattern, Units: door.UnitsMedium,
			Doc:    "has a warp message signed by a quorum of validators",
			Answer: shape.SignedMessage{}, Body: shape.AggregateRequest{}, Status: fasthttp.StatusCreated, Make: door.Plain(s.aggregateSignatures),
		},
		{
			Method: fasthttp.MethodGet, Pattern: signPattern + "/{txHash}", Units: door.UnitsMedium, Cookie: true,
			Doc: "has the warp messages of a transaction signed",
			Off: s.cfg.Chains == nil, PathParams: signParams, Answer: shape.SignedMessages{}, Status: fasthttp.StatusCreated, Make: door.Plain(s.signTransaction),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/signatureAggregator/{network}/validators", Units: door.UnitsMedium,
			Doc:    "returns the validators whose signatures the bits of a signed message stand for",
			Query:  []door.Param{paramSetHeight, paramSetSubnet},
			Answer: shape.SigningSet{}, Make: with(s, signingSet),
		},
		{
			Method: fasthttp.MethodPost, Pattern: door.RelayerPath, Units: door.UnitsMedium,
			Doc:    "has a warp message signed, in the form of the relayers' own aggregator",
			Answer: shape.RelayerSignedMessage{}, Body: shape.RelayerRequest{}, Make: door.Plain(s.relayerSignatures),
		},
	}
}

func chainRoutes(s *Server) []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: listPath, Units: door.UnitsFree, Key: door.KeyNever, Access: door.Everywhere,
			Doc:    "lists what is served",
			Answer: shape.Endpoints{}, Make: door.Plain(listRoutes(s)),
		},
		{
			Method: fasthttp.MethodGet, Pattern: "/v1/chains", Units: door.UnitsFree,
			Doc:   "lists the chains",
			Query: []door.Param{door.ParamNetwork, door.ParamFeature}, Off: s.cfg.Chains == nil, Answer: shape.Chains{}, Make: s.calls.Make((*call).listChains),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern, Units: door.UnitsFree, Chain: "chainId",
			Doc: "returns one chain",
			Off: s.cfg.Chains == nil, Answer: shape.Chain{}, Make: chainItself(s, (*call).chainItem),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the latest transactions",
			ID:  7, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStatus}, Size: reply.PagesOf100,
			Off: s.cfg.Chains == nil, Answer: shape.NativeTransactions{}, Make: onChain(s, nil, (*call).latestTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/transactions/{txHash}", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns one transaction with all that happened in it",
			ID:  9, Off: s.cfg.Chains == nil, Answer: shape.SingleTransaction{}, Make: onChain(s, (*call).itemTx, (*call).singleTx),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/blocks/{blockId}/transactions", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the transactions of a block, by number or hash",
			ID:  5, Query: []door.Param{door.ParamPageToken, door.ParamPageSize}, Size: wholeBlock,
			Off: s.cfg.Chains == nil, Answer: shape.NativeTransactions{}, Make: onChain(s, (*call).itemBlock, (*call).blockTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: chainPattern + "/tokens/{address}/transfers", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the transfers of a token",
			ID:  4, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartBlock, door.ParamEndBlock}, Size: reply.PagesOf100,
			Off: s.cfg.Chains == nil, Answer: shape.Transfers{}, Make: onChain(s, (*call).itemAddress, (*call).tokenTransfers),
		},
	}
}

func addressRoutes(s *Server) []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the transactions of an address",
			ID:  1, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartBlock, door.ParamEndBlock, door.ParamSortOrder}, Size: reply.PagesOf100,
			Off: s.cfg.Chains == nil, Answer: shape.Transactions{}, Make: onChain(s, (*call).itemAddress, (*call).addressTxs),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/transactions:listErc721", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the ERC-721 transfers of an address",
			ID:  2, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartBlock, door.ParamEndBlock}, Size: reply.PagesOf100,
			Off: s.cfg.Chains == nil, Answer: shape.TransferTransactions{}, Make: onChain(s, (*call).itemAddress, (*call).addressNFTTransfers),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:getNative", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "returns the balance of an address in the chain's own coin",
			ID:  8, Query: []door.Param{door.ParamBlockNumber, door.ParamCurrency},
			Off: s.cfg.Chains == nil, Answer: shape.NativeBalance{}, Make: onChain(s, (*call).itemAddress, (*call).nativeBalance),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc20", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the ERC-20 balances of an address",
			ID:  3, Size: pagesOf500,
			Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamBlockNumber, door.ParamFilterSpam, door.ParamContracts, door.ParamCurrency},
			Off:   s.cfg.Chains == nil, Answer: shape.ERC20Balances{}, Make: onChain(s, (*call).itemAddress, (*call).tokenBalances),
		},
		{
			Method: fasthttp.MethodGet, Pattern: addressPattern + "/balances:listErc721", Units: door.UnitsMedium, Chain: "chainId",
			Doc: "lists the NFTs of an address",
			ID:  6, Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamContract}, Size: pagesOf500,
			Off: s.cfg.Chains == nil, Answer: shape.ERC721Balances{}, Make: onChain(s, (*call).itemAddress, (*call).ownedNFTs),
		},
	}
}

func metricRoutes(s *Server) []door.Route {
	return []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/metrics/{metric}", Units: door.UnitsMedium,
			Key: door.KeyNever, Chain: "chainId",
			Doc: "lists the points of a metric",
			ID:  11, Size: reply.PagesOfPoints,
			Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp, door.ParamTimeInterval},
			Off:   s.cfg.Chains == nil, Answer: shape.Points{}, Choices: metricNames(), Make: onMetric(s, (*metricCall).metric),
		},
		rollingRoute(s),
		{
			Method: fasthttp.MethodGet, Pattern: "/v2/chains/{chainId}/contracts/{address}/balances", Units: door.UnitsMedium,
			Key: door.KeyNever, Chain: "chainId",
			Doc: "lists who held more of an ERC-20 token than a threshold",
			ID:  10, Size: pagesOfHolders,
			Query: []door.Param{door.ParamPageToken, door.ParamPageSize, door.ParamStartTimestamp, door.ParamEndTimestamp, door.Needed(door.ParamThreshold)},
			Off:   s.cfg.Chains == nil, Answer: shape.Holders{}, Make: onChain(s, (*call).itemAddress, (*call).holders),
		},
		{
			Method: fasthttp.MethodGet, Pattern: avgTPSPattern, Units: door.UnitsMedium, Key: door.KeyNever, Chain: "chainId",
			Doc: "lists transactions a second by day, in the form of the API's first version",
			ID:  12, Query: []door.Param{door.ParamPageToken},
			Off: s.cfg.Chains == nil, Answer: shape.AvgTPS{}, Make: onMetric(s, (*metricCall).avgTPS),
		},
	}
}

// avgTPSPattern is that of endpoint 19, whose errors have a form of their own.
const avgTPSPattern = "/v1/avg_tps/{chainId}"

// extRoutes are what [Config.Ext] serves, and probes.
func extRoutes(s *Server) []door.Route {
	return append(probe.Room{Health: s.cfg.Health, Ready: s.cfg.Ready}.Routes(), []door.Route{
		{
			Method: fasthttp.MethodGet, Pattern: "/metrics", Units: door.UnitsLarge, Key: door.KeyNever, Access: door.Operator, Probe: true,
			Doc: "returns Prometheus metrics",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Text, Make: door.Plain(metricsAlias(s)),
		},
		{
			Pattern: "/ext/bc/{chain}/*", Units: door.UnitsFree, Chain: "chain",
			Doc: "passes calls on to a chain's RPC",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/P/*", Units: door.UnitsFree,
			Doc: "passes calls on to the P-Chain's RPC, where avalanchego's client asks for it",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/info", Units: door.UnitsFree,
			Doc: "passes calls on to the info API of a followed node",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/health/*", Units: door.UnitsFree, Key: door.KeyNever, Access: door.Operator, Probe: true,
			Doc: "returns what the health checks found",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: metricsPath, Units: door.UnitsLarge, Key: door.KeyNever, Access: door.Operator, Probe: true,
			Doc: "returns Prometheus metrics",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Text, Make: door.Plain(passOn(s)),
		},
		{
			Pattern: "/ext/*", Units: door.UnitsFree, Key: door.KeyNever, Access: door.Operator,
			Doc: "answers the rest of a node's RPC, and the names that it gave to parts of it",
			Off: s.cfg.Ext == nil, Node: true, Answer: shape.Any{}, Make: door.Plain(passOn(s)),
		},
	}...)
}

// with makes a handler that needs its route.
func with(s *Server, make func(s *Server, r *door.Route) door.Handler) door.Maker {
	return func(r *door.Route) door.Handler { return make(s, r) }
}

// exportsOf returns what answers about exports.
func exportsOf(s *Server) *exports.Room {
	x := &exports.Room{
		Operations: s.cfg.Operations, PublicURL: s.cfg.PublicURL, DownloadTime: s.cfg.DownloadTime, Key: s.cfg.TokenKey,
		WriteTimeout: s.cfg.WriteTimeout, Owe: s.owe, Work: s.work, Log: s.log,
	}
	if s.conns != nil {
		x.Stopped, x.LastWrites = s.conns.stopped, func() time.Time { return s.conns.lastWrites }
	}
	if chains := s.cfg.Chains; chains != nil {
		x.Chain = func(name string) (number string, id chain.ID, ok bool) {
			c, ok := chains.Chain(name)
			if !ok {
				return "", id, false
			}
			return c.Info().ChainID, c.ID(), true
		}
	}
	return x
}

// metricsAlias makes the handler of /metrics, where the relayer's own aggregator
// has them.
func metricsAlias(s *Server) door.Handler {
	pass := passOn(s)
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		ctx.Request.SetRequestURI(metricsPath)
		pass(ctx, p)
	}
}

// metricsPath is where [Config.Ext] serves metrics.
const metricsPath = "/ext/metrics"
