package ui

import (
	"net/http"
	"slices"
	"strings"

	"github.com/goccy/go-json"

	"quorate/httpapi/shape"
	"quorate/httpapi/ui/forms"
)

// pageNames are the pages that have names of their own, with the words that people use.
var pageNames = []struct {
	name, words, path string
	operator          bool
}{
	{"Signatures", "signatures signed messages aggregator", "/signatures", true},
	{"Decode, sign or verify a message", "decode verify sign message", "/signatures/message", true},
	{"Connected validators", "validators peers connections stake", "/validators", true},
	{"Operation", "operation ops health log admin", "/ops", true},
	{"Interchain messages", "icm interchain messages teleporter warp", "/icm", false},
	{"Primary network", "primary network", "/primary", false},
	{"Validators", "validators stakers nodes", "/primary/validators", false},
	{"Delegations", "delegations delegators stakers", "/primary/delegations", false},
	{"Subnets and L1s", "subnets l1s", "/primary/subnets", false},
	{"Blockchains", "blockchains chains", "/primary/blockchains", false},
	{"Vertices of the X-Chain", "vertices", "/primary/vertices", false},
	{"API", "api console openapi sdk", "/api", false},
}

// pages looks for pages, chains of the primary network and metrics by their names.
func (f *finder) pages(q string) error {
	low := strings.ToLower(q)
	if letter := strings.TrimSuffix(strings.TrimSuffix(low, "-chain"), " chain"); letter == "p" || letter == "x" {
		return f.onNetworks(func(n string) error {
			return f.try(hit{"Chain", strings.ToUpper(letter) + "-Chain", n, "/primary/" + letter + "?network=" + n}, n, "blockchains", letter+"-chain")
		})
	}
	if len(low) < 3 {
		return nil
	}
	for _, p := range pageNames {
		if (!p.operator || f.r.Operator()) && (strings.Contains(strings.ToLower(p.name), low) || strings.Contains(" "+p.words, " "+low)) {
			f.hit("Page", p.name, "", p.path)
		}
	}
	for _, m := range metricList {
		if strings.Contains(strings.ToLower(m.Name), low) || strings.Contains(strings.ToLower(m.Title), low) {
			for _, c := range f.chains[:min(len(f.chains), maxNamed)] {
				f.hit("Metric", m.Title, c.ChainName, join("/chain", string(c.ChainID), "metrics", m.Name))
			}
		}
	}
	return nil
}

// maxNamed bounds the chains whose metrics, or whose last blocks, are named.
const maxNamed = 3

// beyond is the error of a height that no chain has reached.
func (f *finder) beyond(q string) error {
	var last []string
	for _, c := range f.chains[:min(len(f.chains), maxNamed)] {
		var list shape.EVMBlocks
		if err := f.get(join("/v1/chains", string(c.ChainID), "blocks")+"?pageSize=1", &list); err != nil {
			return err
		}
		if len(list.Blocks) > 0 {
			last = append(last, "the last block of "+c.ChainName+" is "+number(string(list.Blocks[0].BlockNumber)))
		}
	}
	if len(last) == 0 {
		return nil
	}
	return errorf(http.StatusNotFound, "there is no block %s: %s", number(q), strings.Join(last, ", "))
}

// maxSuggested bounds what is suggested while somebody types.
const maxSuggested = 8

// serveSuggestions answers with names that a text can become: of chains, pages, metrics and
// tokens. Hashes and the like are not looked for until the search is sent.
func serveSuggestions(r *Request) error {
	q, names := forms.Meant(r.Query("q")), []string{}
	if f := (finder{r: r}); len(q) >= 2 && len(q) <= maxSearch && !forms.Whole.MatchString(q) {
		var list shape.Chains
		if err := f.get("/v1/chains", &list); err != nil {
			return err
		}
		f.chains = list.Chains
		if err := f.names(q); err != nil {
			return err
		}
		for _, h := range f.found.Hits {
			if !slices.Contains(names, h.Name) && len(names) < maxSuggested {
				names = append(names, h.Name)
			}
		}
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return r.Download("application/json", "suggestions.json", text)
}
