package bench

import (
	"fmt"
	"testing"

	"quorate/engine/chain/evm"
	"quorate/engine/chain/evm/consensus"
)

const (
	// maxVerifyShare is the part of the ingest's processor time that verification
	// may take.
	maxVerifyShare = 0.2
	// sampleOneOf is of how many transactions the sender of one is recovered, at the
	// rate at which two cores ingest: 3% of one core's time goes into that.
	sampleOneOf = 13
)

// verification returns the processor time of what the hashes of the farm's blocks
// are checked with, in microseconds for each transaction.
func (f *farm) verification(t testing.TB) float64 {
	t.Helper()
	s := new(collected)
	_, txs := f.follow(t, s)
	const rounds = 3
	before := cpu()
	for range rounds {
		for _, b := range s.blocks {
			if err := verify(b); err != nil {
				t.Fatalf("block %d: %v", b.Number, err)
			}
		}
	}
	return float64(cpu()-before) / 1e3 / float64(rounds*txs)
}

// verify checks a block as the source does: the hashes of the header and of the
// transactions, both roots, the filters, and a sample of the senders.
func verify(b *evm.Block) error {
	if err := consensus.Check(b); err != nil {
		return err
	}
	for i := 0; i < len(b.Txs); i += sampleOneOf {
		from, err := consensus.Sender(b.Txs[i].Raw)
		if err != nil {
			return err
		}
		if want := b.Txs[i].From; from != want {
			return fmt.Errorf("transaction %d: sender %s, not %s", i, from, want)
		}
	}
	return nil
}
