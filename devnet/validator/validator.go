// Package validator is one validator of the simulated network as its peers see
// it: a TLS listener that speaks the server side of the Avalanche peer protocol
// and signs warp messages on request. What it may do wrong is a [Conduct]; the
// known ways of lying are [Kinds].
package validator

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
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"quorate/aggregator/bls"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

const (
	// DefaultSignatureCache is the real C-Chain's number of kept signatures.
	DefaultSignatureCache = 500
	// maxConnections bounds the connections of one validator, finished or not.
	maxConnections = 256
	// acceptPause is waited after a failure to accept.
	acceptPause = 50 * time.Millisecond
)

// Directory is what a validator knows of the network's other nodes.
type Directory interface {
	// Sample returns up to n random claims of running validators that the filter,
	// unless nil, does not hold; without those of the nodes in except.
	Sample(n int, filter *wire.Bloom, salt []byte, except ...chain.NodeID) []wire.ClaimedIP
}

// Platform is what the history of the P-Chain made of L1s.
type Platform interface {
	// Conversion returns the ID of the conversion that made a subnet an L1.
	Conversion(subnet chain.ID) (id chain.ID, ok bool)
	// Validation returns the least nonce that a validator of an L1 still takes, and its
	// weight, 0 once it was removed.
	Validation(id chain.ID) (nonce, weight uint64, ok bool)
}

// Observer is told of signature requests. Its methods must not block.
type Observer interface {
	// Requested is called for every signature request that reaches the handler.
	Requested(message []byte)
	// Replied is called with what becomes of it.
	Replied(outcome Outcome)
}

// Config describes one validator. World, Identity, Directory and Codec are needed.
type Config struct {
	World     *world.World
	Identity  *world.Validator
	Directory Directory
	// Codec is shared by all validators of a process.
	Codec *wire.Codec
	// Listen is the address to listen on; port 0 takes a free one at the first
	// start, which is kept from then on.
	Listen netip.AddrPort
	// Conduct is what the validator does otherwise than an honest one.
	Conduct Conduct
	// Latency delays every reply, and Jitter by a random time up to itself more.
	Latency, Jitter time.Duration
	// SignatureCache is the number of C-Chain signatures kept, about 250 bytes
	// each; 0 means [DefaultSignatureCache].
	SignatureCache int
	// CChain is the C-Chain of a network in which Helicon activates, Helicon when that is;
	// nil means never.
	CChain  CChain
	Helicon time.Time
	// SwapTime is for how long requests to the C-Chain wait when its software is replaced at
	// Helicon; 0 means [SwapTime].
	SwapTime time.Duration
	// Platform is the history of the P-Chain; nil means none but the world's.
	Platform Platform
	// Observer is told of requests; nil means nobody.
	Observer Observer
	// Logger gets the reasons for closed connections at debug level; nil discards.
	Logger *slog.Logger
}

// Validator is one validator. Its methods may be called from any goroutine.
type Validator struct {
	cfg      Config
	signer   *signer
	tls      *tls.Config
	log      *slog.Logger
	requests atomic.Uint64
	gate     gate

	// behaviour can be changed while the validator runs.
	behaviour atomic.Pointer[Behaviour]

	// lifecycle guards run and orders Start, Stop and Hang. It is held while Stop
	// waits for connections, so what connections ask for is in the atomics.
	lifecycle sync.Mutex
	run       *run
	running   atomic.Bool
	addr      atomic.Pointer[netip.AddrPort]
	claim     atomic.Pointer[signedIP]

	peersMu  sync.Mutex // guards what follows
	peers    map[chain.NodeID]*conn
	votesDue time.Time // until when votes are waited for, see [Validator.Poll]
	polls    uint32
}

// run is one stretch between Start and Stop.
type run struct {
	listener net.Listener
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	places   chan struct{} // one taken by every connection
}

// signedIP is the validator's claim to its address, signed at the start.
type signedIP struct {
	claim wire.ClaimedIP
	proof [bls.SignatureLen]byte
}

// New returns a stopped validator.
func New(cfg Config) (*Validator, error) {
	if cfg.Conduct.Reply == nil {
		cfg.Conduct.Reply = Honest
	}
	if cfg.SignatureCache == 0 {
		cfg.SignatureCache = DefaultSignatureCache
	}
	if cfg.SwapTime == 0 {
		cfg.SwapTime = SwapTime
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = nobody{}
	}
	signed, err := lru.New[chain.ID, [bls.SignatureLen]byte](cfg.SignatureCache)
	if err != nil {
		return nil, fmt.Errorf("signature cache: %w", err)
	}
	v := &Validator{
		cfg:    cfg,
		signer: &signer{world: cfg.World, key: cfg.Identity.Key, cChain: cfg.CChain, platform: cfg.Platform, signed: signed},
		log:    cfg.Logger,
		peers:  make(map[chain.NodeID]*conn),
		tls: &tls.Config{
			Certificates:           []tls.Certificate{cfg.Identity.Certificate},
			ClientAuth:             tls.RequireAnyClientCert,
			MinVersion:             tls.VersionTLS13,
			SessionTicketsDisabled: true,
			VerifyConnection:       checkCertificate,
		},
	}
	v.behaviour.Store(&cfg.Conduct.Reply)
	v.addr.Store(&cfg.Listen)
	return v, nil
}

