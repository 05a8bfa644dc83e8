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
	"time"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/engine/outbound"
	"quorate/p2p/wire"
)

// Address says where a node can be reached.
type Address struct {
	NodeID chain.NodeID
	Addr   netip.AddrPort
}

// Config sets up a [Network]. NetworkID, Certificate, ClientVersion and IPProof are required.
type Config struct {
	// NetworkID is the Avalanche network: 1 mainnet, 5 fuji. A wrong one makes
	// every peer close the connection.
	NetworkID uint32
	// Certificate is our identity, see [LoadOrCreateCertificate]. Two clients
	// with the same one throw each other off at every peer.
	Certificate tls.Certificate
	// ClientVersion is what we say we run: that of the network's nodes, as peers close
	// links below their minimum, which rises with each upgrade of the network, and those
	// of later major versions than their own.
	ClientVersion wire.Version
	// IPProof is a compressed BLS signature, 96 bytes: a point of G2 that
	// decodes. Peers check it against a key only if our node ID is a validator's.
	IPProof []byte

	// Discover, if not nil, returns addresses that followed nodes know
	// (info.peers). It is called at start, every DiscoverEvery, and earlier when
	// wanted nodes have no address. It must return when its context ends.
	Discover func(ctx context.Context) ([]Address, error)
	// DiscoverEvery is the time between polls, default 30 s, at least 1 s.
	DiscoverEvery time.Duration
	// AllowPrivate lets mainnet and fuji peers be dialed at loopback, private
	// and other non-public addresses. Default false: a claim is signed by the
	// node that makes it, so a hostile one could point us at our own network.
	// Other networks are local ones, where every address is allowed.
	AllowPrivate bool

	// Window is how many questions may wait for one peer's answer, default 400,
	// 1 to 1000. A validator stops reading us at 1024 unprocessed messages.
	Window int
	// BytesPerSecond and Burst bound what is sent to one peer: default 512 KiB/s
	// and 2 MiB, what a validator grants a non-validator; above it, it stops
	// reading and our pongs come too late. A negative BytesPerSecond lifts the
	// bound: only for networks whose nodes are set up for it.
	BytesPerSecond int
	// Burst is in bytes, see BytesPerSecond. No larger message can be sent.
	Burst int
	// MaxRequests bounds open requests, default 65536.
	MaxRequests int
	// MaxAddresses bounds the nodes whose addresses are remembered, default
	// 16384. Wanted nodes are always remembered.
	MaxAddresses int
	// MaxDials bounds connections being set up at the same time, default 64.
	MaxDials int

	// Dial opens a TCP connection; nil means a plain dialer. For tests and proxies.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Logger may be nil.
	Logger *slog.Logger
	// Metrics may be nil.
	Metrics *metric.Set
}

const (
	defaultDiscoverEvery  = 30 * time.Second
	defaultWindow         = 400
	maxWindow             = 1000
	defaultBytesPerSecond = 512 << 10
	defaultBurst          = 2 << 20
	defaultMaxRequests    = 1 << 16
	defaultMaxAddresses   = 1 << 14
	defaultMaxDials       = 64
)

// validate checks the fields and fills in defaults.
func (c *Config) validate() error {
	if c.NetworkID == 0 {
		return errors.New("p2p: no network ID")
	}
	if err := checkIdentity(c.Certificate); err != nil {
		return fmt.Errorf("p2p: %w", err)
	}
	if c.ClientVersion.Name == "" {
		return errors.New("p2p: no client version")
	}
	if len(c.IPProof) != wire.SignatureLen {
		return fmt.Errorf("p2p: the IP proof must be %d bytes, not %d", wire.SignatureLen, len(c.IPProof))
	}
	setDefault(&c.DiscoverEvery, defaultDiscoverEvery)
	setDefault(&c.Window, defaultWindow)
	setDefault(&c.BytesPerSecond, defaultBytesPerSecond)
	setDefault(&c.Burst, defaultBurst)
	setDefault(&c.MaxRequests, defaultMaxRequests)
	setDefault(&c.MaxAddresses, defaultMaxAddresses)
	setDefault(&c.MaxDials, defaultMaxDials)
	switch {
	case c.DiscoverEvery < time.Second:
		return fmt.Errorf("p2p: discovery every %v is below a second", c.DiscoverEvery)
	case c.Window < 1 || c.Window > maxWindow:
		return fmt.Errorf("p2p: window %d is not within 1 to %d", c.Window, maxWindow)
	case c.Burst < 1 || c.MaxRequests < 1 || c.MaxAddresses < 1 || c.MaxDials < 1:
		return errors.New("p2p: bounds must not be negative")
	}
	if !c.public() { // only public addresses are dialed there
		c.AllowPrivate = true
	}
	if c.Dial == nil {
		c.Dial = dialTCP
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	return nil
}

// public reports whether the network is one of the two that everybody uses.
func (c *Config) public() bool { return c.NetworkID == chain.MainnetID || c.NetworkID == chain.FujiID }

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// checkIdentity refuses a certificate that no peer would accept.
func checkIdentity(cert tls.Certificate) error {
	if len(cert.Certificate) == 0 {
		return errors.New("no certificate")
	}
	if _, err := wire.PublicKey(cert.Certificate[0]); err != nil {
		return err
	}
	if _, ok := cert.PrivateKey.(crypto.Signer); !ok {
		return errors.New("the certificate has no private key")
	}
	return nil
}

func dialTCP(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr.String())
}

// dialable reports whether an address that was not tracked may be dialed at all. Whoever
// signs a claim names it, as clients name the receivers of webhooks: one rule serves both.
func (c *Config) dialable(addr netip.AddrPort) bool {
	ip := addr.Addr()
	if !ip.IsValid() || addr.Port() == 0 || ip.IsUnspecified() || ip.IsMulticast() {
		return false
	}
	return c.AllowPrivate || outbound.CheckAddr(ip) == nil
}
