package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/view"
)

const (
	base    = "/v1/chains/43112"
	asAlice = base + "/addresses/0xA1000000000000000000000000000000000000CC"
	sdkUser = "speakeasy-sdk/typescript 0.3.13 2.1.0 1.0.0 @avalanche-sdk/chainkit"
)

// TestGoldenBodies compares the answer of each endpoint with what was checked by
// hand, in both dialects.
func TestGoldenBodies(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain(), secondChain())
	paths := []string{
		asAlice + "/transactions",
		asAlice + "/transactions?sortOrder=asc&startBlock=11&endBlock=13",
		asAlice + "/transactions?pageSize=1",
		asAlice + "/transactions:listErc721",
		asAlice + "/balances:listErc20",
		asAlice + "/balances:listErc20?filterSpamTokens=false&blockNumber=11&currency=jpy",
		asAlice + "/balances:listErc20?currency=eur&contractAddresses=" + gold.String(),
		base + "/tokens/" + gold.String() + "/transfers",
		base + "/tokens/" + art.String() + "/transfers?pageSize=1",
		base + "/tokens/" + items.String() + "/transfers",
		base + "/blocks/10/transactions",
		base + "/blocks/12/transactions?pageSize=1",
		base + "/blocks/11/transactions",
		asAlice + "/balances:listErc721",
		asAlice + "/balances:listErc721?contractAddress=" + items.String(),
		base + "/transactions?pageSize=2",
		base + "/transactions?status=failed",
		asAlice + "/balances:getNative",
		asAlice + "/balances:getNative?currency=eur&blockNumber=10",
		base + "/transactions/" + sampleTx(2).String(),
		base + "/transactions/" + sampleTx(3).String(),
		base + "/transactions/" + sampleTx(4).String(),
		base + "/transactions/" + sampleTx(5).String(),
		"/v1/chains",
	}
	var out bytes.Buffer
	for _, path := range paths {
		for _, agent := range []string{"curl/8", sdkUser} {
			resp := get(s, path, "User-Agent", agent)
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, resp.Body(), "", "  "); err != nil {
				t.Fatalf("%s: %v: %s", path, err, resp.Body())
			}
			fmt.Fprintf(&out, "GET %s\nUser-Agent: %.13s\n%d %s\nVary: %s\n%s\n\n", path, agent, resp.StatusCode(),
				resp.Header.ContentType(), resp.Header.Peek("Vary"), &pretty)
		}
	}
	golden(t, "data.txt", out.Bytes())
}

// TestNames: chains are found by number, blockchain ID and alias, addresses and
// hashes in any case, and all give the same answer.
func TestNames(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	f := func(paths ...string) {
		t.Helper()
		want := get(s, paths[0])
		if want.StatusCode() != 200 || len(want.Body()) < 200 {
			t.Fatalf("%s: %d %s", paths[0], want.StatusCode(), want.Body())
		}
		for _, path := range paths[1:] {
			if got := get(s, path); got.StatusCode() != 200 || string(got.Body()) != string(want.Body()) {
				t.Errorf("%s: %d %s", path, got.StatusCode(), got.Body())
			}
		}
	}
	rest := strings.TrimPrefix(asAlice, base) + "/transactions?pageSize=1"
	f(base+rest, "/v1/chains/2CA6j5zYzasynPsFeNoqWkmTCt3VScMvXUZHbfDJ8k3oGzAPtU"+rest, "/v1/chains/C"+rest,
		base+strings.ToLower(rest[:60])+rest[60:], base+"/addresses/0X"+strings.ToUpper(rest[13:53])+rest[53:],
		base+rest+"&sortOrder=desc", base+rest+"&unknown=1&&x", base+strings.Replace(rest, "pageSize=1", "page%53ize=%31", 1),
		base+rest+"&startBlock=0")
	hash := numbered(12, 0xb).String()
	f(base+"/blocks/12/transactions", base+"/blocks/"+hash+"/transactions", base+"/blocks/0x"+strings.ToUpper(hash[2:])+"/transactions",
		base+"/blocks/0012/transactions", base+"/blocks/12/transactions?pageSize=0", base+"/blocks/12/transactions?pageSize=100")
}