type nobody struct{}

func (nobody) Requested([]byte) {}
func (nobody) Replied(Outcome)  {}

// checkCertificate refuses certificates that peers do not accept.
func checkCertificate(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("no certificate sent by peer")
	}
	_, err := wire.PublicKey(state.PeerCertificates[0].Raw)
	return err
}

// Start listens and answers until Stop or the end of ctx, after either of which
// Stop waits for the end. On a running validator it undoes [Validator.Hang].
func (v *Validator) Start(ctx context.Context) error {
	v.lifecycle.Lock()
	defer v.lifecycle.Unlock()
	v.gate.release()
	if v.run != nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", v.Address().String())
	if err != nil {
		return fmt.Errorf("validator %s: %w", v.cfg.Identity.NodeID, err)
	}
	addr, err := netip.ParseAddrPort(listener.Addr().String())
	if err == nil {
		err = v.sign(addr)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("validator %s: %w", v.cfg.Identity.NodeID, err), listener.Close())
	}
	r := &run{listener: listener, places: make(chan struct{}, maxConnections)}
	ctx, r.cancel = context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	r.wg.Go(func() {
		defer stop()
		v.accept(ctx, r)
	})
	v.run = r
	v.addr.Store(&addr)
	v.running.Store(true)
	return nil
}

// sign makes the claim to the address that the validator gets.
func (v *Validator) sign(addr netip.AddrPort) error {
	id := v.cfg.Identity
	now := uint64(time.Now().Unix()) // after 1970
	key, ok := id.Certificate.PrivateKey.(crypto.Signer)
	if !ok {
		return errors.New("the certificate's key cannot sign")
	}
	sig, err := wire.SignClaim(key, addr, now)
	if err != nil {
		return fmt.Errorf("signing the address: %w", err)
	}
	v.claim.Store(&signedIP{
		claim: wire.ClaimedIP{
			Certificate: id.Certificate.Certificate[0], Addr: addr, Timestamp: now, Signature: sig,
		},
		proof: id.Key.SignProof(wire.AppendClaim(nil, addr, now)),
	})
	return nil
}

// Stop closes the listener and all connections, and waits for their end.
// Requests sent meanwhile find the port closed.
func (v *Validator) Stop() {
	v.lifecycle.Lock()
	defer v.lifecycle.Unlock()
	if v.run == nil {
		return
	}
	v.running.Store(false)
	v.run.cancel()
	_ = v.run.listener.Close()
	v.run.wg.Wait()
	v.run = nil
	v.gate.release()
}

// Hang makes the validator accept connections and read nothing, as if its
// process were stopped. Start undoes it. It has no effect on a stopped validator.
func (v *Validator) Hang() {
	v.lifecycle.Lock()
	defer v.lifecycle.Unlock()
	if v.run != nil {
		v.gate.shut()
	}
}

// Running reports whether the validator is started, hanging or not.
func (v *Validator) Running() bool { return v.running.Load() }

// Address returns the address the validator listens on, or did before it was stopped.
func (v *Validator) Address() netip.AddrPort { return *v.addr.Load() }

// Claim returns the signed claim to the address; false before the first start.
func (v *Validator) Claim() (wire.ClaimedIP, bool) {
	s := v.claim.Load()
	if s == nil {
		return wire.ClaimedIP{}, false
	}
	return s.claim, true
}

// SetBehaviour changes what the validator does with requests from now on; nil
// means [Honest]. What it does unasked stays.
func (v *Validator) SetBehaviour(b Behaviour) {
	if b == nil {
		b = Honest
	}
	v.behaviour.Store(&b)
}

// RequestCount returns the number of signature requests that reached the handler.
func (v *Validator) RequestCount() uint64 { return v.requests.Load() }

// Connections returns the number of peers connected now.
func (v *Validator) Connections() int {
	v.peersMu.Lock()
	defer v.peersMu.Unlock()
	return len(v.peers)
}

func (v *Validator) accept(ctx context.Context, r *run) {
	for {
		raw, err := r.listener.Accept()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			if err == nil {
				_ = raw.Close()
			}
			return
		}
		if err != nil { // most likely out of file descriptors
			v.log.Warn("validator does not accept", "node", v.cfg.Identity.NodeID, "error", err)
			select {
			case <-time.After(acceptPause):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case r.places <- struct{}{}:
		default:
			_ = raw.Close()
			continue
		}
		r.wg.Go(func() {
			defer func() { <-r.places }()
			v.serve(ctx, raw)
		})
	}
}

// admit enters a peer; there is one connection for each node ID.
func (v *Validator) admit(c *conn) bool {
	v.peersMu.Lock()
	defer v.peersMu.Unlock()
	if _, taken := v.peers[c.peer]; taken || c.peer == v.cfg.Identity.NodeID {
		return false
	}
	v.peers[c.peer] = c
	return true
}

func (v *Validator) dismiss(id chain.NodeID) {
	v.peersMu.Lock()
	defer v.peersMu.Unlock()
	delete(v.peers, id)
}
