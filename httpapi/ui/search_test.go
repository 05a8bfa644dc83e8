package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const (
	someHash = "0x00000000000000000000000000000000000000000000000000000000000000aa"
	someID   = "2wfTPuzJgAduh9LPbShhxhuh2nLMaxpGwF6LUJK8ZPpZDTDsmh"
	someNode = "NodeID-HEcwnAHqF2T2JZT3Xf4iQciFvTro5fu6w"
	someBech = "fuji18jma8ppw3nhx5r4ap8clazz0dps7rv5u6wmu4t"
)

// TestSearch: what one thing alone is called leads there.
func TestSearch(t *testing.T) {
	t.Parallel()
	const chains = `{"chains":[{"chainId":"43114","chainName":"Avalanche C","platformChainId":"` + someID + `"},{"chainId":"7","chainName":"Seven"}]}`
	api := func(paths ...string) fakeAPI {
		f := fakeAPI{"/v1/chains": chains}
		for _, p := range paths {
			f[p] = `{"blockchainName":"x","subnetId":"S"}`
		}
		return f
	}
	f := func(q, to string, paths ...string) {
		t.Helper()
		out := visit(t, newSite(t, Config{API: api(paths...)}), "/search?q="+url.QueryEscape(q), false)
		if out.Status != http.StatusSeeOther || out.Location != to {
			t.Errorf("%q: %d, to %q, want %q", q, out.Status, out.Location, to)
		}
		to, _, _ = strings.Cut(to, "?")
		if s := newSite(t, Config{API: fakeAPI{}}); strings.Contains(string(visit(t, s, to, false).HTML), "here is no page") ||
			strings.Contains(string(visit(t, s, to, false).HTML), "nothing is served at "+to+"<") {
			t.Errorf("%q leads to %s, which is no page", q, to)
		}
	}
	address := "0x" + strings.Repeat("0c", 20)
	f("", "/")
	f("  "+address+" ", "/address/"+address)
	f(strings.ToUpper(address[2:]), "/address/"+address)
	f(someHash, "/chain/7/tx/"+someHash, "/v1/chains/7/transactions/"+someHash)
	f(someHash[2:], "/chain/43114/block/"+someHash, "/v1/chains/43114/blocks/"+someHash)
	f(someHash, "/icm/"+someHash, "/v1/icm/messages/"+someHash)
	f(someHash, "/primary/p/block/"+someHash+"?network=fuji", "/v1/networks/fuji/blockchains/p-chain/blocks/"+someHash)
	f("12", "/chain/7/block/12", "/v1/chains/7/blocks/12")
	f("12", "/primary/x/block/12?network=mainnet", "/v1/networks/mainnet/blockchains/x-chain/blocks/12")
	f("43114", "/chain/43114")
	f("SEVEN", "/chain/7")
	f(someID, "/chain/43114", "/v1/networks/fuji/blockchains/"+someID) // there is more of it than of the blockchain
	other := "3" + someID[1:]
	f(other, "/primary/subnet/S?network=fuji", "/v1/networks/fuji/blockchains/"+other)
	f(other, "/primary/subnet/"+other+"?network=mainnet", "/v1/networks/mainnet/subnets/"+other)
	f(other, "/primary/p/tx/"+other+"?network=fuji", "/v1/networks/fuji/blockchains/p-chain/transactions/"+other)
	f(other, "/primary/asset/"+other+"?network=fuji", "/v1/networks/fuji/blockchains/x-chain/assets/"+other)
	f(someNode, "/primary/validator/"+someNode+"?network=fuji", "/v1/networks/fuji/validators/"+someNode)
	f("P-"+someBech, "/primary/address/P-"+someBech+"?network=fuji", "/v1/networks/fuji/blockchains/p-chain/balances?addresses=P-"+someBech)
}

