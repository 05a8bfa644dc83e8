package validator

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// fixture is one validator of a small world, spoken to over pipes.
type fixture struct {
	t     *testing.T
	world *world.World
	v     *Validator
	codec *wire.Codec
	ctx   context.Context
	stop  func()
}

// newFixture must be called inside a synctest bubble, and stopped there.
func newFixture(t *testing.T, change func(*Config)) *fixture {
	t.Helper()
	w, err := world.New(world.Params{Validators: 3, Seed: 7, L1s: 1, Emitted: 1000})
	if err != nil {
		t.Fatal(err)
	}
	codec, err := wire.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{World: w, Identity: w.Validators()[1], Directory: &fakeDirectory{world: w}, Codec: codec}
	if change != nil {
		change(&cfg)
	}
	v, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.sign(netip.MustParseAddrPort("127.0.0.1:9651")); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, world: w, v: v, codec: codec}
	ctx, cancel := context.WithCancel(context.Background())
	f.ctx = ctx
	f.stop = func() { cancel(); synctest.Wait() }
	return f
}

// fakeDirectory knows an address of validator 0 and of validator 2.
type fakeDirectory struct{ world *world.World }

func (d *fakeDirectory) Sample(n int, filter *wire.Bloom, salt []byte, except ...chain.NodeID) []wire.ClaimedIP {
	var claims []wire.ClaimedIP
	for _, i := range []int{0, 2} {
		v := d.world.Validators()[i]
		claim := signedClaim(v.Certificate, 100)
		if len(claims) < n && (filter == nil || !filter.Contains(wire.ClaimHash(v.NodeID, 100, salt))) {
			claims = append(claims, claim)
		}
	}
	return claims
}

func signedClaim(cert tls.Certificate, timestamp uint64) wire.ClaimedIP {
	addr := netip.MustParseAddrPort("127.0.0.1:9700")
	sig, err := wire.SignClaim(cert.PrivateKey.(crypto.Signer), addr, timestamp)
	if err != nil {
		panic(err)
	}
	return wire.ClaimedIP{Certificate: cert.Certificate[0], Addr: addr, Timestamp: timestamp, Signature: sig}
}

// client is a peer of the validator under test.
type client struct {
	*fixture
	cert tls.Certificate
	tls  *tls.Conn
	// in delivers every message and is closed with the connection.
	in       chan *wire.Message
	closedAt time.Time
	nextID   uint32
}

func newCertificate(t *testing.T, curve elliptic.Curve) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// connect opens a connection and does the TLS handshake, nothing else.
func (f *fixture) connect(cert tls.Certificate) *client {
	f.t.Helper()
	return f.connectWith(cert, func(*tls.Config) {})
}

// connectWith is connect with a changed TLS configuration.
func (f *fixture) connectWith(cert tls.Certificate, change func(*tls.Config)) *client {
	f.t.Helper()
	ours, theirs := net.Pipe()
	go f.v.serve(f.ctx, theirs)
	c := &client{fixture: f, cert: cert, in: make(chan *wire.Message, 4096), nextID: 1}
	cfg := &tls.Config{
		Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, // no CA here
	}
	change(cfg)
	c.tls = tls.Client(ours, cfg)
	go func() {
		<-f.ctx.Done()
		_ = ours.Close()
	}()
	go c.readAll()
	return c
}

// silentPipe opens a connection on which nothing is ever sent; the channel is
// closed when the validator gives it up.
func (f *fixture) silentPipe() <-chan struct{} {
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.v.serve(f.ctx, theirs)
		_ = ours.Close()
	}()
	return done
}

func (c *client) readAll() {
	defer func() { c.closedAt = time.Now(); close(c.in) }()
	for {
		buf, err := wire.ReadFrame(c.tls, nil)
		if err != nil {
			return
		}
		msg := new(wire.Message)
		if err := c.codec.Parse(buf, msg); err != nil {
			c.t.Errorf("unparsable message from the validator: %v", err)
			return
		}
		c.in <- msg
	}
}

