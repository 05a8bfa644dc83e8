package ui

import (
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

// What the API answers about EVM chains is decoded by the types of package shape; those here
// add what pages say of it. They have its fields themselves and embed little: templates look
// embedded ones up anew, with maps, each time.

// evmChain is a chain that is followed.
type evmChain shape.Chain

// Settled says of a block whether a header has proven its results, and is empty where its
// own does.
func (c evmChain) Settled(number shape.Digits) string {
	at, err := strconv.ParseUint(string(number), 10, 64)
	to, toErr := strconv.ParseUint(string(c.SettledHeight), 10, 64)
	switch {
	case err != nil || toErr != nil:
		return ""
	case at <= to:
		return "settled"
	}
	return "executed, not settled yet"
}

// Network returns the name by which the chain's network is asked for.
func (c evmChain) Network() string {
	if c.IsTestnet {
		return "fuji"
	}
	return "mainnet"
}

// Title returns the chain's name as it stands in a page's title.
func (c evmChain) Title() string { return plain.Text(c.ChainName, 40) }

// nobody reports whether it is the zero address.
func nobody(a shape.Address) bool { return strings.Trim(string(a), "0x") == "" }

// evmTx is a transaction.
type evmTx shape.NativeTransaction

// Words returns what the transaction does in a few words.
func (t evmTx) Words() string {
	m := &t.Method
	name, _, _ := strings.Cut(m.MethodName, "(")
	switch {
	case m.CallType == "NATIVE_TRANSFER":
		return "transfer"
	case m.CallType == "CONTRACT_CREATION":
		return "contract creation"
	case name != "":
		return name
	case m.MethodHash != "":
		return m.MethodHash
	}
	return "call"
}

// Failed reports whether the transaction had no effect but its fee.
func (t evmTx) Failed() bool { return t.TxStatus == "0" }

// Fee returns what was paid for its gas, in base units, empty if it is not known.
func (t evmTx) Fee() string {
	used, ok := new(big.Int).SetString(string(t.GasUsed), 10)
	price, also := new(big.Int).SetString(string(t.GasPrice), 10)
	if !ok || !also {
		return ""
	}
	return used.Mul(used, price).String()
}

// token is a token of any standard.
type token struct {
	shape.NFT
	Decimals *int
	Price    *shape.Money
}

// Label returns by what a token is called: its symbol, else its name.
func (t token) Label() string {
	if t.Symbol != "" {
		return t.Symbol
	}
	return t.Name
}

// HasID reports whether the token is one of many of its contract.
func (t token) HasID() bool { return t.TokenID != "" }

// transfer is one of any standard.
type transfer struct {
	shape.InBlock
	From, To                              shape.RichAddress
	LogIndex                              int
	Value                                 shape.Digits
	ERC20Token, ERC721Token, ERC1155Token *token
}

// Token returns the token that moved; there is always one.
func (t transfer) Token() *token {
	for _, k := range []*token{t.ERC20Token, t.ERC721Token, t.ERC1155Token} {
		if k != nil {
			return k
		}
	}
	return &token{}
}

// evmCall is an internal transaction.
type evmCall shape.InternalTransaction

// Moves reports whether the call moved the chain's coin.
func (c evmCall) Moves() bool {
	return !c.IsReverted && c.Value != "0" && c.Value != "" && c.InternalTxType != "DELEGATECALL" && c.InternalTxType != "CALLCODE"
}

// contract is what is known of one.
type contract shape.Contract

// Fungible reports whether the contract is an ERC-20 token.
func (c contract) Fungible() bool { return c.ERCType == "ERC-20" }

// Collection reports whether the contract has tokens with IDs.
func (c contract) Collection() bool { return c.ERCType == "ERC-721" || c.ERCType == "ERC-1155" }

// evmPages are the pages about EVM chains.
func (s *Site) evmPages() []Page {
	return slices.Concat(s.chainPages(), s.metricPages(), s.txPages(), s.blockPages(), s.addressPages(),
		s.tokenPages(), s.nftPages(), s.icmPages(), s.findPages())
}

// chainPath starts the API's paths about a chain.
func (c evmChain) chainPath(segments ...string) string {
	return join("/v1/chains", append([]string{string(c.ChainID)}, segments...)...)
}

// chain asks for the chain that the page is about.
func (r *Request) chain() (*evmChain, error) {
	var c evmChain
	if err := r.Get(join("/v1/chains", r.Param("chain")), &c); err != nil {
		return nil, err
	}
	return &c, nil
}

// contractHere asks for the chain and the contract that the page is about.
func (r *Request) contractHere() (*evmChain, *contract, error) {
	c, err := r.chain()
	if err != nil {
		return nil, nil, err
	}
	found, refused, err := r.contract(c, r.Param("address"))
	if err == nil && refused != nil {
		err = refused
	}
	return c, found, err
}

// contract asks for a contract. Of one that nobody is known to have made, since the index
// begins above it or nobody traced it, there is still what its transfers say. A nil
// contract comes with the reason.
func (r *Request) contract(c *evmChain, address string) (*contract, *Error, error) {
	var made contract
	refused, err := r.part(c.chainPath("addresses", address), &made)
	if err != nil || refused == nil {
		return &made, nil, err
	}
	if refused.Status != http.StatusNotFound {
		return nil, refused, nil
	}
	var list struct{ Transfers []transfer }
	if other, err := r.part(c.chainPath("tokens", address, "transfers")+"?pageSize=1", &list); err != nil || other != nil || len(list.Transfers) == 0 {
		return nil, refused, err
	}
	t := list.Transfers[0].Token()
	return &contract{Name: t.Name, Address: t.Address, ERCType: t.ERCType, Symbol: t.Symbol, Decimals: t.Decimals}, nil, nil
}

// part asks for what is only a part of the page: what the API refuses is returned to be
// shown in its place. An error is one of the page.
func (r *Request) part(path string, into any) (*Error, error) {
	var refused *Error
	if err := r.Get(path, into); err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	return refused, nil
}

// pager leads to the first and to the next page of a list, and to what it shows as files.
// CSV and JSON are empty of a list that cannot be had as such.
type pager struct{ First, Next, CSV, JSON, Curl string }

// pager makes the links of a list: path is where the API has what is shown, and keep names
// the parameters of the query that hold for all its pages.
func (r *Request) pager(path, next string, keep ...string) pager {
	p := r.files(path)
	if r.Query("page") != "" {
		p.First = r.self(keep, "")
	}
	if next != "" {
		p.Next = r.self(keep, next)
	}
	return p
}

// self returns the address of this page with the parameters named by keep as they are.
func (r *Request) self(keep []string, page string) string {
	var q query
	for _, name := range keep {
		q.add(name, r.Query(name))
	}
	q.add("page", page)
	return r.here(&q)
}

// here returns the address of this page with another query.
func (r *Request) here(q *query) string { return r.in.Prefix + q.of(r.in.Path) }

// listed returns the address of a page of a list of the API: size items of it, from where
// the page token of the request says.
func (r *Request) listed(path string, size int, pairs ...string) string {
	var q query
	q.add("pageSize", strconv.Itoa(size))
	q.add("pageToken", r.Query("page"))
	for i := 0; i+1 < len(pairs); i += 2 {
		q.add(pairs[i], pairs[i+1])
	}
	return q.of(path)
}

// listOf asks for a page of a list of the API and returns the token of the next one. name
// is that of the list in the answer. What the API refuses is stored to be shown.
func listOf[T any](r *Request, refused **Error, path, name string, into *[]T) (next string, err error) {
	var answer map[string]json.RawMessage
	if *refused, err = r.part(path, &answer); err != nil || *refused != nil {
		return "", err
	}
	if err := json.Unmarshal(answer[name], into); err != nil {
		return "", fmt.Errorf("%s: %s: %w", path, name, err)
	}
	if token := answer["nextPageToken"]; token != nil {
		err = json.Unmarshal(token, &next)
	}
	return next, err
}

// blockOf reads a block number that a form sent. Empty is none.
func blockOf(s string) (string, error) {
	if s = strings.ReplaceAll(s, ",", ""); s == "" {
		return "", nil
	}
	if n, err := strconv.ParseUint(s, 10, 63); err == nil {
		return strconv.FormatUint(n, 10), nil
	}
	return "", errorf(http.StatusBadRequest, "a block number is a whole number, not %q", s)
}

// inOrder sorts the transfers of a transaction as it made them.
func inOrder(list []transfer) []transfer {
	slices.SortStableFunc(list, func(a, b transfer) int { return a.LogIndex - b.LogIndex })
	return list
}