// TestSearchPages: chains of the primary network, metrics and pages are found by name, a
// height beyond the last block says which that is, and bytes of a message are taken apart.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	api := fakeAPI{
		"/v1/chains":                                 `{"chains":[{"chainId":"7","chainName":"Seven"}]}`,
		"/v1/networks/fuji/blockchains/x-chain":      `{}`,
		"/v1/networks/fuji/blockchains/p-chain":      `{}`,
		"/v1/chains/7/blocks?pageSize=1":             `{"blocks":[{"blockNumber":"1603"}]}`,
		"/v1/networks/fuji/blockchains?pageSize=100": `{"blockchains":[]}`,
	}
	s := newSite(t, Config{API: api})
	for q, to := range map[string]string{
		"x-chain": "/primary/x?network=fuji", "P": "/primary/p?network=fuji", "P-Chain": "/primary/p?network=fuji",
		"activeAddresses": "/chain/7/metrics/activeAddresses", "delegations": "/primary/delegations", "teleporter": "/icm",
	} {
		if out := visit(t, s, "/search?q="+url.QueryEscape(q), false); out.Status != http.StatusSeeOther || out.Location != to {
			t.Errorf("%q: %d, to %q, want %q", q, out.Status, out.Location, to)
		}
	}
	page(t, visit(t, s, "/search?q=gas", false), 200, "Gas used", "/chain/7/metrics/maxGasPrice")
	page(t, visit(t, s, "/search?q=999999999", false), 404, "there is no block 999\u202f999\u202f999: the last block of Seven is 1\u202f603")
	message := strings.Repeat("00ff", 200)
	page(t, visit(t, s, "/search?q="+message, false), 400, "longer than 256")
	o := newSite(t, Config{API: api, Operator: newFakeOperator(t)})
	if out := visit(t, o, "/search?q=0x"+message, true); out.Location != "/signatures/message?input=0x"+message {
		t.Errorf("a message: %d, to %.60q", out.Status, out.Location)
	}
}

// TestSuggestions: names are suggested, each once, and nothing is for what has a form.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{API: fakeAPI{"/v1/chains": `{"chains":[{"chainId":"7","chainName":"Gas\"station"},{"chainId":"8","chainName":"Eight"}]}`}})
	for q, want := range map[string]string{
		"gas": `["Gas\"station","Gas used","Gas a second, mean","Gas a second, highest","Gas price, mean","Gas price, highest"]`,
		"8":   "[]", "g": "[]", "1,494": "[]", someHash: "[]", "zzz": "[]",
	} {
		if out := visit(t, s, "/suggest?q="+url.QueryEscape(q), false); out.Status != 200 || string(out.HTML) != want {
			t.Errorf("%q: %d %s, want %s", q, out.Status, out.HTML, want)
		}
	}
}

// TestSearchFindsMoreOrNothing: several things are listed, and nothing is said to be
// nothing.
func TestSearchFindsMoreOrNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, Config{API: fakeAPI{
		"/v1/chains":             `{"chains":[{"chainId":"1","chainName":"<b>one</b>"},{"chainId":"2","chainName":"two"}]}`,
		"/v1/chains/1/blocks/12": `{}`, "/v1/chains/2/blocks/12": `{}`,
		"/v1/networks/fuji/blockchains?pageSize=100": `{"blockchains":[{"blockchainName":"the one","subnetId":"S"}]}`,
	}})
	for q, parts := range map[string][]string{
		"12":  {`href="/chain/1/block/12"`, `href="/chain/2/block/12"`, "&lt;b&gt;one"},
		"one": {`href="/chain/1"`, `href="/primary/subnet/S?network=fuji"`, "the one"},
	} {
		out := visit(t, s, "/search?q="+q, false)
		for _, part := range parts {
			if out.Status != 200 || !strings.Contains(string(out.HTML), part) {
				t.Errorf("%s: %d, no %s in %s", q, out.Status, part, out.HTML)
			}
		}
	}
	for _, q := range []string{"nothing", "<script>alert(1)</script>", "0x12", "99999999999999999999", "/../x", "a\x00b"} {
		out := visit(t, s, "/search?q="+url.QueryEscape(q), false)
		if out.Status != 404 || strings.Contains(string(out.HTML), "<script>alert") {
			t.Errorf("%q: %d %s", q, out.Status, out.HTML)
		}
	}
	if out := visit(t, s, "/search?q="+strings.Repeat("x", maxSearch+1), false); out.Status != 400 {
		t.Errorf("too long: %d", out.Status)
	}
}