// send writes messages in one go; errors show as a closed connection.
func (c *client) send(msgs ...[]byte) {
	var b []byte
	for _, m := range msgs {
		b = wire.AppendFrame(b, m)
	}
	_, _ = c.tls.Write(b)
}

// hello returns a handshake that a validator accepts.
func (c *client) hello() *wire.Handshake {
	now := uint64(time.Now().Unix())
	h := &wire.Handshake{
		NetworkID: world.NetworkID, MyTime: now, Addr: netip.MustParseAddrPort("0.0.0.0:1"), IPSigningTime: now,
		Client: wire.Version{Name: "avalanchego", Major: 1, Minor: 14, Patch: 2}, AllSubnets: true,
	}
	proof := bls.SecretKeyFromSeed([]byte("client of the test, 32 bytes long")).SignProof([]byte("anything"))
	h.IPBLSSig = proof[:]
	c.resign(h)
	return h
}

func (c *client) resign(h *wire.Handshake) {
	sig, err := wire.SignClaim(c.cert.PrivateKey.(crypto.Signer), h.Addr, h.IPSigningTime)
	if err != nil {
		c.t.Fatal(err)
	}
	h.IPNodeIDSig = sig
}

// join connects and finishes the handshake of both sides.
func (f *fixture) join() *client {
	f.t.Helper()
	c := f.connect(newCertificate(f.t, elliptic.P256()))
	c.send(c.hello().Append(nil), (&wire.PeerList{}).Append(nil))
	if c.until(wire.KindPeerList) == nil {
		f.t.Fatal("no peer list after the handshake")
	}
	return c
}

// until returns the next message of a kind that comes within ten minutes of the
// bubble's time; nil when the connection ends or nothing comes.
func (c *client) until(kind wire.Kind) *wire.Message {
	timeout := time.After(10 * time.Minute)
	for {
		select {
		case msg, ok := <-c.in:
			if !ok {
				return nil
			}
			if msg.Kind == kind {
				return msg
			}
		case <-timeout:
			return nil
		}
	}
}

// pending returns what has arrived once nothing moves any more, and whether the
// connection is open.
func (c *client) pending() (msgs []*wire.Message, open bool) {
	synctest.Wait()
	for {
		select {
		case msg, ok := <-c.in:
			if !ok {
				return msgs, false
			}
			msgs = append(msgs, msg)
		default:
			return msgs, true
		}
	}
}

// request returns a well-formed signature request.
func (c *client) request(chainID chain.ID, message, justification []byte) *wire.AppRequest {
	c.nextID += 2
	return &wire.AppRequest{
		ChainID: chainID, RequestID: c.nextID, Deadline: uint64(5 * time.Second),
		Bytes: wire.AppendSignatureRequest(nil, message, justification),
	}
}

// ask sends a request and returns what comes back at once: a response, an error or nil.
func (c *client) ask(req *wire.AppRequest) *wire.Message {
	c.t.Helper()
	c.send(req.Append(nil))
	msgs, _ := c.pending()
	for _, m := range msgs {
		switch {
		case m.Kind == wire.KindAppResponse && m.AppResponse.RequestID == req.RequestID && m.AppResponse.ChainID == req.ChainID,
			m.Kind == wire.KindAppError && m.AppError.RequestID == req.RequestID && m.AppError.ChainID == req.ChainID:
			if !m.Compressed {
				c.t.Error("the answer is not compressed")
			}
			return m
		}
	}
	return nil
}

// valid reports whether m carries the validator's signature of message.
func (f *fixture) valid(m *wire.Message, message []byte) bool {
	f.t.Helper()
	if m == nil || m.Kind != wire.KindAppResponse {
		return false
	}
	sig, err := wire.ParseSignatureResponse(m.AppResponse.Bytes)
	if err != nil {
		f.t.Fatal(err)
	}
	aggregate, err := bls.DecodeAggregate(sig)
	if err != nil {
		f.t.Fatal(err)
	}
	key := bls.SumKeys([]*bls.PublicKey{f.v.cfg.Identity.Key.PublicKey()})
	return bls.Verify(&key, bls.HashMessage(message), &aggregate)
}
