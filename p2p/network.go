package p2p

import (
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// ErrStopped is returned by Run when it was called before, and ends links on shutdown.
var ErrStopped = errors.New("p2p network has stopped")

// claimedAddr is where we say that we can be reached: nowhere. Peers dial
// validators only, so that any address with a port does.
var claimedAddr = netip.AddrPortFrom(netip.IPv4Unspecified(), 1)

// Network keeps connections to the wanted nodes. All methods may be called
// from any goroutine.
type Network struct {
	cfg     Config
	codec   *wire.Codec
	tls     *tls.Config
	epoch   time.Time // from which times of questions count
	claim   signedClaim
	frames  ownFrames
	buffers sync.Pool // of *[]byte, to join frames in
	book    *book
	ins     *instruments
	tokens  dialTokens
	search  chan struct{} // tells the poller that addresses are missing

	peers    atomic.Pointer[map[chain.NodeID]*peer] // never nil, never changed in place
	requests requestTable
	traffic  traffic
	recent   window                // of traffic's sends, noted by the keeper
	known    atomic.Pointer[known] // nil until the first round of gossip
	version  atomic.Pointer[wire.Version]
	// suspected is when the log last said that our identity is in use elsewhere,
	// from the epoch; 0 never.
	suspected atomic.Int64

	mu      sync.Mutex // guards what follows, and orders changes of peers
	wanted  []chain.NodeID
	tracked map[chain.NodeID]struct{}
	started bool
	stopped bool
	leaving map[chain.NodeID]*peer // stopped, and may not have ended
	wg      sync.WaitGroup         // the actors that Run owns
}

// signedClaim is what our Handshake says about our address, signed once.
type signedClaim struct {
	time uint64 // Unix seconds
	sig  []byte
}

// traffic holds totals for the health check.
type traffic struct {
	lastReceived, lastSent atomic.Int64 // Unix nanoseconds, 0 never
	sent, sendFailures     atomic.Uint64
}

// Status is what is known of a node at the moment.
type Status struct {
	// Connected means that the node can be asked: TLS is up and the certificate
	// is the node's. Its handshake may still be under way, and if it is OnRequest there
	// may be no link at the moment.
	Connected bool
	// Ready means that the node's handshake was received too, and is of our network.
	Ready bool
	// OnRequest means that the node takes us for a validator, as one without sybil protection
	// does: it has a link only while questions wait for its answers, or its chains would wait
	// for our votes.
	OnRequest bool
	// Down means that the last dial failed or the last link was closed, and
	// none got ready since.
	Down bool
	// AwayFor is how long the node has not been ready since it became wanted or
	// was lost; 0 while it is.
	AwayFor time.Duration
	// HasAddress means that it is known where to dial.
	HasAddress bool
	// TurnedAway means that the node closed our last links right after TLS, before
	// it said a word. A node does so when it has a link with our identity already:
	// if most do it, see [Stats.TurnedAway].
	TurnedAway bool
	// LinksRefused means that the node closed our last links soon after TLS and before it
	// took our Handshake, whether or not it said a word: as it does if it has a link with our
	// identity already, and if it does not let in the version that we show.
	LinksRefused bool
	// Latency is the moving average of the time an answer takes, 0 if there was none.
	Latency time.Duration
	// Waiting is the number of questions without an answer yet, those of closed
	// requests not counted.
	Waiting int
	// Missed is the number of questions in a row that expired without an answer,
	// whether or not somebody still waited for it. A new link begins at 0: what the
	// old one lost may not be the node's fault. [Network.Peers] has the totals.
	Missed int
}

// Stats are totals over all peers, for health checks.
type Stats struct {
	Wanted, Connected, Ready int
	// TurnedAway counts nodes that close our links right after TLS again and
	// again. If there are many, our certificate is in use elsewhere; two servers
	// that start at the same time may have half of the nodes each.
	TurnedAway   int
	OpenRequests int
	// OnRequest counts nodes that take us for a validator, see [Status].
	OnRequest int
	// LastReceived and LastSent are times of messages, zero if there was none.
	LastReceived, LastSent time.Time
	// Sent counts messages written; SendFailures those lost because their link broke.
	Sent, SendFailures uint64
}

// Quiet reports whether there are peers and none of them has a link but for the time of a request.
func (s *Stats) Quiet() bool { return s.OnRequest > 0 && s.OnRequest >= s.Ready }

// New returns a network that does nothing until Run is called.
func New(cfg Config) (*Network, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	codec, err := wire.NewCodecUpTo(maxInbound)
	if err != nil {
		return nil, fmt.Errorf("p2p: %w", err)
	}
	now := uint64(time.Now().Unix())
	sig, err := wire.SignClaim(cfg.Certificate.PrivateKey.(crypto.Signer), claimedAddr, now)
	if err != nil {
		return nil, fmt.Errorf("p2p: sign our address: %w", err)
	}
	n := &Network{
		cfg:   cfg,
		codec: codec,
		tls: &tls.Config{
			Certificates: []tls.Certificate{cfg.Certificate},
			MinVersion:   tls.VersionTLS13,
			// Peers are self-signed: the hash of the certificate is the node ID,
			// and the dialer checks it before a byte is sent.
			InsecureSkipVerify:     true, // see above
			SessionTicketsDisabled: true,
		},
		epoch:   time.Now(),
		claim:   signedClaim{time: now, sig: sig},
		frames:  newOwnFrames(),
		book:    newBook(cfg.MaxAddresses),
		tokens:  newDialTokens(cfg.MaxDials),
		search:  make(chan struct{}, 1),
		leaving: map[chain.NodeID]*peer{},
		tracked: map[chain.NodeID]struct{}{},
	}
	n.buffers.New = func() any {
		b := make([]byte, 0, maxWrite)
		return &b
	}
	n.requests.init(cfg.MaxRequests)
	n.peers.Store(&map[chain.NodeID]*peer{})
	n.version.Store(&cfg.ClientVersion)
	n.ins = newInstruments(cfg.Metrics, n)
	return n, nil
}

// NodeID returns our own node ID.
func (n *Network) NodeID() chain.NodeID {
	return chain.NodeIDFromCert(n.cfg.Certificate.Certificate[0])
}

// SetClientVersion changes what new links say that we run, see
// [Config.ClientVersion]: call it when a followed node was upgraded.
func (n *Network) SetClientVersion(v wire.Version) { n.version.Store(&v) }

// Run connects to the wanted nodes until ctx ends. It returns after every
// goroutine has ended and every question that waited was answered with
// [ErrDisconnected]: nil, or [ErrStopped] if it was called before.
func (n *Network) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n.mu.Lock()
	if n.started {
		n.mu.Unlock()
		return ErrStopped
	}
	n.started = true
	for _, p := range *n.peers.Load() {
		n.start(p)
	}
	n.wg.Go(func() { n.keep(ctx) })
	n.wg.Go(func() { n.poll(ctx) })
	n.wg.Go(func() { n.gossip(ctx) })
	n.mu.Unlock()

	<-ctx.Done()

	n.mu.Lock()
	n.stopped = true
	for _, p := range *n.peers.Load() {
		p.stop()
	}
	n.mu.Unlock()
	n.wg.Wait()
	return nil
}

