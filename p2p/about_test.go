package p2p

import (
	"testing"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// TestGreeting: of a node that is connected it is known since when, where, and what it
// runs; of one that was lost nothing.
func TestGreeting(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	at := r.listen()
	n, stop := start(t, []Address{at})
	p, ok := n.Peer(r.id)
	if !ok || p.NodeID != r.id || !p.Ready || p.Version != testVersion().String() || p.Address != at.Addr || time.Since(p.Since) > time.Minute {
		t.Errorf("%+v, %v", p, ok)
	}
	stop()
	if p, ok = n.Peer(r.id); !ok || p.Greeting != (Greeting{}) {
		t.Errorf("%+v, %v", p.Greeting, ok)
	}
	if p, ok = n.Peer(chain.NodeID{1}); ok || p.NodeID != (chain.NodeID{1}) {
		t.Errorf("%+v, %v", p, ok)
	}
}

// TestPlainVersion: peers call their programs what they like.
func TestPlainVersion(t *testing.T) {
	t.Parallel()
	f := func(name, want string) {
		t.Helper()
		if got := plainVersion(wire.Version{Name: name, Major: 1, Minor: 2, Patch: 3}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	f("avalanchego", "avalanchego/1.2.3")
	f("my-node_2.0", "my-node_2.0/1.2.3")
	f("", "")
	f("<script>", "")
	f("a b", "")
	f("é", "")
	f("\xff", "")
	f(string(make([]byte, maxVersionName+1)), "")
}
