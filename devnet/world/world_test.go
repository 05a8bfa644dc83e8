package world

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"testing"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/p2p/wire"
)

func mustNew(t *testing.T, p Params) *World {
	t.Helper()
	w, err := New(p)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// digest covers everything that the seed decides.
func digest(w *World) string {
	h := sha256.New()
	c, x := w.CChainID(), w.XChainID()
	h.Write(c[:])
	h.Write(x[:])
	for _, v := range w.Validators() {
		proof, secret := v.Proof(), v.Key.Bytes()
		h.Write(v.Certificate.Certificate[0])
		h.Write(v.NodeID[:])
		h.Write(secret[:])
		h.Write(proof[:])
		h.Write([]byte(v.RewardAddress))
		h.Write(v.TxID[:])
	}
	for _, l := range w.L1s() {
		h.Write(l.ConversionID[:])
		h.Write([]byte(l.ControlKey))
	}
	for i := range uint64(100) {
		h.Write(w.Message(i * i).Bytes())
	}
	for _, i := range w.Pick(0.5)[0] {
		h.Write([]byte{byte(i)})
	}
	return hex.EncodeToString(h.Sum(nil))
}

func TestSeedDecidesEverything(t *testing.T) {
	p := Params{Validators: 6, Weights: Zipf, Seed: 42, L1s: 2}
	const golden = "d2c22927497ae8bd596435d5b58f8012be7ed9b87b6f4fb44889cbea17e63ea0"
	got := digest(mustNew(t, p))
	if got != golden {
		t.Errorf("digest of seed 42 is %s, was %s", got, golden)
	}
	p.Seed = 43
	if digest(mustNew(t, p)) == got {
		t.Error("another seed gives the same world")
	}
}

func TestParams(t *testing.T) {
	for _, p := range []Params{
		{Validators: 0}, {Validators: MaxValidators + 1}, {Validators: -1},
		{Validators: 1, Weights: "even"}, {Validators: 1, L1s: 17}, {Validators: 1, L1s: -1},
	} {
		if _, err := New(p); !errors.Is(err, ErrParams) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	w := mustNew(t, Params{Validators: 1})
	if got := w.Params(); got.Weights != Equal || got.Emitted != DefaultEmitted {
		t.Errorf("defaults: %+v", got)
	}
}

func TestIdentities(t *testing.T) {
	w := mustNew(t, Params{Validators: 3, Seed: 1})
	for _, v := range w.Validators() {
		der := v.Certificate.Certificate[0]
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		if err := cert.CheckSignature(cert.SignatureAlgorithm, cert.RawTBSCertificate, cert.Signature); err != nil {
			t.Error(err)
		}
		if _, err := wire.PublicKey(der); err != nil {
			t.Error(err)
		}
		if v.NodeID != chain.NodeIDFromCert(der) {
			t.Error("the node ID is not the certificate's")
		}
		if found, ok := w.Validator(v.NodeID); !ok || found != v {
			t.Error("not found by node ID")
		}
		if key := w.WrongKey(v.Index).PublicKey().Compressed(); key == v.PublicKey {
			t.Error("the wrong key is the right one")
		}
	}
	if _, ok := w.Validator(chain.NodeID{}); ok {
		t.Error("found a node that does not exist")
	}
}

func TestWeights(t *testing.T) {
	equal := mustNew(t, Params{Validators: 4}).Validators()
	for _, v := range equal {
		if v.Weight != 2_000_000_000_000_000 {
			t.Errorf("equal weight %d", v.Weight)
		}
	}
	for i, want := range map[int]uint64{
		0: 3_000_000_000_000_000, 1: 1_500_000_000_000_000, 2: 1_000_000_000_000_000, 4000: 2_000_000_000_000,
	} {
		if got := (Params{Weights: Zipf}).weight(i); got != want {
			t.Errorf("zipf weight %d: %d, want %d", i, got, want)
		}
	}
	var total uint64
	for i := range MaxValidators {
		next := total + Params{Weights: Equal}.weight(i)
		if next < total {
			t.Fatal("the largest network's weights overflow")
		}
		total = next
	}
}

func TestPick(t *testing.T) {
	equal := mustNew(t, Params{Validators: 5, Seed: 3})
	for share, want := range map[float64]int{0: 0, 0.19: 0, 0.2: 1, 0.5: 2, 1: 4, 2: 4, -1: 0, math.NaN(): 0} {
		if got := equal.Pick(share)[0]; len(got) != want || slices.Contains(got, 0) {
			t.Errorf("share %v of five: %v, want %d", share, got, want)
		}
	}
	zipf := mustNew(t, Params{Validators: 50, Weights: Zipf, Seed: 3})
	var total, silent uint64
	for _, v := range zipf.Validators() {
		total += v.Weight
	}
	for _, i := range zipf.Pick(0.3)[0] {
		silent += zipf.Validators()[i].Weight
	}
	if share := float64(silent) / float64(total); share > 0.3 || share < 0.25 {
		t.Errorf("silent share %v, want just below 0.3", share)
	}
}

func TestMessages(t *testing.T) {
	w := mustNew(t, Params{Validators: 1, Seed: 5, Emitted: 10})
	other := mustNew(t, Params{Validators: 1, Seed: 6, Emitted: 10})
	seen := map[chain.ID]bool{}
	for i := range uint64(10) {
		u := w.Message(i)
		if got, ok := w.MessageIndex(u); !ok || got != i {
			t.Errorf("message %d is %d, %v", i, got, ok)
		}
		if _, ok := other.MessageIndex(u); ok {
			t.Errorf("message %d belongs to another world too", i)
		}
		if u.NetworkID != NetworkID || u.SourceChainID != w.CChainID() || seen[u.ID()] {
			t.Errorf("message %d: %+v", i, u)
		}
		seen[u.ID()] = true
		call, err := warp.ParseAddressedCall(u.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if emitter := w.Emitter(); string(call.SourceAddress) != string(emitter[:]) || len(call.Payload) != 64 {
			t.Errorf("message %d: %+v", i, call)
		}
	}
	if _, ok := w.MessageIndex(w.Message(10)); ok {
		t.Error("a message that is not emitted yet counts")
	}
	valid := w.Message(2).Bytes()
	for i := range valid {
		b := slices.Clone(valid)
		b[i] ^= 1
		u, err := warp.Parse(b)
		if err != nil {
			continue
		}
		if index, ok := w.MessageIndex(u); ok {
			t.Errorf("byte %d changed: still message %d", i, index)
		}
	}
}

func TestCanonicalOrder(t *testing.T) {
	w := mustNew(t, Params{Validators: 40, Seed: 9, L1s: 1})
	s, err := w.At(0)
	if err != nil {
		t.Fatal(err)
	}
	for subnet, members := range s.Sets {
		last := ""
		for _, m := range members {
			key, err := bls.ParsePublicKey(m.PublicKey[:])
			if err != nil {
				t.Fatal(err)
			}
			long := key.Uncompressed()
			if string(long[:]) <= last {
				t.Errorf("subnet %s: validator %d is out of order", subnet, m.Index)
			}
			last = string(long[:])
		}
	}
	if n := len(s.Sets[w.L1s()[0].SubnetID]); n != 5 {
		t.Errorf("the L1 has %d validators", n)
	}
}

func TestHistory(t *testing.T) {
	w := mustNew(t, Params{Validators: 3, Seed: 9, L1s: 1})
	if w.Height() != 0 {
		t.Fatalf("height %d at the start", w.Height())
	}
	if h, err := w.Advance(nil); h != 1 || err != nil {
		t.Fatalf("height %d: %v", h, err)
	}
	if h, err := w.Advance(map[int]uint64{1: 7, 2: 0}); h != 2 || err != nil {
		t.Fatalf("height %d: %v", h, err)
	}
	if h, err := w.Advance(map[int]uint64{2: 9}); h != 3 || err != nil {
		t.Fatalf("height %d: %v", h, err)
	}
	if _, err := w.Advance(map[int]uint64{3: 1}); err == nil {
		t.Error("a validator that does not exist got a weight")
	}
	full := uint64(2_000_000_000_000_000)
	for height, want := range []map[int]uint64{
		{0: full, 1: full, 2: full}, {0: full, 1: full, 2: full}, {0: full, 1: 7}, {0: full, 1: 7, 2: 9},
	} {
		s, err := w.At(uint64(height))
		if err != nil {
			t.Fatal(err)
		}
		members := s.Sets[chain.PrimaryNetworkID]
		if len(members) != len(want) || len(s.Sets[w.L1s()[0].SubnetID]) != 3 {
			t.Errorf("height %d: %d members", height, len(members))
		}
		for _, m := range members {
			if m.Weight != want[m.Index] {
				t.Errorf("height %d: validator %d has weight %d, want %d", height, m.Index, m.Weight, want[m.Index])
			}
		}
	}
	if _, err := w.At(4); !errors.Is(err, ErrHeight) {
		t.Errorf("above the tip: %v", err)
	}
}

func TestAddress(t *testing.T) {
	// A real one: the address of the well-known test key on a local network.
	raw, err := hex.DecodeString("3cb7d3842e8cee6a0ebd09f1fe884f6861e1b29c")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pAddress([20]byte(raw)), "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestJustifications(t *testing.T) {
	w := mustNew(t, Params{Validators: 3, Seed: 9, L1s: 1})
	registration := w.ExpiredRegistration()
	raw := registration.Append(nil)
	parsed, err := ParseRegistration(raw)
	if err != nil || parsed != registration {
		t.Errorf("read back %+v, %v", parsed, err)
	}
	for i := range raw {
		if _, err := ParseRegistration(raw[:i]); !errors.Is(err, ErrRegistration) {
			t.Errorf("cut to %d bytes: %v", i, err)
		}
	}
	if _, err := ParseRegistration(append(slices.Clone(raw), 0)); !errors.Is(err, ErrRegistration) {
		t.Errorf("a byte too many: %v", err)
	}
	id, err := warp.RegistrationJustification(RegistrationJustification(raw))
	if err != nil || id != sha256.Sum256(raw) {
		t.Errorf("validation ID %s, %v", id, err)
	}
	subnet := w.L1s()[0].SubnetID
	for _, index := range []uint32{0, 3, math.MaxUint32} {
		id, err := warp.RegistrationJustification(RemovedValidatorJustification(subnet, index))
		if err != nil || id != InitialValidationID(subnet, index) {
			t.Errorf("index %d: validation ID %s, %v", index, id, err)
		}
	}
	for i, m := range w.L1s()[0].Members {
		if m.ValidationID != InitialValidationID(subnet, m.InitialIndex) {
			t.Errorf("member %d has another validation ID", i)
		}
		if got, ok := w.L1Validator(m.ValidationID); !ok || got.NodeID != m.NodeID {
			t.Errorf("member %d not found", i)
		}
	}
}

func FuzzRegistration(f *testing.F) {
	w, err := New(Params{Validators: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(w.ExpiredRegistration().Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRegistration(b)
		if err != nil {
			return
		}
		// Owners are not kept, so only messages without any come back the same.
		if again := r.Append(nil); len(again) > len(b) {
			t.Errorf("%d bytes were read as a message of %d", len(b), len(again))
		}
	})
}

func BenchmarkMessageIndex(b *testing.B) {
	w, err := New(Params{Validators: 1})
	if err != nil {
		b.Fatal(err)
	}
	u := w.Message(77)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := w.MessageIndex(u); !ok {
			b.Fatal("not found")
		}
	}
}
