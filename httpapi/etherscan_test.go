package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/archive"
	archiveevm "quorate/engine/archive/evm"
	"quorate/engine/chain/evm"
	"quorate/engine/history"
	"quorate/engine/index"
	"quorate/engine/index/indextest"
	"quorate/httpapi/limit"
	"quorate/httpapi/ui"
)

// dialectServer returns a server over a real index of blocks with calls and tokens of all
// standards.
func dialectServer(t testing.TB, cfg Config) (*Server, *testChain, []*evm.Block) {
	t.Helper()
	s, c := indexed(t, 0)
	blocks := indextest.New(indextest.Config{Seed: 29, Txs: 12, Accounts: 12}).Blocks(120)
	if err := c.x.Commit(context.Background(), blocks); err != nil {
		t.Fatal(err)
	}
	c.past = history.New(blockPlaces{c.x}, keepBlocks(t, blocks))
	tokens := map[evm.Address]index.TokenMeta{}
	for i, a := range indextest.Coins {
		tokens[a] = index.TokenMeta{Kind: index.ERC20, Name: fmt.Sprintf("Coin %d", i), Symbol: fmt.Sprintf("C%d", i), Decimals: 6, HasDecimals: true}
	}
	tokens[indextest.Arts[0]] = index.TokenMeta{Kind: index.ERC721, Name: "Art", Symbol: "ART"}
	if err := c.x.PutTokens(context.Background(), tokens); err != nil {
		t.Fatal(err)
	}
	cfg.Networks, cfg.Chains, cfg.TokenKey = s.cfg.Networks, oneChain{c}, s.cfg.TokenKey
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, c, blocks
}

// blockPlaces are those of an index; nothing is looked for by hash.
type blockPlaces struct{ *index.Chain }

func (blockPlaces) Block(evm.Hash) (uint64, bool, error) { return 0, false, nil }

func (blockPlaces) Later() (later, known bool) { return false, true }

func (blockPlaces) Tx(evm.Hash) (uint64, uint32, bool, error) { return 0, 0, false, nil }

// keepBlocks puts blocks into an archive.
func keepBlocks(t testing.TB, blocks []*evm.Block) func() *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.TempDir(), archive.Options{Kind: archive.KindEVM})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	var list []archive.Block
	for _, b := range blocks {
		list = append(list, archiveevm.BlockOf(b))
	}
	if err := a.Append(context.Background(), list); err != nil {
		t.Fatal(err)
	}
	return func() *archive.Archive { return a }
}

// spoken is an answer in the dialect.
type spoken[T any] struct {
	Status, Message string
	Result          T
}

// tell asks in the dialect.
func tell[T any](t testing.TB, s *Server, query string) (a spoken[T]) {
	t.Helper()
	getJSON(t, s, "/v2/api?chainid=43112&"+query, &a)
	return a
}

// said is a row of a list, by the names of its members.
type said = map[string]string

// allRows returns all rows of a list of /v1, by its name.
func allRows(t testing.TB, s *Server, path, name string) (rows []map[string]any) {
	t.Helper()
	for next := ""; ; {
		var page map[string]any
		getJSON(t, s, path+"pageSize=100"+next, &page)
		for _, r := range page[name].([]any) {
			rows = append(rows, r.(map[string]any))
		}
		token, more := page["nextPageToken"].(string)
		if !more {
			return rows
		}
		next = "&pageToken=" + url.QueryEscape(token)
	}
}

func field(r map[string]any, path ...string) string {
	for _, name := range path[:len(path)-1] {
		r, _ = r[name].(map[string]any)
	}
	v := r[path[len(path)-1]]
	if f, ok := v.(float64); ok {
		return fmt.Sprintf("%.0f", f)
	}
	text, _ := v.(string)
	return text
}

