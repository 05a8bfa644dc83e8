package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// TestPartBodies compares the answers about parts of transactions, contracts and all
// chains with what was checked by hand, in both dialects.
func TestPartBodies(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain(), secondChain())
	contract := func(a evm.Address) string { return base + "/contracts/" + a.String() }
	goldenAnswers(t, s, "parts.txt", []string{
		asAlice + "/transactions:listNative?pageSize=2",
		asAlice + "/transactions:listErc20",
		asAlice + "/transactions:listErc1155?pageSize=1",
		asAlice + "/transactions:listInternals",
		base + "/addresses/" + gold.String(),
		base + "/addresses/" + art.String(),
		base + "/addresses/" + items.String(),
		asAlice,
		contract(items) + "/transactions:getDeployment",
		contract(gold) + "/transactions:getDeployment",
		contract(bob) + "/deployments",
		contract(art) + "/deployments",
		base,
		"/v1/address/" + alice.String() + "/chains",
		"/v1/chains/address/" + evm.Address{1}.String(),
		"/v1/transactions?pageSize=1",
		"/v1/chains/allTransactions?network=mainnet",
	})
}

// manyBlocks returns a chain with transactions at the given seconds, a block each.
func manyBlocks(number byte, seconds ...uint64) *testChain {
	c := newChain(view.ChainInfo{
		ChainID: fmt.Sprint(number), BlockchainID: fmt.Sprint("id", number), Name: fmt.Sprint(number), IsTestnet: number != 9,
		Token: view.NetworkToken{Name: "Coin", Symbol: "C", Decimals: 18},
	})
	for i, second := range seconds {
		var txs []*index.Tx
		for n := range 1 + i%3 {
			tx := &index.Tx{Tx: evm.Tx{Hash: evm.Hash{number, byte(i), byte(n)}, From: alice, To: bob, Failed: n == 1}}
			tx.Block.TimeMilli, tx.Block.BaseFee = second*1000+uint64(number), uint256.NewInt(1)
			txs = append(txs, tx)
		}
		c.grow(txs...)
	}
	return c
}

// TestAllTransactions walks the transactions of all chains by pages of each size, while
// one of the chains grows: none is missing, none comes twice, and newer ones come first.
func TestAllTransactions(t *testing.T) {
	t.Parallel()
	type row struct {
		ChainID, TxHash, TxStatus string
		BlockTimestamp            uint64
	}
	type page struct {
		Transactions  []row
		NextPageToken string
	}
	chains := func() []*testChain {
		return []*testChain{
			manyBlocks(1, 10, 10, 11, 14, 14, 14, 20), manyBlocks(2, 10, 11, 11, 14, 19), secondChain(), manyBlocks(9, 9, 14, 30),
			manyBlocks(4, 14, 14, 14, 14, 14, 14, 14, 14),
		}
	}
	still := dataServer(t, Config{}, chains()...)
	walk := func(query string, size int, grows bool) (all []row) {
		t.Helper()
		list, s := chains(), still
		if grows {
			s = dataServer(t, Config{}, list...)
		}
		next := ""
		for {
			path := fmt.Sprintf("/v1/transactions?pageSize=%d%s", size, query)
			if next != "" {
				path += "&pageToken=" + next
			}
			resp := get(s, path)
			var p page
			if err := decode(resp.Body(), &p); err != nil || resp.StatusCode() != 200 {
				t.Fatalf("%d %s: %v", resp.StatusCode(), resp.Body(), err)
			}
			if all = append(all, p.Transactions...); p.NextPageToken == "" {
				return all
			}
			if len(p.Transactions) != size {
				t.Fatalf("a page of %d with %d", size, len(p.Transactions))
			}
			next = p.NextPageToken
			if grows { // by a block that is newer than all
				tx := &index.Tx{Tx: evm.Tx{Hash: evm.Hash{99}, From: alice, To: bob}}
				tx.Block.TimeMilli = 99_000
				list[0].grow(tx)
			}
		}
	}
	for query, want := range map[string]int{"": 43, "&network=mainnet": 6, "&network=fuji": 37, "&status=failed": 14} {
		whole := walk(query, 100, false)
		if len(whole) != want {
			t.Errorf("%q: %d transactions, want %d", query, len(whole), want)
		}
		if !slices.IsSortedFunc(whole, func(a, b row) int { return int(b.BlockTimestamp) - int(a.BlockTimestamp) }) {
			t.Errorf("%q: not the newest first: %v", query, whole)
		}
		for _, size := range []int{1, 2, 7} {
			if got := walk(query, size, false); !slices.Equal(got, whole) {
				t.Errorf("%q by %d:\n%v\nwant\n%v", query, size, got, whole)
			}
			if got := walk(query, size, true); !slices.Equal(got, whole) {
				t.Errorf("%q by %d while a chain grows:\n%v\nwant\n%v", query, size, got, whole)
			}
		}
	}
	token := page{}
	if err := json.Unmarshal(get(still, "/v1/transactions?pageSize=1").Body(), &token); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/v1/transactions?status=failed&pageToken=" + token.NextPageToken,
		"/v1/chains/allTransactions?pageToken=" + token.NextPageToken,
		"/v1/transactions?network=fuji&pageToken=" + token.NextPageToken,
	} {
		if resp := get(still, path); resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), "pageToken is not valid") {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
}

// TestPartPages walks each list by single rows.
func TestPartPages(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	for path, want := range map[string]int{
		asAlice + "/transactions:listNative": 5, asAlice + "/transactions:listErc20": 4, asAlice + "/transactions:listErc1155": 4,
		asAlice + "/transactions:listInternals": 2, base + "/contracts/" + bob.String() + "/deployments": 1,
	} {
		rows, next := 0, ""
		for {
			var p struct {
				Transactions, Contracts []json.RawMessage
				NextPageToken           string
			}
			url := path + "?pageSize=1"
			if next != "" {
				url += "&pageToken=" + next
			}
			if err := json.Unmarshal(get(s, url).Body(), &p); err != nil {
				t.Fatal(err)
			}
			rows += len(p.Transactions) + len(p.Contracts)
			if next = p.NextPageToken; next == "" {
				break
			}
		}
		if rows != want {
			t.Errorf("%s: %d rows, want %d", path, rows, want)
		}
	}
}