// TestSearchTokens: tokens are found by name on each chain, at a price, and hostile names
// are text.
func TestSearchTokens(t *testing.T) {
	t.Parallel()
	api := fakeAPI{"/v1/chains": `{"chains":[{"chainId":"1","chainName":"One"},{"chainId":"2","chainName":"Two"}]}`}
	var asked []string
	s := newSite(t, Config{API: api, Tokens: func(chain, text string, limit int) ([]FoundToken, error) {
		asked = append(asked, chain+" "+text)
		if chain == "2" {
			return nil, nil
		}
		return []FoundToken{{Address: coinsOf, Name: "USD Coin", Symbol: "USDC"}, {Address: apesOf, Name: hostile, Collection: true}}, nil
	}})
	text := page(t, visit(t, s, "/search?q=usd", false), 200, "USD Coin (USDC)", `href="/chain/1/token/`+coinsOf+`"`, `href="/chain/1/nft/`+apesOf+`"`, "on One", "&lt;script&gt;")
	if strings.Contains(text, "<script>alert") || strings.Join(asked, ",") != "1 usd,2 usd" {
		t.Errorf("asked for %q: %s", asked, text)
	}
	page(t, visit(t, s, "/search?q=12", false), 404)
	charged := 0
	visitAt(t, s, "/search?q=usd", Input{Charge: func(units int) (time.Duration, bool) { charged += units; return 0, true }})
	if charged != 0 {
		t.Errorf("a search on two chains costs %d units more", charged)
	}
}

// TestAssetOfGenesis: an asset that no known transaction made has a page if transactions
// move it: each amount of AVAX leads there.
func TestAssetOfGenesis(t *testing.T) {
	t.Parallel()
	const asset = "/v1/networks/fuji/blockchains/x-chain/assets/" + someID
	api := fakeAPI{"/v1/networks/fuji/blockchains?pageSize=1": `{"blockchains":[]}`, asset + "/transactions?pageSize=25": `{"transactions":[{"txHash":"` + someID + `","txType":"BaseTx"}]}`}
	page(t, visit(t, newSite(t, Config{API: api}), "/primary/asset/"+someID, false), 200, "belongs to the genesis", `/primary/x/tx/`+someID)
	api[asset+"/transactions?pageSize=25"] = `{"transactions":[]}`
	page(t, visit(t, newSite(t, Config{API: api}), "/primary/asset/"+someID, false), 404)
}

// TestSheets: each list leads to what it shows as CSV, as JSON and as a command.
func TestSheets(t *testing.T) {
	t.Parallel()
	api := homeAPI()
	api["/v1/things?pageSize=2"] = `{"things":[{"name":"=1+1","n":1}]}`
	s := newSite(t, Config{API: api})
	out := visit(t, s, "/csv?path="+url.QueryEscape("/v1/things?pageSize=2"), false)
	if out.Status != 200 || out.Type != "text/csv; charset=utf-8" || string(out.HTML) != "name,n\n'=1+1,1\n" {
		t.Errorf("%d %s %q", out.Status, out.Type, out.HTML)
	}
	for path, status := range map[string]int{"": 400, "/metrics": 400, "//example.com/v1/": 400, "/v1/nothing": 404, "/v1/../ops": 404} {
		if out := visit(t, s, "/csv?path="+url.QueryEscape(path), false); out.Status != status {
			t.Errorf("%s: %d, want %d", path, out.Status, status)
		}
	}
}