// TestDialectLists: the lists of the dialect have the rows and figures of /v1, for every
// account, in both orders and cut into pages.
func TestDialectLists(t *testing.T) {
	t.Parallel()
	s, _, blocks := dialectServer(t, Config{})
	lists := []struct {
		action, path, name string
		same               map[string][]string // members, and where /v1 has them
	}{
		{"txlist", "/transactions:listNative", "transactions", map[string][]string{
			"blockNumber": {"blockNumber"}, "hash": {"txHash"}, "timeStamp": {"blockTimestamp"}, "value": {"value"}, "gas": {"gasLimit"}, "gasUsed": {"gasUsed"},
			"gasPrice": {"gasPrice"}, "nonce": {"nonce"}, "transactionIndex": {"blockIndex"}, "blockHash": {"blockHash"}, "from": {"from", "address"}, "txreceipt_status": {"txStatus"},
		}},
		{"tokentx", "/transactions:listErc20", "transactions", map[string][]string{
			"blockNumber": {"blockNumber"}, "hash": {"txHash"}, "from": {"from", "address"}, "to": {"to", "address"}, "value": {"value"},
			"contractAddress": {"erc20Token", "address"}, "logIndex": {"logIndex"}, "tokenSymbol": {"erc20Token", "symbol"},
		}},
		{"tokennfttx", "/transactions:listErc721", "transactions", map[string][]string{
			"hash": {"txHash"}, "from": {"from", "address"}, "to": {"to", "address"}, "contractAddress": {"erc721Token", "address"}, "tokenID": {"erc721Token", "tokenId"},
		}},
		{"token1155tx", "/transactions:listErc1155", "transactions", map[string][]string{
			"hash": {"txHash"}, "from": {"from", "address"}, "to": {"to", "address"}, "contractAddress": {"erc1155Token", "address"},
			"tokenID": {"erc1155Token", "tokenId"}, "tokenValue": {"value"},
		}},
		{"txlistinternal", "/transactions:listInternals", "transactions", map[string][]string{
			"hash": {"txHash"}, "from": {"from", "address"}, "value": {"value"}, "gas": {"gasLimit"}, "gasUsed": {"gasUsed"},
		}},
	}
	total := map[string]int{}
	for _, a := range indextest.New(indextest.Config{Accounts: 12}).Accounts() {
		for _, l := range lists {
			want := allRows(t, s, base+"/addresses/"+a.String()+l.path+"?", l.name)
			got := tell[[]said](t, s, "module=account&action="+l.action+"&sort=desc&address="+a.String())
			if len(got.Result) != len(want) {
				t.Fatalf("%s of %s: %d rows, /v1 has %d", l.action, a, len(got.Result), len(want))
			}
			for i, r := range got.Result {
				for name, path := range l.same {
					if v := field(want[i], path...); !strings.EqualFold(v, r[name]) {
						t.Errorf("%s of %s, row %d: %s is %q, /v1 has %q", l.action, a, i, name, r[name], v)
					}
				}
			}
			total[l.action] += len(want)
			if len(want) == 0 {
				if got.Status != "0" || got.Message != "No transactions found" {
					t.Errorf("%s without rows: %+v", l.action, got)
				}
				continue
			}
			var paged []said
			for page := 1; len(paged) < len(want); page++ {
				p := tell[[]said](t, s, fmt.Sprintf("module=account&action=%s&address=%s&page=%d&offset=7", l.action, a, page))
				if p.Status != "1" || len(p.Result) == 0 {
					t.Fatalf("%s page %d: %+v", l.action, page, p)
				}
				paged = append(paged, p.Result...)
			}
			slices.Reverse(paged)
			if fmt.Sprint(paged) != fmt.Sprint(got.Result) {
				t.Errorf("%s of %s: pages in ascending order have other rows", l.action, a)
			}
		}
	}
	for action, n := range total {
		if n < 50 {
			t.Errorf("%s: only %d rows were compared", action, n)
		}
	}
	t.Logf("rows compared: %v", total)
	gas := map[string]string{}
	inputs := map[string]string{}
	for _, b := range blocks {
		sum := uint64(0)
		for i := range b.Txs {
			tx := &b.Txs[i]
			sum += tx.GasUsed
			gas[tx.Hash.String()], inputs[tx.Hash.String()] = fmt.Sprint(sum), fmt.Sprintf("0x%x", tx.Input)
		}
	}
	busy := indextest.New(indextest.Config{Accounts: 12}).Accounts()[0]
	for _, r := range tell[[]said](t, s, "module=account&action=txlist&address="+busy.String()).Result {
		if r["cumulativeGasUsed"] != gas[r["hash"]] || r["input"] != inputs[r["hash"]] {
			t.Errorf("%s: gas up to it %s, want %s; input %s, want %s", r["hash"], r["cumulativeGasUsed"], gas[r["hash"]], r["input"], inputs[r["hash"]])
		}
	}
}

