package network

import (
	"strings"
	"testing"

	"quorate/engine/chain"
)

func TestParseTrackedPeer(t *testing.T) {
	t.Parallel()
	id := chain.NodeID{1, 2, 3}
	f := func(text, host string, port uint16) {
		t.Helper()
		if got, err := ParseTrackedPeer(text); err != nil || got != (TrackedPeer{NodeID: id, Host: host, Port: port}) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	f(id.String()+"@10.0.0.7:9651", "10.0.0.7", 9651)
	f(id.String()+"@[fc00::7]:1", "fc00::7", 1)
	f(id.String()+"@validator.example:65535", "validator.example", 65535)
	bad := func(text, want string) {
		t.Helper()
		if _, err := ParseTrackedPeer(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	bad("10.0.0.7:9651", "NodeID-...@HOST:PORT")
	bad("NodeID-x@10.0.0.7:9651", "NodeID-x")
	bad(id.String()+"@10.0.0.7", "HOST:PORT")
	bad(id.String()+"@10.0.0.7:0", "HOST:PORT")
	bad(id.String()+"@:9651", "HOST:PORT")
	bad(id.String()+"@10.0.0.7:65536", "HOST:PORT")
	bad(id.String()+"@no name:9651", "HOST:PORT")
}

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1", "localhost"} {
		ip, err := TrackedPeer{Host: host}.resolve(t.Context())
		if err != nil || !ip.IsLoopback() {
			t.Errorf("%s: %v, %v", host, ip, err)
		}
	}
	if ip, err := (TrackedPeer{Host: "no such name"}).resolve(t.Context()); err == nil {
		t.Errorf("an impossible name is at %v", ip)
	}
}