// SetWanted sets the nodes to stay connected to. Links to others are closed,
// what they were asked is answered with [ErrDisconnected]. Our own node ID is
// left out.
func (n *Network) SetWanted(ids []chain.NodeID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wanted = slices.Clone(ids)
	n.apply()
}

// Track sets addresses that the operator vouches for: these nodes stay wanted
// whatever [Network.SetWanted] says, are dialed at these addresses first, and
// may be on private networks.
func (n *Network) Track(list []Address) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range list {
		a.Addr = unmapped(a.Addr)
		if n.book.pin(a) {
			n.learned(a.NodeID)
		}
		n.tracked[a.NodeID] = struct{}{}
	}
	n.apply()
}

// apply needs mu. It makes the peers those that are wanted or tracked.
func (n *Network) apply() {
	if n.stopped {
		return
	}
	self := n.NodeID()
	old := *n.peers.Load()
	next := make(map[chain.NodeID]*peer, len(n.wanted)+len(n.tracked))
	var fresh []*peer
	want := func(id chain.NodeID) {
		if id == self || next[id] != nil {
			return
		}
		p := old[id]
		if p == nil {
			p = newPeer(n, id, n.leaving[id])
			fresh = append(fresh, p)
		}
		next[id] = p
	}
	for _, id := range n.wanted {
		want(id)
	}
	for id := range n.tracked {
		want(id)
	}
	n.peers.Store(&next)
	lost := false // somebody's address is not known
	for _, p := range fresh {
		known := len(n.book.addresses(p.id)) > 0
		if known {
			p.hasAddress.Store(true)
		}
		lost = lost || !known
		if n.started {
			n.start(p)
		}
	}
	n.book.setWanted(next, lost)
	for id, p := range old {
		if next[id] == nil {
			n.leave(p)
		}
	}
	if lost {
		n.wakePoller()
	}
}

