package xchain

import (
	"testing"

	"quorate/engine/chain"
	"quorate/engine/primary"
)

// TestPageCost: a page of the same number of rows reads as much of a hundred times the
// history, from its newest and from its oldest end.
func TestPageCost(t *testing.T) {
	t.Parallel()
	const rows = 5
	more := 100
	type costs map[string][2]int
	measure := func(size int) costs {
		w := newWorld(t, 5, size, size)
		blocks, vertices := w.commit(openDB(t), 200)
		v, err := Open(blocks, vertices)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		var busy chain.ID
		for id, moved := range w.moved {
			if len(moved) > len(w.moved[busy]) {
				busy = id
			}
		}
		all := costs{}
		for _, asc := range []bool{false, true} {
			p := primary.Page{Limit: rows, Asc: asc}
			for name, list := range map[string]func(n *int) error{
				"transactions": func(n *int) error {
					_, err := v.Txs(nil, primary.TimeRange{}, p, counting(n))
					return err
				},
				"transactions of an asset": func(n *int) error {
					_, err := v.AssetTxs(busy, p, counting(n))
					return err
				},
				"blocks": func(n *int) error {
					_, err := v.blocks.Blocks(&primary.BlockFilter{}, p, func(*primary.BlockInfo) bool { *n++; return true })
					return err
				},
				"vertices": func(n *int) error {
					_, err := v.Vertices(nil, p, func(*primary.Vertex) bool { *n++; return true })
					return err
				},
			} {
				n, reads, seeks := 0, 0, 0
				for _, one := range []*primary.View{v.blocks, v.vertices} {
					r, s := one.Cost()
					reads, seeks = reads-r, seeks-s
				}
				if err := list(&n); err != nil || n != rows {
					t.Fatalf("%s: %d rows, %v", name, n, err)
				}
				for _, one := range []*primary.View{v.blocks, v.vertices} {
					r, s := one.Cost()
					reads, seeks = reads+r, seeks+s
				}
				if asc {
					name += ", oldest first"
				}
				all[name] = [2]int{reads, seeks}
			}
		}
		return all
	}
	short, long := measure(20), measure(20*more)
	for name, was := range short {
		now := long[name]
		if was[0] == 0 || float64(now[0]) > 1.2*float64(was[0]) || float64(now[1]) > 1.2*float64(was[1]) {
			t.Errorf("%s: %d rows and %d seeks of %d times the history, %d and %d of one", name, now[0], now[1], more, was[0], was[1])
		}
	}
}

func counting(n *int) taker {
	return func(*primary.TxRow) (primary.Result, error) {
		*n++
		return primary.Taken, nil
	}
}
