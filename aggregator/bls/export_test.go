package bls

import (
	"fmt"

	blst "github.com/supranational/blst/bindings/go"
)

// SecretKeyFromBytes reads the 32-byte big-endian form.
func SecretKeyFromBytes(b []byte) (*SecretKey, error) {
	if len(b) != SecretKeyLen {
		return nil, fmt.Errorf("secret key: %w: want %d bytes, got %d", ErrLength, SecretKeyLen, len(b))
	}
	sk := new(blst.SecretKey).Deserialize(b)
	if sk == nil {
		return nil, ErrSecretKey
	}
	return newSecretKey(sk), nil
}
