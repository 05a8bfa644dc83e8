package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"quorate/devnet"
	"quorate/devnet/world"
	"quorate/engine"
	"quorate/engine/chain"
	"quorate/engine/chain/codec"
	"quorate/engine/chain/genesis"
	"quorate/engine/chain/platform"
)

// primaryFlags are the flags of quorate serve about the primary network.
type primaryFlags struct {
	mode    string
	genesis []string
}

// Modes of --primary.
const (
	primaryAuto = "auto"
	primaryOff  = "off"
)

func (f *primaryFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.mode, "primary", primaryAuto, "P-Chain, X-Chain and the C-Chain's proposers: auto follows those whose blocks a node has, off none; needs --index")
	flags.StringSliceVar(&f.genesis, "genesis-file", nil, "genesis of a network, as NETWORK=FILE: avalanchego's own genesis file (for mainnet genesis/genesis_mainnet.json of its source), or the P-Chain's genesis bytes, raw or in hex: no node has them; NETWORK is a number, mainnet or fuji; may be repeated")
}

func (f *primaryFlags) check() error {
	if f.mode != primaryAuto && f.mode != primaryOff {
		return fmt.Errorf("--primary %q: must be %s or %s", f.mode, primaryAuto, primaryOff)
	}
	for _, g := range f.genesis {
		if _, _, err := splitGenesis(g); err != nil {
			return err
		}
	}
	return nil
}

// splitGenesis takes a value of --genesis-file apart.
func splitGenesis(s string) (network uint32, file string, err error) {
	name, file, ok := strings.Cut(s, "=")
	if !ok || file == "" {
		return 0, "", fmt.Errorf("--genesis-file %q is not of the form NETWORK=FILE", s)
	}
	if network, err = networkNumber(name); err != nil {
		return 0, "", fmt.Errorf("--genesis-file: %w", err)
	}
	return network, file, nil
}

// networkNumber returns the number of a network by its name or number.
func networkNumber(name string) (uint32, error) {
	switch name {
	case "mainnet":
		return chain.MainnetID, nil
	case "fuji", "testnet":
		return chain.FujiID, nil
	}
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%q is no network", name)
	}
	return uint32(n), nil
}

// configure sets what the flags say, and the genesis of the network that is simulated
// in this process, if there is one.
func (f *primaryFlags) configure(cfg *engine.Config, sim *devnet.Devnet) error {
	cfg.NoPrimary = f.mode == primaryOff
	if sim != nil && sim.Genesis() != nil {
		cfg.Genesis = map[uint32][]byte{world.NetworkID: sim.Genesis()}
	}
	for _, g := range f.genesis {
		network, file, err := splitGenesis(g)
		if err != nil {
			return err
		}
		b, err := readGenesis(file)
		if err != nil {
			return fmt.Errorf("--genesis-file: %w", err)
		}
		if cfg.Genesis == nil {
			cfg.Genesis = make(map[uint32][]byte)
		}
		cfg.Genesis[network] = b
	}
	return nil
}

// readGenesis reads the genesis of a P-Chain.
func readGenesis(file string) ([]byte, error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if st.Size() > 2*codec.MaxGenesisLen+2 {
		return nil, fmt.Errorf("%s: %d bytes are too many for a genesis", file, st.Size())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(b)
	if bytes.HasPrefix(text, []byte("{")) {
		if b, err = genesis.FromConfig(text); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	} else if raw, err := hex.AppendDecode(nil, bytes.TrimPrefix(text, []byte("0x"))); err == nil {
		b = raw
	}
	if _, err := platform.ParseGenesis(b); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return b, nil
}
