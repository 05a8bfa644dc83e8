package httpapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// listed is one page of any list, reduced to what tells its rows apart.
type listed struct {
	NextPageToken *string
	Transactions  []struct {
		TxHash            string
		LogIndex          int
		NativeTransaction struct{ TxHash string }
	}
	Transfers []struct {
		TxHash   string
		LogIndex int
	}
	Erc20TokenBalances  []struct{ Address string }
	Erc721TokenBalances []struct{ Address, TokenID string }
	NativeTokenBalance  *struct{ Balance string }
}

func (l *listed) rows() (rows []string) {
	for _, r := range l.Transactions {
		rows = append(rows, fmt.Sprint(r.TxHash, r.NativeTransaction.TxHash, r.LogIndex))
	}
	for _, r := range l.Transfers {
		rows = append(rows, fmt.Sprint(r.TxHash, r.LogIndex))
	}
	for _, r := range l.Erc20TokenBalances {
		rows = append(rows, r.Address)
	}
	for _, r := range l.Erc721TokenBalances {
		rows = append(rows, fmt.Sprint(r.Address, r.TokenID))
	}
	return rows
}

// busyChain has some blocks of several transactions with several transfers.
func busyChain() *testChain {
	c := newChain(sampleInfo())
	c.alias = "C"
	first := &index.Tx{Tx: evm.Tx{Hash: sampleTx(99), From: bob, To: carol}}
	for _, token := range []evm.Address{gold, bare, spam} {
		first.Transfers = append(first.Transfers, index.Transfer{Kind: index.ERC20, Token: token, To: alice, Value: wei(1)})
	}
	for i := range byte(17) {
		first.Transfers = append(first.Transfers, index.Transfer{Kind: index.ERC20, Token: evm.Address{0x30, 19: i}, To: alice, Value: wei(1)},
			index.Transfer{Kind: index.ERC721, Token: evm.Address{0x80}, To: alice, ID: wei(uint64(i))})
	}
	c.grow(first)
	for range 11 {
		growBusy(c)
	}
	return c
}

func growBusy(c *testChain) {
	txs := make([]*index.Tx, 3)
	for i := range txs {
		txs[i] = &index.Tx{Tx: evm.Tx{Hash: txHash(c.tip()+1, byte(i)), From: alice, To: bob, Failed: i == 1}}
		for k := range 2 {
			txs[i].Transfers = append(txs[i].Transfers,
				index.Transfer{LogIndex: uint32(10*i + k), Kind: index.ERC721, Token: art, From: bob, To: alice, ID: *uint256.NewInt(uint64(k))})
		}
	}
	c.grow(txs...)
}

// TestPagingWhileGrowing walks each list with each page size while blocks
// arrive: the pages together are the list at the time of the first page.
func TestPagingWhileGrowing(t *testing.T) {
	t.Parallel()
	// In block 1 are a transaction and 20 tokens of each kind, from block 2 to 12 three
	// transactions that move two each, the second of which failed.
	for path, count := range map[string]int{
		asAlice + "/transactions?": 34, asAlice + "/transactions?sortOrder=asc&": 34, asAlice + "/transactions?startBlock=3&endBlock=9&sortOrder=asc&": 18,
		asAlice + "/transactions:listErc721?startBlock=2&": 44, base + "/tokens/" + art.String() + "/transfers?endBlock=12&": 40,
		base + "/blocks/5/transactions?": 3, base + "/transactions?": 34, base + "/transactions?status=failed&": 11, base + "/transactions?status=success&": 23,
		asAlice + "/balances:listErc20?": 19, asAlice + "/balances:listErc20?filterSpamTokens=false&": 20, asAlice + "/balances:listErc721?": 19,
	} {
		// Of large pages not each size: those around the whole list are always among them.
		for size, rows := 1, 1; size <= rows+1; size = max(size+2, min(size+torture.Pick(size, 2), rows-1)) {
			c := busyChain()
			s := dataServer(t, Config{}, c)
			var whole listed
			getJSON(t, s, path+"pageSize=100", &whole)
			if rows = len(whole.rows()); whole.NextPageToken != nil || rows != count {
				t.Fatalf("%s: %d rows, want %d, token %v", path, rows, count, whole.NextPageToken)
			}
			got := walk(t, s, path, size, func() { growBusy(c) }, whole.NativeTokenBalance)
			if !slices.Equal(got, whole.rows()) {
				t.Errorf("%s: pages of %d:\n got %v\nwant %v", path, size, got, whole.rows())
			}
		}
	}
}

