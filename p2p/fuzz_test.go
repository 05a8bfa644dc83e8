package p2p

import (
	"net"
	"net/netip"
	"testing"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// FuzzTake hands a link any messages, two to let them meet each other's state.
func FuzzTake(f *testing.F) {
	handshake := (&wire.Handshake{NetworkID: testNetwork}).Append(nil)
	answer := (&wire.AppResponse{ChainID: testChain, RequestID: 1}).Append(nil)
	f.Add(handshake, handshake)
	f.Add(handshake, newRemoteClaim(f))
	f.Add(wire.Ping{}.Append(nil), wire.Pong{}.Append(nil))
	f.Add(answer, (&wire.AppError{ChainID: testChain, RequestID: 1, Code: -1}).Append(nil))
	f.Add((&wire.PullQuery{ChainID: testChain}).Append(nil), handshake)
	cfg := testConfig(f, nil)
	cfg.Logger = nil
	n, err := New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		p := newPeer(n, chain.NodeID{1}, nil)
		l := newLink(p, nil, ours)
		if !p.attach(l) {
			t.Fatal("a new peer is stopped")
		}
		answers := 0
		q, err := n.Open(testChain, nil, maxDeadline, func(Answer) { answers++ })
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		if err := p.ask(q); err != nil {
			t.Fatal(err)
		}
		for _, b := range [][]byte{first, second} {
			if size, err := l.take(b); err == nil && size < len(b) {
				t.Fatalf("%d bytes count as %d", len(b), size)
			}
		}
		l.fail(ErrStopped)
		p.lose()
		if answers != 1 {
			t.Fatalf("%d answers to one question", answers)
		}
	})
}

func newRemoteClaim(f *testing.F) []byte {
	r := newRemote(f)
	return (&wire.PeerList{Peers: []wire.ClaimedIP{r.claim(claimedAddr, 1), r.claim(netip.MustParseAddrPort("127.0.0.1:9651"), 1)}}).Append(nil)
}
