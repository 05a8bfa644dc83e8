package p2p

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// LoadOrCreateCertificate reads our peer identity, certificate and key in one
// PEM file, or makes a new one, ECDSA P-256, if there is no such file. A stable
// identity is what private L1s can put on their list of allowed nodes.
func LoadOrCreateCertificate(path string) (tls.Certificate, error) {
	cert, err := LoadCertificate(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return cert, err
	}
	pair, err := createCertificate(path)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("peer identity: %w", err)
	}
	return parseCertificate(path, pair)
}

// LoadCertificate reads our peer identity. The error of a file that is not there is
// [fs.ErrNotExist].
func LoadCertificate(path string) (tls.Certificate, error) {
	pair, err := os.ReadFile(path)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("peer identity: %w", err)
	}
	return parseCertificate(path, pair)
}

func parseCertificate(path string, pair []byte) (tls.Certificate, error) {
	cert, err := tls.X509KeyPair(pair, pair)
	if err == nil {
		err = checkIdentity(cert)
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("peer identity %s: %w", path, err)
	}
	return cert, nil
}

func createCertificate(path string) ([]byte, error) {
	pair, err := newCertificate()
	if err != nil {
		return nil, err
	}
	return pair, writeAtomically(path, pair)
}

// newCertificate returns a self-signed certificate and its key in PEM. Peers look
// at nothing but the key, so the validity says only that the file is no secret of today.
func newCertificate() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Now().AddDate(100, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	pair := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return append(pair, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})...), nil
}

// writeAtomically leaves either no file or the whole file, readable by us alone.
func writeAtomically(path string, content []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
