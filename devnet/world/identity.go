package world

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/big"
	"sync"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/chain"
	"quorate/engine/chain/address"
)

// Validator is one validator: its identity and its stake at genesis.
type Validator struct {
	// Index is the position in [World.Validators].
	Index  int
	NodeID chain.NodeID
	// Weight is the stake at genesis in nAVAX, 0 if it validates L1s only.
	Weight uint64
	// Certificate is the TLS identity. Its key signs deterministically.
	Certificate tls.Certificate
	// Key is the BLS key, PublicKey its public half in compressed form.
	Key       *bls.SecretKey
	PublicKey [bls.PublicKeyLen]byte
	// Keyless says that the P-Chain knows no BLS key of this primary network validator.
	Keyless bool
	// TxID is the transaction that added the validator.
	TxID chain.ID
	// RewardAddress owns the stake and its rewards, in the form P-local1...
	RewardAddress string
	// Reward is that address.
	Reward address.Address

	uncompressed [bls.UncompressedLen]byte
	proof        func() [bls.SignatureLen]byte
}

// Proof returns the proof of possession of the BLS key. It is computed at the first call.
func (v *Validator) Proof() [bls.SignatureLen]byte { return v.proof() }

func (w *World) newValidator(i int) (*Validator, error) {
	index := uint64(i) // i is not negative
	v := &Validator{Index: i, Weight: w.params.weight(i), TxID: w.derive("staker transaction", index),
		Keyless: i >= w.params.Validators-w.params.Keyless && i < w.params.Validators}
	if !w.Primary(i) {
		v.Weight = 0
	}
	var err error
	if v.Certificate, err = w.certificate(index); err != nil {
		return nil, err
	}
	v.NodeID = chain.NodeIDFromCert(v.Certificate.Certificate[0])
	v.Key = bls.SecretKeyFromSeed(w.bytes("BLS key", uint64(w.params.keyOwner(i))))
	public := v.Key.PublicKey()
	v.PublicKey = public.Compressed()
	v.uncompressed = public.Uncompressed()
	v.proof = sync.OnceValue(func() [bls.SignatureLen]byte { return v.Key.SignProof(v.PublicKey[:]) })
	v.Reward = address.Address(w.bytes("reward address", index)[:20])
	v.RewardAddress = pAddress(v.Reward)
	return v, nil
}

// keyOwner returns the validator whose BLS key validator i has.
func (p Params) keyOwner(i int) int {
	if i > 0 && i <= 2*p.SharedKeys && i%2 == 0 {
		return i - 1
	}
	return i
}

// formerNodes is where the numbers of nodes begin that are no validators today.
const formerNodes = 1 << 20

// Former returns a node that is none of [World.Validators]: its index is -1. It may
// have been a validator.
func (w *World) Former(i int) (*Validator, error) {
	v, err := w.newValidator(formerNodes + i)
	if err != nil {
		return nil, fmt.Errorf("former validator %d: %w", i, err)
	}
	v.Index, v.Weight, v.Keyless = -1, 0, false
	return v, nil
}

// WrongKey returns the validator a key that is not its own, for lies.
func (w *World) WrongKey(i int) *bls.SecretKey {
	return bls.SecretKeyFromSeed(w.bytes("wrong BLS key", uint64(i))) // i is not negative
}

// certificate makes a self-signed P-256 certificate. The library's key
// generation and signing are randomised on purpose, so the scalar is derived
// and the signature made without randomness (RFC 6979).
func (w *World) certificate(index uint64) (tls.Certificate, error) {
	key, err := w.tlsKey(index)
	if err != nil {
		return tls.Certificate{}, err
	}
	signer := deterministicSigner{key}
	template := &x509.Certificate{
		SerialNumber:          new(big.Int).SetUint64(index + 1),
		Subject:               pkix.Name{CommonName: "avalanche"},
		NotBefore:             time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), signer)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("making the certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: signer}, nil
}

func (w *World) tlsKey(index uint64) (*ecdsa.PrivateKey, error) {
	// One in 2^32 candidates is not below the group's order; the next is tried then.
	for try := range uint64(8) {
		pre := w.derive("TLS key", index)
		binary.BigEndian.PutUint64(pre[:8], binary.BigEndian.Uint64(pre[:8])^try)
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), pre[:]); err == nil {
			return key, nil
		}
	}
	return nil, errors.New("no P-256 key in eight tries")
}

// deterministicSigner signs the same way every time.
type deterministicSigner struct{ key *ecdsa.PrivateKey }

func (s deterministicSigner) Public() crypto.PublicKey { return s.key.Public() }

func (s deterministicSigner) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return s.key.Sign(nil, digest, opts)
}