// start needs mu. Run waits for the peer's end.
func (n *Network) start(p *peer) { n.wg.Go(p.run) }

// leave needs mu. It stops a peer and remembers it until it has ended, and its
// ban too.
func (n *Network) leave(p *peer) {
	p.stop()
	for id, old := range n.leaving {
		select {
		case <-old.ended:
			if time.Now().After(old.backoff.banned) {
				delete(n.leaving, id)
			}
		default:
		}
	}
	if n.started {
		n.leaving[p.id] = p
	}
}

// now returns the time since the network's epoch.
func (n *Network) now() time.Duration { return time.Since(n.epoch) }

// AddAddresses takes addresses from trusted sources. Later ones replace earlier
// ones of the same node; those of nodes that are not wanted are remembered too,
// so that a node can be dialed as soon as it is wanted.
func (n *Network) AddAddresses(list []Address) {
	for _, a := range list {
		a.Addr = unmapped(a.Addr)
		if !n.cfg.dialable(a.Addr) {
			continue
		}
		if n.book.hint(a, n.peer(a.NodeID) != nil) {
			n.learned(a.NodeID)
		}
	}
}

func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// learned lets a wanted node's peer know that the book has a new address. The peer
// is looked up after the book was changed, and SetWanted looks into the book
// after it has published a peer, so that neither misses the other.
func (n *Network) learned(id chain.NodeID) {
	if p := n.peer(id); p != nil {
		p.learned()
	}
}

// peer returns a wanted node's peer, or nil.
func (n *Network) peer(id chain.NodeID) *peer { return (*n.peers.Load())[id] }

// Status returns what is known of a node; nothing if it is not wanted. It takes no lock.
func (n *Network) Status(id chain.NodeID) Status {
	p := n.peer(id)
	if p == nil {
		return Status{}
	}
	return p.status()
}

// Stats returns the totals.
func (n *Network) Stats() Stats {
	peers := *n.peers.Load()
	s := Stats{
		Wanted:       len(peers),
		OpenRequests: n.requests.len(),
		LastReceived: unixNano(n.traffic.lastReceived.Load()),
		LastSent:     unixNano(n.traffic.lastSent.Load()),
		Sent:         n.traffic.sent.Load(),
		SendFailures: n.traffic.sendFailures.Load(),
	}
	for _, p := range peers {
		if p.turnedAway.Load() >= turnedAwayOften {
			s.TurnedAway++
		}
		if p.polls.Load() {
			s.OnRequest++
		}
		switch p.state.Load() {
		case stateConnected:
			s.Connected++
		case stateReady, stateResting:
			s.Connected++
			s.Ready++
		}
	}
	return s
}

func unixNano(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}

// suspectShare is which part of the nodes that let us in must turn us away for
// the log to say so.
const suspectShare = 4

// suspectIdentity says in the log, now and then, that our certificate seems to
// be in use elsewhere, or our version to be too old. Nothing else tells: each node has
// one link for each node ID, and silently closes a second one, as it does to one that
// shows an old version.
func (n *Network) suspectIdentity() {
	s := n.Stats()
	if suspectShare*s.TurnedAway <= s.Ready || s.TurnedAway < min(s.Wanted, 3) {
		return
	}
	now, last := int64(n.now())+1, n.suspected.Load() // never 0
	if last != 0 && now-last < int64(nameEvery) || !n.suspected.CompareAndSwap(last, now) {
		return
	}
	n.cfg.Logger.Error("nodes close our links right after TLS: this server's peer certificate seems to be in use by another server, give each its own; or they do not let in the version that it shows",
		"our node", n.NodeID(), "version", n.version.Load().String(), "nodes", s.TurnedAway, "connected", s.Ready, "wanted", s.Wanted, "said again after", nameEvery)
}

func (n *Network) wakePoller() {
	select {
	case n.search <- struct{}{}:
	default:
	}
}

// keepEvery is how often questions expire and silence is noticed.
const keepEvery = time.Second

// keep is the keeper's loop.
func (n *Network) keep(ctx context.Context) {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			now := n.now()
			n.recent.note(n.traffic.sent.Load(), n.traffic.sendFailures.Load())
			for _, p := range *n.peers.Load() {
				p.keep(now)
			}
		}
	}
}
