package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/httpapi/door"
	"quorate/httpapi/reply"
)

// TestPrimaryTxBodies compares the answers about transactions, outputs and assets with
// what was checked by hand.
func TestPrimaryTxBodies(t *testing.T) {
	t.Parallel()
	n := samplePrimary().withTxs()
	s := primaryServer(t, n)
	both := "addresses=" + ann.Text("fuji") + "%2CX-" + ben.Text("fuji")
	var mint chain.ID
	for id := range n.assets {
		mint = id
	}
	paths := []string{
		onFuji + "/blockchains/p-chain/transactions",
		onFuji + "/blockchains/x-chain/transactions?sortOrder=asc",
		onFuji + "/blockchains/c-chain/transactions",
		onFuji + "/blockchains/p-chain/transactions:listStaking",
		onFuji + "/blockchains/x-chain/assets/" + mint.String(),
		onFuji + "/blockchains/x-chain/assets/" + mint.String() + "/transactions",
		onFuji + "/blockchains/p-chain/balances?" + both,
		onFuji + "/blockchains/x-chain/balances?" + both,
		onFuji + "/blockchains/c-chain/balances?" + both,
		onFuji + "/blockchains/p-chain/utxos?pageSize=2&" + both,
		onFuji + "/blockchains/x-chain/utxos?includeSpent=true&" + both,
		onFuji + "/blockchains/p-chain/lastActivityTimestampByAddresses?" + both,
		onFuji + "/addresses:listChainIds?" + both,
	}
	var out bytes.Buffer
	for _, path := range paths {
		resp := get(s, path, "User-Agent", sdkUser)
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, resp.Body(), "", "  "); err != nil {
			t.Fatalf("%s: %v: %s", path, err, resp.Body())
		}
		fmt.Fprintf(&out, "GET %s\n%d %s\n%s\n\n", path, resp.StatusCode(), resp.Header.ContentType(), &pretty)
	}
	golden(t, "primarytx.txt", out.Bytes())
}

// txHashes returns the transactions of a page.
func txHashes(t *testing.T, s *Server, path string) (hashes []string) {
	t.Helper()
	for _, row := range walkPrimary(t, s, path, "transactions", "2", "", nil) {
		var tx struct{ TxHash string }
		if err := json.Unmarshal([]byte(row), &tx); err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, tx.TxHash)
	}
	return hashes
}

// TestPrimaryTxLists: transactions are found by type, time, address and the validator
// that they concern, and each by its hash.
func TestPrimaryTxLists(t *testing.T) {
	t.Parallel()
	n := samplePrimary().withTxs()
	s := primaryServer(t, n)
	const txs = onFuji + "/blockchains/p-chain/transactions"
	all := txHashes(t, s, txs)
	if len(all) != len(n.txs[primary.PChain]) {
		t.Fatalf("%d transactions, want %d", len(all), len(n.txs[primary.PChain]))
	}
	f := func(query string, want ...int) { // by their heights
		t.Helper()
		var hashes []string
		for _, h := range want {
			hashes = append(hashes, n.txs[primary.PChain][h-1].ID.String())
		}
		if got := txHashes(t, s, txs+query); !slices.Equal(got, hashes) {
			t.Errorf("%s: %v, want %v", query, got, hashes)
		}
	}
	f("?txTypes=BaseTx", 1)
	f("?txTypes=BaseTx&txTypes=ImportTx", 7, 1)
	f("?txTypes=ImportTx%2CBaseTx", 7, 1)
	f("?txTypes=ExportTx")
	f("?startTimestamp=1700000030&endTimestamp=1700000050", 4, 3)
	f("?startTimestamp=5&endTimestamp=5")
	f("?l1ValidationId="+platform.ConvertedValidationID(chain.ID{3}, 0).String(), 5)
	f("?l1ValidationId=" + chain.ID{9}.String())
	f("?addresses="+ben.Text("fuji"), 5, 1)
	for _, hash := range all {
		resp := get(s, txs+"/"+hash)
		if resp.StatusCode() != 200 || !strings.Contains(string(resp.Body()), `"txHash":"`+hash+`"`) {
			t.Errorf("%s: %d %s", hash, resp.StatusCode(), resp.Body())
		}
	}
	if got := txHashes(t, s, txs+":listStaking?addresses="+ann.Text("fuji")); len(got) != 1 || got[0] != all[5] {
		t.Errorf("staking: %v", got)
	}
	// Accounts of the C-Chain have part in what moves their funds.
	n.parties[n.txs[primary.CChain][1].ID] = append(n.parties[n.txs[primary.CChain][1].ID], [20]byte(alice))
	if got := txHashes(t, s, onFuji+"/blockchains/c-chain/transactions?addresses="+alice.String()); len(got) != 1 {
		t.Errorf("account: %v", got)
	}
}

