package rollup_test

import (
	"errors"
	"slices"
	"testing"

	"quorate/rollup"
)

func TestFill(t *testing.T) {
	t.Parallel()
	errRead := errors.New("the disk is gone")
	for _, c := range []struct {
		name           string
		stored         []uint32
		fails          bool // after them
		newest, oldest uint32
		want           []uint32
		calls          int // of stored
	}{
		{"all", []uint32{3, 2, 1}, false, 3, 1, []uint32{3, 2, 1}, 3},
		{"gaps", []uint32{5, 2, 0}, false, 5, 0, []uint32{5, 4, 3, 2, 1, 0}, 3},
		{"after the last", []uint32{2}, false, 4, 2, []uint32{4, 3, 2}, 1},
		{"before the first", []uint32{5, 4}, false, 5, 0, []uint32{5, 4}, 3},
		{"a part", []uint32{7, 6, 5}, false, 7, 6, []uint32{7, 6}, 2},
		{"inside of a gap", []uint32{2}, false, 9, 7, []uint32{9, 8, 7}, 1},
		{"one in a gap", []uint32{2}, false, 5, 5, []uint32{5}, 1},
		{"down to 0", []uint32{0}, false, 1, 0, []uint32{1, 0}, 1},
		{"the highest", []uint32{1<<32 - 1}, false, 1<<32 - 1, 1<<32 - 2, []uint32{1<<32 - 1}, 2},
		{"none stored", nil, false, 5, 0, nil, 1},
		{"nothing asked", []uint32{3}, false, 2, 3, nil, 0},
		{"an error", []uint32{5, 3}, true, 5, 0, []uint32{5, 4, 3}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			stored := func() (*rollup.Bucket, error) {
				calls++
				if calls <= len(c.stored) {
					n := c.stored[calls-1]
					return &rollup.Bucket{Number: n, Record: rollup.Record{
						Blocks: 1, Txs: 5, Addresses: 3, Contracts: 1, Prev: 1, Last: uint64(n) + 9,
						TotalTxs: uint64(n), TotalContracts: 7, Untraced: n > 2,
					}}, nil
				}
				if c.fails {
					return nil, errRead
				}
				return nil, nil
			}
			var got []uint32
			err := rollup.Fill(c.newest, c.oldest, stored, func(number uint32, r *rollup.Record) {
				got = append(got, number)
				under := r.TotalTxs // the number of the bucket from which totals are
				want := rollup.Record{Prev: under + 9, Last: under + 9, TotalTxs: under, TotalContracts: 7, Untraced: under > 2}
				if uint64(number) == under {
					want.Blocks, want.Txs, want.Addresses, want.Contracts, want.Prev = 1, 5, 3, 1, 1
				}
				if *r != want || under > uint64(number) {
					t.Errorf("%d: %+v", number, *r)
				}
			})
			if (err != nil) != c.fails || err != nil && !errors.Is(err, errRead) {
				t.Error(err)
			}
			if !slices.Equal(got, c.want) || calls != c.calls {
				t.Errorf("%v with %d stored, want %v with %d", got, calls, c.want, c.calls)
			}
		})
	}
}