func walk(t *testing.T, s *Server, path string, size int, between func(), native *struct{ Balance string }) (rows []string) {
	t.Helper()
	for next := path + fmt.Sprintf("pageSize=%d", size); ; {
		var page listed
		getJSON(t, s, next, &page)
		if n := len(page.rows()); n > size || n < size && page.NextPageToken != nil {
			t.Errorf("%s: %d rows on a page of %d", next, n, size)
		}
		if native != nil && page.NativeTokenBalance.Balance != native.Balance {
			t.Errorf("%s: native balance %s, first page %s", next, page.NativeTokenBalance.Balance, native.Balance)
		}
		rows = append(rows, page.rows()...)
		if page.NextPageToken == nil {
			return rows
		}
		between()
		// The size may change from page to page.
		next = path + "pageToken=" + url.QueryEscape(*page.NextPageToken) + fmt.Sprintf("&pageSize=%d", size)
	}
}

// TestTokens: a token is good for its own route, chain, path and filters only.
func TestTokens(t *testing.T) {
	t.Parallel()
	c, other := busyChain(), busyChain()
	other.info.ChainID, other.info.BlockchainID, other.alias = "5", "five", ""
	s := dataServer(t, Config{}, c, other)
	tokenOf := func(path string) string {
		t.Helper()
		var page listed
		getJSON(t, s, path, &page)
		if page.NextPageToken == nil {
			t.Fatalf("%s: no token", path)
		}
		return *page.NextPageToken
	}
	good := tokenOf(asAlice + "/transactions?pageSize=2&startBlock=1")
	f := func(path, token string, want string) {
		t.Helper()
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		resp := get(s, path+sep+"pageToken="+token)
		if want == "" && resp.StatusCode() != 200 || want != "" && (resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), want)) {
			t.Errorf("%s with %s: %d %.200s", path, token, resp.StatusCode(), resp.Body())
		}
	}
	const others, forged = "belongs to a request with another path or other parameters", "was not made by this server"
	f(asAlice+"/transactions?startBlock=1", good, "")
	f(asAlice+"/transactions?startBlock=1&pageSize=99", good, "")
	f(strings.ToLower(asAlice)+"/transactions?startBlock=1", good, "")
	f(strings.Replace(asAlice, "43112", "C", 1)+"/transactions?startBlock=1&sortOrder=desc", good, "")
	f(asAlice+"/transactions", good, others)
	f(asAlice+"/transactions?startBlock=2", good, others)
	f(asAlice+"/transactions?startBlock=1&endBlock=5", good, others)
	f(asAlice+"/transactions?startBlock=1&sortOrder=asc", good, others)
	f(asAlice+"/transactions:listErc721?startBlock=1", good, others)
	f(base+"/addresses/"+bob.String()+"/transactions?startBlock=1", good, others)
	f(strings.Replace(asAlice, "43112", "5", 1)+"/transactions?startBlock=1", good, others)
	f(base+"/transactions", tokenOf(base+"/transactions?status=failed&pageSize=1"), others)
	f(base+"/transactions?status=success", tokenOf(base+"/transactions?status=failed&pageSize=1"), others)
	f(base+"/blocks/6/transactions", tokenOf(base+"/blocks/5/transactions?pageSize=1"), others)
	balances := tokenOf(asAlice + "/balances:listErc20?pageSize=1&blockNumber=5&contractAddresses=" + gold.String() + "," + bare.String())
	f(asAlice+"/balances:listErc20?blockNumber=5&contractAddresses="+gold.String()+","+bare.String(), balances, "")
	f(asAlice+"/balances:listErc20?blockNumber=5&contractAddresses="+gold.String(), balances, others)
	f(asAlice+"/balances:listErc20?blockNumber=4&contractAddresses="+gold.String()+","+bare.String(), balances, others)
	f(asAlice+"/balances:listErc20?blockNumber=5&filterSpamTokens=false&contractAddresses="+gold.String()+","+bare.String(), balances, others)
	f(asAlice+"/balances:listErc721?contractAddress="+art.String(), tokenOf(asAlice+"/balances:listErc721?pageSize=1"), others)

	f(asAlice+"/transactions?startBlock=1", good[:len(good)-1], forged)
	f(asAlice+"/transactions?startBlock=1", good[1:], forged)
	f(asAlice+"/transactions?startBlock=1", good+"%0A", forged)
	f(asAlice+"/transactions?startBlock=1", "B"+good[1:], forged)

	// Another key's tokens are forged; the same key's are good after a restart.
	again := dataServer(t, Config{}, busyChain())
	if resp := get(again, asAlice+"/transactions?startBlock=1&pageToken="+good); resp.StatusCode() != 200 {
		t.Errorf("after a restart: %s", resp.Body())
	}
	again = dataServer(t, Config{TokenKey: []byte("the key of another server")}, busyChain())
	if resp := get(again, asAlice+"/transactions?startBlock=1&pageToken="+good); resp.StatusCode() != 400 {
		t.Errorf("another server: %d", resp.StatusCode())
	}
	// A server that lost blocks cannot go on.
	short := newChain(sampleInfo())
	again = dataServer(t, Config{}, short)
	if resp := get(again, asAlice+"/transactions?startBlock=1&pageToken="+good); resp.StatusCode() != 400 ||
		!strings.Contains(string(resp.Body()), "not indexed here") {
		t.Errorf("a shorter chain: %d %s", resp.StatusCode(), resp.Body())
	}
}

