package shape

import "github.com/goccy/go-json"

// Point is the value of a metric in a bucket of time.
type Point struct {
	Value     json.Number `json:"value"`
	Timestamp Unix        `json:"timestamp"`
}

// Points is a page of them, the newest first.
type Points struct {
	Results []Point `json:"results"`
	Page
}

// Windows has the figures of a metric over windows that end now. Those that need blocks
// which are not indexed are absent.
type Windows struct {
	Result struct {
		LastHour   json.Number `json:"lastHour,omitempty"`
		LastDay    json.Number `json:"lastDay,omitempty"`
		LastWeek   json.Number `json:"lastWeek,omitempty"`
		LastMonth  json.Number `json:"lastMonth,omitempty"`
		Last90Days json.Number `json:"last90Days,omitempty"`
		LastYear   json.Number `json:"lastYear,omitempty"`
		AllTime    json.Number `json:"allTime,omitempty"`
	} `json:"result"`
	// Since says when the windows begin.
	Since struct {
		LastHour   Unix `json:"lastHour"`
		LastDay    Unix `json:"lastDay"`
		LastWeek   Unix `json:"lastWeek"`
		LastMonth  Unix `json:"lastMonth"`
		Last90Days Unix `json:"last90Days"`
		LastYear   Unix `json:"lastYear"`
	} `json:"since"`
}

// AvgTPS is a page of the first version's metric.
type AvgTPS struct {
	Points
	Status  int  `json:"status"`
	LastRun Unix `json:"lastRun"`
}

// Holder is who has how much of a token.
type Holder struct {
	Address Address `json:"address"`
	SortKey Figure  `json:"sortKey"`
}

// Holders is a page of them.
type Holders struct {
	Addresses []Holder `json:"addresses"`
	Page
}

// NFTHolders is a page of those who hold tokens of a contract, each with how many.
type NFTHolders struct {
	Addresses         []Holder `json:"addresses"`
	NFTCollectionName []string `json:"nftCollectionName,omitempty"`
	NFTSymbol         []string `json:"nftSymbol,omitempty"`
	TotalHolders      int      `json:"totalHolders"`
	TotalTokens       int      `json:"totalTokens"`
	BalanceSource     string   `json:"balanceSource,omitempty" enum:"transfers"`
	Page
}

// MetricChain is a chain that has metrics.
type MetricChain struct {
	EVMChainID   int64  `json:"evmChainId"`
	ChainName    string `json:"chainName"`
	BlockchainID string `json:"blockchainId"`
	SubnetID     string `json:"subnetId"`
	Network      string `json:"network" enum:"mainnet,testnet"`
}

// MetricChains is the list of them.
type MetricChains struct {
	Chains []MetricChain `json:"chains"`
}
