package localnet

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ava-labs/avalanchego/upgrade"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
)

// Custom is a network that is not "local": its upgrades come when they are told to.
// The nodes that run are all of its validators, so that one accepts blocks alone.
type Custom struct {
	// NetworkID is none of the well-known ones: those have their upgrades.
	NetworkID uint32
	// ChainNumber is the EVM chain ID of the C-Chain.
	ChainNumber uint64
	Upgrades    upgrade.Config
	// Staked has the stake of a node that is alone last: without it, it is a validator of
	// nothing. Several need it.
	Staked bool
	// Contracts are what the genesis of the C-Chain has at addresses, by their code.
	Contracts map[common.Address][]byte
}

// write makes the genesis, which is that of network "local" but for what c says,
// and the file of the upgrades. It returns the flags by which nodes read them.
func (c *Custom) write(r *Release, dir string, nodes int) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join(r.Dir, "genesis", "genesis_local.json"))
	if err != nil {
		return nil, err
	}
	var genesis map[string]any
	if err := json.Unmarshal(raw, &genesis); err != nil {
		return nil, fmt.Errorf("read the genesis of network local: %w", err)
	}
	stakers, _ := genesis["initialStakers"].([]any)
	chain, _ := genesis["cChainGenesis"].(string)
	var c0 map[string]any
	if err := json.Unmarshal([]byte(chain), &c0); err != nil {
		return nil, fmt.Errorf("read the genesis of the C-Chain: %w", err)
	}
	config, _ := c0["config"].(map[string]any)
	if len(stakers) < nodes || config == nil {
		return nil, fmt.Errorf("the genesis of network local has %d validators and the chain's configuration %v", len(stakers), config)
	}
	config["chainId"] = c.ChainNumber
	alloc, _ := c0["alloc"].(map[string]any)
	for address, code := range c.Contracts {
		if alloc == nil {
			return nil, errors.New("the genesis of the C-Chain has no accounts")
		}
		alloc[address.Hex()] = map[string]string{"balance": "0x0", "code": hexutil.Encode(code)}
	}
	changed, err := json.Marshal(c0)
	if err != nil {
		return nil, err
	}
	if nodes > 1 || c.Staked { // it lasts a year, and what is written there began long ago
		genesis["startTime"] = time.Now().Add(-24 * time.Hour).Unix()
	}
	genesis["networkID"], genesis["initialStakers"], genesis["cChainGenesis"] = c.NetworkID, stakers[:nodes], string(changed)

	flags := []string{"--network-id=" + strconv.FormatUint(uint64(c.NetworkID), 10)}
	if nodes == 1 { // it has nobody else to ask
		flags = append(flags, "--sybil-protection-enabled=false", "--snow-sample-size=1", "--snow-quorum-size=1")
	}
	for name, content := range map[string]any{"genesis-file": genesis, "upgrade-file": &c.Upgrades} {
		b, err := json.Marshal(content)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, name+".json")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return nil, err
		}
		flags = append(flags, "--"+name+"="+path)
	}
	return flags, nil
}