// TestPrimaryGenesisTx: what the genesis of the X-Chain made is in no vertex and in no
// block.
func TestPrimaryGenesisTx(t *testing.T) {
	t.Parallel()
	for _, inVertex := range []bool{true, false} {
		n := samplePrimary().withTxs()
		n.blocks[primary.XChain] = n.blocks[primary.XChain][1:]
		tx := n.addExchangeTx(0, &avm.CreateAsset{Base: avm.Base{}.Base, Name: "Avalanche", Symbol: "AVAX"}, inVertex)
		resp := get(primaryServer(t, n), onFuji+"/blockchains/x-chain/transactions/"+tx.ID.String())
		want := map[bool]string{true: `"chainFormat":"non-linear"`, false: `"chainFormat":"linear"`}[inVertex]
		if resp.StatusCode() != 200 || !strings.Contains(string(resp.Body()), want) || inVertex && !strings.Contains(string(resp.Body()), `"vertices":[]`) {
			t.Errorf("%d %s, want %s", resp.StatusCode(), resp.Body(), want)
		}
	}
}

// TestPrimaryTxForms lists what is refused.
func TestPrimaryTxForms(t *testing.T) {
	t.Parallel()
	s := primaryServer(t, samplePrimary().withTxs())
	f := func(path string, status int, message string) {
		t.Helper()
		resp := get(s, onFuji+path)
		if resp.StatusCode() != status || !strings.Contains(string(resp.Body()), `"message":"`+message) {
			t.Errorf("%s: %d %s, want %d %s", path, resp.StatusCode(), resp.Body(), status, message)
		}
	}
	const b = "/blockchains/p-chain"
	f(b+"/transactions?txTypes=Base", 400, "txTypes has an item that must be a type of transaction")
	f(b+"/transactions?txTypes=BaseTx&txTypes=x", 400, "txTypes has an item")
	f(b+"/transactions?addresses="+alice.String(), 400, "addresses has an item that must be an address")
	f(b+"/transactions?l1ValidationId=x", 400, "l1ValidationId must be an ID")
	f(b+"/transactions/x", 400, "txHash must be an ID")
	f(b+"/transactions/"+chain.ID{1}.String(), 404, "transaction "+chain.ID{1}.String()+" does not exist or is not indexed yet")
	f("/blockchains/x-chain/transactions:listStaking", 400, "blockchainId must be p-chain here")
	f("/blockchains/p-chain/assets/"+chain.ID{1}.String(), 400, "blockchainId must be x-chain here")
	f("/blockchains/x-chain/assets/x", 400, "assetId must be an ID")
	f("/blockchains/x-chain/assets/"+chain.ID{1}.String(), 404, "asset "+chain.ID{1}.String()+" does not exist")
	for _, path := range []string{b + "/balances", b + "/utxos", b + "/lastActivityTimestampByAddresses", "/addresses:listChainIds"} {
		f(path, 400, "addresses is required")
		f(path+"?addresses=x", 400, "addresses has an item that must be an address")
	}
	who := "?addresses=" + ann.Text("fuji")
	f(b+"/balances"+who+"&blockTimestamp=5", 400, "blockTimestamp is not served here")
	f(b+"/utxos"+who+"&sortBy=amount", 400, "sortBy must be timestamp")
	f(b+"/utxos"+who+"&minUtxoAmount=1.5", 400, "minUtxoAmount must be an amount")
	f(b+"/utxos"+who+"&includeSpent=yes", 400, "includeSpent must be true or false")
	f(b+"/utxos"+who+"&assetId=AVAX", 400, "assetId must be an ID")
	f(b+"/utxos"+who+"&pageSize=101", 400, "pageSize must be an integer from 1 to 100")
	f(b+"/lastActivityTimestampByAddresses?addresses="+address.Address{0x77}.Text("fuji"), 404, "addresses have no transaction on the p-chain of fuji")
}

// TestPrimaryPosts: addresses in a body are those of the query, and what one body got is
// not given to another.
func TestPrimaryPosts(t *testing.T) {
	t.Parallel()
	s := primaryServer(t, samplePrimary().withTxs())
	post := func(path, body string) *fasthttp.Response {
		var req fasthttp.Request
		req.SetRequestURI(onFuji + path)
		req.Header.SetHost("localhost")
		req.Header.SetMethod("POST")
		req.Header.SetContentType(door.ContentJSON)
		req.SetBodyString(body)
		ctx := &fasthttp.RequestCtx{}
		ctx.Init(&req, nil, nil)
		s.handle(ctx)
		return &ctx.Response
	}
	for _, path := range []string{"/blockchains/p-chain/utxos", "/blockchains/p-chain/lastActivityTimestampByAddresses"} {
		for range 3 { // what is asked for again may be kept
			for _, who := range []string{ann.Text("fuji"), ben.Text("fuji"), "P-" + ann.Text("fuji") + "," + ben.Text("fuji")} {
				want := get(s, onFuji+path+"?addresses="+who)
				got := post(path, `{"addresses":"`+who+`"}`)
				if got.StatusCode() != 200 || string(got.Body()) != string(want.Body()) || len(got.Body()) < 100 {
					t.Errorf("%s of %s: %d %s, want %s", path, who, got.StatusCode(), got.Body(), want.Body())
				}
			}
		}
		for body, message := range map[string]string{
			``: "the body is empty", `[]`: "", `{`: "", `{}`: "addresses must be a string", `{"addresses":null}`: "addresses must be a string",
			`{"addresses":["a"]}`: "addresses must be a string", `{"addresses":""}`: "addresses is required", `{"addresses":"x"}`: "addresses has an item",
			`{"adresses":"x"}`: "did you mean addresses?",
		} {
			if got := post(path, body); got.StatusCode() != 400 || !strings.Contains(string(got.Body()), message) {
				t.Errorf("%s with %s: %d %s", path, body, got.StatusCode(), got.Body())
			}
		}
	}
}

