package p2p

import (
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

const testNetwork = 12345

var testChain = chain.ID{7, 7, 7}

func testVersion() wire.Version {
	return wire.Version{Name: "avalanchego", Major: 1, Minor: 14, Patch: 2}
}

func newIdentity(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := tls.X509KeyPair(pair, pair)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// remote is a validator for tests: it keeps the rules of a real one unless a
// test takes a part of it over.
type remote struct {
	t       testing.TB
	cert    tls.Certificate
	id      chain.NodeID
	network uint32
	codec   *wire.Codec

	// hello replaces the first messages.
	hello func(c *remoteConn)
	// handle sees each message first; false leaves it to the usual rules.
	handle func(c *remoteConn, m *wire.Message) bool
	// bare makes it close before TLS.
	bare bool
	// loose makes it answer without compression.
	loose bool
	// peers are what it tells about others.
	peers []wire.ClaimedIP

	mu    sync.Mutex // guards what follows
	kinds map[wire.Kind]int
	conns map[*remoteConn]struct{}
	links int // accepted in all
}

type remoteConn struct {
	*remote
	conn *tls.Conn
	raw  net.Conn

	greeted, finished bool // what the other side has sent

	said chan struct{} // closed when the first messages are written

	writing sync.Mutex
}

func newRemote(t testing.TB) *remote {
	codec, err := wire.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	r := &remote{t: t, cert: newIdentity(t), network: testNetwork, codec: codec,
		kinds: map[wire.Kind]int{}, conns: map[*remoteConn]struct{}{}}
	r.id = chain.NodeIDFromCert(r.cert.Certificate[0])
	return r
}

// accept serves a connection until it ends.
func (r *remote) accept(raw net.Conn) {
	if r.bare {
		raw.Close()
		return
	}
	c := &remoteConn{remote: r, raw: raw, said: make(chan struct{}), conn: tls.Server(raw, &tls.Config{
		Certificates: []tls.Certificate{r.cert}, ClientAuth: tls.RequireAnyClientCert,
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
	})}
	r.mu.Lock()
	r.links++
	r.conns[c] = struct{}{}
	r.mu.Unlock()
	defer func() {
		raw.Close()
		r.mu.Lock()
		delete(r.conns, c)
		r.mu.Unlock()
	}()
	if c.conn.Handshake() != nil {
		return
	}
	// The two sides of a pipe must not wait for each other.
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		defer close(c.said)
		if r.hello != nil {
			r.hello(c)
		} else {
			c.sayHello(r.network)
		}
	})
	var buf []byte
	var m wire.Message
	var err error
	for {
		if buf, err = wire.ReadFrame(c.conn, buf); err != nil {
			return
		}
		if err := r.codec.Parse(buf, &m); err != nil {
			r.t.Errorf("the client sent a malformed message: %v", err)
			return
		}
		r.mu.Lock()
		r.kinds[m.Kind]++
		r.mu.Unlock()
		if !c.take(&m) {
			return
		}
	}
}

// take follows the rules of a real node; false ends the link.
func (c *remoteConn) take(m *wire.Message) bool {
	if c.handle != nil && c.handle(c, m) {
		return true
	}
	switch m.Kind {
	case wire.KindHandshake:
		if c.greeted || m.Handshake.NetworkID != c.network || len(m.Handshake.IPBLSSig) != wire.SignatureLen {
			c.t.Errorf("bad handshake from the client: %+v", m.Handshake)
			return false
		}
		c.greeted = true
		<-c.said
		c.send((&wire.PeerList{Peers: c.peers}).Append(nil))
	case wire.KindPeerList:
		c.finished = c.greeted
	case wire.KindPing:
		c.send(wire.Pong{}.Append(nil))
	case wire.KindGetPeerList:
		if _, err := wire.ParseBloom(m.GetPeerList.Filter); err != nil || !c.finished {
			c.t.Errorf("bad request for addresses: %v", err)
			return false
		}
		c.send((&wire.PeerList{Peers: c.peers}).Append(nil))
	case wire.KindAppRequest:
		if c.finished && m.AppRequest.RequestID%2 == 1 && m.AppRequest.Deadline > 0 {
			c.answer(&m.AppRequest)
		}
	}
	return true
}

// answer sends the question's bytes back behind the node's ID, compressed unless it is loose.
func (c *remoteConn) answer(r *wire.AppRequest) {
	a := wire.AppResponse{ChainID: r.ChainID, RequestID: r.RequestID, Bytes: append(c.id[:], r.Bytes...)}
	msg := a.Append(nil)
	if !c.loose {
		msg = c.codec.Compress(nil, msg)
	}
	c.send(msg)
}

