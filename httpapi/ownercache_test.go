package httpapi

import (
	"context"
	"strings"
	"testing"

	"quorate/engine/chain/evm"
)

// TestOwnersOfBlocks: pages of one block show the owners at that block, also after
// a later one has brought others.
func TestOwnersOfBlocks(t *testing.T) {
	t.Parallel()
	s, c := indexed(t, 2)
	path := asAlice + "/transactions:listErc721?pageSize=3&sortOrder=asc"
	owned := func(path, owner string) (next string) {
		t.Helper()
		resp := get(s, path)
		body := string(resp.Body())
		if n := strings.Count(body, `"ownerAddress":"`+owner+`"`); resp.StatusCode() != 200 || n != 3 {
			t.Errorf("%d, %d of 3 owned by %s: %s", resp.StatusCode(), n, owner, body)
		}
		_, rest, _ := strings.Cut(body, `"nextPageToken":"`)
		token, _, _ := strings.Cut(rest, `"`)
		return path + "&pageToken=" + token
	}
	second := owned(path, alice.String())
	owned(path, alice.String()) // as it is kept
	word := func(a evm.Address) (h evm.Hash) { copy(h[12:], a[:]); return h }
	b := busyBlock(2)
	logs := uint32(100)
	for number := range byte(2) {
		for i := range byte(10) { // all that alice got so far goes to bob
			nft := evm.Hash{31: number*10 + i}
			b.Txs[9].Logs = append(b.Txs[9].Logs, evm.Log{Index: logs, Address: art,
				Topics: []evm.Hash{evm.Keccak([]byte("Transfer(address,address,uint256)")), word(alice), word(bob), nft}})
			logs++
		}
	}
	if err := c.x.Commit(context.Background(), []*evm.Block{b}); err != nil {
		t.Fatal(err)
	}
	owned(path, bob.String())
	owned(second, alice.String()) // pinned at the block of the first page
}
