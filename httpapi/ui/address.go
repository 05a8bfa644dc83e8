package ui

import (
	"net/http"
	"slices"

	"quorate/httpapi/shape"
)

func (s *Site) addressPages() []Page {
	return []Page{{Pattern: "/chain/{chain}/address/{address}", Units: 80, Serve: serveAddress}}
}

// addressPage is what the page of an address shows.
type addressPage struct {
	Chain   *evmChain
	Address string
	At      string // the block whose state is asked for, empty for the last one

	Balance         *shape.NativeTokenBalance
	BalanceRefused  *Error
	Contract        *contract // nil: none is known to have been made here
	ContractRefused *Error
	Chains          []evmChain // further ones on which it has transactions

	Tab  string
	Tabs []tab

	Txs         []addressTx
	Calls       []addressCall
	Transfers   []transfer
	Tokens      []tokenBalance
	NFTs        []tokenBalance
	Contracts   []contract
	Messages    []icmMessage
	ListRefused *Error
	pager
}

// tokenBalance is what an address has of a token.
type tokenBalance struct {
	token
	Balance, BalanceBlockNumber    shape.Digits
	BalanceSource, TokenReputation string
	BalanceValue                   *shape.Money
}

// addressTx is a transaction with its transfers.
type addressTx struct {
	NativeTransaction                                 evmTx
	ERC20Transfers, ERC721Transfers, ERC1155Transfers []transfer
}

// Transfers returns how many token transfers the transaction has.
func (t addressTx) Transfers() int {
	return len(t.ERC20Transfers) + len(t.ERC721Transfers) + len(t.ERC1155Transfers)
}

// addressCall is an internal transaction with its place.
type addressCall struct {
	shape.InBlock
	evmCall
}

// tab is one of the lists of a page.
type tab struct {
	Name, Title, Link string
	Current           bool
}

// tabsOf returns the tabs of a page, of pairs of names and titles, with the one that the
// request asks for, by default the first. keep names parameters of the query that hold
// for all tabs.
func (r *Request) tabsOf(keep []string, pairs ...string) (current string, list []tab) {
	current = r.Query("tab")
	if at := slices.Index(pairs, current); at < 0 || at%2 != 0 {
		current = pairs[0]
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		var q query
		if i > 0 {
			q.add("tab", pairs[i])
		}
		for _, name := range keep {
			q.add(name, r.Query(name))
		}
		list = append(list, tab{pairs[i], pairs[i+1], r.here(&q), pairs[i] == current})
	}
	return current, list
}

func serveAddress(r *Request) error {
	c, err := r.chain()
	if err != nil {
		return err
	}
	p := addressPage{Chain: c, Address: r.Param("address")}
	if p.At, err = blockOf(r.Query("block")); err != nil {
		return err
	}
	p.Tab, p.Tabs = r.tabsOf([]string{"block"},
		"transactions", "Transactions", "internal", "Internal", "tokens", "Tokens", "erc20", "Token transfers",
		"nfts", "NFTs", "erc721", "ERC-721 transfers", "erc1155", "ERC-1155 transfers", "made", "Contracts made", "icm", "ICM messages")
	if err := p.head(r); err != nil {
		return err
	}
	if err := p.list(r); err != nil {
		return err
	}
	return r.Render("address", "Address "+short(p.Address), &p)
}

// head asks for what stands above the lists.
func (p *addressPage) head(r *Request) error {
	var q query
	q.add("blockNumber", p.At)
	var balance shape.NativeBalance
	var err error
	// Of the balance alone: an address that is none is the page's error.
	p.BalanceRefused, err = r.part(q.of(p.Chain.chainPath("addresses", p.Address, "balances:getNative")), &balance)
	if err != nil {
		return err
	}
	if p.BalanceRefused == nil {
		p.Balance = &balance.NativeTokenBalance
	} else if p.BalanceRefused.Status == 400 && p.At == "" {
		return p.BalanceRefused
	}
	var refused *Error
	if p.Contract, refused, err = r.contract(p.Chain, p.Address); err != nil {
		return err
	}
	if refused != nil && refused.Status != http.StatusNotFound {
		p.ContractRefused = refused
	}
	var chains struct{ IndexedChains []evmChain }
	if refused, err := r.part(join("/v1/address", p.Address, "chains"), &chains); err != nil || refused != nil {
		return err
	}
	for _, c := range chains.IndexedChains {
		if c.ChainID != p.Chain.ChainID {
			p.Chains = append(p.Chains, c)
		}
	}
	return nil
}

// list asks for the list of the tab.
func (p *addressPage) list(r *Request) error {
	of := func(name string) string { return p.Chain.chainPath("addresses", p.Address, name) }
	paths := map[string]string{
		"transactions": r.listed(of("transactions"), allRows),
		"internal":     r.listed(of("transactions:listInternals"), allRows),
		"tokens":       r.listed(of("balances:listErc20"), allRows, "blockNumber", p.At, "filterSpamTokens", "false"),
		"erc20":        r.listed(of("transactions:listErc20"), allRows),
		"nfts":         r.listed(of("balances:listCollectibles"), allRows),
		"erc721":       r.listed(of("transactions:listErc721"), allRows),
		"erc1155":      r.listed(of("transactions:listErc1155"), allRows),
		"made":         r.listed(p.Chain.chainPath("contracts", p.Address, "deployments"), allRows),
		"icm":          r.listed(join("/v1/icm/addresses", p.Address, "messages"), allRows),
	}
	var next string
	var err error
	path := paths[p.Tab]
	switch p.Tab {
	case "transactions":
		next, err = listOf(r, &p.ListRefused, path, "transactions", &p.Txs)
	case "internal":
		next, err = listOf(r, &p.ListRefused, path, "transactions", &p.Calls)
	case "tokens":
		next, err = listOf(r, &p.ListRefused, path, "erc20TokenBalances", &p.Tokens)
	case "nfts":
		next, err = listOf(r, &p.ListRefused, path, "collectibleBalances", &p.NFTs)
	case "made":
		next, err = listOf(r, &p.ListRefused, path, "contracts", &p.Contracts)
	case "icm":
		next, err = listOf(r, &p.ListRefused, path, "messages", &p.Messages)
	default:
		next, err = listOf(r, &p.ListRefused, path, "transactions", &p.Transfers)
	}
	p.pager = r.pager(path, next, "tab", "block")
	return err
}
