package pchain_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"quorate/devnet/torture"
	"quorate/engine/chain/address"
	"quorate/engine/chain/chaintest"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
	"quorate/engine/primary/pchain"
	store "quorate/engine/store/index"
)

// largest makes a block of 2 MiB, the most since Helicon (under the race detector of half of
// that), behind the recorded ones: it pays
// to as many addresses as there is room for.
func largest(t *testing.T, n *heliconNetwork, last *platform.Block) *primary.Block {
	t.Helper()
	most := codec.MaxLen
	u, err := utxo.ParseUTXO(n.utxos[len(n.utxos)-1], true)
	if err != nil {
		t.Fatal(err)
	}
	pay := &platform.Base{Base: utxo.Base{
		NetworkID: n.cfg.Network, Inputs: []utxo.Input{{Ref: u.Ref, Asset: u.Asset, Amount: u.Amount, Auth: utxo.Auth{Indices: []uint32{0}}}},
	}}
	size := func() int {
		raw, err := (&platform.Block{Kind: platform.BanffStandard, Txs: []platform.Tx{{Body: pay}}}).Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return len(raw)
	}
	add := func() {
		var to address.Address
		binary.BigEndian.PutUint32(to[:], uint32(len(pay.Outputs)))
		pay.Outputs = append(pay.Outputs, utxo.Output{Asset: u.Asset, State: utxo.State{
			Kind: utxo.TransferOutput, Amount: 1, Owners: utxo.Owners{Threshold: 1, Addresses: []address.Address{to}},
		}})
	}
	none := size()
	add()
	for range (most-none)/(size()-none) - 1 {
		add()
	}
	if rest := most - size(); rest > 0 {
		pay.Memo = make([]byte, rest)
	}
	b := following(t, last, platform.BanffStandard, last.Time, pay)
	if b.Platform.Size != most || len(pay.Outputs) < most/110 {
		t.Fatalf("%d bytes, %d outputs", b.Platform.Size, len(pay.Outputs))
	}
	return b
}

// A block of 2 MiB is there as a whole or not at all, wherever the process ends while it is
// written, and what follows is as without the end.
func TestLargestBlock(t *testing.T) {
	t.Parallel()
	n := helicon(t)
	digest := func(c *pchain.Chain) [32]byte {
		t.Helper()
		d, err := c.Digest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	ended := errors.New("the process has ended")
	blocks, left := recordedBlocks(t, n.blocks[1:]), 1<<30
	b := largest(t, n, blocks[len(blocks)-1].Platform)
	indexed := func() (*store.DB, *pchain.Chain) { // up to the block before
		left = 1 << 30
		db, err := store.Open(t.TempDir(), store.Options{MemTableMB: 8, BlockCacheMB: 1, IndexCacheMB: 1, NoSync: true, Room: func() error {
			if left--; left < 0 { // it is asked before each transaction
				return ended
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		c := open(t, db, n.cfg)
		commit(t, c, blocks)
		return db, c
	}
	_, c := indexed()
	before, room := digest(c), left
	commit(t, c, []*primary.Block{b})
	after, all := digest(c), room-left
	if all < 8 {
		t.Fatalf("the block is written in %d transactions", all)
	}
	whole := 0
	cuts := []int{1, all - 1, all / 2, all / 4, 2}[:torture.Pick(2, 5)]
	for _, i := range cuts {
		db, c := indexed()
		left = i
		if err := c.Commit(t.Context(), []*primary.Block{b}); !errors.Is(err, ended) {
			t.Fatalf("cut %d of %d: %v", i, all, err)
		}
		left = 1 << 30
		again := open(t, db, n.cfg)
		switch head, _ := again.Cursor(); {
		case head.Height == b.Platform.Height:
			whole++
		case digest(again) != before:
			t.Fatalf("cut %d: half of a block is there", i)
		default:
			commit(t, again, []*primary.Block{b})
		}
		if digest(again) != after {
			t.Fatalf("cut %d: another digest", i)
		}
	}
	if whole == 0 || whole == len(cuts) {
		t.Errorf("whole after %d of the cuts %v of %d", whole, cuts, all)
	}
}

// recordedBlocks parses recorded blocks as the node handed them out.
func recordedBlocks(t testing.TB, list []chaintest.HeliconBlock) (blocks []*primary.Block) {
	t.Helper()
	for i := range list {
		b, err := primary.Parse(primary.PChain, list[i].Container.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, b)
	}
	return blocks
}
