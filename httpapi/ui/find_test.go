package ui

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestFind: a short address leads to the chain that has it, or to a list.
func TestFind(t *testing.T) {
	t.Parallel()
	two := `{"chains":[` + chainJSON + `,` + strings.NewReplacer("43112", "999", "C-Chain", "My L1").Replace(chainJSON) + `]}`
	gone := Answer{Status: 503, Body: []byte(`{"message":"its node does not answer"}`)}
	for _, c := range []struct {
		name   string
		more   fakeAPI
		path   string
		status int
		want   string // a location, or a part of the text
	}{
		{"the only chain", nil, "/tx/" + txID, 303, "/chain/43112/tx/" + txID},
		{"one of two chains", fakeAPI{"/v1/chains": two}, "/tx/" + txID, 303, "/chain/43112/tx/" + txID},
		{"a block by hash", fakeAPI{"/v1/chains": two}, "/block/" + blockID, 303, "/chain/43112/block/" + blockID},
		{"a number that both have", fakeAPI{"/v1/chains": two, "/v1/chains/999/blocks/2018": blockJSON}, "/block/2018", 200, "On 2 chains: C-Chain 43112 My L1 999"},
		{"no chain", nil, "/tx/" + blockID, 404, "is not known on any chain"},
		{"a chain that cannot be asked", fakeAPI{"/v1/chains": two, "/v1/chains/999/transactions/" + txID: gone}, "/tx/" + txID, 200, "My L1 could not be asked: its node does not answer"},
		{"no hash", fakeAPI{onC + "/transactions/12": Answer{Status: 400, Body: []byte(`{"message":"txHash must be 0x and 64 hex digits"}`)}}, "/tx/12", 400, "64 hex digits"},
		{"an address on two chains", nil, "/address/" + someone, 200, "On 2 chains"},
		{"an address on one chain", fakeAPI{"/v1/address/" + someone + "/chains": `{"indexedChains":[` + chainJSON + `]}`}, "/address/" + someone, 303, "/chain/43112/address/" + someone},
		{"an address without transactions", fakeAPI{"/v1/address/" + someone + "/chains": `{"indexedChains":[]}`, "/v1/chains": two}, "/address/" + someone, 200, "No chain that is indexed here has transactions"},
		{"a chain without an index", fakeAPI{"/v1/address/" + someone + "/chains": `{"indexedChains":[` + chainJSON + `],"unindexedChains":["999"]}`}, "/address/" + someone, 200, "Not indexed yet, so not known: 999."},
		{"a fungible token asked for as NFTs", nil, "/chain/43112/nft/" + coinsOf, 303, "/chain/43112/token/" + coinsOf},
		{"NFTs asked for as a token", nil, "/chain/43112/token/" + apesOf, 303, "/chain/43112/nft/" + apesOf},
		{"a token that nobody is known to have made", fakeAPI{onC + "/addresses/" + coinsOf: Answer{Status: 404, Body: []byte(`{}`)},
			onC + "/tokens/" + coinsOf + "/transfers?pageSize=1": `{"transfers":[{` + movedJSON + `,"value":"1","erc20Token":{` + erc20JSON + `}}]}`},
			"/chain/43112/token/" + coinsOf, 200, "Quorum Token ( QRM ) ERC-20 Contract " + coinsOf + " Decimals 18 Made unknown"},
		{"an address that is no token", fakeAPI{onC + "/addresses/" + coinsOf: Answer{Status: 404, Body: []byte(`{"message":"no contract is known"}`)},
			onC + "/tokens/" + coinsOf + "/transfers?pageSize=1": `{"transfers":[]}`}, "/chain/43112/token/" + coinsOf, 404, "no contract is known"},
		{"the P-Chain", nil, "/chain/P", 303, "/primary"},
	} {
		api := sampleEVM()
		for path, answer := range c.more {
			api[path] = answer
		}
		out := visit(t, evmSite(t, api), c.path, false)
		if out.Status != c.status {
			t.Errorf("%s: %d %s", c.name, out.Status, out.HTML)
			continue
		}
		if out.Status == http.StatusSeeOther {
			if out.Location != c.want {
				t.Errorf("%s leads to %s, want %s", c.name, out.Location, c.want)
			}
			continue
		}
		if _, text := parsed(t, &out); !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in %s", c.name, c.want, text)
		}
	}
}

