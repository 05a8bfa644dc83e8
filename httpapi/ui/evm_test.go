package ui

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// evmViews are the templates, parsed once for all tests.
var evmViews = sync.OnceValues(func() (*views, error) { return newViews("") })

func evmSite(t testing.TB, api API) *Site {
	t.Helper()
	v, err := evmViews()
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(failing{t}, nil))
	return &Site{cfg: Config{API: api, Mode: On, Log: log}, views: v}
}

// failing is a log for tests: what is logged of pages is a defect.
type failing struct{ testing.TB }

func (f failing) Write(b []byte) (int, error) {
	f.Errorf("logged: %s", b)
	return len(b), nil
}

// TestEVMPages: each page has what the API says, in units and with all digits.
func TestEVMPages(t *testing.T) {
	t.Parallel()
	s := evmSite(t, sampleEVM())
	at := func(path string) string { return "/chain/43112/address/" + someone + path }
	const thin = " " // narrow, in the page
	for path, want := range map[string][]string{
		"/chain/43112": {"C-Chain", "up to date", "Last block 2" + thin + "018", "34.34810229 nAVAX a unit of gas", "1" + thin + "200 in the last day; 8" + thin + "331 in all",
			"trace, blocks 7 to 9: no node could trace them yet", "http://127.0.0.1:9750/ext/bc/C/rpc", "teleporter", "mhRvawodN5JrWowULx9hspKGTmfWHyTHScuanPddVmzs5b2RH"},
		"/chain/43112/blocks":            {"2" + thin + "018", "216" + thin + "400", "0.007686", "Next page"},
		"/chain/43112/txs?status=failed": {"0x111111…111111", "transfer", "Next page"},
		"/chain/43112/block/2018": {blockID, "← Block 2" + thin + "017", "Block 2" + thin + "019 →", "216" + thin + "400 of 15" + thin + "000" + thin + "000 (1.44%)",
			"0.007686829335556 AVAX", "8" + thin + "269 up to here"},
		"/chain/43112/tx/" + txID: {"success", txID, "1.500000000000000001 AVAX", "0.001809822837248 AVAX", "51" + thin + "200 of 61" + thin + "440", "35.34810229 nAVAX",
			"transfer(address,uint256)", "5 bytes", "0xa9059cbb00", "<0.000001 QRM", "DAPE #3", "45 0x9D12D4…5CB192 #33", "minted", "by a call 0xC4AD74…ef71e8",
			"CALL 0xC4AD74…ef71e8 → 0x020000…000005", "sent it to chain 2m1BPJZF", "signed this server has it signed", "eth_getTransactionReceipt"},
		"/chain/43112/tx/" + badTxID:    {"failed", "Failed execution reverted: not <b>yours</b>", "This transaction moved nothing"},
		at(""):                          {"Contract A contract", "999" + thin + "087.656258602646560648 AVAX", "Also on My L1", "0x111111…111111", "Transfers"},
		at("?block=100"):                {"1" + thin + "000.656258602646560648 AVAX after block 100"},
		at("?tab=internal"):             {"CALL", "0x020000…000005"},
		at("?tab=tokens"):               {"QRM malicious", "0.000000000000000045", "its contract, block 2" + thin + "017"},
		at("?tab=erc20"):                {"minted", "<0.000001 QRM"},
		at("?tab=erc721"):               {"DAPE #3"},
		at("?tab=erc1155"):              {"45 0x9D12D4…5CB192 #33"},
		at("?tab=nfts"):                 {"An ape 1 transfers", "unknown 45 transfers doubtful"},
		at("?tab=made"):                 {"Quorum Token", "ERC-20"},
		at("?tab=icm"):                  {"pending", "signed", "2m1BPJZF…Mnugoc"},
		"/chain/43112/token/" + coinsOf: {"Quorum Token ( SYM ) ERC-20", coinsOf, "<0.000001 QRM"},
		"/chain/43112/token/" + coinsOf + "?tab=holders": {"2 holders have more than 0, the largest first", "0xfc9fE7…731D3c 573.1 0xb90BD5…003964 573.1", "573.100000000000000001"},
		"/chain/43112/nft/" + apesOf:                     {"Devnet Apes", "#3", "An ape", "https://nft.example/apes/3.json", "INDEXED"},
		"/chain/43112/nft/" + apesOf + "?tab=holders":    {"1" + thin + "129 holders of 226 tokens, in the order of addresses; from transfers doubtful"},
		"/chain/43112/nft/" + apesOf + "/3":              {"An ape #3", someone, "Of the devnet", "ipfs://ape", "Fur red", "Age 7", "the document was fetched"},
		"/chain/43112/metrics":                           {"Transactions", "1" + thin + "132 on the last day", "Fees paid AVAX", "Hour Day Week", "unknown"},
		"/chain/43112/metrics/feesPaid?all=1":            {"2025-01-01 0.000000000000001132", "in base units", "Zoom out"},
		"/chain/43112/icm":                               {"of C-Chain", "pending"},
		"/icm":                                           {"In all 7" + thin + "000"},
		"/icm/" + icmID:                                  {"pending", icmID, "2.5 QRM", "everybody may deliver it", "0.001809822837248 AVAX", "2 bytes 0xabcd", "not followed"},
	} {
		out := visit(t, s, path, false)
		if out.Status != http.StatusOK {
			t.Errorf("%s: %d", path, out.Status)
		}
		main, text := parsed(t, &out)
		for _, a := range links(main) {
			text += " " + a
		}
		for n := range main.Descendants() {
			for _, a := range n.Attr {
				if a.Key == "title" {
					text += " " + a.Val
				}
			}
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s has no %q: %s", path, w, text)
			}
		}
	}
}

