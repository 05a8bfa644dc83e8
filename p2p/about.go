package p2p

import (
	"iter"
	"net/netip"
	"strings"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// Peer is what is known of one wanted node.
type Peer struct {
	NodeID chain.NodeID
	Status
	Behaviour
	// Greeting is the zero value while the node is not ready.
	Greeting
}

// Greeting is what is known of a link and of who is at its other end.
type Greeting struct {
	// Since is when the link was made.
	Since time.Time
	// Address is where the node was reached.
	Address netip.AddrPort
	// Version is what the node says that it runs, such as avalanchego/1.14.2; empty if
	// that is no plain name.
	Version string
}

// Peers yields the wanted nodes, in no order. It takes no lock.
func (n *Network) Peers() iter.Seq[Peer] {
	peers := *n.peers.Load()
	return func(yield func(Peer) bool) {
		for _, p := range peers {
			if !yield(p.about()) {
				return
			}
		}
	}
}

// Peer returns what is known of a node, false if it is not wanted. It takes no lock.
func (n *Network) Peer(id chain.NodeID) (Peer, bool) {
	p := n.peer(id)
	if p == nil {
		return Peer{NodeID: id}, false
	}
	return p.about(), true
}

func (p *peer) about() Peer {
	about := Peer{NodeID: p.id, Status: p.status(), Behaviour: p.record.behaviour()}
	if g := p.greeting.Load(); g != nil {
		about.Greeting = *g
	}
	return about
}

// maxVersionName bounds the name of a program that is remembered.
const maxVersionName = 64

// plainVersion returns a version as text if its name is a plain word, and else nothing:
// what a peer calls its program is up to the peer.
func plainVersion(v wire.Version) string {
	strange := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._", r)
	}
	if v.Name == "" || len(v.Name) > maxVersionName || strings.ContainsFunc(v.Name, strange) {
		return ""
	}
	return v.String()
}