// TestFailures lists what is refused, each with its message.
func TestFailures(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain(), secondChain())
	f := func(path string, status int, message string) {
		t.Helper()
		resp := get(s, path)
		if resp.StatusCode() != status || !strings.Contains(string(resp.Body()), message) {
			t.Errorf("%s: %d %s, want %d %q", path, resp.StatusCode(), resp.Body(), status, message)
		}
		var body struct {
			Message    string
			StatusCode int
			Error      string
		}
		if err := json.Unmarshal(resp.Body(), &body); err != nil || body.StatusCode != status || body.Message == "" ||
			body.Error != fasthttp.StatusMessage(status) || string(resp.Header.ContentType()) != door.ContentJSON {
			t.Errorf("%s: not the documented body: %s", path, resp.Body())
		}
	}
	f("/v1/chains/1/transactions", 404, `chain \"1\" is not served here`)
	f("/v1/chains/1/addresses/x/transactions", 404, `chain \"1\"`)
	f("/v1/chains/1", 404, `chain \"1\" is not served here`)
	f(base+"/nothing", 404, "nothing is served")
	f(base+"/addresses/0x12/transactions", 400, "address must be an address")
	f(base+"/addresses/"+strings.Repeat("a", 42)+"/balances:getNative", 400, "address must be")
	f(base+"/addresses/0x"+strings.Repeat("g", 40)+"/balances:getNative", 400, "address must be")
	f(base+"/tokens/0x/transfers", 400, "address must be")
	f(base+"/transactions/0x12", 400, "txHash must be")
	f(base+"/blocks/latest/transactions", 400, "blockId must be")
	f(base+"/blocks/-1/transactions", 400, "blockId must be")
	f(base+"/blocks/0x12/transactions", 400, "blockId must be")
	f(base+"/blocks/99999999999999999999/transactions", 400, "blockId must be")
	f(base+"/blocks/15/transactions", 404, "block 15 does not exist or is not indexed yet; the latest is 14")
	f(base+"/blocks/0x"+strings.Repeat("11", 32)+"/transactions", 404, "block 0x1111")
	f(base+"/transactions/0x"+strings.Repeat("11", 32), 404, "transaction 0x1111")
	f(asAlice+"/balances:getNative?blockNumber=15", 404, "block 15 does not exist")
	f(asAlice+"/balances:listErc20?blockNumber=9223372036854775807", 404, "does not exist")
	f("/v1/chains/second/transactions", 503, "is not indexed yet")

	// Each parameter with values that are wrong.
	for _, path := range []string{asAlice + "/transactions", asAlice + "/transactions:listErc721", base + "/tokens/" + gold.String() + "/transfers"} {
		for _, name := range []string{"startBlock", "endBlock"} {
			for _, v := range []string{"-1", "1.5", "10.0", "1e3", "0x10", "abc", "%31%", "+1", "%2B1", "9223372036854775808", "99999999999999999999"} {
				f(path+"?"+name+"="+v, 400, name+" ")
			}
			f(path+"?"+name+"=9223372036854775808", 400, "a whole number in decimal below 2^63")
		}
		f(path+"?startBlock=5&endBlock=4", 400, "startBlock 5 is after endBlock 4")
	}
	sizes := map[string][2]int{
		asAlice + "/transactions": {1, 100}, asAlice + "/transactions:listErc721": {1, 100}, asAlice + "/balances:listErc20": {1, 500},
		base + "/tokens/" + gold.String() + "/transfers": {1, 100}, base + "/blocks/10/transactions": {0, 100},
		asAlice + "/balances:listErc721": {1, 500}, base + "/transactions": {1, 100},
	}
	for path, size := range sizes {
		for _, v := range []string{fmt.Sprint(size[0] - 1), fmt.Sprint(size[1] + 1), "-1", "1.5", "ten", "1e1", "99999999999999999999", "%00"} {
			f(path+"?pageSize="+v, 400, fmt.Sprintf("pageSize must be an integer from %d to %d", size[0], size[1]))
		}
		for _, v := range size {
			if resp := get(s, path+"?pageSize="+fmt.Sprint(v)); resp.StatusCode() != 200 {
				t.Errorf("%s: pageSize %d: %d %s", path, v, resp.StatusCode(), resp.Body())
			}
		}
		f(path+"?pageSize=", 400, "pageSize is empty")
		f(path+"?pageSize=5&pageSize=5", 400, "pageSize is given more than once")
		for _, v := range []string{"x", "AAAA", "%FF", strings.Repeat("A", 300)} {
			f(path+"?pageToken="+v, 400, "pageToken is not valid: it was not made by this server")
		}
		f(path+"?pageToken=", 400, "pageToken is empty")
	}
	f(asAlice+"/transactions?sortOrder=ASC", 400, "sortOrder must be asc or desc")
	f(base+"/transactions?status=ok", 400, "status must be failed or success")
	f(asAlice+"/balances:listErc20?filterSpamTokens=1", 400, "filterSpamTokens must be true or false")
	f(asAlice+"/balances:listErc20?contractAddresses=x", 400, "contractAddresses has an item")
	f(asAlice+"/balances:listErc20?contractAddresses="+gold.String()+",", 400, "contractAddresses has an item")
	f(asAlice+"/balances:listErc721?contractAddress="+gold.String()+","+gold.String(), 400, "contractAddress must be an address")
	for _, path := range []string{asAlice + "/balances:listErc20", asAlice + "/balances:getNative"} {
		f(path+"?currency=USD", 400, "currency must be one of usd")
		f(path+"?blockNumber=latest", 400, "blockNumber must be")
		f(path+"?blockNumber=-1", 400, "blockNumber must be")
	}
	f("/v1/chains?network=local", 400, "network must be")
	f("/v1/chains?feature=x", 400, "feature must be")
}

