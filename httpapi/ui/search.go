package ui

import (
	"errors"
	"net/http"
	"strings"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/forms"
	"quorate/httpapi/ui/plain"
)

func (s *Site) searchPages() []Page {
	return []Page{
		{Pattern: "/search", Units: 100, Serve: serveSearch},
		{Pattern: "/suggest", Units: 20, Serve: serveSuggestions},
	}
}

const (
	// maxSearch bounds the length of what is searched for.
	maxSearch = 256
	// maxSearchChains bounds the chains that are asked, maxHits what is found.
	maxSearchChains = 32
	maxHits         = 40
)

// search is what was searched for and what was found.
type search struct {
	Text string
	Hits []hit
	More bool // there are more
}

// hit is something that was found. All of it is our own text but Name.
type hit struct{ Kind, Name, Where, Path string }

// serveSearch goes to what a text names, or lists what it can be.
func serveSearch(r *Request) error {
	q := forms.Meant(r.Query("q"))
	switch {
	case q == "":
		return r.Redirect("/")
	case forms.Message.MatchString(q) && r.Operator():
		return r.Redirect(withQuery("/signatures/message", "input", q))
	case len(q) > maxSearch:
		return errorf(http.StatusBadRequest, "what is searched for is longer than %d characters", maxSearch)
	}
	f := finder{r: r, found: search{Text: q}}
	if err := f.find(q); err != nil {
		return err
	}
	switch len(f.found.Hits) {
	case 1:
		return r.Redirect(f.found.Hits[0].Path)
	case 0:
		if forms.Whole.MatchString(q) {
			if err := f.beyond(q); err != nil {
				return err
			}
		}
		return errorf(http.StatusNotFound, "nothing here is called %q. Search by address, transaction or block hash, block number, "+
			"message, node, subnet or blockchain ID, chain name, or the start of a token's name or symbol.", q)
	}
	return r.Render("search", "Search", &f.found)
}

// finder asks the API for all that a text can name.
type finder struct {
	r      *Request
	found  search
	chains []shape.Chain
}

func (f *finder) find(q string) error {
	switch {
	case forms.Address.MatchString(q):
		f.hit("Address", q, "", join("/address", withHex(q)))
		return nil
	case forms.Node.MatchString(q):
		return f.onNetworks(func(n string) error {
			return f.try(hit{"Validator", q, n, at(n, "/primary/validator", q)}, n, "validators", q)
		})
	case forms.Bech32.MatchString(q):
		return f.onNetworks(func(n string) error {
			path := join("/v1/networks", n, "blockchains", "p-chain", "balances") + "?addresses=" + q
			return f.ask(hit{"Address", q, n, at(n, "/primary/address", q)}, path)
		})
	}
	var list shape.Chains
	if err := f.get("/v1/chains", &list); err != nil {
		return err
	}
	f.chains = list.Chains
	if err := f.names(q); err != nil {
		return err
	}
	switch {
	case forms.Hash.MatchString(q):
		return f.hash(withHex(q))
	case forms.ID.MatchString(q):
		return f.id(q)
	case forms.Whole.MatchString(q):
		return f.height(q)
	}
	return nil
}

// withHex returns hex with 0x before it.
func withHex(s string) string {
	if len(s) > 1 && (s[1] == 'x' || s[1] == 'X') {
		s = s[2:]
	}
	return "0x" + strings.ToLower(s)
}

// names looks for chains by name, number, blockchain ID or subnet.
func (f *finder) names(q string) error {
	for i := range f.chains {
		c := &f.chains[i]
		if string(c.ChainID) == q || c.PlatformChainID == q || strings.Contains(strings.ToLower(c.ChainName), strings.ToLower(q)) {
			f.hit("Chain", c.ChainName, "number "+string(c.ChainID), join("/chain", string(c.ChainID)))
		}
	}
	if forms.Hash.MatchString(q) || forms.ID.MatchString(q) || forms.Whole.MatchString(q) {
		return nil
	}
	if err := errors.Join(f.pages(q), f.tokens(q)); err != nil {
		return err
	}
	return f.onNetworks(func(n string) error {
		var list shape.Blockchains
		if err := f.get(join("/v1/networks", n, "blockchains")+"?pageSize=100", &list); err != nil {
			return err
		}
		for _, b := range list.Blockchains {
			if strings.Contains(strings.ToLower(b.BlockchainName), strings.ToLower(q)) {
				f.hit("Blockchain", b.BlockchainName, n, at(n, "/primary/subnet", string(b.SubnetID)))
			}
		}
		return nil
	})
}

// FoundToken is a token that was found by its name. Name and symbol are texts of
// strangers.
type FoundToken struct {
	Address, Name, Symbol string
	Collection            bool // of NFTs
}

const (
	// maxTokens bounds the tokens that are found on a chain, tokenUnits is what it costs to
	// look for them.
	maxTokens  = 10
	tokenUnits = 20
	// maxName bounds what is shown of a name.
	maxName = 60
)

// tokens looks for tokens by the beginnings of their names and symbols. Anyone can call a
// token as he likes, so the list shows their addresses.
func (f *finder) tokens(q string) error {
	if f.r.site.cfg.Tokens == nil {
		return nil
	}
	return f.onChains(func(c *shape.Chain) error {
		if f.r.pay(tokenUnits); f.r.poor {
			return nil
		}
		list, err := f.r.site.cfg.Tokens(string(c.ChainID), q, maxTokens)
		if err != nil {
			return err
		}
		for _, t := range list {
			kind, page, name := "Token", "token", plain.Text(t.Name, maxName)
			if t.Collection {
				kind, page = "Collection", "nft"
			}
			if t.Symbol != "" {
				name += " (" + plain.Text(t.Symbol, maxName) + ")"
			}
			f.hit(kind, strings.TrimSpace(name), short(t.Address)+" on "+c.ChainName, join("/chain", string(c.ChainID), page, t.Address))
		}
		return nil
	})
}

