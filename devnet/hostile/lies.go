package hostile

import (
	"bytes"
	"encoding/binary"

	"quorate/aggregator/bls"
	"quorate/devnet/validator"
)

// compressed and sign are bits of the first byte of a compressed point.
const (
	compressedBit = 0x80
	infinityBit   = 0x40
	signBit       = 0x20
)

// lie replaces what would have been a signature; refusals stay honest.
func lie(f func(req *validator.Request, sig []byte) validator.Reply) validator.Behaviour {
	return func(req *validator.Request, honest func() validator.Reply) validator.Reply {
		r := honest()
		if r.Outcome != validator.Answered {
			return r
		}
		return f(req, r.Signature)
	}
}

// signatureLie answers with other bytes in place of the signature. f may keep
// and change what it gets.
func signatureLie(f func(sig []byte) []byte) validator.Behaviour {
	return lie(func(_ *validator.Request, sig []byte) validator.Reply {
		return validator.Reply{Outcome: validator.Answered, Signature: f(bytes.Clone(sig))}
	})
}

// SignWith signs what it should, but with the given key.
func SignWith(key *bls.SecretKey) validator.Behaviour {
	return lie(func(req *validator.Request, _ []byte) validator.Reply {
		sig := key.Sign(req.Message)
		return validator.Reply{Outcome: validator.Answered, Signature: sig[:]}
	})
}

// signOther signs the message with its last bit changed.
func signOther(key *bls.SecretKey) validator.Behaviour {
	return lie(func(req *validator.Request, _ []byte) validator.Reply {
		other := bytes.Clone(req.Message)
		other[len(other)-1] ^= 1
		sig := key.Sign(other)
		return validator.Reply{Outcome: validator.Answered, Signature: sig[:]}
	})
}

// cancelling adds the signature of key to the validator's own, or takes it away:
// so the point is another one for each message, and the same for both of a pair.
func cancelling(key *bls.SecretKey, negative bool) validator.Behaviour {
	return lie(func(req *validator.Request, own []byte) validator.Reply {
		d := key.Sign(req.Message)
		if negative {
			d[0] ^= signBit // the other root y of the same x: the negative point
		}
		var parts [2]bls.Signature
		if bls.DecodeSignatureInto(&parts[0], own) != nil || bls.DecodeSignatureInto(&parts[1], d[:]) != nil {
			return validator.Reply{} // never, as both were made by Sign
		}
		sum := bls.SumSignatures([]*bls.Signature{&parts[0], &parts[1]}).Bytes()
		return validator.Reply{Outcome: validator.Answered, Signature: sum[:]}
	})
}

func infinity() [bls.SignatureLen]byte {
	return [bls.SignatureLen]byte{compressedBit | infinityBit}
}

// garbage has an x above the field's modulus.
func garbage() []byte { return bytes.Repeat([]byte{0xff &^ infinityBit}, bls.SignatureLen) }

// outsideSubgroup returns the point with the smallest whole x = 1, 2, 3... for
// which the curve of G2 has one. Only one in 2^254 points of the curve lies in
// the subgroup, and this one does not: the tests check it.
func outsideSubgroup() [bls.SignatureLen]byte {
	for x := uint64(1); ; x++ { // every other x is on the curve
		b := [bls.SignatureLen]byte{compressedBit}
		binary.BigEndian.PutUint64(b[len(b)-8:], x)
		if _, err := bls.DecodeSignature(b[:]); err == nil {
			return b
		}
	}
}
