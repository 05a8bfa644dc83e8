// Package staking reads the TLS certificates that name validators, and checks what
// their keys signed: addresses that nodes claim and blocks that they propose. Source:
// staking of avalanchego v1.14.2.
package staking

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
)

// MaxCertificateLen is the longest leaf certificate that nodes accept, in bytes of DER.
const MaxCertificateLen = 2 << 10

var (
	// ErrCertificate is returned for a certificate that nodes would not accept.
	ErrCertificate = errors.New("unacceptable certificate")
	// ErrSignature is returned for what the key did not sign.
	ErrSignature = errors.New("the signature is wrong")
)

// Verify checks the signature of a SHA-256 hash with the key of [PublicKey].
func Verify(key crypto.PublicKey, hash [sha256.Size]byte, sig []byte) error {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(key, hash[:], sig) {
			return nil
		}
	case *rsa.PublicKey:
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, hash[:], sig) == nil {
			return nil
		}
	default:
		return fmt.Errorf("%w: key of type %T", ErrCertificate, key)
	}
	return ErrSignature
}

// PublicKey returns the key of a leaf certificate: ECDSA on P-256, or RSA of
// 2048 or 4096 bits with exponent 65537, as nodes require. It looks at nothing
// but the key: nodes take certificates whose other fields are odd.
func PublicKey(der []byte) (crypto.PublicKey, error) {
	if len(der) > MaxCertificateLen {
		return nil, fmt.Errorf("%w: %d bytes", ErrCertificate, len(der))
	}
	spki, err := subjectKey(der)
	if err != nil {
		return nil, err
	}
	key, err := x509.ParsePKIXPublicKey(spki)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCertificate, err)
	}
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return key, nil
		}
	case *rsa.PublicKey:
		if n := key.N.BitLen(); (n == 2048 || n == 4096) && key.E == 65537 {
			return key, nil
		}
	}
	return nil, fmt.Errorf("%w: key is neither P-256 nor RSA 2048 or 4096", ErrCertificate)
}

// subjectKey cuts the subjectPublicKeyInfo out of a certificate.
func subjectKey(der []byte) ([]byte, error) {
	in := cryptobyte.String(der)
	var cert, tbs, spki cryptobyte.String
	ok := in.ReadASN1(&cert, asn1.SEQUENCE) &&
		cert.ReadASN1(&tbs, asn1.SEQUENCE) &&
		tbs.SkipOptionalASN1(asn1.Tag(0).Constructed().ContextSpecific()) && // version
		tbs.SkipASN1(asn1.INTEGER) && // serial number
		tbs.SkipASN1(asn1.SEQUENCE) && // signature algorithm
		tbs.SkipASN1(asn1.SEQUENCE) && // issuer
		tbs.SkipASN1(asn1.SEQUENCE) && // validity
		tbs.SkipASN1(asn1.SEQUENCE) && // subject
		tbs.ReadASN1Element(&spki, asn1.SEQUENCE)
	if !ok {
		return nil, fmt.Errorf("%w: not a certificate", ErrCertificate)
	}
	return spki, nil
}
