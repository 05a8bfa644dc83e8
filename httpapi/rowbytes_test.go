package httpapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
	"quorate/httpapi/view"
)

// wordy has metadata of all NFTs, and they are long.
type wordy struct{}

func (wordy) Metadata(string, *evm.Address, *uint256.Int) *view.Metadata {
	return &view.Metadata{Name: "n", ImageURI: "data:image/svg+xml," + strings.Repeat("i", 16<<10), Properties: strings.Repeat("p", 8<<10), Attributes: strings.Repeat("a", 8<<10)}
}

// TestRowBytes: a transaction that moves an NFT with a long URI and long metadata, and tokens
// with long names, thousands of times has a body that is not thousands of times as long.
func TestRowBytes(t *testing.T) {
	c := ownSample()
	s := dataServer(t, Config{}, c)
	s.evm.NFTMetadata = wordy{}
	must(c.PutTokenURIs(t.Context(), map[index.NFT]string{
		{Token: art, ID: wei(1)}: "data:," + strings.Repeat("u", 32<<10), {Token: items, ID: wei(9)}: "data:," + strings.Repeat("U", 32<<10),
	}))
	must(c.PutTokens(t.Context(), map[evm.Address]index.TokenMeta{
		gold: {Kind: index.ERC20, Name: strings.Repeat("g", 1<<10), Symbol: strings.Repeat("s", 1<<10), Decimals: 6, HasDecimals: true},
	}))
	const moves = 500
	tx := &index.Tx{Tx: evm.Tx{Hash: sampleTx(77), From: alice, To: gold}}
	tx.Block.BaseFee = uint256.NewInt(1)
	for range moves {
		tx.Transfers = append(tx.Transfers,
			index.Transfer{Kind: index.ERC20, Token: gold, From: gold, To: alice, Value: wei(1)},
			index.Transfer{Kind: index.ERC721, Token: art, From: alice, To: gold, ID: wei(1), Value: wei(1)},
			index.Transfer{Kind: index.ERC1155, Token: items, From: gold, To: alice, ID: wei(9), Value: wei(1)})
		tx.Calls = append(tx.Calls, evm.Call{Type: evm.CallPlain, Depth: 1, From: gold, To: gold})
	}
	c.grow(tx)
	c.grow()
	for _, path := range []string{base + "/transactions/" + tx.Hash.String(), asAlice + "/transactions?pageSize=100"} {
		for _, sign := range []string{"curl", "speakeasy-sdk/typescript"} {
			resp := get(s, path, "User-Agent", sign)
			body := resp.Body()
			if resp.StatusCode() != 200 || len(body) > 4<<20 {
				t.Errorf("%s: %d with %d bytes", path, resp.StatusCode(), len(body))
				continue
			}
			if !json.Valid(body) {
				t.Errorf("%s: no JSON", path)
			}
			for name, n := range map[string]int{`"erc20Token":`: moves, `"erc721Token":`: moves, `"erc1155Token":`: moves} {
				if got := bytes.Count(body, []byte(name)); got < n {
					t.Errorf("%s: %d of %s", path, got, name)
				}
			}
			for _, there := range []string{strings.Repeat("u", 32<<10), strings.Repeat("g", 1<<10), `"metadata":{"indexStatus":"UNINDEXED"}`} {
				if !bytes.Contains(body, []byte(there)) {
					t.Errorf("%s: %.40s is not there", path, there)
				}
			}
		}
	}
	// What one transaction has used up is there again for the next.
	var one struct {
		TokenURI string `json:"tokenUri"`
		Metadata struct{ IndexStatus string }
	}
	getJSON(t, s, base+"/nfts/collections/"+art.String()+"/tokens/1", &one)
	if len(one.TokenURI) < 32<<10 || one.Metadata.IndexStatus != "INDEXED" {
		t.Errorf("%d bytes, %s", len(one.TokenURI), one.Metadata.IndexStatus)
	}
	list := get(s, base+"/tokens/"+art.String()+"/transfers?pageSize=100").Body()
	if n := bytes.Count(list, []byte("UNINDEXED")); n > 0 || bytes.Count(list, []byte(strings.Repeat("u", 32<<10))) < 20 {
		t.Errorf("%d rows of a list of transfers have no metadata", n)
	}
}
