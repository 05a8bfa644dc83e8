package index

import (
	"bytes"
	"errors"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/index/indextest"
)

// walkRow reads a row of heads that begins with the transaction first.
func walkRow(b []byte, first uint32, backward bool) (got []string, err error) {
	w := headsWalk{v: &View{}, span: span{backward: backward}, number: 7, first: first, limit: 1000}
	w.take = func(tx *Tx) bool {
		got = append(got, gotHead(tx))
		return true
	}
	return got, w.row(b)
}

// headsRow returns the row of a block's transactions and what it says of each.
func headsRow(t *testing.T) (row []byte, want []string) {
	t.Helper()
	blocks := indextest.New(indextest.Config{Seed: 41, Txs: headsPer, Full: true}).Blocks(4)
	blk := blocks[3]
	blk.Number = 7
	txs := blk.Txs[:min(headsPer, len(blk.Txs))]
	for i := range txs {
		txs[i].Index = uint32(32 + i)
		want = append(want, headText(7, blk.Hash, blk.TimeMilli, &txs[i]))
	}
	return new(capitals).appendHeads(nil, blk, txs), want
}

// TestHeadsRow: a row says the same in both directions.
func TestHeadsRow(t *testing.T) {
	t.Parallel()
	row, want := headsRow(t)
	for _, backward := range []bool{false, true} {
		got, err := walkRow(row, 32, backward)
		if err != nil {
			t.Fatal(err)
		}
		mustEqual(t, "heads", got, reversedIf(want, backward))
	}
}

func reversedIf(list []string, reverse bool) []string {
	out := append([]string(nil), list...)
	for i := range out {
		if reverse {
			out[i] = list[len(list)-1-i]
		}
	}
	return out
}

// TestHeadsRowDamaged: a row that is too short or too long, or says that it has another
// number of transactions, is an error in whatever direction.
func TestHeadsRowDamaged(t *testing.T) {
	t.Parallel()
	row, want := headsRow(t)
	more, fewer := bytes.Clone(row), bytes.Clone(row)
	at := bytes.IndexByte(row[1+evm.HashLen:], byte(len(want))) + 1 + evm.HashLen
	more[at]++
	fewer[at]--
	damaged := [][]byte{append(bytes.Clone(row), 0), more, fewer, append([]byte{headsVersion - 1}, row[1:]...)}
	for n := range row {
		damaged = append(damaged, row[:n])
	}
	for _, b := range damaged {
		for _, backward := range []bool{false, true} {
			if got, err := walkRow(b, 32, backward); !errors.Is(err, errCodec) {
				t.Fatalf("%d of %d bytes, backward %v: %d heads, %v", len(b), len(row), backward, len(got), err)
			}
		}
	}
}

// TestCapitalsKept: an address says the same whatever else was in its place.
func TestCapitalsKept(t *testing.T) {
	t.Parallel()
	var kept capitals
	for i := range 3 << capitalsBits {
		a := evm.Address{19: byte(i), 18: byte(i >> 8), 0: byte(i >> 3)}
		var want [8]byte
		for k, c := 0, a.Capitals(); c > 0; k, c = k+1, c>>8 {
			want[k] = byte(c)
		}
		if got := kept.append([]byte{9}, &a); !bytes.Equal(got, append([]byte{9}, want[:evm.CapitalsLen]...)) {
			t.Fatalf("%s: %x, want %x", a, got, want)
		}
	}
}
