package reload

import (
	"crypto/tls"
	"log/slog"
)

// maxPEM bounds a certificate chain or a key in bytes.
const maxPEM = 1 << 20

// OpenTLS reads a certificate chain and its key, in PEM, and returns what a server
// speaks TLS with. Both files are read again when they change; connections that
// are open go on.
func OpenTLS(certFile, keyFile string, log *slog.Logger) (*tls.Config, *Value[tls.Certificate], error) {
	v, err := Open(Config[tls.Certificate]{
		Name: "TLS certificate", Paths: []string{certFile, keyFile}, MaxBytes: maxPEM, Logger: log,
		Parse: func(content [][]byte, _ *tls.Certificate) (*tls.Certificate, error) {
			pair, err := tls.X509KeyPair(content[0], content[1])
			return &pair, err
		},
	})
	if err != nil {
		return nil, nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return v.Get(), nil
		},
	}, v, nil
}