func TestContractLists(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{MaxHeader: 64 << 10}, sampleChain())
	list := func(n int) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("0x%040x", i)
		}
		return asAlice + "/balances:listErc20?contractAddresses=" + strings.Join(items, "%2C")
	}
	if resp := get(s, list(door.MaxListed)); resp.StatusCode() != 200 {
		t.Errorf("%d addresses: %s", door.MaxListed, resp.Body())
	}
	if resp := get(s, list(door.MaxListed)+",0x"+strings.Repeat("0", 40)); resp.StatusCode() != 200 {
		t.Errorf("an address that is named twice counts twice: %s", resp.Body())
	}
	if resp := get(s, list(door.MaxListed+1)); resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), "more than 100") {
		t.Errorf("%d addresses: %d %s", door.MaxListed+1, resp.StatusCode(), resp.Body())
	}
}

// TestEmpty: an address without rows has empty lists.
func TestEmpty(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	f := func(path, want string) {
		t.Helper()
		if resp := get(s, path); resp.StatusCode() != 200 || string(resp.Body()) != want {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
	nobody := base + "/addresses/0x" + strings.Repeat("0f", 20)
	f(nobody+"/transactions", `{"transactions":[]}`)
	f(nobody+"/transactions:listErc721", `{"transactions":[]}`)
	f(strings.Replace(nobody, "addresses", "tokens", 1)+"/transfers", `{"transfers":[]}`)
	f(asAlice+"/transactions?startBlock=1000", `{"transactions":[]}`)
	f(asAlice+"/transactions?startBlock=1&endBlock=9", `{"transactions":[]}`)
	f(asAlice+"/transactions?startBlock=10&endBlock=10", `{"transactions":[]}`)
	f(base+"/blocks/11/transactions", `{"transactions":[]}`)
	f(base+"/blocks/1/transactions", `{"transactions":[]}`)
}

func TestListChains(t *testing.T) {
	t.Parallel()
	first, second := sampleChain(), secondChain()
	second.down = errDown
	s := dataServer(t, Config{}, first, second)
	f := func(query, want string) {
		t.Helper()
		var body struct {
			Chains []struct{ ChainID, Status string }
		}
		getJSON(t, s, "/v1/chains"+query, &body)
		var got []string
		for _, c := range body.Chains {
			got = append(got, c.ChainID+" "+c.Status)
		}
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	f("", "43112 OK,777 UNAVAILABLE")
	f("?network=mainnet", "777 UNAVAILABLE")
	f("?network=fuji", "43112 OK")
	f("?network=testnet&feature=nftIndexing", "43112 OK")
	f("?feature=teleporter", "43112 OK")
	f("?feature=webhooks", "")
}

// TestDialects: who gets which form, and the modes that fix it.
func TestDialects(t *testing.T) {
	t.Parallel()
	f := func(mode view.Mode, number bool, vary string, headers ...string) {
		t.Helper()
		s := dataServer(t, Config{Dialect: mode}, sampleChain())
		resp := get(s, asAlice+"/balances:getNative", headers...)
		if got := strings.Contains(string(resp.Body()), `"value":25.31`); got != number {
			t.Errorf("mode %d, %v: %s", mode, headers, resp.Body())
		}
		if got := string(resp.Header.Peek("Vary")); got != vary {
			t.Errorf("mode %d: Vary %q", mode, got)
		}
	}
	const all = "Accept-Encoding, User-Agent, X-Glacier-Api-Key, X-App-Component, Origin"
	f(view.Auto, false, all)
	f(view.Auto, false, all, "User-Agent", "curl/8", "x-service-api-key", "k")
	f(view.Auto, true, all, "User-Agent", sdkUser)
	f(view.Auto, true, all, "x-glacier-api-key", "k")
	f(view.AlwaysContract, false, "Accept-Encoding", "User-Agent", sdkUser)
	f(view.AlwaysSDK, true, "Accept-Encoding")
}

// TestWithoutChains: a server that follows no chains has no data endpoints.
func TestWithoutChains(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Networks: networks{signs("x")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/chains", base + "/transactions"} {
		if resp := get(s, path); resp.StatusCode() != 404 {
			t.Errorf("%s: %d", path, resp.StatusCode())
		}
	}
	if _, err := New(Config{Networks: networks{signs("x")}, TokenKey: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
}