func (c *remoteConn) sayHello(network uint32) {
	now := uint64(time.Now().Unix())
	c.send((&wire.Handshake{NetworkID: network, MyTime: now, Addr: claimedAddr, Client: testVersion()}).Append(nil))
}

func (c *remoteConn) send(msg []byte) { c.raws(wire.AppendFrame(nil, msg)) }

// raws writes bytes as they are. The link may have ended: that is no error here.
func (c *remoteConn) raws(b []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.conn.Write(b)
}

// count returns how many messages of a kind came.
func (r *remote) count(k wire.Kind) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kinds[k]
}

// accepted returns how many links there were.
func (r *remote) accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.links
}

// cut closes all links.
func (r *remote) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		c.raw.Close()
	}
}

// each calls f for every link.
func (r *remote) each(f func(c *remoteConn)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.conns {
		f(c)
	}
}

// claim returns a signed claim of the node to an address.
func (r *remote) claim(addr netip.AddrPort, at uint64) wire.ClaimedIP {
	r.t.Helper()
	c := wire.ClaimedIP{Certificate: r.cert.Certificate[0], Addr: addr, Timestamp: at}
	sig, err := wire.SignClaim(r.cert.PrivateKey.(crypto.Signer), addr, at)
	if err != nil {
		r.t.Fatal(err)
	}
	c.Signature = sig
	return c
}

// world is a network without sockets: addresses lead to remotes over pipes.
type world struct {
	t testing.TB

	mu    sync.Mutex
	at    map[netip.AddrPort]*remote
	dials map[netip.AddrPort][]time.Time
	wg    sync.WaitGroup
}

func newWorld(t testing.TB) *world {
	return &world{t: t, at: map[netip.AddrPort]*remote{}, dials: map[netip.AddrPort][]time.Time{}}
}

var errRefused = errors.New("connection refused")

func (w *world) dial(_ context.Context, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials[addr] = append(w.dials[addr], time.Now())
	r := w.at[addr]
	if r == nil {
		return nil, errRefused
	}
	ours, theirs := net.Pipe()
	w.wg.Go(func() { r.accept(theirs) })
	return ours, nil
}

func (w *world) put(addr string, r *remote) Address {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := netip.MustParseAddrPort(addr)
	if r == nil {
		delete(w.at, a)
		return Address{}
	}
	w.at[a] = r
	return Address{NodeID: r.id, Addr: a}
}

// dialed returns the times of dials since the first.
func (w *world) dialed(addr string) []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	times := w.dials[netip.MustParseAddrPort(addr)]
	var since []time.Duration
	for _, at := range times {
		since = append(since, at.Sub(times[0]))
	}
	return since
}

func testConfig(t testing.TB, dial func(context.Context, netip.AddrPort) (net.Conn, error)) Config {
	return Config{
		NetworkID: testNetwork, Certificate: newIdentity(t), ClientVersion: testVersion(),
		IPProof: make([]byte, wire.SignatureLen), Dial: dial,
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
}

// run starts a network and ends it, and the world with it, when the test ends.
func (w *world) run(change func(*Config)) *Network {
	w.t.Helper()
	cfg := testConfig(w.t, w.dial)
	if change != nil {
		change(&cfg)
	}
	n, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("Run: %v", err)
		}
		w.wg.Wait()
	})
	return n
}

// connect makes n connect to remotes at loopback addresses and waits until they are ready.
func (w *world) connect(n *Network, remotes ...*remote) {
	w.t.Helper()
	var ids []chain.NodeID
	for i, r := range remotes {
		n.AddAddresses([]Address{w.put(fmt.Sprintf("127.0.0.1:%d", 9000+i), r)})
		ids = append(ids, r.id)
	}
	n.SetWanted(ids)
	synctest.Wait()
}

// inbox collects answers.
type inbox struct {
	mu   sync.Mutex
	list []Answer
}

func (b *inbox) deliver(a Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.Bytes = append([]byte(nil), a.Bytes...)
	b.list = append(b.list, a)
}

func (b *inbox) take() []Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.list
	b.list = nil
	return list
}

func open(t testing.TB, n *Network, payload string, deliver func(Answer)) *Request {
	t.Helper()
	r, err := n.Open(testChain, []byte(payload), 5*time.Second, deliver)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// pass lets time pass in a synctest bubble, where it is not the clock's, and
// waits for what happens then.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
