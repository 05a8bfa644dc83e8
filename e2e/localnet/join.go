package localnet

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/crypto/bls/signer/localsigner"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"

	"quorate/e2e/proc"
)

// A Guest is a node beside the genesis validators, with keys of its own. It has no
// stake on the primary network; what it validates is up to the P-Chain.
type Guest struct {
	*Node
	network *Network
}

// Join describes guests that run the same subnets.
type Join struct {
	Name  string // of their folders; each call has another one
	Count int
	// Subnets are those that each of them follows, with the content of the
	// subnet's configuration file, which may be empty.
	Subnets map[ids.ID]string
	// Plugins are the executables of the virtual machines that the subnets need.
	Plugins map[ids.ID]string
}

// Prepare makes keys, ports and folders of guests without starting them: the keys
// are needed to name the guests on the P-Chain. It fails when a name is taken.
func (n *Network) Prepare(j Join) ([]*Guest, error) {
	ports, err := proc.Ports(2 * j.Count)
	if err != nil {
		return nil, err
	}
	guests := make([]*Guest, j.Count)
	for i := range guests {
		dir := filepath.Join(n.cfg.Dir, j.Name+strconv.Itoa(i))
		node, err := n.guest(dir, ports[2*i:], j)
		if err != nil {
			return nil, fmt.Errorf("prepare %s: %w", dir, err)
		}
		node.index = MaxNodes + i
		guests[i] = &Guest{Node: node, network: n}
	}
	return guests, nil
}

func (n *Network) guest(dir string, ports []int, j Join) (*Node, error) {
	node := &Node{
		URL:         "http://" + loopback + ":" + strconv.Itoa(ports[0]),
		DataDir:     dir,
		PluginDir:   filepath.Join(dir, "plugins"),
		ProfileDir:  filepath.Join(dir, "profiles"),
		httpPort:    ports[0],
		stakingPort: ports[1],
		bootstrap:   n.Nodes[0],
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	configs := filepath.Join(dir, "subnets") // must exist, even when it is empty
	for _, d := range []string{node.PluginDir, configs} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	var err error
	if node.keys, err = newKeys(dir); err != nil {
		return nil, err
	}
	node.NodeID = node.keys.nodeID
	for vm, path := range j.Plugins {
		if err := os.Symlink(path, filepath.Join(node.PluginDir, vm.String())); err != nil {
			return nil, err
		}
	}
	var tracked []string
	for _, subnet := range slices.SortedFunc(maps.Keys(j.Subnets), ids.ID.Compare) {
		tracked = append(tracked, subnet.String())
		if config := j.Subnets[subnet]; config != "" {
			if err := os.WriteFile(filepath.Join(configs, subnet.String()+".json"), []byte(config), 0o644); err != nil {
				return nil, err
			}
		}
	}
	node.extra = slices.Concat(n.custom, []string{"--track-subnets=" + strings.Join(tracked, ","), "--subnet-config-dir=" + configs})
	return node, nil
}

// Start runs the guest. It does not wait until the guest is healthy.
func (g *Guest) Start() error {
	n := g.network
	return g.start(n.cfg.Spawner, n.cfg.Release.Binary, n.chainConfigs)
}

// Stop kills the guest and waits for its end.
func (g *Guest) Stop() { g.kill() }

// Pause halts the guest (SIGSTOP), Resume lets it go on.
func (g *Guest) Pause() error { return g.pause(true) }

// Resume lets a paused guest go on (SIGCONT).
func (g *Guest) Resume() error { return g.pause(false) }

// Possession proves that the guest has its BLS key, as the P-Chain asks for.
func (g *Guest) Possession() (*signer.ProofOfPossession, error) {
	key, err := localsigner.FromFile(g.keys.signer)
	if err != nil {
		return nil, fmt.Errorf("read the BLS key: %w", err)
	}
	return signer.NewProofOfPossession(key)
}

// WaitGuests waits until the guests that run are healthy.
func (n *Network) WaitGuests(ctx context.Context, guests []*Guest) error {
	nodes := make([]*Node, len(guests))
	for i, g := range guests {
		nodes[i] = g.Node
	}
	return waitHealthy(ctx, nodes, n.cfg.Progress)
}
