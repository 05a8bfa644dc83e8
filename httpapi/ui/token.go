package ui

import (
	"cmp"
	"math/big"
	"net/http"
	"slices"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

func (s *Site) tokenPages() []Page {
	return []Page{{Pattern: "/chain/{chain}/token/{address}", Units: 100, Serve: serveToken}}
}

// tokenPage is what the page of a token shows.
type tokenPage struct {
	Chain    *evmChain
	Contract contract
	Tab      string
	Tabs     []tab

	Transfers   []transfer
	ListRefused *Error
	Holders     holders
	pager
}

// holders are those of an ERC-20 token.
type holders struct {
	List []shape.Holder
	// Ranked: these are all above the threshold, the largest first. Else the list is in the
	// order of addresses.
	Ranked bool
	// Total is how many there are, of ranked ones.
	Total int
	// Least is the threshold as an amount, Chosen whether the reader chose it.
	Least  string
	Chosen bool
}

func serveToken(r *Request) error {
	c, found, err := r.contractHere()
	if err != nil {
		return err
	}
	p := tokenPage{Chain: c, Contract: *found}
	if p.Contract.Collection() {
		return r.Redirect(join("/chain", string(c.ChainID), "nft", string(p.Contract.Address)))
	}
	p.Tab, p.Tabs = r.tabsOf(nil, "transfers", "Transfers", "holders", "Holders")
	if p.Tab == "holders" {
		if err := p.askHolders(r); err != nil {
			return err
		}
	} else {
		path := r.listed(c.chainPath("tokens", string(p.Contract.Address), "transfers"), allRows)
		next, err := listOf(r, &p.ListRefused, path, "transfers", &p.Transfers)
		if err != nil {
			return err
		}
		p.pager = r.pager(path, next)
	}
	return r.Render("token", tokenTitle(&p.Contract), &p)
}

func tokenTitle(c *contract) string {
	if name := cmp.Or(c.Symbol, c.Name); name != "" {
		return plain.Text(name, 40)
	}
	return short(c.Address)
}

const (
	// rankedHolders is how many holders are looked at to find the largest ones.
	rankedHolders = 1000
	// shownHolders is how many rows the list has.
	shownHolders = 50
	// rankTries bounds how often the threshold is raised until the rest can be ranked.
	rankTries = 3
)

// askHolders lists the largest holders where they can be ranked. The API lists those
// above a threshold by address; so the threshold is raised until one page has them all.
func (p *tokenPage) askHolders(r *Request) error {
	decimals := 0
	if p.Contract.Decimals != nil {
		decimals = *p.Contract.Decimals
	}
	least := "0"
	if asked := r.Query("least"); asked != "" {
		units, ok := plain.Units(asked, decimals)
		if !ok {
			return errorf(http.StatusBadRequest, "the least balance is an amount such as 1000 or 0.5, not %q", plain.Text(asked, 40))
		}
		least, p.Holders.Chosen = units, true
	}
	defer func() { p.Holders.Least = plain.Amount(least, decimals) }()
	size, tries := rankedHolders, rankTries
	if r.Query("page") != "" {
		size, tries = shownHolders, 1
	}
	for try := 1; ; try++ {
		list, next, err := p.holdersAbove(r, least, size)
		if err != nil || p.ListRefused != nil {
			return err
		}
		switch {
		case next == "" && r.Query("page") == "" && (len(list) > 0 || least == "0" || p.Holders.Chosen):
			p.pager = r.files(p.holdersPath(r, least, size))
			p.Holders.rank(list)
			return nil
		case try < tries && !p.Holders.Chosen && len(list) > 0:
			least = percentile(list)
		case size != shownHolders: // too many to rank, or many that have the same: by address, in pages
			size, try = shownHolders, tries
			if !p.Holders.Chosen {
				least = "0"
			}
		default:
			p.Holders.List, p.pager = list, r.pager(p.holdersPath(r, least, size), next, "tab", "least")
			return nil
		}
	}
}

// holdersAbove returns a page of those who have more than an amount.
func (p *tokenPage) holdersAbove(r *Request, least string, size int) (list []shape.Holder, next string, err error) {
	next, err = listOf(r, &p.ListRefused, p.holdersPath(r, least, size), "addresses", &list)
	return list, next, err
}

func (p *tokenPage) holdersPath(r *Request, least string, size int) string {
	path := join("/v2/chains", string(p.Chain.ChainID), "contracts", string(p.Contract.Address), "balances")
	return r.listed(path, size, "threshold", least)
}

// rank sorts holders by what they have and keeps the first ones.
func (h *holders) rank(list []shape.Holder) {
	h.Ranked, h.Total = true, len(list)
	slices.SortStableFunc(list, func(a, b shape.Holder) int { return bigOf(b.SortKey).Cmp(bigOf(a.SortKey)) })
	h.List = list[:min(len(list), shownHolders)]
}

// percentile returns a balance that a twentieth of the list exceeds. Addresses are no
// matter of wealth, so about a twentieth of all holders do.
func percentile(list []shape.Holder) string {
	slices.SortFunc(list, func(a, b shape.Holder) int { return bigOf(a.SortKey).Cmp(bigOf(b.SortKey)) })
	return bigOf(list[len(list)*19/20].SortKey).String()
}

// bigOf returns a whole number of the API, 0 if it is none.
func bigOf(t shape.Figure) *big.Int {
	n, ok := new(big.Int).SetString(string(t), 10)
	if !ok {
		return new(big.Int)
	}
	return n
}
