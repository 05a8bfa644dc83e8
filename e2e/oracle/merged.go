package oracle

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/ava-labs/libevm/common"
)

// AllChains compares the lists over all chains of a server, whose checkers these are: the
// rows of each chain are those of its own list, in their order, and no row is newer than
// the one before it.
func AllChains(ctx context.Context, chains ...*Checker) {
	k := chains[0]
	for _, l := range []struct {
		paths []string
		name  string
		rows  func(k *Checker) []any
	}{
		{[]string{"/v1/transactions", "/v1/chains/allTransactions"}, "transactions", (*Checker).nativeRows},
		{[]string{"/v1/blocks", "/v1/chains/allBlocks"}, "blocks", (*Checker).blockRows},
	} {
		want := make(map[string][]any)
		for _, c := range chains {
			want[c.cfg.ChainID] = l.rows(c)
		}
		for _, path := range l.paths {
			for _, size := range []int{100, midSize} {
				k.merged(ctx, &list{path: path, name: l.name, query: url.Values{"network": {"fuji"}}}, size, want)
			}
		}
	}
}

func (k *Checker) nativeRows() []any {
	return newestFirst(k.cfg.Chain.Txs, func(tx *Tx) any { return k.f.native(tx) })
}

func (k *Checker) blockRows() []any {
	total := 0
	rows := make([]any, 0, len(k.cfg.Chain.Blocks))
	for _, b := range k.cfg.Chain.Blocks {
		total += len(b.Txs)
		rows = append(rows, k.f.block(b, total))
	}
	slices.Reverse(rows)
	return rows
}

func (k *Checker) merged(ctx context.Context, l *list, size int, want map[string][]any) {
	where := fmt.Sprintf("%s in pages of %d:", l.path, size)
	w, err := k.client.walk(ctx, l, size, math.MaxInt)
	if err != nil {
		k.report(where, err.Error())
		return
	}
	k.tally.Lists++
	k.tally.Rows += len(w.rows)
	k.tally.Pages += w.pages
	got := make(map[string][]any)
	last := int64(math.MaxInt64)
	for i, row := range w.rows {
		o, _ := row.(map[string]any)
		id, _ := o["chainId"].(string)
		number, _ := o["blockTimestamp"].(json.Number)
		at, err := number.Int64()
		if err != nil || at > last {
			k.report(where, fmt.Sprintf("row %d is newer than the one before it", i))
		}
		got[id], last = append(got[id], row), at
	}
	for id := range got {
		if want[id] == nil {
			k.report(where, "rows of chain "+id)
		}
	}
	for id, rows := range want {
		k.report(where, diff(nil, "chain "+id, rows, orNone(got[id]))...)
	}
}

// orNone returns a list that is not nil.
func orNone(list []any) []any {
	if list == nil {
		return []any{}
	}
	return list
}

// ChainsOf compares the chains that have transactions of addresses.
func ChainsOf(ctx context.Context, list []common.Address, chains ...*Checker) {
	k := chains[0]
	for _, a := range list {
		var want []string
		for _, c := range chains {
			if slices.ContainsFunc(c.cfg.Chain.Txs, func(tx *Tx) bool { return tx.Concerns(a) }) {
				want = append(want, c.cfg.ChainID)
			}
		}
		for _, path := range []string{"/v1/address/" + a.Hex() + "/chains", "/v1/chains/address/" + a.Hex()} {
			body, err := k.client.ok(ctx, path, nil)
			if err != nil {
				k.report(path, err.Error())
				continue
			}
			k.tally.Rows++
			var got []string
			items, _ := body["indexedChains"].([]any)
			for _, item := range items {
				o, _ := item.(map[string]any)
				id, _ := o["chainId"].(string)
				got = append(got, id)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				k.report(path, fmt.Sprintf("server %v, nodes %v", got, want))
			}
		}
	}
}