// TestDialectCalls: the calls of a transaction, of blocks and of an address are the same, and
// their trace IDs name each once.
func TestDialectCalls(t *testing.T) {
	t.Parallel()
	s, _, blocks := dialectServer(t, Config{})
	n, ids := 0, map[string]bool{}
	for _, b := range blocks {
		for i := range b.Txs {
			tx := &b.Txs[i]
			got := tell[[]said](t, s, "module=account&action=txlistinternal&txhash="+tx.Hash.String())
			if len(got.Result) != len(tx.Calls) {
				t.Fatalf("%s: %d calls, want %d", tx.Hash, len(got.Result), len(tx.Calls))
			}
			for k, r := range got.Result {
				of := &tx.Calls[k]
				if r["value"] != of.Value.Dec() || !strings.EqualFold(r["from"], of.From.String()) || r["isError"] != map[bool]string{true: "1", false: "0"}[of.Reverted] {
					t.Errorf("%s call %d: %v", tx.Hash, k, r)
				}
				if id := r["hash"] + r["traceId"]; ids[id] || strings.Count(r["traceId"], "_") != int(of.Depth)-1 {
					t.Errorf("%s call %d of depth %d has the trace ID %s", tx.Hash, k, of.Depth, r["traceId"])
				} else {
					ids[id] = true
				}
				n++
			}
		}
	}
	up := tell[[]said](t, s, "module=account&action=txlistinternal&startblock=0&endblock=119")
	down := tell[[]said](t, s, "module=account&action=txlistinternal&startblock=0&endblock=119&sort=desc")
	if slices.Reverse(down.Result); n == 0 || len(up.Result) != n || fmt.Sprint(up.Result) != fmt.Sprint(down.Result) {
		t.Errorf("%d calls of all blocks, %d in descending order, want %d", len(up.Result), len(down.Result), n)
	}
	if a := tell[string](t, s, "module=account&action=txlistinternal&page=3&offset=5000"); a.Status != "0" || !strings.Contains(a.Result, "Result window is too large") {
		t.Errorf("a window beyond its end: %+v", a)
	}
}

// TestDialectFigures: single figures are those of /v1 and of the blocks.
func TestDialectFigures(t *testing.T) {
	t.Parallel()
	s, _, blocks := dialectServer(t, Config{})
	accounts := indextest.New(indextest.Config{Accounts: 12}).Accounts()
	for _, a := range accounts {
		var v1 struct {
			NativeTokenBalance struct{ Balance string }
			Erc20TokenBalances []struct{ Address, Balance string }
		}
		getJSON(t, s, base+"/addresses/"+a.String()+"/balances:listErc20?pageSize=500&filterSpamTokens=false", &v1)
		if b := tell[string](t, s, "module=account&action=balance&tag=latest&address="+a.String()); b.Result != v1.NativeTokenBalance.Balance {
			t.Errorf("%s has %s, /v1 says %s", a, b.Result, v1.NativeTokenBalance.Balance)
		}
		list := tell[[]said](t, s, "module=account&action=addresstokenbalance&address="+a.String()).Result
		if len(list) != len(v1.Erc20TokenBalances) {
			t.Errorf("%s has %d tokens, /v1 says %d", a, len(list), len(v1.Erc20TokenBalances))
		}
		for _, b := range v1.Erc20TokenBalances {
			if got := tell[string](t, s, "module=account&action=tokenbalance&contractaddress="+b.Address+"&address="+a.String()); got.Result != b.Balance {
				t.Errorf("%s has %s of %s, /v1 says %s", a, got.Result, b.Address, b.Balance)
			}
		}
		var past struct{ NativeTokenBalance struct{ Balance string } }
		getJSON(t, s, base+"/addresses/"+a.String()+"/balances:getNative?blockNumber=60", &past)
		if b := tell[string](t, s, "module=account&action=balance&tag=0x3c&address="+a.String()); b.Result != past.NativeTokenBalance.Balance {
			t.Errorf("%s had %s at block 60, /v1 says %s", a, b.Result, past.NativeTokenBalance.Balance)
		}
	}
	multi := tell[[]said](t, s, "module=account&action=balancemulti&address="+accounts[0].String()+","+accounts[1].String()).Result
	if len(multi) != 2 || multi[1]["balance"] != tell[string](t, s, "module=account&action=balance&address="+accounts[1].String()).Result {
		t.Errorf("balances of two: %v", multi)
	}
	holders := tell[[]said](t, s, "module=token&action=tokenholderlist&contractaddress="+indextest.Coins[0].String()).Result
	var v2 struct {
		Addresses []struct {
			Address string
			SortKey json.Number
		}
	}
	getJSON(t, s, fmt.Sprintf("/v2/chains/43112/contracts/%s/balances?threshold=0&startTimestamp=%d", indextest.Coins[0], blocks[119].TimeMilli/1000+1), &v2)
	if len(holders) == 0 || len(holders) != len(v2.Addresses) {
		t.Errorf("%d holders, /v2 has %d", len(holders), len(v2.Addresses))
	}
	for i := range min(len(holders), len(v2.Addresses)) {
		if h := holders[i]; !strings.EqualFold(h["TokenHolderAddress"], v2.Addresses[i].Address) || h["TokenHolderQuantity"] != v2.Addresses[i].SortKey.String() {
			t.Errorf("holder %d: %v, /v2 has %v", i, h, v2.Addresses[i])
		}
	}
	failed, made := 0, 0
	for _, b := range blocks {
		for i := range b.Txs {
			tx := &b.Txs[i]
			st := tell[said](t, s, "module=transaction&action=gettxreceiptstatus&txhash="+tx.Hash.String()).Result["status"]
			if want := map[bool]string{true: "0", false: "1"}[tx.Failed]; st != want {
				t.Errorf("%s has the status %s", tx.Hash, st)
			}
			if tx.Failed {
				failed++
			}
			if tx.Creation && !tx.Failed {
				made++
				got := tell[[]said](t, s, "module=contract&action=getcontractcreation&contractaddresses="+tx.Contract.String()).Result
				if len(got) != 1 || got[0]["txHash"] != tx.Hash.String() || !strings.EqualFold(got[0]["contractCreator"], tx.From.String()) {
					t.Errorf("made by %s: %v", tx.Hash, got)
				}
			}
		}
		second := b.TimeMilli / 1000
		before := tell[string](t, s, fmt.Sprintf("module=block&action=getblocknobytime&closest=before&timestamp=%d", second))
		after := tell[string](t, s, fmt.Sprintf("module=block&action=getblocknobytime&closest=after&timestamp=%d", second))
		var n, m int
		if _, err := fmt.Sscan(before.Result+" "+after.Result, &n, &m); err != nil || blocks[n].TimeMilli/1000 != second || blocks[m].TimeMilli/1000 != second || n < int(b.Number) || m > int(b.Number) {
			t.Errorf("block %d, made at %d: closest before it %s, after it %s", b.Number, second, before.Result, after.Result)
		}
	}
	if failed == 0 || made == 0 {
		t.Errorf("%d failed and %d made contracts", failed, made)
	}
	if got := tell[said](t, s, "module=block&action=getblockcountdown&blockno=219").Result; got["RemainingBlock"] != "100" || got["CurrentBlock"] != "119" {
		t.Errorf("countdown: %v", got)
	}
}

