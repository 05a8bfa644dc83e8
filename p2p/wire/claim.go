package wire

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"google.golang.org/protobuf/encoding/protowire"

	"quorate/engine/chain"
	"quorate/engine/chain/staking"
)

const (
	// MaxCertificateLen is the longest leaf certificate peers accept, in bytes of DER.
	MaxCertificateLen = staking.MaxCertificateLen
	// ClaimLen is the length of the signed part of a claim.
	ClaimLen = 16 + 2 + 8
)

var (
	// ErrCertificate is returned for a certificate that peers would not accept.
	ErrCertificate = staking.ErrCertificate
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
	err := staking.Verify(key, sum, sig)
	if errors.Is(err, staking.ErrSignature) {
		return ErrClaimSignature
	}
	return err
}

// PublicKey returns the key of a leaf certificate that peers accept.
func PublicKey(der []byte) (crypto.PublicKey, error) { return staking.PublicKey(der) }