// TestSpamFilled: pages from which spam was taken are filled up, within bounds.
func TestSpamFilled(t *testing.T) {
	t.Parallel()
	c := ownSample()
	s := dataServer(t, Config{}, c)
	f := func(size int, want ...string) {
		t.Helper()
		got := walk(t, s, asAlice+"/balances:listErc20?", size, func() {}, nil)
		if !slices.Equal(got, want) {
			t.Errorf("pages of %d: %v, want %v", size, got, want)
		}
	}
	f(1, gold.String(), bare.String())
	f(2, gold.String(), bare.String())

	// All but the last are spam: a page ends short, with a token.
	s.evm.Reputation = allSpam{}
	many := &index.Tx{Tx: evm.Tx{Hash: sampleTx(50), From: bob, To: bob}}
	for i := range byte(30) {
		many.Transfers = append(many.Transfers, index.Transfer{Kind: index.ERC20, Token: evm.Address{1, 19: i}, To: alice, Value: wei(1)})
	}
	c.grow(many)
	var page listed
	getJSON(t, s, asAlice+"/balances:listErc20?pageSize=1", &page)
	if len(page.rows()) != 0 || page.NextPageToken == nil {
		t.Fatalf("got %v, token %v", page.rows(), page.NextPageToken)
	}
	var rows []string
	for pages := 0; page.NextPageToken != nil; pages++ {
		if pages > 30 {
			t.Fatal("the walk does not end")
		}
		path := asAlice + "/balances:listErc20?pageSize=1&pageToken=" + *page.NextPageToken
		page = listed{}
		getJSON(t, s, path, &page)
		rows = append(rows, page.rows()...)
	}
	if !slices.Equal(rows, []string{gold.String()}) {
		t.Errorf("got %v", rows)
	}
}

// allSpam takes all tokens but gold for spam.
type allSpam struct{}

func (allSpam) Reputation(_ string, token *evm.Address) view.Reputation {
	if *token == gold {
		return view.Unknown
	}
	return view.Malicious
}
