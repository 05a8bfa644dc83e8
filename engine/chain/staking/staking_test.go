package staking

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"testing"
	"time"
)

func certificate(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "node"}, NotAfter: time.Unix(1<<32, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func TestVerify(t *testing.T) {
	t.Parallel()
	onCurve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ofPrimes, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, signer := range []crypto.Signer{onCurve, ofPrimes} {
		key, err := PublicKey(certificate(t, signer))
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256([]byte("what is signed"))
		sig, err := signer.Sign(rand.Reader, hash[:], crypto.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(key, hash, sig); err != nil {
			t.Errorf("%T: %v", key, err)
		}
		hash[0] ^= 1
		if err := Verify(key, hash, sig); !errors.Is(err, ErrSignature) {
			t.Errorf("%T, another hash: got %v", key, err)
		}
		if err := Verify(key, hash, nil); !errors.Is(err, ErrSignature) {
			t.Errorf("%T, no signature: got %v", key, err)
		}
	}
	if err := Verify("a string", [32]byte{}, nil); !errors.Is(err, ErrCertificate) {
		t.Errorf("no key: got %v", err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	long, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der := certificate(t, good)
	for what, bad := range map[string][]byte{
		"nothing": nil, "half": der[:len(der)/2], "P-384": certificate(t, long), "too long": append(der, make([]byte, MaxCertificateLen)...),
	} {
		if key, err := PublicKey(bad); !errors.Is(err, ErrCertificate) {
			t.Errorf("%s: got %v, %v", what, key, err)
		}
	}
}

func FuzzPublicKey(f *testing.F) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(certificate(f, key))
	f.Fuzz(func(_ *testing.T, der []byte) { _, _ = PublicKey(der) })
}
