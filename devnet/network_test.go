package devnet

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet/hostile"
	"quorate/engine/chain"
	"quorate/p2p"
	"quorate/p2p/wire"
)

// join runs the product's own client, which knows only validator 0 and so has
// to find the others by what validators tell.
func join(t *testing.T, d *Devnet) *p2p.Network {
	t.Helper()
	cert, err := p2p.LoadOrCreateCertificate(filepath.Join(t.TempDir(), "peer.pem"))
	if err != nil {
		t.Fatal(err)
	}
	proof := bls.SecretKeyFromSeed([]byte("the product's client, any 32 bytes")).SignProof([]byte("any"))
	first := d.World().Validators()[0].NodeID
	n, err := p2p.New(p2p.Config{
		NetworkID: 12345, Certificate: cert, ClientVersion: release(), IPProof: proof[:],
		Discover: func(context.Context) ([]p2p.Address, error) {
			return []p2p.Address{{NodeID: first, Addr: live{d}.Address(0)}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]chain.NodeID, 0, len(d.World().Validators()))
	for _, v := range d.World().Validators() {
		ids = append(ids, v.NodeID)
	}
	n.SetWanted(ids)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("client: %v", err)
		}
	})
	return n
}

// eventually waits until cond holds.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for !cond() {
		select {
		case <-deadline:
			t.Fatalf("never: %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestProductClient: the client finds every validator, each signs once, and a
// validator that was away comes back.
func TestProductClient(t *testing.T) {
	t.Parallel()
	const validators = 8
	d, _ := start(t, Config{Validators: validators, Seed: 5})
	n := join(t, d)
	eventually(t, "all validators are connected", func() bool { return n.Stats().Ready == validators })
	askAll := func(i uint64) (signed, refused, lost int) {
		u := d.Message(i)
		var mu sync.Mutex
		done := make(chan struct{}, validators)
		r, err := n.Open(d.World().CChainID(), wire.AppendSignatureRequest(nil, u.Bytes(), nil), 10*time.Second, func(a p2p.Answer) {
			mu.Lock()
			defer mu.Unlock()
			v, _ := d.World().Validator(a.From)
			switch want := v.Key.Sign(u.Bytes()); {
			case a.Err == nil:
				if got, err := wire.ParseSignatureResponse(a.Bytes); err == nil && string(got) == string(want[:]) {
					signed++
				}
			case a.Code != 0:
				refused++
			default:
				lost++
			}
			done <- struct{}{}
		})
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, v := range d.World().Validators() {
			if r.Ask(v.NodeID) == nil {
				asked++
			}
		}
		for range asked {
			<-done
		}
		r.Close()
		return signed, refused, lost
	}
	if signed, refused, lost := askAll(1); signed != validators {
		t.Errorf("%d signed, %d refused, %d lost, want %d signed", signed, refused, lost, validators)
	}
	if got := d.MessageRequests(d.Message(1).ID()); got != validators {
		t.Errorf("%d requests for the message, want %d", got, validators)
	}
	if signed, refused, _ := askAll(1 << 40); signed != 0 || refused != validators {
		t.Errorf("a message that was never emitted: %d signed, %d refused", signed, refused)
	}
	d.Stop(6)
	away := d.World().Validators()[6].NodeID
	eventually(t, "the stopped validator is seen as down", func() bool { return !n.Status(away).Connected })
	if signed, _, _ := askAll(2); signed != validators-1 {
		t.Errorf("with one away %d signed", signed)
	}
	if err := d.Start(6); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the validator is back", func() bool { return n.Status(away).Ready })
	if signed, _, _ := askAll(3); signed != validators {
		t.Errorf("after the outage %d signed", signed)
	}
}

// TestProductClientDropsAttackers: validators that attack the connection are
// dropped, whatever they send, and the others serve as if nothing happened.
func TestProductClientDropsAttackers(t *testing.T) {
	t.Parallel()
	attacks := hostile.Attacks()
	d, _ := start(t, Config{Validators: 4 * len(attacks), Byzantine: 0.25, Kinds: attacks, Seed: 5})
	if len(d.Liars()) != len(attacks) {
		t.Fatalf("%d attackers", len(d.Liars()))
	}
	n := join(t, d)
	honest := 3 * len(attacks)
	eventually(t, "all honest validators are connected, and no attacker", func() bool {
		s := n.Stats()
		return s.Ready == honest && s.Connected == honest
	})
	sentAll := func() bool {
		attacked := 0
		for p := range n.Peers() {
			if p.Violations > 0 || p.Down {
				attacked++
			}
		}
		return attacked == len(attacks)
	}
	eventually(t, "every attacker was found out", sentAll)
	u := d.Message(1)
	answers := make(chan error, honest)
	r, err := n.Open(d.World().CChainID(), wire.AppendSignatureRequest(nil, u.Bytes(), nil), 10*time.Second, func(a p2p.Answer) { answers <- a.Err })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	asked := 0
	for _, v := range d.World().Validators() {
		if r.Ask(v.NodeID) == nil {
			asked++
		}
	}
	for range asked {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if asked != honest {
		t.Errorf("%d validators were asked, want %d", asked, honest)
	}
}

// TestGroupsThatRefuse: validators of these shares refuse always or at first.
func TestGroupsThatRefuse(t *testing.T) {
	t.Parallel()
	d, _ := start(t, Config{Validators: 5, Refusing: 0.2, Late: 0.2, LateBy: time.Hour, Seed: 2})
	groups := d.World().Pick(0, 0, 0, 0, 0.2, 0.2)
	for i := range 5 {
		m := dial(t, d, i).ask(t, d.World().CChainID(), d.Message(1).Bytes(), nil)
		want := wire.KindAppResponse
		if i == groups[4][0] || i == groups[5][0] {
			want = wire.KindAppError
		}
		if m == nil || m.Kind != want {
			t.Errorf("validator %d: %+v, want %s", i, m, want)
		}
	}
}
