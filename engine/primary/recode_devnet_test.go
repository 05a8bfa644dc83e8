package primary_test

import (
	"bytes"
	"testing"

	"quorate/devnet"
	made "quorate/devnet/primary"
	"quorate/engine/primary"
)

// TestRecodeNetwork: every container of a simulated network is encoded again as it was:
// C-Chain blocks with transactions of all types, imports and exports among them.
func TestRecodeNetwork(t *testing.T) {
	t.Parallel()
	d, err := devnet.New(devnet.Config{Blocks: 60, TxsPerBlock: 4, PrimaryBlocks: 400})
	if err != nil {
		t.Fatal(err)
	}
	p := d.Primary()
	for kind, list := range map[primary.Kind][]*made.Container{
		primary.PChain: p.Platform(), primary.XChain: p.AVM(), primary.XVertices: p.Vertices(), primary.CChain: p.Core(),
	} {
		headers, txs, moved := 0, 0, 0
		for i, c := range list {
			raw := c.Bytes()
			got, err := primary.Recode(kind, raw)
			if err != nil || !bytes.Equal(got, raw) {
				t.Fatalf("%s %d: %x is written as %x, %v", kind, i, raw, got, err)
			}
			b, err := primary.Parse(kind, raw)
			if err != nil {
				t.Fatal(err)
			}
			if b.Header != nil {
				headers++
			}
			if b.EVM != nil {
				moved += len(b.EVM.Atomic)
			}
			txs += b.Link().Txs
		}
		if len(list) < 50 || txs < 50 || (headers > 0) == (kind == primary.XVertices) || (moved > 0) != (kind == primary.CChain) {
			t.Errorf("%s: %d containers, %d of them with a header, with %d transactions, %d of them atomic", kind, len(list), headers, txs, moved)
		}
	}
}
