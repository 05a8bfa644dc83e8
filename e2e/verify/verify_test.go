package verify

import (
	"testing"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/snow/validators"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/utils/set"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
)

const networkID = 12345

// weights of the test's validators, 100 in all with the keyless rest of 10.
var weights = []uint64{50, 17, 13, 10}

// world makes a set with known keys; signers are in canonical order.
func world(t *testing.T) (*Verifier, map[ids.NodeID]*localsigner.LocalSigner) {
	t.Helper()
	signers := map[ids.NodeID]*localsigner.LocalSigner{}
	outputs := map[ids.NodeID]*validators.GetValidatorOutput{}
	for _, w := range weights {
		signer, err := localsigner.New()
		if err != nil {
			t.Fatal(err)
		}
		id := ids.GenerateTestNodeID()
		signers[id] = signer
		outputs[id] = &validators.GetValidatorOutput{NodeID: id, PublicKey: signer.PublicKey(), Weight: w}
	}
	keyless := ids.GenerateTestNodeID()
	outputs[keyless] = &validators.GetValidatorOutput{NodeID: keyless, Weight: 10}
	flat, err := validators.FlattenValidatorSet(outputs)
	if err != nil {
		t.Fatal(err)
	}
	return &Verifier{NetworkID: networkID, Set: flat}, signers
}

// sign signs as those validators whose weight is in by, and names them as signers.
func sign(t *testing.T, v *Verifier, keys map[ids.NodeID]*localsigner.LocalSigner, msg *warp.UnsignedMessage, by ...uint64) []byte {
	t.Helper()
	wanted, bits := set.Of(by...), set.NewBits()
	var signatures []*bls.Signature
	for i, w := range v.Set.Validators {
		if !wanted.Contains(w.Weight) {
			continue
		}
		bits.Add(i)
		s, err := keys[w.NodeIDs[0]].Sign(msg.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		signatures = append(signatures, s)
	}
	aggregate, err := bls.AggregateSignatures(signatures)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := warp.NewMessage(msg, &warp.BitSetSignature{
		Signers:   bits.Bytes(),
		Signature: [bls.SignatureLen]byte(bls.SignatureToBytes(aggregate)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return signed.Bytes()
}

func unsigned(t *testing.T, network uint32, payload string) *warp.UnsignedMessage {
	t.Helper()
	msg, err := warp.NewUnsignedMessage(network, ids.GenerateTestID(), []byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

func TestVerify(t *testing.T) {
	t.Parallel()
	v, keys := world(t)
	msg := unsigned(t, networkID, "message")
	signed := sign(t, v, keys, msg, 50, 17)
	report, err := v.Verify(signed, msg.Bytes(), 67, 100)
	if err != nil {
		t.Fatal(err)
	}
	if report.Weight != 67 || report.Total != 100 || len(report.Signers) != 2 {
		t.Errorf("report %+v", report)
	}
	for _, id := range report.Signers {
		if keys[id] == nil {
			t.Errorf("unknown signer %s", id)
		}
	}

	reject := func(name string, signed, unsigned []byte, quorum uint64) {
		t.Helper()
		if _, err := v.Verify(signed, unsigned, quorum, 100); err == nil {
			t.Errorf("accepted: %s", name)
		}
	}
	reject("weight one too low", signed, msg.Bytes(), 68)
	reject("another message", signed, unsigned(t, networkID, "other").Bytes(), 67)
	reject("one byte more", append(signed[:len(signed):len(signed)], 0), msg.Bytes(), 67)
	foreign := unsigned(t, networkID+1, "message")
	reject("another network", sign(t, v, keys, foreign, 50, 17), foreign.Bytes(), 67)
	for i := range signed {
		flipped := append([]byte(nil), signed...)
		flipped[i] ^= 1 << (i % 8)
		reject("one bit flipped", flipped, msg.Bytes(), 1)
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	v, _ := world(t)
	if err := Same(v.Set, v.Set); err != nil {
		t.Error(err)
	}
	different := func(name string, change func(s *validators.WarpSet)) {
		t.Helper()
		s := validators.WarpSet{TotalWeight: v.Set.TotalWeight}
		for _, w := range v.Set.Validators {
			c := *w
			s.Validators = append(s.Validators, &c)
		}
		change(&s)
		if err := Same(v.Set, s); err == nil {
			t.Errorf("%s: taken for the same", name)
		}
	}
	different("total", func(s *validators.WarpSet) { s.TotalWeight++ })
	different("one less", func(s *validators.WarpSet) { s.Validators = s.Validators[1:] })
	different("order", func(s *validators.WarpSet) {
		s.Validators[0], s.Validators[1] = s.Validators[1], s.Validators[0]
	})
	different("weight", func(s *validators.WarpSet) { s.Validators[0].Weight++ })
	different("nodes", func(s *validators.WarpSet) { s.Validators[0].NodeIDs = []ids.NodeID{{1}} })
	different("nothing", func(s *validators.WarpSet) { *s = validators.WarpSet{} })
}
