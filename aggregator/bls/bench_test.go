package bls

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"

	blst "github.com/supranational/blst/bindings/go"
)

// fixture is a message with keys and valid signatures.
type fixture struct {
	text []byte
	msg  *Message
	keys []*PublicKey
	raw  [][SignatureLen]byte
	sigs []*Signature
}

func newFixture(tb testing.TB, n int) *fixture {
	tb.Helper()
	f := &fixture{text: []byte("quorate: a message that all of them sign")}
	f.msg = HashMessage(f.text)
	signers.Lock()
	defer signers.Unlock()
	for i := len(signers.sigs); i < n; i++ {
		sk := SecretKeyFromSeed(binary.BigEndian.AppendUint32(nil, uint32(i)))
		raw := sk.Sign(f.text)
		sig, err := DecodeSignature(raw[:])
		if err != nil {
			tb.Fatal(err)
		}
		signers.keys, signers.raw, signers.sigs = append(signers.keys, sk.PublicKey()), append(signers.raw, raw), append(signers.sigs, sig)
	}
	f.keys, f.raw, f.sigs = slices.Clone(signers.keys[:n]), slices.Clone(signers.raw[:n]), slices.Clone(signers.sigs[:n])
	return f
}

// signers are those of all fixtures, whose signatures are made once.
var signers struct {
	sync.Mutex
	fixture
}

var sizes = []int{5, 100, 1000}

// BenchmarkFloor is what every signature checked by itself costs, as the plain
// library does it.
func BenchmarkFloor(b *testing.B) {
	for _, n := range sizes {
		f := newFixture(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for i := range n {
					var sig blst.P2Affine
					if sig.Uncompress(f.raw[i][:]) == nil || !sig.Verify(true, &f.keys[i].p, false, f.text, []byte(signatureDST)) {
						b.Fatal("invalid")
					}
				}
			}
		})
	}
}

// BenchmarkAggregate is decoding, summing and checking the sum, with nothing kept.
func BenchmarkAggregate(b *testing.B) {
	for _, n := range sizes {
		f := newFixture(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			sigs := make([]Signature, n)
			ptrs := make([]*Signature, n)
			for i := range sigs {
				ptrs[i] = &sigs[i]
			}
			for b.Loop() {
				for i := range n {
					if err := DecodeSignatureInto(&sigs[i], f.raw[i][:]); err != nil {
						b.Fatal(err)
					}
				}
				key, sum := SumKeys(f.keys), SumSignatures(ptrs)
				if !Verify(&key, HashMessage(f.text), &sum) {
					b.Fatal("invalid")
				}
			}
		})
	}
}

func BenchmarkVerifyBatch(b *testing.B) {
	for _, m := range []int{1, 2, 8, 32} {
		checks := make([]Check, m)
		for i := range checks {
			checks[i] = newCheck(b, i, 5)
		}
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, ok := range VerifyBatch(checks) {
					if !ok {
						b.Fatal("invalid")
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*m), "us/aggregate")
		})
	}
}

func BenchmarkPrune(b *testing.B) {
	for _, n := range sizes {
		for _, bad := range []int{1, 3, 20} {
			if bad >= n {
				continue
			}
			f := newFixture(b, n)
			for k := range bad {
				f.sigs[(k*n/bad+n/7)%n] = f.sigs[(k*n/bad+n/7+1)%n]
			}
			b.Run(fmt.Sprintf("n=%d/bad=%d", n, bad), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got := Prune(f.keys, f.sigs, f.msg); len(got) != bad {
						b.Fatal(got)
					}
				}
			})
		}
	}
}

func BenchmarkParts(b *testing.B) {
	f := newFixture(b, 1000)
	loop := func(name string, do func()) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
	var sig Signature
	key, sum := SumKeys(f.keys), SumSignatures(f.sigs)
	compressed := f.keys[0].Compressed()
	loop("Decode", func() { _ = DecodeSignatureInto(&sig, f.raw[0][:]) })
	loop("Subgroup", func() { f.sigs[0].InSubgroup() })
	loop("ParseKey", func() { _, _ = ParsePublicKey(compressed[:]) })
	loop("Hash", func() { HashMessage(f.text) })
	loop("SumKeys1000", func() { SumKeys(f.keys) })
	loop("SumSignatures1000", func() { SumSignatures(f.sigs) })
	loop("Verify", func() { Verify(&key, f.msg, &sum) })
	loop("Pairing", func() { pairs(&f.keys[0].p, &f.msg.h, &f.sigs[0].p) })
}

func newCheck(tb testing.TB, seed, n int) Check {
	tb.Helper()
	text := fmt.Append(nil, "message ", seed)
	var keys []*PublicKey
	var sigs []*Signature
	for i := range n {
		sk := SecretKeyFromSeed(fmt.Append(nil, "signer ", i))
		raw := sk.Sign(text)
		sig, err := DecodeSignature(raw[:])
		if err != nil {
			tb.Fatal(err)
		}
		keys, sigs = append(keys, sk.PublicKey()), append(sigs, sig)
	}
	return Check{Key: SumKeys(keys), Msg: HashMessage(text), Sig: SumSignatures(sigs)}
}
