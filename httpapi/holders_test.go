package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/devnet/torture"
	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// ofToken is the path of a token's holders.
func ofToken(token evm.Address) string {
	return "/v2/chains/43112/contracts/" + token.String() + "/balances"
}

// heldChain has a token with holders of all sizes.
func heldChain() *testChain {
	c := ownSample()
	all := index.Transfer{Kind: index.ERC20, Token: gold, To: bob}
	all.Value.SetAllOne()
	all.Value.SubUint64(&all.Value, 1_500_000-10)
	c.grow(&index.Tx{Tx: evm.Tx{Hash: sampleTx(50), From: bob, To: gold}, Transfers: []index.Transfer{
		{Kind: index.ERC20, Token: gold, From: carol, Value: wei(10)}, all,
	}})
	return c
}

// TestHoldersGolden compares answers with what was checked by hand, in both
// dialects.
func TestHoldersGolden(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, heldChain())
	goldenAnswers(t, s, "holders.txt", []string{
		ofToken(gold) + "?threshold=0", ofToken(gold) + "?threshold=1234567&startTimestamp=0&endTimestamp=1700000000",
		ofToken(gold) + "?threshold=7&pageSize=1",
	})
}

// TestHoldersRefused lists what is refused, each with its message.
func TestHoldersRefused(t *testing.T) {
	t.Parallel()
	c := heldChain()
	s := dataServer(t, Config{}, c, secondChain())
	path := ofToken(gold)
	f := func(path string, status int, message string) {
		t.Helper()
		expect(t, s, path, status, message)
	}
	f(path, 400, "threshold is required")
	f(path+"?threshold=", 400, "threshold is required")
	f(path+"?threshold=1&threshold=1", 400, "threshold is given more than once")
	most := new(uint256.Int).SetAllOne().Dec()
	for _, v := range []string{"-1", "+1", "%2B1", "1.0", "1e3", "0x10", "1_0", "ten", "1%20", most[:77] + "6", most + "0", strings.Repeat("9", 500)} {
		f(path+"?threshold="+v, 400, "threshold must be an amount")
	}
	for _, v := range []string{"0", "00", most, "000" + most} {
		f(path+"?threshold="+v, 200, "addresses")
	}
	for _, name := range []string{"startTimestamp", "endTimestamp"} {
		for _, v := range []string{"-1", "1.5", "2020-01-01", "9223372036854775808"} {
			f(path+"?threshold=1&"+name+"="+v, 400, name+" must be a time in Unix seconds")
		}
	}
	for _, v := range []string{"0", "5001", "-1", "x"} {
		f(path+"?threshold=1&pageSize="+v, 400, "pageSize must be an integer from 1 to 5000")
	}
	f(path+"?threshold=1&pageSize=5000", 200, "addresses")
	f(path+"?threshold=1&pageToken=x", 400, "pageToken is not valid")
	f(strings.Replace(path, gold.String(), "0x12", 1)+"?threshold=1", 400, "address must be an address")
	for _, name := range []string{"total", "mainnet", "testnet", "1"} {
		f(strings.Replace(path, "43112", name, 1)+"?threshold=1", 404, "is not served here")
	}
	f(strings.Replace(path, "43112", "second", 1)+"?threshold=1", 503, "is not indexed yet")
	f(ofToken(art)+"?threshold=0", 200, `{"addresses":[]}`)

	// A token is good for the same threshold and times only.
	var page heldPage
	getJSON(t, s, path+"?threshold=7&endTimestamp=1800000000&pageSize=1", &page)
	if len(page.Addresses) != 1 || page.NextPageToken == nil {
		t.Fatalf("got %+v", page)
	}
	token := "&pageToken=" + *page.NextPageToken
	f(path+"?threshold=7&endTimestamp=1800000000"+token, 200, `}]}`)
	f(path+"?threshold=07&startTimestamp=0&endTimestamp=1800000000&pageSize=5"+token, 200, `}]}`)
	for _, query := range []string{"?threshold=8&endTimestamp=1800000000", "?threshold=7", "?threshold=7&endTimestamp=1800000001", "?threshold=7&startTimestamp=1&endTimestamp=1800000000"} {
		f(path+query+token, 400, "belongs to a request with another path or other parameters")
	}
	c.spoil()
	f(path+"?threshold=1", 500, "internal error")
}

