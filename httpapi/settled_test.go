package httpapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// TestSettledBalances: balances that transfers do not tell are asked of the
// contracts at the height of the answer, and say where they are from.
func TestSettledBalances(t *testing.T) {
	t.Parallel()
	rebase, fee, kept, gone := evm.Address{0x31}, evm.Address{0x32}, evm.Address{0x33}, evm.Address{0x34}
	chain := func(keptAt uint64) *testChain {
		c := newChain(sampleInfo())
		in := func(token evm.Address, n uint64) index.Transfer {
			return index.Transfer{Kind: index.ERC20, Token: token, To: alice, Value: wei(n)}
		}
		c.grow(&index.Tx{Tx: evm.Tx{Hash: sampleTx(1), From: bob, To: bob}, Transfers: []index.Transfer{
			in(gold, 5), in(rebase, 99), in(fee, 1), in(kept, 12), in(gone, 1),
		}})
		var more []index.Transfer
		for _, token := range []evm.Address{fee, kept, gone} {
			more = append(more, index.Transfer{Kind: index.ERC20, Token: token, From: alice, To: bob, Value: wei(1)})
		}
		c.grow(&index.Tx{Tx: evm.Tx{Hash: sampleTx(2), From: bob, To: bob}, Transfers: more})
		for c.tip() < 14 {
			c.grow()
		}
		for _, token := range []evm.Address{rebase, fee, kept, gone} {
			must(c.PutUneven(t.Context(), token, 2))
		}
		must(c.PutSaid(t.Context(), []index.SaidBalance{
			{Token: kept, Holder: alice, Height: keptAt, Amount: wei(11)}, {Token: gone, Holder: alice, Height: 10, Amount: wei(1000)},
		}))
		return c
	}
	type row struct {
		Address, Balance, BalanceSource, BalanceBlockNumber string
	}
	read := func(c *testChain, path string) (list []row) {
		var page struct{ Erc20TokenBalances []row }
		resp := get(dataServer(t, Config{}, c), path)
		if err := json.Unmarshal(resp.Body(), &page); err != nil || resp.StatusCode() != 200 {
			t.Fatalf("%v: %s", err, resp.Body())
		}
		for i := range page.Erc20TokenBalances {
			page.Erc20TokenBalances[i].Address = strings.ToLower(page.Erc20TokenBalances[i].Address)
		}
		return page.Erc20TokenBalances
	}
	at := func(a evm.Address) string { return strings.ToLower(a.String()) }

	const tip = 14
	c := chain(tip)
	var asked [][]evm.Address
	c.said = func(tokens []evm.Address, height uint64) ([]uint256.Int, error) {
		asked = append(asked, tokens)
		if height != tip {
			t.Errorf("asked at %d, want %d", height, tip)
		}
		out := make([]uint256.Int, len(tokens))
		for i, a := range tokens {
			out[i] = map[evm.Address]uint256.Int{rebase: wei(500), fee: wei(7)}[a]
		}
		return out, nil
	}
	got := read(c, asAlice+"/balances:listErc20")
	const number = "14"
	want := []row{
		{at(gold), "5", "", ""}, {at(rebase), "500", "contract", number}, {at(fee), "7", "contract", number}, {at(kept), "11", "contract", number},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if len(asked) != 1 || !slices.Equal(asked[0], []evm.Address{rebase, fee, gone}) {
		t.Errorf("asked %v", asked)
	}

	// No node answers: what was said last, or the sum of transfers.
	want = []row{
		{at(gold), "5", "", ""}, {at(rebase), "99", "transfers", ""}, {at(kept), "11", "contract", "12"}, {at(gone), "1000", "contract", "10"},
	}
	if got := read(chain(12), asAlice+"/balances:listErc20"); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	down := chain(12)
	down.down = errDown
	if got := read(down, asAlice+"/balances:listErc20"); !slices.Equal(got, want) || down.tokenAsks.Load() != 0 {
		t.Errorf("while the node is down: %+v, asked %d times", got, down.tokenAsks.Load())
	}
}

// TestUnknownFacts: what is not known of a token is left out, but for the SDKs,
// which demand it.
func TestUnknownFacts(t *testing.T) {
	t.Parallel()
	c := newChain(sampleInfo())
	c.grow(&index.Tx{Tx: evm.Tx{Hash: sampleTx(1), From: bob, To: bob}, Transfers: []index.Transfer{
		{Kind: index.ERC20, Token: bare, To: alice, Value: wei(7)}, {Kind: index.ERC721, Token: art, To: alice, ID: wei(1)},
	}})
	s := dataServer(t, Config{}, c)
	for _, path := range []string{"/balances:listErc20", "/balances:listErc721"} {
		for agent, demanded := range map[string]bool{"curl/8": false, sdkUser: true} {
			var page struct{ Erc20TokenBalances, Erc721TokenBalances []map[string]any }
			if err := json.Unmarshal(get(s, asAlice+path, "User-Agent", agent).Body(), &page); err != nil {
				t.Fatal(err)
			}
			for _, o := range append(page.Erc20TokenBalances, page.Erc721TokenBalances...) {
				if o["ercType"] == "ERC-721" {
					if _, ok := o["name"]; ok != demanded {
						t.Errorf("%s: %v", agent, o)
					}
					continue
				}
				_, name := o["name"]
				_, symbol := o["symbol"]
				decimals, ok := o["decimals"]
				if name != demanded || symbol != demanded || ok != demanded || demanded && decimals != 0.0 {
					t.Errorf("%s: %v", agent, o)
				}
			}
		}
	}
}
