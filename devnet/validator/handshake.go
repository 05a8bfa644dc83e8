package validator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/world"
	"quorate/p2p/wire"
)

const (
	// upgradeUnix is the time of the last network upgrade on a local network.
	upgradeUnix = 1607144400
	maxSkew     = 60 // seconds between two clocks
	maxSubnets  = 16
)

// Current is the release whose protocol the validators speak; one later where Helicon
// activates.
func Current() wire.Version {
	return wire.Version{Name: "avalanchego", Major: 1, Minor: 14, Patch: 2}
}

// handshake returns our first message.
func (c *conn) handshake() []byte {
	own := c.v.claim.Load()
	program, upgrade := c.v.release()
	return (&wire.Handshake{
		NetworkID:     world.NetworkID,
		MyTime:        uint64(time.Now().Unix()), // after 1970
		Addr:          own.claim.Addr,
		UpgradeTime:   upgrade,
		IPSigningTime: own.claim.Timestamp,
		IPNodeIDSig:   own.claim.Signature,
		Client:        program,
		IPBLSSig:      own.proof[:],
		AllSubnets:    true,
	}).Append(nil)
}

// onHandshake checks the peer's first message and answers it with addresses.
func (c *conn) onHandshake(h *wire.Handshake) error {
	if c.gotHandshake {
		return errors.New("second handshake")
	}
	if err := c.checkHandshake(h); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	var known *wire.Bloom
	if len(h.Filter) > 0 || len(h.Salt) > 0 {
		var err error
		if known, err = parseFilter(h.Filter, h.Salt); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
	}
	c.gotHandshake = true
	c.sendPeers(known, h.Salt)
	return nil
}

func (c *conn) checkHandshake(h *wire.Handshake) error {
	now := uint64(time.Now().Unix()) // after 1970
	switch {
	case h.NetworkID != world.NetworkID:
		return fmt.Errorf("network %d", h.NetworkID)
	case h.MyTime > now+maxSkew || h.MyTime+maxSkew < now:
		return fmt.Errorf("clock at %d, ours at %d", h.MyTime, now)
	case len(h.TrackedSubnets) > maxSubnets:
		return fmt.Errorf("%d tracked subnets", len(h.TrackedSubnets))
	case !h.Addr.Addr().IsValid():
		return errors.New("no address")
	case h.Addr.Port() == 0:
		return errors.New("port 0")
	case h.IPSigningTime > now+maxSkew:
		return errors.New("address signed in the future")
	}
	key, err := wire.PublicKey(c.tls.ConnectionState().PeerCertificates[0].Raw)
	if err != nil {
		return err
	}
	if err := wire.VerifyClaim(key, h.Addr, h.IPSigningTime, h.IPNodeIDSig); err != nil {
		return err
	}
	if _, err := bls.DecodeSignature(h.IPBLSSig); err != nil {
		return fmt.Errorf("BLS signature: %w", err)
	}
	version := h.Client // the message's room is used again
	c.version.Store(&version)
	if !c.v.compatible(h.Client) {
		return fmt.Errorf("version %s", h.Client)
	}
	// Only a validator's BLS signature means anything. There is exactly one that
	// is valid, and here every validator's key is known.
	if v, ok := c.v.cfg.World.Validator(c.peer); ok {
		want := v.Key.SignProof(wire.AppendClaim(nil, h.Addr, h.IPSigningTime))
		if string(want[:]) != string(h.IPBLSSig) {
			return errors.New("BLS signature is not the validator's")
		}
	}
	return nil
}

// onPeerList takes the peer's addresses: the first list ends the handshake.
func (c *conn) onPeerList(ctx context.Context, list *wire.PeerList) error {
	if !c.gotHandshake {
		return nil
	}
	c.finish(ctx)
	for i := range list.Peers {
		p := &list.Peers[i]
		if _, err := wire.PublicKey(p.Certificate); err != nil {
			return fmt.Errorf("peer list: %w", err)
		}
		if !p.Addr.Addr().IsValid() || p.Addr.Port() == 0 {
			return fmt.Errorf("peer list: address %s", p.Addr)
		}
		if _, ok := c.v.cfg.World.Validator(p.NodeID()); ok {
			if err := p.Verify(); err != nil {
				return fmt.Errorf("peer list: %w", err)
			}
		}
	}
	return nil
}

func (c *conn) onGetPeerList(req *wire.GetPeerList) error {
	if !c.finished.Load() {
		return nil
	}
	known, err := parseFilter(req.Filter, req.Salt)
	if err != nil {
		return fmt.Errorf("peer list request: %w", err)
	}
	if peers := c.sample(known, req.Salt); len(peers) > 0 { // nothing to tell, no answer
		c.send(c.packed((&wire.PeerList{Peers: peers}).Append(nil)))
	}
	return nil
}

func parseFilter(filter, salt []byte) (*wire.Bloom, error) {
	if len(salt) > wire.MaxSalt {
		return nil, fmt.Errorf("salt of %d bytes", len(salt))
	}
	return wire.ParseBloom(filter)
}

func (c *conn) sample(known *wire.Bloom, salt []byte) []wire.ClaimedIP {
	return c.v.cfg.Directory.Sample(maxPeerIPs, known, salt, c.v.cfg.Identity.NodeID, c.peer)
}

// sendPeers answers a handshake, if need be with an empty list.
func (c *conn) sendPeers(known *wire.Bloom, salt []byte) {
	c.send(c.packed((&wire.PeerList{Peers: c.sample(known, salt)}).Append(nil)))
}
