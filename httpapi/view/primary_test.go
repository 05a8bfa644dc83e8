package view

import (
	"strings"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/utxo"
	"quorate/engine/primary"
)

// TestProposer: the header of an option names neither a node, a height nor a time, and none
// is made up. Of a block that nobody signed height and time are known.
func TestProposer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		of     primary.Proposer
		member string
		want   bool
	}{
		{"option", primary.Proposer{ID: chain.ID{1}}, `"proposerPChainHeight"`, false},
		{"option", primary.Proposer{ID: chain.ID{1}}, `"proposerTimestamp"`, false},
		{"unsigned at the first height", primary.Proposer{ID: chain.ID{1}, Time: 5}, `"proposerPChainHeight":0,"proposerTimestamp":5`, true},
		{"unsigned", primary.Proposer{ID: chain.ID{1}, Time: 5}, `"proposerNodeId"`, false},
	} {
		var w Writer
		w.PrimaryBlock(&primary.BlockInfo{Proposer: &c.of})
		if strings.Contains(string(w.B), c.member) != c.want {
			t.Errorf("%s: %s in %s, want %v", c.name, c.member, w.B, c.want)
		}
	}
}

// TestBurnedBesideRefund: what comes back of the balance of an L1's validator was in no
// input, so it does not hide the fee.
func TestBurnedBesideRefund(t *testing.T) {
	t.Parallel()
	coin := chain.ID{9}
	output := func(index uint32, nAVAX uint64) *primary.Output {
		u := &primary.Output{UTXO: utxo.UTXO{Ref: utxo.Ref{Index: index}, Output: utxo.Output{Asset: coin}}}
		u.Kind, u.Amount = utxo.TransferOutput, nAVAX
		return u
	}
	base := utxo.Base{Outputs: make([]utxo.Output, 1)}
	for _, body := range []platform.Body{
		&platform.DisableL1Validator{Base: base},
		&platform.SetL1ValidatorWeight{Base: base},
	} {
		tx := &PrimaryTx{
			Consumed: []*primary.Output{output(0, 1000)},
			Emitted:  []*primary.Output{output(0, 900), output(1, 50_000)},
		}
		got := burned(tx, body)
		if len(got) != 1 || got[0].nAVAX != 100 || len(tx.Emitted) != 2 {
			t.Errorf("%v: burned %v of %d outputs, want 100 of 2", body.Kind(), got, len(tx.Emitted))
		}
	}
}