// TestPrimaryKeptBeside: answers that read several chains are kept until any of them has
// a further block.
func TestPrimaryKeptBeside(t *testing.T) {
	t.Parallel()
	ask := func(n *fakePrimary, path string, change func()) (before, after string) {
		s := primaryServer(t, n)
		for range 3 { // what is asked for again is kept
			before = string(get(s, onFuji+path).Body())
		}
		change()
		return before, string(get(s, onFuji+path).Body())
	}
	n := samplePrimary().withTxs()
	someone := address.Address{0x77}
	n.parties[n.txs[primary.PChain][0].ID] = append(n.parties[n.txs[primary.PChain][0].ID], someone)
	before, after := ask(n, "/addresses:listChainIds?addresses="+someone.Text("fuji"), func() {
		n.parties[n.txs[primary.XChain][0].ID] = append(n.parties[n.txs[primary.XChain][0].ID], someone)
		n.chains[primary.XChain].set(func(c *fakePrimaryChain) { c.height++ })
	})
	if before == after {
		t.Errorf("chains of an address after a block of the X-Chain: still %s", before)
	}
	n = samplePrimary().withTxs()
	n.chains[primary.XChain].set(func(c *fakePrimaryChain) { c.empty = true })
	before, after = ask(n, "/addresses:listChainIds?addresses="+ann.Text("fuji"), func() {
		n.parties[n.txs[primary.XChain][0].ID] = append(n.parties[n.txs[primary.XChain][0].ID], ann)
		n.chains[primary.XChain].set(func(c *fakePrimaryChain) { c.empty = false })
	})
	if before == after {
		t.Errorf("chains of an address after the first block of the X-Chain: still %s", before)
	}
	n = samplePrimary().withTxs()
	u := out(5, someone)
	ref := utxo.Ref{TxID: chain.ID{0x99}}
	exported := primary.Output{UTXO: utxo.UTXO{Ref: ref, Output: u}, State: primary.Exported, Known: true, Other: n.chains[primary.XChain].id, HasOther: true}
	n.outputs[primary.PChain] = append(n.outputs[primary.PChain], exported)
	before, after = ask(n, "/blockchains/p-chain/balances?addresses="+someone.Text("fuji"), func() {
		exported.State = primary.Spent
		n.outputs[primary.XChain] = append(n.outputs[primary.XChain], exported)
		n.chains[primary.XChain].set(func(c *fakePrimaryChain) { c.height++ })
	})
	if before == after || !strings.Contains(before, `"amount":"5"`) {
		t.Errorf("funds that the X-Chain has imported: still %s", after)
	}
}

// TestPrimaryKeptSync: what is kept of several chains says how far the one that was asked
// for is, as it did at first.
func TestPrimaryKeptSync(t *testing.T) {
	t.Parallel()
	n := samplePrimary().withTxs()
	s := primaryServer(t, n)
	n.chains[primary.PChain].set(func(c *fakePrimaryChain) { c.target = 1000 })
	path := onFuji + "/addresses:listChainIds?addresses=" + ann.Text("fuji")
	first := string(get(s, path).Header.Peek(reply.HeaderIndexedHeight))
	for range 3 {
		if got := string(get(s, path).Header.Peek(reply.HeaderIndexedHeight)); got != first || got == "" {
			t.Errorf("header %q, at first %q", got, first)
		}
	}
}

// TestPrimaryArrived: the C-Chain lists what is on its way to another chain, and with
// includeSpent also what has arrived there. That changes with the other chain's blocks.
func TestPrimaryArrived(t *testing.T) {
	t.Parallel()
	n := samplePrimary().withTxs()
	left := &n.outputs[primary.CChain][0]
	left.State, left.Other, left.HasOther = primary.Exported, fujiX, true
	s := primaryServer(t, n)
	f := func(query string, want int) {
		t.Helper()
		var page struct{ UTXOs []struct{ UTXOID string } }
		getJSON(t, s, onFuji+"/blockchains/c-chain/utxos?addresses="+ann.Text("fuji")+query, &page)
		if len(page.UTXOs) != want {
			t.Errorf("%s: %+v, want %d", query, page.UTXOs, want)
		}
	}
	f("", 1)
	f("", 1)
	taken := *left
	taken.State, taken.SpentBy = primary.Spent, chain.ID{0x77}
	n.mu.Lock()
	n.outputs[primary.XChain] = append(n.outputs[primary.XChain], taken)
	n.mu.Unlock()
	n.chains[primary.XChain].set(func(c *fakePrimaryChain) { c.height++ })
	f("", 0)
	f("&includeSpent=true", 1)
}