// hash looks for transactions, blocks and interchain messages.
func (f *finder) hash(q string) error {
	if err := f.onChains(func(c *shape.Chain) error {
		id := string(c.ChainID)
		return errors.Join(
			f.ask(hit{"Transaction", q, c.ChainName, join("/chain", id, "tx", q)}, join("/v1/chains", id, "transactions", q)),
			f.ask(hit{"Block", q, c.ChainName, join("/chain", id, "block", q)}, join("/v1/chains", id, "blocks", q)))
	}); err != nil {
		return err
	}
	if err := f.ask(hit{"Interchain message", q, "", join("/icm", q)}, join("/v1/icm/messages", q)); err != nil {
		return err
	}
	if len(f.found.Hits) > 0 {
		return nil
	}
	return f.primary(q)
}

// id looks for all that has an ID in CB58.
func (f *finder) id(q string) error {
	if err := f.onNetworks(func(n string) error {
		return errors.Join(
			f.try(hit{"Subnet", q, n, at(n, "/primary/subnet", q)}, n, "subnets", q),
			f.blockchain(n, q))
	}); err != nil {
		return err
	}
	if err := f.ask(hit{"Interchain message", q, "", join("/icm", q)}, join("/v1/icm/messages", q)); err != nil {
		return err
	}
	if len(f.found.Hits) > 0 {
		return nil
	}
	return f.primary(q)
}

// blockchain looks for a blockchain that is not one of the followed chains, of which
// there is more to show.
func (f *finder) blockchain(network, q string) error {
	for i := range f.chains {
		if f.chains[i].PlatformChainID == q {
			return nil
		}
	}
	var b shape.Blockchain
	if err := f.get(join("/v1/networks", network, "blockchains", q), &b); err != nil || b.SubnetID == "" {
		return err
	}
	f.hit("Blockchain", b.BlockchainName, network, at(network, "/primary/subnet", string(b.SubnetID)))
	return nil
}

// primary looks for transactions, blocks, vertices and assets of the primary network.
func (f *finder) primary(q string) error {
	return f.onNetworks(func(n string) error {
		for _, chain := range []string{"p-chain", "x-chain", "c-chain"} {
			if err := errors.Join(
				f.try(hit{"Transaction", q, chain, at(n, join("/primary", letterOf(chain), "tx"), q)}, n, "blockchains", chain, "transactions", q),
				f.try(hit{"Block", q, chain, at(n, join("/primary", letterOf(chain), "block"), q)}, n, "blockchains", chain, "blocks", q)); err != nil {
				return err
			}
		}
		return errors.Join(
			f.try(hit{"Vertex", q, n, at(n, "/primary/vertex", q)}, n, "blockchains", "x-chain", "vertices", q),
			f.try(hit{"Asset", q, n, at(n, "/primary/asset", q)}, n, "blockchains", "x-chain", "assets", q))
	})
}

// height looks for blocks by number.
func (f *finder) height(q string) error {
	if err := f.onChains(func(c *shape.Chain) error {
		id := string(c.ChainID)
		return f.ask(hit{"Block", q, c.ChainName, join("/chain", id, "block", q)}, join("/v1/chains", id, "blocks", q))
	}); err != nil {
		return err
	}
	return f.onNetworks(func(n string) error {
		for _, chain := range []string{"p-chain", "x-chain"} {
			if err := f.try(hit{"Block", q, chain + " of " + n, at(n, join("/primary", letterOf(chain), "block"), q)}, n, "blockchains", chain, "blocks", q); err != nil {
				return err
			}
		}
		return nil
	})
}

// letterOf returns the name of a chain of the primary network in paths of pages.
func letterOf(chain string) string { return strings.TrimSuffix(chain, "-chain") }

// at returns a path of the primary network's pages.
func at(network, path, id string) string { return join(path, id) + "?network=" + network }

// onChains calls do for each EVM chain that is followed.
func (f *finder) onChains(do func(c *shape.Chain) error) error {
	for i := range f.chains[:min(len(f.chains), maxSearchChains)] {
		if err := do(&f.chains[i]); err != nil {
			return err
		}
	}
	return nil
}

// onNetworks calls do for each network; those that are not followed know nothing.
func (f *finder) onNetworks(do func(name string) error) error {
	return errors.Join(do("mainnet"), do("fuji"))
}

// try asks for something of a network.
func (f *finder) try(h hit, network string, segments ...string) error {
	return f.ask(h, join(join("/v1/networks", network), segments...))
}

// ask adds a hit if the API knows what is at a path.
func (f *finder) ask(h hit, path string) error {
	a := f.r.Ask(path)
	if a.Status == http.StatusOK {
		f.hit(h.Kind, h.Name, h.Where, h.Path)
	}
	return nil
}

// get decodes an answer. What the API refuses is nothing found.
func (f *finder) get(path string, into any) error {
	var refused *Error
	if err := f.r.Get(path, into); err != nil && !errors.As(err, &refused) {
		return err
	}
	return nil
}

func (f *finder) hit(kind, name, where, path string) {
	if len(f.found.Hits) == maxHits {
		f.found.More = true
		return
	}
	f.found.Hits = append(f.found.Hits, hit{kind, name, where, path})
}
