package primary

import (
	"quorate/engine/chain"
	"quorate/engine/primary"
	"quorate/httpapi/door"
)

// Finder finds primary networks by their names.
type Finder struct {
	// Networks are those that are followed; nil: there are none.
	Networks Networks
	// Unknown returns why a name is none of a network of which a node is followed, nil if it is.
	Unknown func(name []byte) *door.Failure
}

// Find finds the network of a name; nil is mainnet, or where that is not followed the test
// network.
func (x *Finder) Find(name []byte) (known string, of Network, f *door.Failure) {
	var ok bool
	if name == nil {
		for _, known = range [...]string{"mainnet", "fuji"} {
			if of, ok = x.primary(known); ok {
				return known, of, nil
			}
		}
		return "", nil, door.NotFound("no primary network is followed here")
	}
	if f := x.Unknown(name); f != nil {
		return "", nil, f
	}
	known = string(name)
	if of, ok = x.primary(known); !ok {
		return "", nil, door.NotFound("the primary network of " + known + " is not followed here")
	}
	return known, of, nil
}

func (x *Finder) primary(name string) (Network, bool) {
	if x.Networks == nil {
		return nil, false
	}
	return x.Networks.Primary(name)
}

// KindNamed reads how a path names a chain of the primary network: by alias; false if
// it is none.
func KindNamed(name []byte) (primary.Kind, bool) {
	switch string(name) {
	case "p-chain", "P":
		return primary.PChain, true
	case "x-chain", "X":
		return primary.XChain, true
	case "c-chain", "C":
		return primary.CChain, true
	}
	return 0, false
}

// kindOf returns which chain of a network has an ID.
func kindOf(network Network, id chain.ID) (primary.Kind, bool) {
	for _, k := range [...]primary.Kind{primary.PChain, primary.XChain, primary.CChain} {
		if on, ok := network.Chain(k); ok && on.ID() == id {
			return k, true
		}
	}
	return 0, false
}

// aliasKind returns the chain whose name stands for k: what is followed as the
// X-Chain's vertices goes by the name of the X-Chain.
func aliasKind(k primary.Kind) primary.Kind {
	if k == primary.XVertices {
		return primary.XChain
	}
	return k
}
