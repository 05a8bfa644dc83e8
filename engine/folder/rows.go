package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quorate/engine/chain"
	"quorate/engine/chain/avm"
	"quorate/engine/chain/platform"
	"quorate/engine/chain/platform/rules"
	"quorate/engine/primary"
	"quorate/engine/primary/cchain"
	"quorate/engine/primary/pchain"
	"quorate/engine/primary/xchain"
	store "quorate/engine/store/index"
)

// Rows opens the rows of the chains of a primary network.
type Rows struct {
	Network  uint32
	genesis  *platform.Genesis // nil where it is not known
	exchange []byte            // what the genesis has for the X-Chain
	Upgrades *rules.Upgrades
	Asset    chain.ID // AVAX, zero where it is not known
}

// Know takes a genesis, which may be nil.
func (p *Rows) Know(genesis []byte) (err error) {
	if genesis == nil {
		return nil
	}
	if p.genesis, err = platform.ParseGenesis(genesis); err != nil {
		return err
	}
	p.exchange, err = exchangeGenesis(p.genesis)
	return err
}

// Platform opens the rows of the P-Chain.
func (p *Rows) Platform(db *store.DB) (*pchain.Chain, error) {
	return pchain.Open(db, pchain.Config{Network: p.Network, Genesis: p.genesis, Upgrades: p.Upgrades, AVAX: p.Asset})
}

// Open opens the rows of any chain but the P-Chain. Vertices are those before the blocks
// of the X-Chain.
func (p *Rows) Open(db *store.DB, kind primary.Kind, vertices *primary.Chain) (*primary.Chain, error) {
	switch kind {
	case primary.XVertices:
		return xchain.OpenVertices(db, p.Network, p.exchange)
	case primary.XChain:
		return xchain.OpenBlocks(db, p.Network, p.exchange, vertices)
	case primary.CChain:
		return cchain.Open(db, p.Network)
	}
	return nil, fmt.Errorf("no rows of %s", kind)
}

// exchangeGenesis returns what a genesis of the P-Chain has for the X-Chain.
func exchangeGenesis(g *platform.Genesis) ([]byte, error) {
	for i := range g.Chains {
		if c, ok := g.Chains[i].Body.(*platform.CreateChain); ok && c.VM == exchangeVM {
			if _, err := avm.ParseGenesis(c.GenesisData); err != nil {
				return nil, err
			}
			return c.GenesisData, nil
		}
	}
	return nil, nil
}

// exchangeVM is the ID of the X-Chain's virtual machine.
var exchangeVM = chain.ID{'a', 'v', 'm'}

// PrimaryName is what the commands on a data folder call a chain of a primary network:
// it is the name of the folder of its archive.
func PrimaryName(network uint32, kind primary.Kind) string {
	for _, c := range PrimaryChains {
		if c.Kind == kind {
			return fmt.Sprintf("network-%d-%s", network, c.folder)
		}
	}
	return fmt.Sprintf("network-%d-%d", network, kind)
}

// letterOf returns the letter of a chain of a primary network.
func letterOf(kind primary.Kind) string {
	for _, c := range PrimaryChains {
		if c.Kind == kind {
			return c.Letter
		}
	}
	return ""
}

// ParsePrimaryName reads what [PrimaryName] returns.
func ParsePrimaryName(name string) (network uint32, kind primary.Kind, ok bool) {
	if _, err := fmt.Sscanf(name, "network-%d-", &network); err != nil {
		return 0, 0, false
	}
	for _, c := range PrimaryChains {
		if PrimaryName(network, c.Kind) == name {
			return network, c.Kind, true
		}
	}
	return 0, 0, false
}

func genesisFile(dataDir string, network uint32) string {
	return filepath.Join(dataDir, fmt.Sprintf("genesis-%08x", network))
}

// KeepGenesis keeps the genesis of a network in the data folder, so that rows can be
// made again from it by who is not told of it.
func KeepGenesis(dataDir string, network uint32, genesis []byte) error {
	name := genesisFile(dataDir, network)
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, genesis) {
		return nil
	}
	tmp := name + ".tmp"
	if err := os.WriteFile(tmp, genesis, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

// KeptGenesis returns the genesis of a network that is kept in the data folder if it is
// the one of that ID, and nil if there is none.
func KeptGenesis(dataDir string, network uint32, id chain.ID) ([]byte, error) {
	b, err := os.ReadFile(genesisFile(dataDir, network))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case primary.GenesisID(b) != id:
		return nil, nil
	}
	return b, nil
}
