package hostile

import (
	"context"
	"testing"
	"testing/synctest"

	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// counter takes a number of batches from an attacker and then has no room.
type counter struct {
	room    int
	batches [][]byte
	stop    context.CancelFunc
}

func (p *counter) Send(raw []byte) bool {
	if len(p.batches) == p.room {
		p.stop()
		return false
	}
	p.batches = append(p.batches, raw)
	return true
}

func (p *counter) Close() {}

// TestAttacks: what each attacker sends is of its kind, and does not end.
func TestAttacks(t *testing.T) {
	t.Parallel()
	w, err := world.New(world.Params{Validators: 2, Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	f := func(kind Kind, frames int, is func(m *wire.Message) bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			conduct, err := Lie(kind, Means{Certificate: w.Validators()[1].Certificate})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			peer := &counter{room: 3, stop: cancel}
			conduct.Unasked(ctx, chain.ID{1}, peer)
			codec, err := wire.NewCodec()
			if err != nil {
				t.Fatal(err)
			}
			count := 0
			for _, batch := range peer.batches {
				for r := (&reader{batch}); len(r.rest) > 0; count++ {
					var m wire.Message
					if err := codec.Parse(r.frame(t), &m); err != nil || !is(&m) {
						t.Fatalf("%s sends %v, %v", kind, m.Kind, err)
					}
				}
			}
			if count < frames {
				t.Errorf("%s: %d frames in three batches", kind, count)
			}
		})
	}
	f(EmptyFrames, 10_000, func(m *wire.Message) bool { return m.Size == 0 })
	f(Pongs, 10_000, func(m *wire.Message) bool { return m.Kind == wire.KindPong })
	f(Pings, 10_000, func(m *wire.Message) bool { return m.Kind == wire.KindPing })
	f(UnknownIDs, 500, func(m *wire.Message) bool { return m.Kind == wire.KindAppResponse && m.AppResponse.RequestID%2 == 0 })
	seen := map[chain.NodeID]bool{}
	f(InventedPeers, 3, func(m *wire.Message) bool {
		for _, c := range m.PeerList.Peers {
			if seen[c.NodeID()] || c.Verify() != nil {
				return false // each is another node, and each signature is valid
			}
			seen[c.NodeID()] = true
		}
		return m.Kind == wire.KindPeerList
	})
}

type reader struct{ rest []byte }

func (r *reader) Read(b []byte) (int, error) {
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *reader) frame(t *testing.T) []byte {
	t.Helper()
	msg, err := wire.ReadFrame(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return msg
}