// TestPaging: the next page keeps what was chosen, and its token whole.
func TestPaging(t *testing.T) {
	t.Parallel()
	api := sampleEVM()
	of := onC + "/addresses/" + someone
	api[of+"/balances:listErc20?pageSize=25&pageToken=next%2F%2B%3D&blockNumber=100&filterSpamTokens=false"] = `{"erc20TokenBalances":[]}`
	api[of+"/balances:listErc20?pageSize=25&blockNumber=100&filterSpamTokens=false"] = api[of+"/balances:listErc20?pageSize=25&filterSpamTokens=false"]
	s := evmSite(t, api)
	at := "/chain/43112/address/" + someone
	for path, want := range map[string]string{
		"/chain/43112/blocks":            "/chain/43112/blocks?page=next%2F%2B%3D",
		"/chain/43112/txs?status=failed": "/chain/43112/txs?status=failed&page=next%2F%2B%3D",
		at + "?tab=tokens&block=100":     at + "?tab=tokens&block=100&page=next%2F%2B%3D",
		"/chain/43112/block/2018":        "/chain/43112/block/2018?page=next%2F%2B%3D",
	} {
		out := visitAt(t, s, path, Input{Prefix: "/behind"})
		main, _ := parsed(t, &out)
		if list := links(main); !slices.Contains(list, "/behind"+want) {
			t.Errorf("%s does not lead to %s, but %q", path, want, list)
		}
	}
	out := visit(t, s, at+"?tab=tokens&block=100&page=next%2F%2B%3D", false)
	main, text := parsed(t, &out)
	if list := links(main); !slices.Contains(list, at+"?tab=tokens&block=100") || !strings.Contains(text, "No tokens.") {
		t.Errorf("the last page: %q %s", list, text)
	}
}