// TestManyChains: a hash is looked for on a bounded number of chains, and that is said.
func TestManyChains(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range maxChainsTried + 3 {
		list = append(list, strings.Replace(chainJSON, `"43112"`, fmt.Sprintf(`"%d"`, 1000+i), 1))
	}
	api := sampleEVM()
	api["/v1/chains"] = `{"chains":[` + strings.Join(list, ",") + `]}`
	for i := range 2 {
		api[fmt.Sprintf("/v1/chains/%d/transactions/%s", 1000+i, txID)] = api[onC+"/transactions/"+txID]
	}
	out := visit(t, evmSite(t, api), "/tx/"+txID, false)
	if _, text := parsed(t, &out); !strings.Contains(text, "On 2 chains") || !strings.Contains(text, "3 further chains were not asked") {
		t.Errorf("%d %s", out.Status, text)
	}
}

// holdersAPI lists n holders by address, each with as many units as its number, as the
// API does: above a threshold, in pages.
type holdersAPI struct {
	fakeAPI
	n     int
	asked *int
	equal bool // all have one unit
}

func (h holdersAPI) Get(path string, operator bool) Answer {
	const list = "/v2/chains/43112/contracts/" + coinsOf + "/balances?"
	query, ok := strings.CutPrefix(path, list)
	if !ok {
		return h.fakeAPI.Get(path, operator)
	}
	*h.asked++
	var size, from, least int
	if _, err := fmt.Sscanf(query, "pageSize=%d&threshold=%d", &size, &least); err != nil {
		if _, err := fmt.Sscanf(query, "pageSize=%d&pageToken=%d&threshold=%d", &size, &from, &least); err != nil {
			return Answer{Status: 400}
		}
	}
	var rows []string
	for i := from; i < h.n; i++ {
		units := i*7919%h.n + 1 // addresses are no matter of wealth
		if h.equal {
			units = 1
		}
		if units <= least {
			continue
		}
		if len(rows) == size {
			return Answer{Status: 200, Body: []byte(`{"addresses":[` + strings.Join(rows, ",") + fmt.Sprintf(`],"nextPageToken":"%d"}`, i))}
		}
		rows = append(rows, fmt.Sprintf(`{"address":"0x%040x","sortKey":%d}`, i, units))
	}
	return Answer{Status: 200, Body: []byte(`{"addresses":[` + strings.Join(rows, ",") + `]}`)}
}

// TestHolders: the largest holders come first where they can be found by a few questions;
// else the list is that of the API.
func TestHolders(t *testing.T) {
	t.Parallel()
	api := sampleEVM()
	api[onC+"/addresses/"+coinsOf] = strings.Replace(api[onC+"/addresses/"+coinsOf].(string), `"decimals":18`, `"decimals":0`, 1)
	for _, c := range []struct {
		n     int
		query string
		asked int
		want  []string
	}{
		{0, "", 1, []string{"0 holders have more than 0", "No holders."}},
		{40, "", 1, []string{"40 holders have more than 0, the largest first."}},
		{1000, "", 1, []string{"1 000 holders have more than 0, the largest first; the first 50 are shown."}},
		{15_000, "", 2, []string{"the largest first; the first 50 are shown.", "Balance 0x0000"}},
		{15_000, "&least=14990", 1, []string{"10 holders have more than 14 990, the largest first."}},
		{15_000, "&least=100", 2, []string{"in the order of addresses", "Next page"}},
		{15_000, "&least=100&page=60", 1, []string{"in the order of addresses", "First page", "Next page"}},
		{15_000, "&page=14990", 1, []string{"in the order of addresses", "First page"}},
		{2000, "&equal", 3, []string{"in the order of addresses", "Next page"}},
		{500_000, "", 4, []string{"in the order of addresses", "Next page"}},
	} {
		asked := 0
		out := visit(t, evmSite(t, holdersAPI{api, c.n, &asked, c.query == "&equal"}), "/chain/43112/token/"+coinsOf+"?tab=holders"+c.query, false)
		_, text := parsed(t, &out)
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%d holders%s: %d, no %q in %s", c.n, c.query, out.Status, w, text)
			}
		}
		if asked != c.asked {
			t.Errorf("%d holders%s: the API is asked %d times, want %d", c.n, c.query, asked, c.asked)
		}
		if c.n == 15_000 && c.query == "" && !strings.Contains(text, " 15 000 ") {
			t.Errorf("the largest holder is not shown: %s", text)
		}
	}
}
