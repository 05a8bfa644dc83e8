package primary_test

import (
	"errors"
	"testing"

	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/proposer"
)

// TestFuture: a block of a later release is signed as blocks are, has the ID of its bytes,
// and holds what cannot be read: a transaction, where it has one, or the block itself.
func TestFuture(t *testing.T) {
	t.Parallel()
	c, w := made(t, small, world.Params{Validators: 3, Seed: 5})
	read := map[chain.ID]func([]byte) error{
		chain.PlatformChainID: func(b []byte) error { _, err := platform.ParseBlock(b); return err },
		w.XChainID():          func(b []byte) error { _, err := avm.ParseBlock(b); return err },
	}
	for id, list := range map[chain.ID][]*primary.Container{chain.PlatformChainID: c.Platform(), w.XChainID(): c.AVM()} {
		for _, one := range list {
			f := one.Future()
			if f.Height != one.Height || f.ID == one.ID || f.BlockID == one.BlockID {
				t.Fatalf("block %d: %s", one.Height, f.ID)
			}
			if err := read[id](f.Block); !errors.Is(err, codec.ErrType) {
				t.Fatalf("block %d of %s: %v", one.Height, id, err)
			}
			h, err := proposer.Parse(f.Bytes())
			if was, wasErr := proposer.Parse(one.Bytes()); wasErr != nil || read[id](was.Block) != nil {
				continue // it has no header
			}
			if err != nil || h.ID != f.ID || h.Verify(id) != nil {
				t.Fatalf("block %d of %s: %+v, %v", one.Height, id, h, err)
			}
		}
	}
}
