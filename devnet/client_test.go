package devnet

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// client is a small peer that has finished its handshake.
type client struct {
	conn  *tls.Conn
	codec *wire.Codec
	id    uint32
	peers []wire.ClaimedIP // of the handshake's answer
	bg    sync.WaitGroup   // of later
}

var clients sync.Map // *testing.T to []*client, for closeClients

func closeClients(t *testing.T) {
	list, _ := clients.LoadAndDelete(t)
	for _, c := range list.([]*client) {
		_ = c.conn.Close()
		c.bg.Wait()
	}
}

func tryDialTCP(t *testing.T, d *Devnet, i int) (net.Conn, error) {
	t.Helper()
	conn, err := net.Dial("tcp", live{d}.Address(i).String())
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, err
}

// tryDial connects with an identity of its own and does the TLS handshake.
func tryDial(t *testing.T, d *Devnet, i int) (*tls.Conn, error) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tryDialTCP(t, d, i)
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, &tls.Config{
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, // the node ID is checked
	})
	if err := conn.Handshake(); err != nil {
		return nil, err
	}
	if id := chain.NodeIDFromCert(conn.ConnectionState().PeerCertificates[0].Raw); id != d.World().Validators()[i].NodeID {
		t.Errorf("validator %d shows the certificate of %s", i, id)
	}
	now := uint64(time.Now().Unix())
	h := &wire.Handshake{
		NetworkID: world.NetworkID, MyTime: now, Addr: netip.MustParseAddrPort("0.0.0.0:1"), IPSigningTime: now,
		Client: release(),
	}
	if h.IPNodeIDSig, err = wire.SignClaim(crypto.Signer(key), h.Addr, now); err != nil {
		t.Fatal(err)
	}
	proof := bls.SecretKeyFromSeed([]byte("a client of the simulated network")).SignProof([]byte("any"))
	h.IPBLSSig = proof[:]
	b := wire.AppendFrame(nil, h.Append(nil))
	_, err = conn.Write(wire.AppendFrame(b, (&wire.PeerList{}).Append(nil)))
	return conn, err
}

func release() wire.Version {
	return wire.Version{Name: "avalanchego", Major: 1, Minor: 14, Patch: 2}
}

// dial returns a client of validator i that is closed with the test.
func dial(t *testing.T, d *Devnet, i int) *client {
	t.Helper()
	conn, err := tryDial(t, d, i)
	if err != nil {
		t.Fatal(err)
	}
	codec, err := wire.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	c := &client{conn: conn, codec: codec}
	list, _ := clients.LoadOrStore(t, []*client(nil))
	clients.Store(t, append(list.([]*client), c))
	m := c.next(func(m *wire.Message) bool { return m.Kind == wire.KindPeerList })
	if m == nil {
		t.Fatal("the handshake was not answered")
	}
	c.peers = m.PeerList.Peers
	return c
}

// next reads up to a message that want accepts; nil at the end of the connection.
func (c *client) next(want func(*wire.Message) bool) *wire.Message {
	for {
		buf, err := wire.ReadFrame(c.conn, nil)
		if err != nil {
			return nil
		}
		m := new(wire.Message)
		if c.codec.Parse(buf, m) == nil && want(m) {
			return m
		}
	}
}

// ended waits for the end of the connection.
func (c *client) ended() bool { return c.next(func(*wire.Message) bool { return false }) == nil }

// request sends a signature request and what follows it.
func (c *client) request(t *testing.T, chainID chain.ID, message, justification []byte, follow ...[]byte) (id uint32) {
	t.Helper()
	c.id += 2
	req := &wire.AppRequest{
		ChainID: chainID, RequestID: c.id + 1, Deadline: uint64(5 * time.Second),
		Bytes: wire.AppendSignatureRequest(nil, message, justification),
	}
	b := wire.AppendFrame(nil, req.Append(nil))
	for _, msg := range follow {
		b = wire.AppendFrame(b, msg)
	}
	if _, err := c.conn.Write(b); err != nil {
		t.Fatal(err)
	}
	return req.RequestID
}

// ask returns the answer to a signature request, or nil when it is dropped.
func (c *client) ask(t *testing.T, chainID chain.ID, message, justification []byte) *wire.Message {
	t.Helper()
	// A pong without an answer before it shows that the request was dropped.
	id := c.request(t, chainID, message, justification, wire.Ping{}.Append(nil))
	var answer *wire.Message
	c.next(func(m *wire.Message) bool {
		if m.Kind == wire.KindAppResponse && m.AppResponse.RequestID == id ||
			m.Kind == wire.KindAppError && m.AppError.RequestID == id {
			answer = m
		}
		return m.Kind == wire.KindPong
	})
	return answer
}

// later is ask in the background, for a validator that hangs.
func (c *client) later(t *testing.T, chainID chain.ID, message []byte) <-chan *wire.Message {
	t.Helper()
	id := c.request(t, chainID, message, nil)
	out := make(chan *wire.Message, 1)
	c.bg.Go(func() {
		out <- c.next(func(m *wire.Message) bool {
			return m.Kind == wire.KindAppResponse && m.AppResponse.RequestID == id
		})
	})
	return out
}

// sign returns the validator's signature, or nil.
func (c *client) sign(t *testing.T, chainID chain.ID, message, justification []byte) *bls.Signature {
	t.Helper()
	m := c.ask(t, chainID, message, justification)
	if m == nil || m.Kind != wire.KindAppResponse {
		return nil
	}
	raw, err := wire.ParseSignatureResponse(m.AppResponse.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sig, err := bls.DecodeSignature(raw)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}
