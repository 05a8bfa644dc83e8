package ui

import (
	"cmp"

	"github.com/goccy/go-json"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/plain"
)

func (s *Site) nftPages() []Page {
	return []Page{
		{Pattern: "/chain/{chain}/nft/{address}", Units: 60, Serve: serveCollection},
		{Pattern: "/chain/{chain}/nft/{address}/{token}", Units: 40, Serve: serveNFT},
	}
}

// collectionPage is what the page of an ERC-721 or ERC-1155 contract shows.
type collectionPage struct {
	Chain    *evmChain
	Contract contract
	Tab      string
	Tabs     []tab

	Tokens      []token
	Transfers   []transfer
	Holders     shape.NFTHolders
	ListRefused *Error
	pager
}

func serveCollection(r *Request) error {
	c, found, err := r.contractHere()
	if err != nil {
		return err
	}
	p := collectionPage{Chain: c, Contract: *found}
	if !p.Contract.Collection() {
		return r.Redirect(join("/chain", string(c.ChainID), "token", string(p.Contract.Address)))
	}
	p.Tab, p.Tabs = r.tabsOf(nil, "tokens", "Tokens", "transfers", "Transfers", "holders", "Holders")
	address := string(p.Contract.Address)
	var path, next string
	switch p.Tab {
	case "tokens":
		path = r.listed(c.chainPath("nfts", "collections", address, "tokens"), allRows)
		next, err = listOf(r, &p.ListRefused, path, "tokens", &p.Tokens)
	case "transfers":
		path = r.listed(c.chainPath("tokens", address, "transfers"), allRows)
		next, err = listOf(r, &p.ListRefused, path, "transfers", &p.Transfers)
	default:
		path = r.listed(join("/v2/chains", string(c.ChainID), "contracts", address, "nfts:listHolders"), shownHolders)
		p.ListRefused, err = r.part(path, &p.Holders)
		next = p.Holders.NextPageToken
	}
	if err != nil {
		return err
	}
	p.pager = r.pager(path, next, "tab")
	return r.Render("collection", tokenTitle(&p.Contract), &p)
}

// nftPage is what the page of one token shows.
type nftPage struct {
	Chain *evmChain
	Token token
	// Traits are the attributes or properties, if they can be read; else Raw has them.
	Traits []trait
	Raw    string
}

// trait is a property that a token's metadata claim.
type trait struct{ Name, Value string }

func serveNFT(r *Request) error {
	c, err := r.chain()
	if err != nil {
		return err
	}
	p := nftPage{Chain: c}
	path := c.chainPath("nfts", "collections", r.Param("address"), "tokens", r.Param("token"))
	if err := r.Get(path, &p.Token); err != nil {
		return err
	}
	p.Raw = cmp.Or(p.Token.Metadata.Attributes, p.Token.Metadata.Properties)
	if p.Traits = traits(p.Raw); p.Traits != nil {
		p.Raw = ""
	}
	return r.Render("nft", plain.Text(cmp.Or(p.Token.Metadata.Name, p.Token.Name, "Token"), 40)+" #"+plain.Text(string(p.Token.TokenID), 24), &p)
}

// ReindexPath is the address of the API that has the metadata fetched again.
func (p *nftPage) ReindexPath() string {
	return p.Chain.chainPath("nfts", "collections", string(p.Token.Address), "tokens", string(p.Token.TokenID)+":reindex")
}

// maxTraits bounds the rows of a token's properties.
const maxTraits = 100

// traits reads the attributes of ERC-721, a list of names and values. It returns nil if
// the text is anything else.
func traits(s string) []trait {
	var list []struct {
		TraitType shape.Figure `json:"trait_type"`
		Value     json.RawMessage
	}
	if json.Unmarshal([]byte(s), &list) != nil || len(list) == 0 {
		return nil
	}
	var out []trait
	for _, t := range list[:min(len(list), maxTraits)] {
		var word shape.Figure
		if word.UnmarshalJSON(t.Value) != nil {
			word = shape.Figure(t.Value)
		}
		out = append(out, trait{string(t.TraitType), string(word)})
	}
	return out
}

// indexStates say what the states of metadata mean; see docs/nfts.md.
var indexStates = map[string]string{
	"INDEXED":                    "the document was fetched",
	"UNINDEXED":                  "not looked at, or there is no way to: metadata are fetched only where --nft-metadata is on",
	"UNKNOWN":                    "unknown",
	"MISSING_TOKEN":              "the contract has no such token",
	"INVALID_TOKEN_URI":          "the contract has no URI that can be read",
	"INVALID_TOKEN_URI_SCHEME":   "the URI is of a kind that is not followed",
	"UNREACHABLE_TOKEN_URI":      "no answer, an error, or an address that is not asked",
	"THROTTLED_TOKEN_URI":        "the other server wants to be left alone",
	"METADATA_CONTENT_TOO_LARGE": "the document is too large",
	"INVALID_METADATA":           "the document is no metadata",
	"INVALID_METADATA_JSON":      "the document is no JSON",
}

// stateOf says what became of metadata.
func stateOf(indexStatus string) string { return cmp.Or(indexStates[indexStatus], "unknown") }
