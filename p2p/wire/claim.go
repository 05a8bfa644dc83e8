package wire

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/crypto/cryptobyte"
	"golang.org/x/crypto/cryptobyte/asn1"
	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
)

const (
	// MaxCertificateLen is the longest leaf certificate peers accept, in bytes of DER.
	MaxCertificateLen = 2 << 10
	// ClaimLen is the length of the signed part of a claim.
	ClaimLen = 16 + 2 + 8
)

var (
	// ErrCertificate is returned for a certificate that peers would not accept.
	ErrCertificate = errors.New("unacceptable certificate")
	// ErrClaimSignature is returned for a claim that its certificate's key did not sign.
	ErrClaimSignature = errors.New("the claim's signature is wrong")
)

// ClaimedIP is a node's signed statement of where it can be reached. The
// newest one counts.
type ClaimedIP struct {
	// Certificate is the node's TLS leaf in DER form; its hash is the node ID.
	Certificate []byte
	Addr        netip.AddrPort
	// Timestamp is when the claim was signed, Unix seconds.
	Timestamp uint64
	Signature []byte
	// TxID is unused in the protocol of today, and zero.
	TxID chain.ID
}

// NodeID returns the ID of the node that makes the claim.
func (c *ClaimedIP) NodeID() chain.NodeID { return chain.NodeIDFromCert(c.Certificate) }

// Verify checks that the certificate's key signed the claim. It does not look
// at the time: refuse claims from the future.
func (c *ClaimedIP) Verify() error {
	key, err := PublicKey(c.Certificate)
	if err != nil {
		return err
	}
	return VerifyClaim(key, c.Addr, c.Timestamp, c.Signature)
}

func (c *ClaimedIP) append(dst []byte, num protowire.Number) []byte {
	dst, start := open(dst, num)
	dst = appendBytes(dst, 1, c.Certificate)
	dst = appendAddr(dst, 2, c.Addr)
	dst = appendUint(dst, 4, c.Timestamp)
	dst = appendBytes(dst, 5, c.Signature)
	dst = appendBytes(dst, 6, c.TxID[:])
	return shut(dst, start)
}

func (c *ClaimedIP) parse(outer *fields) {
	claim := addrField{num: 2}
	f := fields{rest: outer.bytes()}
	for f.next() {
		claim.take(&f)
		switch f.num {
		case 1:
			c.Certificate = f.bytes()
		case 4:
			c.Timestamp = f.uint64()
		case 5:
			c.Signature = f.bytes()
		case 6:
			f.id(&c.TxID)
		}
	}
	c.Addr = claim.addrPort()
	if f.err != nil {
		outer.fail(f.err)
	}
}

// addrField gathers an address and its port, fields num and num+1.
type addrField struct {
	num  protowire.Number
	addr netip.Addr
	port uint16
}

func (a *addrField) take(f *fields) {
	switch f.num {
	case a.num:
		a.addr = f.addr()
	case a.num + 1:
		a.port = f.port()
	}
}

func (a *addrField) addrPort() netip.AddrPort { return netip.AddrPortFrom(a.addr, a.port) }

// AppendClaim appends the bytes that a claim's signatures cover:
//
//	address (16 B, IPv4 mapped) | port (u16 BE) | Unix seconds (u64 BE)
//
// The TLS key signs their SHA-256, a BLS key the bytes themselves.
func AppendClaim(dst []byte, addr netip.AddrPort, timestamp uint64) []byte {
	ip := addr.Addr().As16()
	dst = append(dst, ip[:]...)
	dst = binary.BigEndian.AppendUint16(dst, addr.Port())
	return binary.BigEndian.AppendUint64(dst, timestamp)
}

// SignClaim signs a claim with a TLS key, ECDSA or RSA.
func SignClaim(key crypto.Signer, addr netip.AddrPort, timestamp uint64) ([]byte, error) {
	sum := sha256.Sum256(AppendClaim(nil, addr, timestamp))
	return key.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// VerifyClaim checks a claim's signature with the key of [PublicKey].
func VerifyClaim(key crypto.PublicKey, addr netip.AddrPort, timestamp uint64, sig []byte) error {
	if !addr.Addr().IsValid() {
		return fmt.Errorf("%w: no address", ErrMalformed)
	}
	sum := sha256.Sum256(AppendClaim(nil, addr, timestamp))
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		if ecdsa.VerifyASN1(key, sum[:], sig) {
			return nil
		}
	case *rsa.PublicKey:
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig) == nil {
			return nil
		}
	default:
		return fmt.Errorf("%w: key of type %T", ErrCertificate, key)
	}
	return ErrClaimSignature
}

// PublicKey returns the key of a leaf certificate: ECDSA on P-256, or RSA of
// 2048 or 4096 bits with exponent 65537, as peers require. It looks at nothing
// but the key: peers take certificates whose other fields are odd.
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
