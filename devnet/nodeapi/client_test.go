package nodeapi

import (
	"context"
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"testing"

	"quorate/engine/chain"
	"quorate/engine/source"
	"quorate/engine/source/avm"
	"quorate/engine/source/evm"
	"quorate/engine/source/platform"
)

// TestHeads asks as the product does: the P-Chain has a head that moves, and of
// the chains that are not run there is no answer but the node's 404.
func TestHeads(t *testing.T) {
	s, w, _ := newServer(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	caller, err := source.Open("http://" + ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	client := platform.New(caller)
	for h := range uint64(3) {
		tip, err := client.Head(ctx)
		want := platform.Tip{Height: h, ID: sha256.Sum256(blockBytes(t, s, h, "hexnc"))}
		if err != nil || tip != want {
			t.Errorf("got %+v, %v, want %+v", tip, err, want)
		}
		w.Shift()
	}
	chains, err := client.Blockchains(ctx)
	if err != nil || len(chains) != 3 || chains[1].ID != w.CChainID() || chains[1].SubnetID != chain.PrimaryNetworkID {
		t.Errorf("blockchains: %+v, %v", chains, err)
	}
	for name, want := range map[string]bool{"P": true, "C": true, "X": false} {
		if ok, err := client.IsBootstrapped(ctx, name); err != nil || ok != want {
			t.Errorf("%s is bootstrapped: %v, %v", name, ok, err)
		}
	}
	if _, err := avm.Head(ctx, caller); !errors.Is(err, source.ErrBadAnswer) {
		t.Errorf("X-Chain: %v", err)
	}
	c, err := evm.New(evm.Config{Node: caller, Path: "/ext/bc/C/rpc"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Tip(ctx); !errors.Is(err, source.ErrBadAnswer) {
		t.Errorf("C-Chain: %v", err)
	}
	var refused *source.RefusedError
	if _, err := caller.Forward(ctx, "/ext/bc/C/rpc", []byte(`{}`), 0); !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("forwarded: %v", err)
	}
}
