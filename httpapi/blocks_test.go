package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index"
)

// TestBlockBodies compares the answers about blocks with what was checked by hand, in
// both dialects.
func TestBlockBodies(t *testing.T) {
	t.Parallel()
	s := dataServer(t, Config{}, sampleChain(), secondChain())
	goldenAnswers(t, s, "blocks.txt", []string{
		base + "/blocks?pageSize=2", base + "/blocks/1", base + "/blocks/0", base + "/blocks/" + numbered(2, 0xb).String(),
		base + "/blocks/" + numbered(2, 0xc).String(), base + "/blocks/99999", base + "/blocks/latest", base + "/blocks?pageSize=101",
		base + "/blocks?pageToken=x", "/v1/chains/77777/blocks", "/v1/blocks?pageSize=1", "/v1/chains/allBlocks?network=mainnet",
		"/v1/blocks?network=moon",
	})
}

// TestAllBlocks walks the blocks of all chains by pages of each size, while one of the
// chains grows: none is missing, none comes twice, and newer ones come first.
func TestAllBlocks(t *testing.T) {
	t.Parallel()
	type row struct {
		ChainID, BlockHash string
		BlockTimestamp     uint64
	}
	chains := func() []*testChain {
		return []*testChain{
			manyBlocks(1, 10, 10, 11, 14, 14, 14, 20), manyBlocks(2, 10, 11, 11, 14, 19), manyBlocks(9, 9, 14, 30),
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
		for next := ""; ; {
			path := fmt.Sprintf("/v1/blocks?pageSize=%d%s", size, query)
			if next != "" {
				path += "&pageToken=" + next
			}
			resp := get(s, path)
			var p struct {
				Blocks        []row
				NextPageToken string
			}
			if err := decode(resp.Body(), &p); err != nil || resp.StatusCode() != 200 {
				t.Fatalf("%d %s: %v", resp.StatusCode(), resp.Body(), err)
			}
			all = append(all, p.Blocks...)
			if next = p.NextPageToken; next == "" {
				return all
			}
			if len(p.Blocks) != size {
				t.Fatalf("a page of %d with %d", size, len(p.Blocks))
			}
			if grows { // by a block that is newer than all
				tx := &index.Tx{Tx: evm.Tx{Hash: evm.Hash{99}, From: alice, To: bob}}
				tx.Block.TimeMilli = 99_000
				list[0].grow(tx)
			}
		}
	}
	for query, want := range map[string]int{"": 27, "&network=mainnet": 4, "&network=fuji": 23} {
		whole := walk(query, 100, false)
		if len(whole) != want {
			t.Errorf("%q: %d blocks, want %d", query, len(whole), want)
		}
		if !slices.IsSortedFunc(whole, func(a, b row) int { return int(b.BlockTimestamp) - int(a.BlockTimestamp) }) {
			t.Errorf("%q: not the newest first: %v", query, whole)
		}
		for _, size := range []int{1, 2, 7} {
			for _, grows := range []bool{false, true} {
				if got := walk(query, size, grows); !slices.Equal(got, whole) {
					t.Errorf("%q by %d, grows %v:\n%v\nwant\n%v", query, size, grows, got, whole)
				}
			}
		}
	}
	var first struct{ NextPageToken string }
	if err := json.Unmarshal(get(still, "/v1/blocks?pageSize=1").Body(), &first); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/v1/transactions?pageToken=", "/v1/chains/allBlocks?pageToken=", "/v1/blocks?network=fuji&pageToken="} {
		if resp := get(still, path+first.NextPageToken); resp.StatusCode() != 400 || !strings.Contains(string(resp.Body()), "pageToken is not valid") {
			t.Errorf("%s: %d %s", path, resp.StatusCode(), resp.Body())
		}
	}
}
