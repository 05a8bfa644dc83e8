package xchain

import (
	"crypto/sha256"

	"quorate/engine/primary"
	store "quorate/engine/store/index"
)

// version counts the rules of the rows of blocks, vertexRules those of vertices, and reads
// is the oldest one whose rows can be served while they are made again.
const (
	version     = 6
	vertexRules = 5

	reads    = 1
	burned   = 3 // rows from it on have what was burned
	supplied = 4 // and what is locked
	live     = 5 // live lists are trees
)

// OpenVertices returns the rows of a network's vertices. Genesis is what the P-Chain's
// genesis has for the X-Chain; nil where that is not known, so that the outputs that it
// made are not.
func OpenVertices(db *store.DB, network uint32, genesis []byte) (*primary.Chain, error) {
	return openVertices(db, network, genesis, vertexRules)
}

func openVertices(db *store.DB, network uint32, genesis []byte, version uint16) (*primary.Chain, error) {
	return primary.OpenChain(db, primary.Config{
		ID: primary.RowsID(network, primary.XVertices), Version: version, Reads: reads, Burned: burned, Supplied: supplied, Live: live, Given: given(genesis),
		Machine: func() primary.Machine { return &machine{genesis: genesis} },
	})
}

// OpenBlocks returns the rows of a network's X-Chain blocks. If there are vertices they
// must end with the stop vertex before the first block is committed, or it fails with
// [ErrVertices]; where no node has them the blocks begin with the genesis.
func OpenBlocks(db *store.DB, network uint32, genesis []byte, vertices *primary.Chain) (*primary.Chain, error) {
	return openBlocks(db, network, genesis, vertices, version)
}

func openBlocks(db *store.DB, network uint32, genesis []byte, vertices *primary.Chain, version uint16) (*primary.Chain, error) {
	before := func() (space primary.Space, any bool, err error) {
		if vertices == nil {
			return space, false, nil
		}
		_, any = vertices.Cursor()
		return vertices.Space(), any, nil
	}
	return primary.OpenChain(db, primary.Config{
		ID: primary.RowsID(network, primary.XChain), Version: version, Reads: reads, Burned: burned, Supplied: supplied, Live: live, Given: given(genesis),
		Machine: func() primary.Machine { return &machine{genesis: genesis, vertices: before} },
	})
}

// given is what rows follow from beside blocks.
func given(genesis []byte) (g primary.Given) {
	if len(genesis) > 0 {
		g.Genesis = sha256.Sum256(genesis)
	}
	return g
}