// TestDialectErrors: what cannot be answered is said in the dialect's form.
func TestDialectErrors(t *testing.T) {
	t.Parallel()
	s, _, _ := dialectServer(t, Config{})
	f := func(query, want string) {
		t.Helper()
		if a := tell[string](t, s, query); a.Status != "0" || a.Message != "NOTOK" || !strings.Contains(a.Result, want) {
			t.Errorf("%s: %+v, want %q", query, a, want)
		}
	}
	f("", "Missing module")
	f("module=nosuch&action=x", "unsupported module")
	f("module=account&action=nosuch", "unsupported action")
	f("module=account&action=txlist", "Invalid address")
	f("module=account&action=txlist&sort=up&address="+alice.String(), "Invalid sort")
	f("module=account&action=tokentx", "Missing address")
	f("module=account&action=balance&tag=0xffff&address="+alice.String(), "not indexed here")
	f("module=account&action=balancemulti&address="+strings.Repeat(alice.String()+",", 20)+alice.String(), "Maximum of 20")
	f("module=block&action=getblockreward&blockno=1", "no reward")
	f("module=block&action=getblocknobytime&timestamp=x&closest=before", "Invalid number")
	f("module=contract&action=getabi&address="+alice.String(), "Contract source code not verified")
	f("module=proxy&action=eth_blockNumber", "Chain RPC is not served here")
	var a spoken[string]
	chains := testChains{sampleChain()}
	getJSON(t, dataServer(t, Config{}, chains[0]), "/v2/api?chainid=77&module=account&action=balance&address="+alice.String(), &a)
	if a.Status != "0" || !strings.Contains(a.Result, "unsupported chainid") {
		t.Errorf("an unknown chain: %+v", a)
	}
}