type heldPage struct {
	NextPageToken *string
	Addresses     []struct {
		Address string
		SortKey json.Number
	}
}

// passing is a block that mints one gold to each of some addresses, and takes all
// gold from those of the block before.
func passing(number uint64) *evm.Block {
	b := &evm.Block{Number: number, Hash: numbered(number, 0xb), TimeMilli: number * 1000}
	if number == 0 {
		return b
	}
	b.Parent = numbered(number-1, 0xb)
	word := func(a evm.Address) (h evm.Hash) { copy(h[12:], a[:]); return h }
	transfer, one := evm.Keccak([]byte("Transfer(address,address,uint256)")), evm.Hash{31: 1}
	tx := evm.Tx{Hash: txHash(number, 0), From: alice, To: gold}
	for _, a := range passedOf(number) {
		tx.Logs = append(tx.Logs, evm.Log{Address: gold, Topics: []evm.Hash{transfer, {}, word(a)}, Data: one[:]})
	}
	for _, a := range passedOf(number - 1) {
		tx.Logs = append(tx.Logs, evm.Log{Address: gold, Topics: []evm.Hash{transfer, word(a), {}}, Data: one[:]})
	}
	for i := range tx.Logs {
		tx.Logs[i].Index = uint32(i)
	}
	b.Txs = []evm.Tx{tx}
	return b
}

// passedOf are the addresses that have one gold after a block and no other.
func passedOf(number uint64) (list []evm.Address) {
	for i := range byte(7) {
		if number > 0 {
			list = append(list, evm.Address{byte(number * 37), i, byte(number)})
		}
	}
	return list
}

// TestHoldersIndexed walks the list over a real index while it grows.
func TestHoldersIndexed(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it runs at once")
	}
	t.Parallel()
	s, c := indexed(t, 0)
	grow := func(n uint64) {
		t.Helper()
		next := uint64(0)
		if tip, _, ok := c.x.Cursor(); ok {
			next = tip + 1
		}
		for number := next; number < next+n; number++ {
			if err := c.x.Commit(context.Background(), []*evm.Block{passing(number)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	grow(20)
	f := func(query string, first, last uint64) {
		t.Helper()
		tip, _, _ := c.x.Cursor()
		if last > tip {
			last = tip
		}
		var got, want []string
		for number := first; number <= last; number++ {
			for _, a := range passedOf(number) {
				now := 0
				if number == tip {
					now = 1
				}
				want = append(want, fmt.Sprint(a, " ", now))
			}
		}
		path := ofToken(gold) + query
		for next := path; ; {
			var page heldPage
			getJSON(t, s, next, &page)
			for _, h := range page.Addresses {
				got = append(got, h.Address+" "+h.SortKey.String())
			}
			if page.NextPageToken == nil {
				break
			}
			if tip, _, _ := c.x.Cursor(); tip < uint64(torture.Pick(100, 250)) { // no address twice
				grow(1)
			}
			next = path + "&pageToken=" + url.QueryEscape(*page.NextPageToken)
		}
		slices.SortFunc(want, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
		if !slices.Equal(got, want) {
			t.Errorf("%s at %d: %d rows, want %d:\n got %.500s\nwant %.500s", query, tip, len(got), len(want), strings.Join(got, ","), strings.Join(want, ","))
		}
	}
	for _, size := range []string{"", "&pageSize=3", "&pageSize=50"} {
		f("?threshold=0"+size, 1, 1<<62)
		f("?threshold=0&startTimestamp=5"+size, 4, 1<<62)
		f("?threshold=0&endTimestamp=5"+size, 1, 4)
		f("?threshold=0&startTimestamp=5&endTimestamp=6"+size, 4, 5)
		f("?threshold=0&startTimestamp=5&endTimestamp=5"+size, 1, 0)
		f("?threshold=0&startTimestamp=6&endTimestamp=5"+size, 1, 0)
		f("?threshold=1"+size, 1, 0)
	}
	tip, _, _ := c.x.Cursor()
	f("?threshold=0&startTimestamp=999999999", tip, tip)
}
