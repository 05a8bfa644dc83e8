package cchain

import (
	"errors"
	"slices"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/address"
	"quorate/engine/chain/atomic"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/proposer"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

var (
	xChain  = chain.ID{4}
	avax    = chain.ID{5}
	account = evm.Address{6}
	wallet  = address.Address{7}
)

func exportTx(id byte) atomic.Tx {
	return atomic.Tx{
		ID: chain.ID{1, id}, Kind: atomic.Export, Peer: xChain, Accounts: []atomic.Account{{Address: account, Amount: 9, Asset: avax}},
		Exported: []utxo.Output{{Asset: avax, State: utxo.State{Kind: utxo.TransferOutput, Amount: 8, Owners: utxo.Owners{Threshold: 1, Addresses: []address.Address{wallet}}}}},
	}
}

func importTx(id, spends byte) atomic.Tx {
	return atomic.Tx{
		ID: chain.ID{2, id}, Kind: atomic.Import, Peer: xChain, Accounts: []atomic.Account{{Address: account, Amount: 7, Asset: avax}},
		Imported: []utxo.Input{{Ref: utxo.Ref{TxID: chain.ID{3, spends}}, Asset: avax, Amount: 8}},
	}
}

func coreBlock(number uint64, txs ...atomic.Tx) *primary.Block {
	return &primary.Block{
		Chain:  primary.CChain,
		Header: &proposer.Header{ID: chain.ID{8, byte(number)}, PChainHeight: 3, Time: 40},
		EVM: &primary.CoreBlock{
			Number: number, Hash: evm.Hash{9, byte(number)}, Parent: evm.Hash{9, byte(number - 1)}, TimeMilli: number * 1500, Size: 77, Txs: 2, Atomic: txs,
		},
	}
}

// Imports, exports and proposers of blocks are found.
func TestRows(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c, err := Open(db, 5)
	if err != nil {
		t.Fatal(err)
	}
	ex, im := exportTx(1), importTx(1, 1)
	if err := c.Commit(t.Context(), []*primary.Block{coreBlock(1), coreBlock(2, ex), coreBlock(3, im, exportTx(2))}); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(t.Context(), []*primary.Block{coreBlock(4, importTx(2, 1))}); !errors.Is(err, primary.ErrSpent) {
		t.Errorf("imported twice: %v", err)
	}
	v, err := c.View(primary.CChain)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	b, found, err := v.BlockAt(3)
	if err != nil || !found || b.Time != 4 || !slices.Equal(b.Txs, []chain.ID{im.ID, exportTx(2).ID}) || b.Proposer == nil || b.Proposer.PChainHeight != 3 {
		t.Errorf("block 3: %+v, %v, %v", b, found, err)
	}
	for a, want := range map[address.Address]int{wallet: 2, address.Address(account): 3} {
		n := 0
		if _, err := v.Txs([]address.Address{a}, primary.TimeRange{}, primary.Page{Limit: 9}, func(*primary.TxRow) (primary.Result, error) {
			n++
			return primary.Taken, nil
		}); err != nil || n != want {
			t.Errorf("address %x has part in %d transactions, want %d: %v", a[0], n, want, err)
		}
	}
	out := utxo.Ref{TxID: ex.ID}
	if u, found, err := v.Output(out.ID()); err != nil || !found || u.State != primary.Exported || u.Other != xChain || u.Amount != 8 {
		t.Errorf("exported: %+v, %v, %v", u, found, err)
	}
	if u, found, err := v.Output(im.Imported[0].Ref.ID()); err != nil || !found || u.State != primary.Spent || u.SpentBy != im.ID || u.Known {
		t.Errorf("imported: %+v, %v, %v", u, found, err)
	}
}

// What imports and exports burn is what they take and do not make, by days.
func TestBurned(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	c, err := Open(db, 5)
	if err != nil {
		t.Fatal(err)
	}
	const day = 24 * 60 * 60
	free := exportTx(9)
	free.Accounts[0].Amount = 8
	other := importTx(8, 8)
	other.Accounts[0].Asset, other.Imported[0].Asset = chain.ID{77}, chain.ID{77}
	blocks := []*primary.Block{
		coreBlock(1), coreBlock(2, exportTx(1), importTx(1, 1)), coreBlock(3, exportTx(2)), coreBlock(4, free, other), coreBlock(5, importTx(2, 2)), coreBlock(6),
	}
	for i, at := range []uint64{3, 5, 5, 6, 9, 10} {
		blocks[i].EVM.TimeMilli = (at*day + 7) * 1000
	}
	if err := c.Commit(t.Context(), blocks); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(primary.CChain)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for _, before := range []uint64{0, 9*day + 1, 9 * day, 5 * day, 1} {
		var got []primary.BurnedDay
		if known, err := v.BurnedDays(avax, before, func(d *primary.BurnedDay) bool {
			got = append(got, *d)
			return true
		}); err != nil || !known {
			t.Fatal(known, err)
		}
		var want []primary.BurnedDay
		for _, d := range [][3]uint64{{10, 4, 0}, {9, 4, 1}, {8, 3, 0}, {7, 3, 0}, {6, 3, 0}, {5, 3, 3}} {
			if at := d[0] * day; before == 0 || at < before {
				want = append(want, primary.BurnedDay{Time: at, Total: d[1], Today: d[2]})
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("before %d: %v, want %v", before, got, want)
		}
	}
}