// TestRefusals: what the API refuses is a page with its status and its reason, or if it is
// one of several parts, said in its place.
func TestRefusals(t *testing.T) {
	t.Parallel()
	refuse := func(status int, reason string) Answer {
		return Answer{Status: status, Body: []byte(`{"message":"` + reason + `","statusCode":` + "1" + `}`)}
	}
	for _, c := range []struct {
		refused string
		answer  Answer
		path    string
		status  int
		want    string
	}{
		{onC, refuse(404, "no chain <nope>"), "/chain/43112", 404, "no chain <nope>"},
		{onC, refuse(429, "too much at once"), "/chain/43112/metrics", 429, "too much at once"},
		{onC + "/transactions/" + txID, refuse(404, "it does not exist or is not indexed yet"), "/chain/43112/tx/" + txID, 404, "not indexed yet"},
		{onC + "/blocks?pageSize=10", refuse(503, "nothing is indexed yet"), "/chain/43112", 200, "Not available: nothing is indexed yet"},
		{onC + "/transactions?pageSize=10", refuse(503, "nothing is indexed yet"), "/chain/43112", 200, "Not available: nothing is indexed yet"},
		{"/v2/chains/43112/metrics/txCount?timeInterval=day&pageSize=60", refuse(503, "metrics are being made, 12% done"), "/chain/43112", 200, "metrics are being made, 12% done"},
		{"/v2/chains/43112/metrics/contracts?timeInterval=day&pageSize=90", refuse(404, "no node traces"), "/chain/43112/metrics", 200, "Not available: no node traces"},
		{"/v2/chains/43112/metrics/contracts?timeInterval=day&pageSize=90", refuse(404, "no node traces"), "/chain/43112/metrics/contracts", 200, "Not available: no node traces"},
		{"/v2/chains/43112/rollingWindowMetrics/gasUsed", refuse(503, "later"), "/chain/43112/metrics", 200, "Not available: later"},
		{onC + "/addresses/" + someone, refuse(404, "no contract"), "/chain/43112/address/" + someone, 200, "Address " + someone},
		{onC + "/addresses/" + someone, refuse(503, "its node does not answer"), "/chain/43112/address/" + someone, 200, "not known: its node does not answer"},
		{onC + "/addresses/" + someone + "/balances:getNative", refuse(400, "address must be 0x and 40 digits"), "/chain/43112/address/" + someone, 400, "40 digits"},
		{onC + "/addresses/" + someone + "/balances:getNative", refuse(503, "no state"), "/chain/43112/address/" + someone, 200, "not available: no state"},
		{onC + "/addresses/" + someone + "/transactions?pageSize=25", refuse(503, "later"), "/chain/43112/address/" + someone, 200, "Not available: later"},
		{"/v1/icm/messages/" + icmID, refuse(503, "messages are being made"), "/chain/43112/tx/" + txID, 200, "Not available: messages are being made"},
		{"/v2/icm/summary", refuse(503, "later"), "/icm", 200, "Not available: later"},
		{"/nothing", Answer{}, "/chain/43112/address/" + someone + "?block=x", 400, "a block number is a whole number"},
		{"/nothing", Answer{}, "/chain/43112/metrics/txCount?interval=year", 400, "interval must be hour, day, week or month"},
		{"/nothing", Answer{}, "/chain/43112/metrics/txCount?from=tomorrow", 400, "a time is a date"},
		{"/nothing", Answer{}, "/chain/43112/token/" + coinsOf + "?tab=holders&least=much", 400, "the least balance is an amount"},
	} {
		api := sampleEVM()
		api[c.refused] = c.answer
		out := visit(t, evmSite(t, api), c.path, false)
		_, text := parsed(t, &out)
		if out.Status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s, while %s is refused: %d %s, want %d and %q", c.path, c.refused, out.Status, text, c.status, c.want)
		}
	}
}