// TestDialectConsole: browsers that name no module have the console at /api, all else speaks
// the dialect there, as at /v2/api.
func TestDialectConsole(t *testing.T) {
	t.Parallel()
	s, _, _ := dialectServer(t, Config{Pages: &ui.Config{}})
	f := func(resp *fasthttp.Response, kind, want string) {
		t.Helper()
		if got := string(resp.Header.ContentType()); resp.StatusCode() != 200 || !strings.HasPrefix(got, kind) || !strings.Contains(string(resp.Body()), want) {
			t.Errorf("%d %s %.200s, want %s with %q", resp.StatusCode(), got, resp.Body(), kind, want)
		}
	}
	const last = "module=block&action=getblockcountdown&blockno=1000"
	f(browse(s, "/api"), "text/html", "<h1>")
	f(browse(s, "/api?q=balances"), "text/html", "<h1>")
	f(browse(s, "/api?"+last), "application/json", `"CurrentBlock":"119"`)
	f(get(s, "/api"), "application/json", "Missing module")
	f(get(s, "/api?"+last), "application/json", `"CurrentBlock":"119"`)
	f(send(s, "POST", "/api?"+last, ""), "application/json", `"CurrentBlock":"119"`)
	f(dialectForm(s, "/api", last), "application/json", `"CurrentBlock":"119"`)
}

// form posts a form.
func dialectForm(s *Server, path, body string) *fasthttp.Response {
	var req fasthttp.Request
	req.SetRequestURI(path)
	req.Header.SetHost("localhost")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/x-www-form-urlencoded; charset=UTF-8")
	req.SetBodyString(body)
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	s.handle(ctx)
	return &ctx.Response
}

// TestDialectKeys: apikey is a key. One that nobody knows is none, unless keys are asked for.
func TestDialectKeys(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	const key = "quorate_k"
	text := `tiers: [{name: gold, unitsPerMinute: 1000, chains: ["43112"]}, {name: other, unitsPerMinute: 1000, chains: ["7"]}]` +
		"\nkeys: [{tier: gold, hash: " + limit.Hash(key) + "}, {tier: other, hash: " + limit.Hash(key+"2") + "}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const query = "module=block&action=getblockcountdown&blockno=1000"
	open, _, _ := dialectServer(t, Config{Limits: newLimiter(t, limit.Config{KeysFile: file, UnitsPerMinute: 1, Burst: 60})})
	closed, _, _ := dialectServer(t, Config{Limits: newLimiter(t, limit.Config{KeysFile: file, RequireKey: true})})
	f := func(resp *fasthttp.Response, status int, want string) {
		t.Helper()
		if resp.StatusCode() != status || !strings.Contains(string(resp.Body()), want) {
			t.Errorf("%d %s, want %d with %q", resp.StatusCode(), resp.Body(), status, want)
		}
	}
	const refused = `{"status":"0","message":"NOTOK","result":"`
	f(get(open, "/api?apikey=YourApiKeyToken&"+query), 200, "CurrentBlock")
	f(get(open, "/api?apikey="+key+"&"+query), 200, "CurrentBlock")
	f(get(open, "/api?"+query), 200, "CurrentBlock")
	f(dialectForm(open, "/api", "apikey="+key+"&"+query), 200, "CurrentBlock")
	f(get(open, "/v2/api?"+query), 200, "CurrentBlock")
	f(get(open, "/v2/api?"+query), 429, refused)
	f(get(open, "/api?apikey="+key+"&"+query), 200, "CurrentBlock")
	f(get(open, "/api?apikey="+key+"2&"+query), 403, refused)
	f(get(closed, "/api?"+query), 401, refused)
	f(get(closed, "/api?apikey=nosuch&"+query), 401, refused)
	f(get(closed, "/api?apikey="+key+"&"+query), 200, "CurrentBlock")
	f(dialectForm(closed, "/api", "apikey="+key+"&"+query), 200, "CurrentBlock")
}

