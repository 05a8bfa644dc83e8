package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holiman/uint256"
)

// TestNFTBodies compares the answers about tokens with IDs with what was checked by
// hand, in both dialects.
func TestNFTBodies(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{NFTMetadata: knows{}}, sampleChain(), secondChain())
	collection := func(a fmt.Stringer) string { return base + "/nfts/collections/" + a.String() + "/tokens" }
	goldenAnswers(t, s, "nfts.txt", []string{
		asAlice + "/balances:listErc1155?pageSize=1", asAlice + "/balances:listErc1155?contractAddress=" + art.String(),
		asAlice + "/balances:listErc1155?blockNumber=99999", asAlice + "/balances:listErc1155?blockNumber=x",
		asAlice + "/balances:listErc1155?pageSize=501", asAlice + "/balances:listCollectibles?contractAddress=" + items.String(),
		collection(art), collection(items), collection(gold), collection(art) + "/1", collection(items) + "/12", collection(art) + "/7",
		collection(art) + "/0x1", collection(art) + "/" + strings.Repeat("9", 78), collection(art) + "/" + new(uint256.Int).SetAllOne().Dec(),
		"/v2/chains/43112/contracts/" + art.String() + "/nfts:listHolders",
		"/v2/chains/43112/contracts/" + items.String() + "/nfts:listHolders?pageSize=1",
		"/v2/chains/43112/contracts/x/nfts:listHolders",
	})
}

// TestNFTPages walks each list by pages of each size: the rows are those of one page.
func TestNFTPages(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	for path, want := range map[string]int{
		asAlice + "/balances:listErc1155": 2, asAlice + "/balances:listCollectibles": 5,
		base + "/addresses/" + bob.String() + "/balances:listCollectibles":   1,
		base + "/nfts/collections/" + items.String() + "/tokens":             3,
		"/v2/chains/43112/contracts/" + items.String() + "/nfts:listHolders": 2,
	} {
		walk := func(size int) (rows []string) {
			for next := ""; ; {
				var p struct {
					CollectibleBalances, ERC1155TokenBalances, Tokens, Addresses []json.RawMessage
					NextPageToken                                                string
				}
				url := fmt.Sprintf("%s?pageSize=%d", path, size)
				if next != "" {
					url += "&pageToken=" + next
				}
				resp := get(s, url)
				if err := json.Unmarshal(resp.Body(), &p); err != nil || resp.StatusCode() != 200 {
					t.Fatalf("%s: %d %s", url, resp.StatusCode(), resp.Body())
				}
				page := slices.Concat(p.CollectibleBalances, p.ERC1155TokenBalances, p.Tokens, p.Addresses)
				for _, row := range page {
					rows = append(rows, string(row))
				}
				if next = p.NextPageToken; next == "" {
					return rows
				}
				if len(page) != size || len(rows) > want {
					t.Fatalf("%s: a page of %d with %d", path, size, len(page))
				}
			}
		}
		whole := walk(100)
		if len(whole) != want {
			t.Errorf("%s: %d rows, want %d", path, len(whole), want)
		}
		for _, size := range []int{1, 2, 3, 5} {
			if got := walk(size); !slices.Equal(got, whole) {
				t.Errorf("%s by %d:\n%v\nwant\n%v", path, size, got, whole)
			}
		}
	}
}

// TestNFTSums: what is still being made is not answered, and the reason is told.
func TestNFTSums(t *testing.T) {
	t.Parallel()
	c := sampleChain()
	c.noSums = true
	s := dataServer(t, Config{}, c)
	for _, path := range []string{
		asAlice + "/balances:listErc1155", asAlice + "/balances:listCollectibles", base + "/nfts/collections/" + art.String() + "/tokens",
		base + "/nfts/collections/" + art.String() + "/tokens/1", "/v2/chains/43112/contracts/" + art.String() + "/nfts:listHolders",
	} {
		resp := get(s, path)
		if resp.StatusCode() != 503 || !strings.Contains(string(resp.Body()), "being made") || len(resp.Header.Peek("Retry-After")) == 0 {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
}
