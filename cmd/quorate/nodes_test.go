package main

import (
	"strings"
	"testing"

	"quorate/engine"
	"quorate/engine/source"
)

func TestNodeHeaders(t *testing.T) {
	t.Parallel()
	bad := func(want string, urls []string, headers ...string) {
		t.Helper()
		f := nodeFlags{urls: urls, headers: headers}
		err := f.check()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%v %v: %v, want %q", urls, headers, err, want)
		}
	}
	one := []string{"http://u:SECRET@a:1"}
	bad("http://HOST:PORT", []string{"SECRET@a"})
	bad("value 2", one, "X: SECRET", "SECRET")
	bad("Host cannot be set", one, "Host: SECRET")
	bad("Authorization is given twice", one, "Authorization: Bearer SECRET")
	bad("no --node-url is at http://b", one, "http://b X: SECRET")
	bad("no valid name", one, "http://a:1 SECRET X: y")

	f := nodeFlags{urls: []string{"http://a:1", "http://b:1/x", "http://a:1/y"}, headers: []string{"X-All: v", "http://a:1 X-A: w"}}
	nodes, err := f.endpoints()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"X-A,X-All", "X-All", "X-A,X-All"} {
		if got := strings.Join(nodes[i].HeaderNames(), ","); got != want {
			t.Errorf("node %d: %s", i, got)
		}
	}
	// A chain's API at the host of a node carries its headers, and keeps its own.
	parse := func(s string) source.Endpoint {
		e, err := source.ParseEndpoint(s)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	further := []engine.EVMConfig{{RPC: parse("http://A:1/rpc"), WS: parse("http://c:1/ws")}, {RPC: parse("http://c:1/rpc")}}
	shareHeaders(nodes, further)
	if got := strings.Join(further[0].RPC.HeaderNames(), ","); got != "X-A,X-All" {
		t.Error(got)
	}
	if n := len(further[0].WS.HeaderNames()) + len(further[1].RPC.HeaderNames()); n != 0 {
		t.Errorf("%d headers go to another host", n)
	}
}

// In the environment headers are one on a line: their values may have commas.
func TestNodeHeadersInEnvironment(t *testing.T) {
	t.Parallel()
	cmd := serveCommand()
	if err := fillFlags(cmd, func() []string {
		return []string{"QUORATE_NODE_HEADER=A: 1, 2\nB: 3", "QUORATE_NODE_URL=http://a,http://b"}
	}); err != nil {
		t.Fatal(err)
	}
	got, err := cmd.Flags().GetStringArray("node-header")
	if err != nil || len(got) != 2 || got[0] != "A: 1, 2" || got[1] != "B: 3" {
		t.Errorf("%q, %v", got, err)
	}
}
