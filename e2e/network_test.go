package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/utils/set"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"

	"quorate/e2e/localnet"
	"quorate/e2e/verify"
)

// TestNetwork checks the tools of the other tests: that five nodes run, emit
// messages, survive a crash and a pause, and that the oracle accepts a message
// signed with their keys and nothing less.
func TestNetwork(t *testing.T) {
	w := useNetwork(t)
	messages := w.emit(t, 100)
	distinct := set.Set[string]{}
	for _, m := range messages {
		distinct.Add(string(m.Unsigned))
	}
	if distinct.Len() != len(messages) {
		t.Errorf("%d distinct messages of %d", distinct.Len(), len(messages))
	}
	if got := len(w.oracle.Set.Validators); got != localnet.MaxNodes {
		t.Fatalf("the set has %d validators, want %d", got, localnet.MaxNodes)
	}

	t.Run("oracle", func(t *testing.T) {
		unsigned := messages[0].Unsigned
		for signers := 1; signers <= localnet.MaxNodes; signers++ {
			signed := w.signLocally(t, unsigned, signers)
			report, err := w.oracle.Verify(signed, unsigned, 67, 100)
			if enough := signers >= 4; enough != (err == nil) {
				t.Errorf("%d of 5 signers at quorum 67: error %v", signers, err)
			}
			if err == nil && len(report.Signers) != signers {
				t.Errorf("report of %d signers: %v", signers, report.Signers)
			}
		}
		if _, err := w.oracle.Verify(w.signLocally(t, unsigned, 5), messages[1].Unsigned, 67, 100); err == nil {
			t.Error("accepted a signature over another message")
		}
	})

	t.Run("crash and pause", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), healWait)
		defer cancel()
		w.Stop(4)
		if err := w.Pause(3); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := w.Heal(ctx); err != nil {
			t.Fatal(err)
		}
		t.Logf("all nodes healthy %v after one was killed and one paused", time.Since(begin).Round(time.Millisecond))
		w.emit(t, 3)
	})
}

// signLocally signs with the keys of the first n nodes and gives the signed message.
func (w *world) signLocally(t *testing.T, unsigned []byte, n int) []byte {
	t.Helper()
	return w.signFor(t, w.oracle, unsigned, n)
}

// signFor does so for a validator set.
func (w *world) signFor(t *testing.T, v *verify.Verifier, unsigned []byte, n int) []byte {
	t.Helper()
	bits := set.NewBits()
	var signatures []*bls.Signature
	for i := range n {
		signer, err := localsigner.FromFile(w.release.SignerKey(i))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := signer.Sign(unsigned)
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, signature)
		bits.Add(indexOf(t, v, w.Nodes[i]))
	}
	aggregate, err := bls.AggregateSignatures(signatures)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := warp.ParseUnsignedMessage(unsigned)
	if err != nil {
		t.Fatal(err)
	}
	message, err := warp.NewMessage(parsed, &warp.BitSetSignature{
		Signers:   bits.Bytes(),
		Signature: [bls.SignatureLen]byte(bls.SignatureToBytes(aggregate)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return message.Bytes()
}

// indexOf returns a node's place in the canonical order of the set.
func indexOf(t *testing.T, of *verify.Verifier, node *localnet.Node) int {
	t.Helper()
	for i, v := range of.Set.Validators {
		if slices.Contains(v.NodeIDs, node.NodeID) {
			return i
		}
	}
	t.Fatalf("%s is not in the validator set", node.NodeID)
	return -1
}