// TestIndexing: while a chain is indexed its page says how far it is and what is missing.
func TestIndexing(t *testing.T) {
	t.Parallel()
	api := sampleEVM()
	api[onC] = strings.Replace(chainJSON, `"OK"`, `"UNAVAILABLE"`, 1)
	for _, c := range []struct{ indexed, height, want string }{
		{"2018", "10000", "This chain is being indexed. Blocks up to 2 018"},
		{"2018", "10000", "2 018 of 10 000 blocks, 20.18%"},
		{"", "10000", "The chain has 10 000 blocks."},
		{"", "", "how far it is by now is not known"},
	} {
		api[onC+"/blocks?pageSize=10"] = Answer{Status: 200, Body: []byte(`{"blocks":[` + blockJSON + `]}`), Indexed: c.indexed, Height: c.height}
		out := visit(t, evmSite(t, api), "/chain/43112", false)
		if _, text := parsed(t, &out); !strings.Contains(text, c.want) {
			t.Errorf("indexed %s of %s: no %q in %s", c.indexed, c.height, c.want, text)
		}
	}
}

// TestUnknown: what the API does not say is shown as unknown, not as nothing.
func TestUnknown(t *testing.T) {
	t.Parallel()
	api := sampleEVM()
	body := api[onC+"/transactions/"+txID].(string)
	body = body[:strings.Index(body, `"internalTransactions"`)] + `"other":0}`
	api[onC+"/transactions/"+txID] = strings.Replace(body, `"decimals":18,"ercType"`, `"ercType"`, 1)
	api[onC+"/blocks/2018"] = strings.NewReplacer(`"7686829335556000"`, `""`, `"34348102290"`, `""`).Replace(blockJSON)
	s := evmSite(t, api)
	for path, want := range map[string][]string{
		"/chain/43112/blocks":     {"Of some blocks of this chain not all is known here"},
		"/chain/43112/tx/" + txID: {"Not known: no followed node could trace", "Whether it sent a warp message is not known", "1 base units QRM"},
		"/chain/43112/block/2018": {"Base fee unknown", "Fees unknown"},
	} {
		out := visit(t, s, path, false)
		_, text := parsed(t, &out)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s has no %q: %s", path, w, text)
			}
		}
	}
}

// TestUntraced: a transaction whose calls are not known may have moved something.
func TestUntraced(t *testing.T) {
	t.Parallel()
	api := sampleEVM()
	for said, want := range map[string]string{
		`"nativeTransaction":{"txStatus":"1","value":"0"}`: "Calls may have moved",
		`"nativeTransaction":{"txStatus":"1"},"internalTransactions":[{"internalTxType":"STATICCALL","value":"0","to":{"address":"` + warpPrecompile + `"}}]`: "sent no warp message",
		`"nativeTransaction":{"txStatus":"1"},"internalTransactions":[{"internalTxType":"CALL","value":"0","to":{"address":"` + warpPrecompile + `"}}]`:       "sent a warp message",
		`"nativeTransaction":{"txStatus":"0","value":"5"}`:                           "This transaction moved nothing",
		`"nativeTransaction":{"txStatus":"0","failureReason":"` + long + `"}`:        "Failed " + long[:300] + "…",
		`"nativeTransaction":{"txStatus":"1","value":"0"},"internalTransactions":[]`: "This transaction moved nothing",
	} {
		api[onC+"/transactions/"+txID] = "{" + said + "}"
		out := visit(t, evmSite(t, api), "/chain/43112/tx/"+txID, false)
		if _, text := parsed(t, &out); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in %s", said, want, text)
		}
	}
}

// TestSignLinks: only operators are led to the page that signs; everybody can ask the API.
func TestSignLinks(t *testing.T) {
	t.Parallel()
	s := evmSite(t, sampleEVM())
	s.cfg.Operator = &fakeOperator{}
	for _, path := range []string{"/chain/43112/tx/" + txID, "/icm/" + icmID} {
		for _, operator := range []bool{false, true} {
			out := visit(t, s, path, operator)
			main, _ := parsed(t, &out)
			list := links(main)
			if slices.Contains(list, "/signatures/message?input="+txID) != operator {
				t.Errorf("%s, operator: %v: %q", path, operator, list)
			}
			if !slices.Contains(list, "/v1/signatureAggregator/fuji/aggregateSignatures/"+txID) {
				t.Errorf("%s does not lead to the signed message: %q", path, list)
			}
		}
	}
}
