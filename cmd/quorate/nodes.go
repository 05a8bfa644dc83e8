package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"quorate/engine"
	"quorate/engine/network"
	"quorate/engine/source"
)

// nodeFlags are the flags of quorate serve about the nodes that it follows. Both
// may hold credentials: nothing quotes their values.
type nodeFlags struct {
	urls, headers []string
	tracked       []string
}

func (f *nodeFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.urls, "node-url", nil, "HTTP address of an Avalanche node to follow, with user, password and query if it needs them; may be repeated")
	flags.StringArrayVar(&f.headers, "node-header", nil, `header "Name: value" that each request to the nodes carries, or "URL Name: value" for the nodes of one host; may be repeated`)
	flags.StringSliceVar(&f.tracked, "track-peers", nil, "validators to stay connected to at a known address, NodeID-...@HOST:PORT; may be repeated")
	// A header's value may have commas.
	if err := flags.SetAnnotation("node-header", listByLine, nil); err != nil {
		panic(err) // the flag is there
	}
}

func (f *nodeFlags) check() error {
	_, err := f.endpoints()
	_, wrong := f.trackedPeers()
	return errors.Join(err, wrong)
}

func (f *nodeFlags) trackedPeers() ([]network.TrackedPeer, error) {
	var list []network.TrackedPeer
	for _, s := range f.tracked {
		t, err := network.ParseTrackedPeer(s)
		if err != nil {
			return nil, fmt.Errorf("--track-peers: %w", err)
		}
		list = append(list, t)
	}
	return list, nil
}

// endpoints returns the nodes with their headers. What is meant for the nodes of
// one host goes to no other.
func (f *nodeFlags) endpoints() ([]source.Endpoint, error) {
	nodes, err := source.ParseEndpoints(f.urls...)
	if err != nil {
		return nil, fmt.Errorf("--node-url: %w", err)
	}
	for i, h := range f.headers {
		if err := addHeader(nodes, h); err != nil {
			return nil, fmt.Errorf("--node-header, value %d: %w", i+1, err)
		}
	}
	return nodes, nil
}

// shareHeaders lets chains whose API is at the host of a node carry its headers.
func shareHeaders(nodes []source.Endpoint, further []engine.EVMConfig) {
	for i := range further {
		for _, at := range []*source.Endpoint{&further[i].RPC, &further[i].WS} {
			if at.Zero() {
				continue
			}
			if j := slices.IndexFunc(nodes, at.SameHost); j >= 0 {
				*at = at.Inherit(nodes[j])
			}
		}
	}
}

func addHeader(nodes []source.Endpoint, text string) error {
	meant := func(source.Endpoint) bool { return true }
	if first, rest, ok := strings.Cut(strings.TrimSpace(text), " "); ok && strings.Contains(first, "://") {
		at, err := source.ParseEndpoint(first)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(nodes, at.SameHost) {
			return fmt.Errorf("no --node-url is at %s", at)
		}
		meant, text = at.SameHost, rest
	}
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return errors.New(`it is not of the form "Name: value"`)
	}
	for i := range nodes {
		if !meant(nodes[i]) {
			continue
		}
		var err error
		if nodes[i], err = nodes[i].WithHeader(name, value); err != nil {
			return err
		}
	}
	return nil
}
