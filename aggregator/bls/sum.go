package bls

import (
	blst "github.com/supranational/blst/bindings/go"
)

// KeySum is a sum of public keys. The zero value is the empty sum.
type KeySum struct {
	p blst.P1
}

// SumKeys adds up keys.
func SumKeys(keys []*PublicKey) KeySum {
	if len(keys) == 0 {
		return KeySum{}
	}
	points := make([]*blst.P1Affine, len(keys))
	for i, k := range keys {
		points[i] = &k.p
	}
	return KeySum{*blst.P1AffinesAdd(points)}
}

// Add returns the sum of both.
func (k KeySum) Add(o KeySum) KeySum {
	k.p.AddAssign(&o.p)
	return k
}

// Sub returns the sum without the keys of o.
func (k KeySum) Sub(o KeySum) KeySum {
	k.p.SubAssign(&o.p)
	return k
}

// Equal reports whether both are the same point.
func (k *KeySum) Equal(o *KeySum) bool { return k.p.Equals(&o.p) }

func (k *KeySum) infinite() bool { return k.p.Equals(&blst.P1{}) }

// AggregateSignature is a sum of signatures. Only [Verify] says whether it is
// a valid signature, or even in the subgroup. The zero value is the empty sum.
type AggregateSignature struct {
	p blst.P2Affine
}

// SumSignatures adds up signatures.
func SumSignatures(sigs []*Signature) AggregateSignature {
	if len(sigs) == 0 {
		return AggregateSignature{}
	}
	points := make([]*blst.P2Affine, len(sigs))
	for i, s := range sigs {
		points[i] = &s.p
	}
	return AggregateSignature{*blst.P2AffinesAdd(points).ToAffine()}
}

// DecodeAggregate reads the 96-byte compressed form, as a signed message
// carries it. Like [DecodeSignature] it does not check the subgroup; [Verify] does.
func DecodeAggregate(b []byte) (AggregateSignature, error) {
	var s AggregateSignature
	err := decode(&s.p, b)
	return s, err
}

// Bytes returns the 96-byte compressed form.
func (s AggregateSignature) Bytes() [SignatureLen]byte {
	return [SignatureLen]byte(s.p.Compress())
}

func (s *AggregateSignature) infinite() bool { return s.p == blst.P2Affine{} }
