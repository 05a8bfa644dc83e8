package httpapi

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// certificate returns a certificate for any name, and nobody's trust.
func certificate(t *testing.T) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	// Tickets would be written after the handshake, when nobody reads.
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, SessionTicketsDisabled: true}
}

// pipes is a listener whose connections have no buffer: what one side writes waits
// until the other one reads, as with a peer whose window is shut.
type pipes struct {
	wrap   func(net.Conn) net.Conn
	dialed chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return p.wrap(c), nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// dial returns the client's side of a connection.
func (p *pipes) dial(t *testing.T) net.Conn {
	t.Helper()
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	if err := client.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	p.dialed <- server
	return client
}

// secure serves TLS on connections without buffers.
func secure(t *testing.T, cfg Config, wrap func(net.Conn) net.Conn) (*Server, *pipes) {
	t.Helper()
	s, _ := start(t, cfg)
	conf := certificate(t)
	p := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{}),
		wrap: func(c net.Conn) net.Conn { return tls.Server(wrap(c), conf) }}
	served := make(chan error, 1)
	go func() { served <- s.fast.Serve(&listener{Listener: p, conns: s.conns}) }()
	t.Cleanup(func() {
		_ = p.Close()
		<-served
	})
	return s, p
}

// hello returns what a client sends first.
func hello(t *testing.T) []byte {
	t.Helper()
	client, server := net.Pipe()
	go func() { _ = tls.Client(client, &tls.Config{InsecureSkipVerify: true}).Handshake() }()
	b := make([]byte, 16<<10)
	n, err := server.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	return b[:n]
}

// TestTLSDeadline: the deadline of a request holds for the handshake before it,
// whichever side it waits for.
func TestTLSDeadline(t *testing.T) {
	t.Parallel()
	first := hello(t)
	s, p := secure(t, Config{ReadTimeout: 50 * time.Millisecond}, func(c net.Conn) net.Conn { return c })
	for name, sent := range map[string][]byte{
		"nothing": nil, "a byte": first[:1], "half": first[:len(first)/2],
		"and no answer is read": first,
	} {
		c := p.dial(t)
		if len(sent) > 0 {
			if _, err := c.Write(sent); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, name+": the connection is cut", func() bool { return s.conns.len() == 0 })
	}
	// Each byte of a drip comes in time, and all of them do not.
	c, drip := p.dial(t), time.NewTicker(time.Millisecond)
	defer drip.Stop()
	arrived := 0
	for ; arrived < len(first); arrived++ {
		<-drip.C
		if _, err := c.Write(first[arrived : arrived+1]); err != nil {
			break
		}
	}
	if arrived == len(first) {
		t.Errorf("%d bytes, one a millisecond, arrive within 50 ms", arrived)
	}
	// A handshake without a request.
	done := tls.Client(p.dial(t), &tls.Config{InsecureSkipVerify: true})
	if err := done.Handshake(); err == nil { // on a slow machine the deadline ends it
		_, _ = io.Copy(io.Discard, done)
	}
	eventually(t, "the connection is cut", func() bool { return s.conns.len() == 0 })
}

// stuck is a connection to a peer that stops reading: then a write waits for the close.
type stuck struct {
	net.Conn
	now    atomic.Bool
	closed chan struct{}
	once   sync.Once
}

func (c *stuck) Write(b []byte) (int, error) {
	if c.now.Load() {
		<-c.closed
	}
	return c.Conn.Write(b)
}

func (c *stuck) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestTLSEviction: closing a connection, for another client or at the end, does not
// wait for its peer to take the goodbye of TLS while everybody else waits.
func TestTLSEviction(t *testing.T) {
	t.Parallel()
	accepted := make(chan *stuck, 1)
	s, p := secure(t, Config{MaxConns: 1}, func(c net.Conn) net.Conn {
		raw := &stuck{Conn: c, closed: make(chan struct{})}
		accepted <- raw
		return raw
	})
	established := func() bool {
		s.conns.mu.Lock()
		defer s.conns.mu.Unlock()
		for c := range s.conns.open {
			return c.Conn.(*tls.Conn).ConnectionState().HandshakeComplete
		}
		return false
	}
	for range 3 { // each takes the place of the one before, and the end closes the last
		c := tls.Client(p.dial(t), &tls.Config{InsecureSkipVerify: true})
		if err := c.Handshake(); err != nil {
			t.Fatalf("the place of one that does not read is not free: %v", err)
		}
		eventually(t, "the handshake is complete", established)
		(<-accepted).now.Store(true)
	}
}
