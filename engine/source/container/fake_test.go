package container

import (
	"testing"

	"quorate/engine/primary"
	"quorate/engine/source"
	"quorate/engine/source/container/containertest"
)

type fake = containertest.Node

// newClient returns a client of nodes that asks each once.
func newClient(t testing.TB, kind primary.Kind, change func(*Config), nodes ...*fake) *Client {
	t.Helper()
	list := make([]source.Endpoint, len(nodes))
	for i, f := range nodes {
		list[i] = f.At
	}
	node, err := source.New(source.Config{Nodes: list, MaxBody: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	cfg := Config{Chain: kind, Node: node}
	if kind == primary.XVertices {
		cfg.ID = containertest.XChain
	}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
