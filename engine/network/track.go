package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"quorate/engine/chain"
	"quorate/internal/hostport"
	"quorate/p2p"
)

// TrackedPeer is a validator that the operator knows the address of.
type TrackedPeer struct {
	NodeID chain.NodeID
	Host   string // an IP address, or a name that is resolved again and again
	Port   uint16
}

// ParseTrackedPeer reads NodeID-...@HOST:PORT.
func ParseTrackedPeer(s string) (TrackedPeer, error) {
	id, addr, ok := strings.Cut(s, "@")
	if !ok {
		return TrackedPeer{}, fmt.Errorf("tracked peer %q is not of the form NodeID-...@HOST:PORT", s)
	}
	node, err := chain.ParseNodeID(id)
	if err != nil {
		return TrackedPeer{}, fmt.Errorf("tracked peer %q: %w", s, err)
	}
	host, port, err := hostport.Split(addr)
	if err == nil && (host == "" || port == 0) {
		err = fmt.Errorf("%q is not HOST:PORT of one machine", addr)
	}
	if err != nil {
		return TrackedPeer{}, fmt.Errorf("tracked peer %q: %w", s, err)
	}
	return TrackedPeer{NodeID: node, Host: host, Port: port}, nil
}

// resolveTimeout bounds the look-up of one tracked peer's name.
const resolveTimeout = 5 * time.Second

// track gives the peer network the tracked peers' addresses of the moment. All
// networks try all of them: a peer of another network closes the link.
func (n *Network) track(ctx context.Context) {
	if len(n.cfg.TrackPeers) == 0 {
		return
	}
	list := make([]p2p.Address, 0, len(n.cfg.TrackPeers))
	unresolved := map[chain.NodeID]bool{}
	for _, t := range n.cfg.TrackPeers {
		ip, err := t.resolve(ctx)
		if err != nil {
			if !n.unresolved[t.NodeID] {
				n.cfg.Log("p2p").Warn("a tracked peer's name has no address", "network", n.cfg.ID, "node", t.NodeID, "host", t.Host, "err", err)
			}
			unresolved[t.NodeID] = true
			continue
		}
		list = append(list, p2p.Address{NodeID: t.NodeID, Addr: netip.AddrPortFrom(ip, t.Port)})
	}
	n.unresolved = unresolved
	n.peers.Track(list)
}

func (t TrackedPeer) resolve(ctx context.Context) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(t.Host); err == nil {
		return ip, nil
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", t.Host)
	if err != nil {
		return netip.Addr{}, err
	}
	if len(found) == 0 {
		return netip.Addr{}, fmt.Errorf("%s has no address", t.Host)
	}
	return found[0], nil
}
