package oracle

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/ava-labs/libevm/common"
)

// LiveList names a list that is walked while the chain grows.
type LiveList struct {
	// Endpoint is 2, 6, 8 or 12.
	Endpoint int
	// Address is whose list it is; for 12 nobody's.
	Address common.Address
	// Ascending is for 2 only.
	Ascending bool
}

// Live is a walk of a list while the chain grew.
type Live struct {
	list LiveList
	walk *walk
	head uint64
}

// WalkLive walks a list in pages of one size. The server had the block head
// before.
func (k *Checker) WalkLive(ctx context.Context, l LiveList, size int, head uint64) (*Live, error) {
	path, name, query := k.base+"/transactions", "transactions", url.Values{}
	switch l.Endpoint {
	case 2:
		path = k.ofAddress(l.Address) + "/transactions"
		if l.Ascending {
			query.Set("sortOrder", "asc")
		}
	case 6:
		path = k.ofAddress(l.Address) + "/transactions:listErc721"
	case 8:
		path, name = k.base+"/tokens/"+l.Address.Hex()+"/transfers", "transfers"
	}
	w, err := k.client.walk(ctx, &list{path: path, query: query, name: name}, size, math.MaxInt)
	return &Live{l, w, head}, err
}

// CheckLive compares a walk that is over with the chain as it was fetched after
// it: the rows are those up to one height, which is at least the head before the
// walk, each once. What tokens are called may be learnt later, so only what
// names the rows is compared.
func (k *Checker) CheckLive(l *Live) {
	k.tally.Lists, k.tally.Rows, k.tally.Pages = k.tally.Lists+1, k.tally.Rows+len(l.walk.rows), k.tally.Pages+l.walk.pages
	where := fmt.Sprintf("endpoint %d while blocks arrived:", l.list.Endpoint)
	got := make([]any, len(l.walk.rows))
	pin := l.head
	for i, row := range l.walk.rows {
		o, _ := row.(map[string]any)
		if l.list.Endpoint == 2 {
			o, _ = o["nativeTransaction"].(map[string]any)
		}
		var number uint64
		if _, err := fmt.Sscan(fmt.Sprint(o["blockNumber"]), &number); err != nil {
			k.report(where, fmt.Sprintf("row %d has no block number: %s", i, show(row)))
			return
		}
		got[i], pin = fmt.Sprint(number, " ", o["txHash"], " ", o["logIndex"]), max(pin, number)
	}
	want := k.rowsOf(l.list, pin)
	if !l.list.Ascending {
		slices.Reverse(want)
	}
	k.report(where, diff(nil, "rows", want, got)...)
}

// rowsOf names the rows of a list up to a height, oldest first.
func (k *Checker) rowsOf(l LiveList, pin uint64) []any {
	out := []any{}
	for _, tx := range k.cfg.Chain.Txs {
		n := uint64(tx.Block.Number)
		if n > pin {
			break
		}
		if l.Endpoint == 12 || l.Endpoint == 2 && tx.Concerns(l.Address) {
			out = append(out, fmt.Sprint(n, " ", tx.Hash, " ", nil))
		}
		for _, t := range tx.Transfers {
			if l.Endpoint == 8 && t.Token == l.Address || l.Endpoint == 6 && t.Kind == ERC721 && t.concerns(l.Address) {
				out = append(out, fmt.Sprint(n, " ", tx.Hash, " ", t.LogIndex))
			}
		}
	}
	return out
}
