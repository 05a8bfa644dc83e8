package etherscan

import (
	"fmt"
	"strings"

	"quorate/httpapi/door"
)

// action is one thing that can be asked for.
type action struct {
	module, name string
	run          func(c *call) error
	rowless      bool // it reads no rows
	// takes are the parameters, and lacks is what is other than at the service that the
	// dialect is of.
	takes, lacks string
}

const (
	byOffset = ", `startblock`, `endblock`, `page`, `offset`, `sort`"
	byPage   = ", `page`, `offset`"
	fromNode = "what the chain RPC answers; needs it"
)

// actions returns the table.
func actions() []action {
	list := []action{
		{module: "account", name: "balance", run: balance, takes: "`address`, `tag`"},
		{module: "account", name: "balancemulti", run: balancemulti, takes: "`address` (20 at most), `tag`"},
		{module: "account", name: "txlist", run: txlist, takes: "`address`" + byOffset},
		{module: "account", name: "txlistinternal", run: txlistinternal, takes: "`address` or `txhash`" + byOffset, lacks: "the input of calls; without an address at most 10,000 blocks; a transaction's calls all have its hash"},
		{module: "account", name: "tokentx", run: tokentx, takes: "`address`, `contractaddress`" + byOffset},
		{module: "account", name: "tokennfttx", run: tokennfttx, takes: "`address`, `contractaddress`" + byOffset},
		{module: "account", name: "token1155tx", run: token1155tx, takes: "`address`, `contractaddress`" + byOffset},
		{module: "account", name: "tokenbalance", run: tokenbalance, takes: "`contractaddress`, `address`, `tag`"},
		{module: "account", name: "addresstokenbalance", run: addresstokenbalance, takes: "`address`" + byPage, lacks: "prices; 500 tokens at most"},
		{module: "account", name: "tokenlist", run: tokenlist, takes: "`address`" + byPage, lacks: "NFTs; 500 tokens at most"},
		{module: "transaction", name: "getstatus", run: getstatus, takes: "`txhash`"},
		{module: "transaction", name: "gettxreceiptstatus", run: gettxreceiptstatus, takes: "`txhash`"},
		{module: "block", name: "getblocknobytime", run: getblocknobytime, takes: "`timestamp`, `closest`"},
		{module: "block", name: "getblockcountdown", run: getblockcountdown, takes: "`blockno`"},
		{module: "block", name: "getblockreward", run: getblockreward, takes: "`blockno`", lacks: "always refused: blocks have no reward", rowless: true},
		{module: "logs", name: "getLogs", run: getLogs, takes: "`address`, `fromBlock`, `toBlock`, `topic0` to `topic3`, `topic0_1_opr` and the like, `page`, `offset` (1,000 at most)", lacks: "at most 10,000 blocks; operators are applied in the order of topics"},
		{module: "token", name: "tokenholderlist", run: tokenholderlist, takes: "`contractaddress`" + byPage, lacks: "in the order of addresses, as transfers tell"},
		{module: "token", name: "tokeninfo", run: tokeninfo, takes: "`contractaddress`", lacks: "supply, links and prices"},
		{module: "token", name: "getToken", run: getToken, takes: "`contractaddress`", lacks: "the supply"},
		{module: "stats", name: "tokensupply", run: tokensupply, takes: "`contractaddress`", lacks: fromNode, rowless: true},
		{module: "stats", name: "ethprice", run: ethprice, lacks: "the price in bitcoin; needs a file of prices"},
		{module: "contract", name: "getcontractcreation", run: getcontractcreation, takes: "`contractaddresses` (5 at most)", lacks: "the bytecode"},
		{module: "contract", name: "getabi", run: getabi, takes: "`address`", lacks: "no contract is verified here", rowless: true},
		{module: "contract", name: "getsourcecode", run: getsourcecode, takes: "`address`", lacks: "no contract is verified here", rowless: true},
	}
	for _, m := range proxied {
		list = append(list, action{
			module: "proxy", name: m.method, run: passed(m.method, m.params...), takes: m.takes(), lacks: fromNode, rowless: true,
		})
	}
	return list
}

// proxy is a method of the chain RPC, with its parameters as [passed] has them.
type proxy struct {
	method string
	params []string
}

var proxied = []proxy{
	{"eth_blockNumber", nil},
	{"eth_chainId", nil},
	{"eth_getBlockByNumber", []string{"tag:latest", "boolean"}},
	{"eth_getBlockTransactionCountByNumber", []string{"tag:latest"}},
	{"eth_getUncleByBlockNumberAndIndex", []string{"tag:latest", "index"}},
	{"eth_getTransactionByHash", []string{"txhash"}},
	{"eth_getTransactionByBlockNumberAndIndex", []string{"tag:latest", "index"}},
	{"eth_getTransactionCount", []string{"address", "tag:latest"}},
	{"eth_getTransactionReceipt", []string{"txhash"}},
	{"eth_sendRawTransaction", []string{"hex"}},
	{"eth_call", []string{".to", ".data", ".from", ".value", ".gas", ".gasPrice", "tag:latest"}},
	{"eth_estimateGas", []string{".to", ".data", ".from", ".value", ".gas", ".gasPrice"}},
	{"eth_getCode", []string{"address", "tag:latest"}},
	{"eth_getStorageAt", []string{"address", "position", "tag:latest"}},
	{"eth_getBalance", []string{"address", "tag:latest"}},
	{"eth_gasPrice", nil},
	{"eth_maxPriorityFeePerGas", nil},
}

// takes lists the parameters for people.
func (m *proxy) takes() string {
	var names []string
	for _, p := range m.params {
		name, _, _ := strings.Cut(strings.TrimPrefix(p, "."), ":")
		names = append(names, "`"+name+"`")
	}
	return strings.Join(names, ", ")
}

var table = actions()

// find returns an action.
func find(module, name string) (*action, error) {
	if module == "" {
		return nil, refusal("Missing module and action: this address speaks Etherscan's dialect; what is served besides is listed at /v1")
	}
	known := false
	for i := range table {
		a := &table[i]
		if a.module != module {
			continue
		}
		if known = true; a.name == name {
			return a, nil
		}
	}
	if !known {
		return nil, refusal("Missing or unsupported module name: " + door.Excerpt([]byte(module)))
	}
	return nil, refusal("Missing or unsupported action name: " + door.Excerpt([]byte(name)))
}

// Table returns the table of actions in Markdown, for the documentation.
func Table() string {
	var b strings.Builder
	b.WriteString("| module | action | parameters | other than at Etherscan |\n|---|---|---|---|\n")
	for i := range table {
		a := &table[i]
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", a.module, a.name, a.takes, a.lacks)
	}
	return b.String()
}
