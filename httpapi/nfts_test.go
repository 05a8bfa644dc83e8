package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holiman/uint256"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
	"quorate/engine/nftmeta"
	store "quorate/engine/store/index"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/view"
)

// TestNFTBodies compares the answers about tokens with IDs with what was checked by
// hand, in both dialects.
func TestNFTBodies(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{Facts: evmapi.Facts{NFTMetadata: knows{}}}, sampleChain(), secondChain())
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

// fetches stands in for what fetches metadata.
type fetches struct {
	err   error
	asked []string
}

func (f *fetches) Metadata(blockchainID string, token *evm.Address, id *uint256.Int) (*view.Metadata, error) {
	if *token == art {
		return &view.Metadata{Name: "fetched " + id.Dec() + " of " + blockchainID}, f.err
	}
	return nil, f.err
}

func (f *fetches) Reindex(_ context.Context, blockchainID string, token evm.Address, id uint256.Int) error {
	if f.err == nil {
		f.asked = append(f.asked, blockchainID+" "+token.String()+" "+id.Dec())
	}
	return f.err
}

// TestFetchedMetadata: what was fetched is served where the file of metadata is silent.
func TestFetchedMetadata(t *testing.T) {
	t.Parallel()
	c, f := sampleChain(), &fetches{}
	s := dataServer(t, Config{Facts: evmapi.Facts{NFTs: f}}, c)
	tokens := base + "/nfts/collections/" + art.String() + "/tokens"
	for path, want := range map[string]string{
		tokens + "/1": `"name":"One"`, tokens + "/2": `"metadata":{"indexStatus":"INDEXED","name":"fetched 2 of ` + c.info.BlockchainID + `"}`,
		tokens: `"name":"fetched 2 of`, asAlice + "/balances:listCollectibles": `"name":"fetched 2 of`,
		base + "/nfts/collections/" + items.String() + "/tokens/12": `"metadata":{"indexStatus":"UNINDEXED"}`,
	} {
		if resp := get(s, path); resp.StatusCode() != 200 || !strings.Contains(string(resp.Body()), want) {
			t.Errorf("%s: %d %s, want %s", path, resp.StatusCode(), resp.Body(), want)
		}
	}
	f.err = errDown
	if resp := get(s, tokens+"?pageSize=3"); resp.StatusCode() != 500 {
		t.Errorf("%d %s", resp.StatusCode(), resp.Body())
	}
}

// TestReindex: a request to fetch again has its own answer for each way it can go.
func TestReindex(t *testing.T) {
	t.Parallel()
	c, f := sampleChain(), &fetches{}
	s := dataServer(t, Config{Facts: evmapi.Facts{NFTs: f}}, c)
	path := func(token fmt.Stringer, id string) string {
		return base + "/nfts/collections/" + token.String() + "/tokens/" + id + ":reindex"
	}
	resp := send(s, "POST", path(art, "1"), "")
	if resp.StatusCode() != 201 || len(resp.Body()) > 0 || string(resp.Header.Peek("Cache-Control")) != "no-store" {
		t.Errorf("%d %s", resp.StatusCode(), resp)
	}
	if want := c.info.BlockchainID + " " + art.String() + " 1"; !slices.Equal(f.asked, []string{want}) {
		t.Errorf("asked for %v", f.asked)
	}
	if resp := send(s, "POST", strings.Replace(path(art, "1"), ":", "%3A", 1), ""); resp.StatusCode() != 201 {
		t.Errorf("%d %s", resp.StatusCode(), resp)
	}
	is := func(status int, retry string, resp *fasthttp.Response) {
		t.Helper()
		if got := string(resp.Header.Peek("Retry-After")); resp.StatusCode() != status || got != retry {
			t.Errorf("%d %s after %q, want %d", resp.StatusCode(), resp.Body(), got, status)
		}
	}
	is(404, "", send(s, "POST", path(art, "7"), ""))
	is(400, "", send(s, "POST", path(art, "0x1"), ""))
	is(400, "", send(s, "POST", base+"/nfts/collections/x/tokens/1:reindex", ""))
	is(405, "", send(s, "POST", base+"/nfts/collections/"+art.String()+"/tokens/:reindex", ""))
	is(405, "", get(s, path(art, "1")))
	is(400, "", get(s, base+"/nfts/collections/"+art.String()+"/tokens/1:other"))
	f.err = &nftmeta.TooSoonError{Wait: 90 * time.Second}
	is(429, "90", send(s, "POST", path(art, "1"), ""))
	for _, f.err = range []error{nftmeta.ErrBusy, nftmeta.ErrStopping, fmt.Errorf("%w: disk", nftmeta.ErrNoRoom)} {
		is(503, "5", send(s, "POST", path(art, "1"), ""))
	}
	f.err = errDown
	resp = send(s, "POST", path(art, "1"), "")
	is(503, "5", resp)
	if strings.Contains(string(resp.Body()), "10.1.2.3") {
		t.Errorf("it tells what is inside: %s", resp.Body())
	}
	off := send(dataServer(t, Config{}, sampleChain()), "POST", path(art, "1"), "")
	if is(403, "", off); !strings.Contains(string(off.Body()), "--nft-metadata") {
		t.Errorf("%s", off.Body())
	}
}

// TestNFTPages walks each list by pages of each size: the rows are those of one page.
func TestNFTPages(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain())
	for path, want := range map[string]int{
		asAlice + "/balances:listErc1155": 2, asAlice + "/balances:listCollectibles": 6,
		base + "/addresses/" + bob.String() + "/balances:listCollectibles":   3,
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
				if err := decode(resp.Body(), &p); err != nil || resp.StatusCode() != 200 {
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
	c := ownSample().older(store.TableItems)
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
