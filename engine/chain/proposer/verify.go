package proposer

import (
	"fmt"

	"quorate/engine/chain"
	"quorate/engine/chain/staking"
)

// Verify checks that the node of the certificate proposed the block for a chain. A
// header without a certificate must not be signed, and one of Granite must have an
// epoch.
func (h *Header) Verify(chainID chain.ID) error {
	switch {
	case h.Kind == Option:
		return nil
	case h.Kind == Granite && h.Epoch == (Epoch{}):
		return fmt.Errorf("%w: no epoch", ErrSignature)
	case len(h.Certificate) == 0 && len(h.Signature) > 0:
		return fmt.Errorf("%w: no validator could sign", ErrSignature)
	case len(h.Certificate) == 0:
		return nil
	}
	key, err := staking.PublicKey(h.Certificate)
	if err == nil {
		err = staking.Verify(key, h.SignedHash(chainID), h.Signature)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return nil
}
