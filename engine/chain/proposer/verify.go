package proposer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"fmt"

	"quorate/engine/chain"
)

// Verify checks the signature of a header with the key of its certificate. The key
// is the caller's, who knows how lenient peers are with certificates; it is not
// looked at if the header needs no signature. The header of a Granite block must
// have an epoch.
func (h *Header) Verify(chainID chain.ID, key crypto.PublicKey) error {
	if h.Kind == Option {
		return nil
	}
	if h.Kind == Granite && h.Epoch == (Epoch{}) {
		return fmt.Errorf("%w: no epoch", ErrSignature)
	}
	if len(h.Certificate) == 0 {
		if len(h.Signature) > 0 {
			return fmt.Errorf("%w: nobody could sign", ErrSignature)
		}
		return nil
	}
	sum := h.SignedHash(chainID)
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(key, sum[:], h.Signature) {
			return nil
		}
	case *rsa.PublicKey:
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], h.Signature) == nil {
			return nil
		}
	default:
		return fmt.Errorf("%w: key of type %T", ErrSignature, key)
	}
	return ErrSignature
}