// TestDialectForward: actions of the proxy are calls of the chain's RPC, at its prices.
func TestDialectForward(t *testing.T) {
	t.Parallel()
	var path, body string
	answer := `{"jsonrpc":"2.0","id":1,"result":"0x10"}`
	s, _, _ := dialectServer(t, Config{
		Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 100}),
		Ext: func(ctx *fasthttp.RequestCtx, _ Charge) {
			path, body = string(ctx.Path()), string(ctx.PostBody())
			ctx.SetBodyString(answer)
		},
		ExtCost: func(ctx *fasthttp.RequestCtx) ExtCost {
			if strings.Contains(string(ctx.PostBody()), "eth_call") {
				return ExtCost{Units: 60}
			}
			return ExtCost{Units: 5}
		},
	})
	f := func(query, want string, left string) {
		t.Helper()
		resp := get(s, "/api?module=proxy&"+query)
		if got := string(resp.Header.Peek("RateLimit-Remaining")); string(resp.Body()) != answer || body != want || got != left || !strings.HasPrefix(path, "/ext/bc/") {
			t.Errorf("%s: %s asked for %s, left are %s, answered %s", query, path, body, got, resp.Body())
		}
	}
	f("action=eth_blockNumber", `{"id":1,"jsonrpc":"2.0","method":"eth_blockNumber","params":[]}`, "80")
	f("action=eth_call&to=0x01&data=0x02&tag=latest", `{"id":1,"jsonrpc":"2.0","method":"eth_call","params":[{"data":"0x02","to":"0x01"},"latest"]}`, "20")
	f("action=eth_getBlockByNumber&tag=0x10&boolean=true", `{"id":1,"jsonrpc":"2.0","method":"eth_getBlockByNumber","params":["0x10",true]}`, "0")
	if resp := get(s, "/api?module=proxy&action=eth_gasPrice"); resp.StatusCode() != 429 {
		t.Errorf("without units: %d %s", resp.StatusCode(), resp.Body())
	}
}

// TestDialectLogs: logs are those of the blocks, by address and topics, in pages, and with
// topics of which one is enough.
func TestDialectLogs(t *testing.T) {
	t.Parallel()
	s, _, blocks := dialectServer(t, Config{})
	type row struct {
		Address, Data, BlockNumber, LogIndex, TransactionHash, TimeStamp string
		Topics                                                           []string
	}
	var all []*evm.Log
	places := map[*evm.Log]string{}
	for _, b := range blocks {
		for i := range b.Txs {
			for k := range b.Txs[i].Logs {
				l := &b.Txs[i].Logs[k]
				all = append(all, l)
				places[l] = fmt.Sprintf("0x%x/0x%x/%s/0x%x", b.Number, l.Index, b.Txs[i].Hash, b.TimeMilli/1000)
			}
		}
	}
	f := func(query string, match func(l *evm.Log) bool) {
		t.Helper()
		var want, got []string
		for _, l := range all {
			if match(l) {
				want = append(want, places[l])
			}
		}
		for page := 1; len(got) < len(want); page++ {
			a := tell[[]row](t, s, fmt.Sprintf("module=logs&action=getLogs&page=%d&offset=300&%s", page, query))
			if a.Status != "1" || len(a.Result) == 0 {
				t.Fatalf("%s, page %d: %+v", query, page, a)
			}
			for _, r := range a.Result {
				got = append(got, r.BlockNumber+"/"+r.LogIndex+"/"+r.TransactionHash+"/"+r.TimeStamp)
			}
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d logs, want %d", query, len(got), len(want))
		}
	}
	coin, l := indextest.Coins[0], all[len(all)/2]
	f("", func(*evm.Log) bool { return true })
	f("address="+coin.String()+"&fromBlock=0&toBlock=latest", func(l *evm.Log) bool { return l.Address == coin })
	f("topic0="+l.Topics[0].String(), func(o *evm.Log) bool { return len(o.Topics) > 0 && o.Topics[0] == l.Topics[0] })
	second := all[slices.IndexFunc(all, func(l *evm.Log) bool { return len(l.Topics) > 1 })]
	both := "topic0=" + second.Topics[0].String() + "&topic1=" + second.Topics[1].String()
	f(both+"&topic0_1_opr=and", func(o *evm.Log) bool {
		return len(o.Topics) > 1 && o.Topics[0] == second.Topics[0] && o.Topics[1] == second.Topics[1]
	})
	f(both+"&topic0_1_opr=or", func(o *evm.Log) bool {
		return len(o.Topics) > 0 && o.Topics[0] == second.Topics[0] || len(o.Topics) > 1 && o.Topics[1] == second.Topics[1]
	})
	if a := tell[[]row](t, s, "module=logs&action=getLogs&address="+alice.String()); a.Status != "0" || a.Message != "No records found" {
		t.Errorf("of who logged nothing: %+v", a)
	}
	if a := tell[string](t, s, "module=logs&action=getLogs&topic0=0x1"); a.Status != "0" || !strings.Contains(a.Result, "Invalid topic0") {
		t.Errorf("a topic that is none: %+v", a)
	}
}
