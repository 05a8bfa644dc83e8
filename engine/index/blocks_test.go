package index

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/holiman/uint256"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
	"quorate/engine/index/indextest"
	store "quorate/engine/store/index"
)

// blockTexts are the blocks of the oracle, oldest first; those from counted on with
// the number of transactions.
func (o *oracle) blockTexts(counted uint64) []string {
	list := []string{}
	txs := 0
	for _, b := range o.blocks {
		fees := new(big.Int)
		for _, tx := range b.Txs {
			fees.Add(fees, new(big.Int).Mul(big.NewInt(int64(tx.GasUsed)), tx.GasPrice.ToBig()))
		}
		n := "unknown"
		if b.Number >= counted {
			txs += len(b.Txs)
			n = fmt.Sprint(txs)
		}
		list = append(list, fmt.Sprintf("%d %s %s %d of %s, fees %s", b.Number, b.Hash, b.Parent, len(b.Txs), n, fees))
	}
	return list
}

func blockText(b *Block) string {
	n := "unknown"
	if b.Txs != nil {
		n = fmt.Sprint(*b.Txs)
	}
	return fmt.Sprintf("%d %s %s %d of %s, fees %s", b.Number, b.Hash, b.Parent, b.TxCount, n, b.Fees.Dec())
}

// countedFrom is the first block whose transactions a view counts.
func countedFrom(v *View) uint64 {
	if !v.at.has(store.TableTxCounts) {
		return ^uint64(0)
	}
	return v.from[partSums]
}

func compareBlocks(t *testing.T, v *View, o *oracle, p Page) {
	t.Helper()
	want := o.blockTexts(countedFrom(v))
	got := all(t, p, func(p Page) ([]string, []byte, error) {
		return rowsOf(func(take func(*Block) bool) ([]byte, error) { return v.Blocks(p, take) }, blockText)
	})
	mustEqual(t, "blocks", got, reversedIf(want, !p.Ascending))
	for i, b := range o.blocks {
		one, found, err := v.BlockAt(b.Number)
		if err != nil || !found || blockText(&one) != want[i] {
			t.Fatalf("block %d: %v, %v, %s", b.Number, found, err, blockText(&one))
		}
	}
	if _, found, err := v.BlockAt(v.Tip().Number + 1); found || err != nil {
		t.Fatalf("the block above the last one: %v, %v", found, err)
	}
}

// younger takes tables away that a chain did not have before they were known, and
// makes its headers those of that time.
func younger(t *testing.T, c *Chain, blocks []*evm.Block) *Chain {
	t.Helper()
	cur := *c.last.Load()
	old := *cur.places
	old.of[store.TableBlocks].version = 1
	old = *old.without(partSums)
	list := []row{{old.rowKey(rowServing), old.append(nil)}}
	if cur.from != (begins{}) {
		list = append(list, row{old.rowKey(rowBegins), cur.from.append(nil)[:oldBeginsLen]})
	}
	for _, b := range blocks {
		list = append(list, row{old.key(store.TableBlocks).u64(b.Number), appendHeader(nil, b, nil, nil)})
	}
	if err := c.putRows(list...); err != nil {
		t.Fatal(err)
	}
	return reopen(t, c)
}

// TestOldBlocks: a folder without what blocks cost, and without the counts of
// transactions, says the costs from the transactions and counts nothing, goes on, and
// is filled from the archive: then it is what a new one is.
func TestOldBlocks(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 35, Txs: 5}).Blocks(60)
	for _, first := range []int{0, 20} {
		c, clean := begun(t, blocks[:40], first), begun(t, blocks, first)
		c = younger(t, c, blocks[first:40])
		commit(t, c, blocks[40:50], 4)
		o := recompute(blocks, 49)
		o.blocks = o.blocks[first:]
		for _, asc := range []bool{false, true} {
			compareBlocks(t, at(t, c, nil), o, Page{Limit: 7, Ascending: asc, To: ^uint64(0)})
		}
		rebuild(t, c, &archive{blocks: blocks}, c.Stale()...)
		if stale := c.Stale(); len(stale) > 0 || countedFrom(at(t, c, nil)) != uint64(first) {
			t.Errorf("stale are %v, counted from %d", stale, countedFrom(at(t, c, nil)))
		}
		commit(t, c, blocks[50:], 3)
		compareBlocks(t, at(t, c, nil), &oracle{blocks: blocks[first:]}, Page{Limit: 7, To: ^uint64(0)})
		if digest(t, c) != digest(t, clean) {
			t.Errorf("from %d on: not what a new index is", first)
		}
	}
}

// TestBlocksBelow: older blocks that come later are counted when all are there.
func TestBlocksBelow(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 36, Txs: 5}).Blocks(60)
	c := begun(t, blocks, 40)
	if err := c.CommitBelow(t.Context(), blocks[10:40]); err != nil {
		t.Fatal(err)
	}
	for _, asc := range []bool{false, true} {
		compareBlocks(t, at(t, c, nil), &oracle{blocks: blocks[10:]}, Page{Limit: 7, Ascending: asc, To: ^uint64(0)})
	}
	if err := c.CommitBelow(t.Context(), blocks[:10]); err != nil {
		t.Fatal(err)
	}
	rebuild(t, c, &archive{blocks: blocks}, c.Stale()...)
	compareBlocks(t, at(t, c, nil), recompute(blocks, 59), Page{Limit: 7, To: ^uint64(0)})
}

// TestGasCost: what a block itself costs is what its header says.
func TestGasCost(t *testing.T) {
	t.Parallel()
	blocks := indextest.New(indextest.Config{Seed: 37, Txs: 2}).Blocks(5)
	for i, cost := range []*uint256.Int{1: nil, 2: uint256.NewInt(0), 3: uint256.NewInt(123456)} {
		if i > 0 {
			h := consensus.Header{BlockGasCost: cost}
			if cost != nil {
				h.BaseFee = uint256.NewInt(1)
			}
			blocks[i].Header = h.Append(nil)
		}
	}
	blocks[4].Header = []byte("no header")
	c := openChain(t, Options{})
	commit(t, c, blocks, 3)
	v := at(t, c, nil)
	for i, want := range []string{"unknown", "0", "0", "123456", "unknown"} {
		b, _, err := v.BlockAt(uint64(i))
		got := "unknown"
		if b.GasCost != nil {
			got = b.GasCost.Dec()
		}
		if err != nil || got != want {
			t.Errorf("block %d costs %s, want %s, %v", i, got, want, err)
		}
	}
}
