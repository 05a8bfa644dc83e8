// Package localnet runs a real Avalanche network on one machine: up to five
// avalanchego nodes of network "local", which are its genesis validators, on
// loopback ports.
package localnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"quorate/e2e/proc"
)

const (
	defaultHealthTimeout = 4 * time.Minute
	// startTries bounds how often a network is restarted because a port was taken.
	startTries = 3
)

// errPortTaken says that another process was faster to listen on a chosen port.
var errPortTaken = errors.New("a port chosen for it is in use")

// Config says what network to run.
type Config struct {
	// Nodes is the number of nodes, 1 to [MaxNodes]. The validators without a
	// node keep their stake, so fewer than four cannot accept blocks.
	Nodes int
	// Release is the avalanchego to run, see [Build].
	Release *Release
	// Dir receives the nodes' data and logs. It must exist.
	Dir string
	// Spawner starts the processes. It must stay open until the network is closed.
	Spawner *proc.Spawner
	// Progress receives a line now and then. Nil: none.
	Progress io.Writer
	// HealthTimeout bounds the wait for all nodes to be healthy. 0: 4 minutes.
	HealthTimeout time.Duration
	// Custom is the network's own genesis. Nil: that of network "local".
	Custom *Custom
}

// A Network is a set of running nodes.
type Network struct {
	Nodes []*Node

	cfg          Config
	chainConfigs string
	custom       []string // flags of a network that is not "local"
}

// Start runs the nodes and waits until all are healthy. On an error nothing is left running.
func Start(ctx context.Context, cfg Config) (*Network, error) {
	if cfg.Nodes < 1 || cfg.Nodes > MaxNodes {
		return nil, fmt.Errorf("a local network has 1 to %d nodes, not %d", MaxNodes, cfg.Nodes)
	}
	if cfg.HealthTimeout == 0 {
		cfg.HealthTimeout = defaultHealthTimeout
	}
	cfg.Progress = writer(cfg.Progress)
	for try := 1; ; try++ {
		n, err := startOnce(ctx, cfg, filepath.Join(cfg.Dir, "try"+strconv.Itoa(try)))
		if err == nil {
			return n, nil
		}
		if !errors.Is(err, errPortTaken) || try == startTries {
			return nil, fmt.Errorf("start the local network: %w", err)
		}
		fmt.Fprintf(cfg.Progress, "localnet: %v, once more with other ports\n", err)
	}
}

func startOnce(ctx context.Context, cfg Config, dir string) (*Network, error) {
	n := &Network{cfg: cfg, chainConfigs: filepath.Join(dir, "chains")}
	if err := n.prepare(dir); err != nil {
		return nil, err
	}
	begin := time.Now()
	for i := range n.Nodes {
		if err := n.Start(i); err != nil {
			n.Close()
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.HealthTimeout)
	defer cancel()
	if err := n.WaitHealthy(ctx); err != nil {
		n.Close()
		return nil, err
	}
	fmt.Fprintf(cfg.Progress, "localnet: %d nodes healthy after %v\n", cfg.Nodes, time.Since(begin).Round(time.Second))
	return n, nil
}

// prepare chooses ports and writes the folders of all nodes.
func (n *Network) prepare(dir string) error {
	ports, err := proc.Ports(2 * n.cfg.Nodes)
	if err != nil {
		return err
	}
	cDir := filepath.Join(n.chainConfigs, "C")
	if err := os.MkdirAll(cDir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(cDir, "config.json"), []byte(cChainConfig), 0o644); err != nil {
		return err
	}
	if n.cfg.Custom != nil {
		if n.custom, err = n.cfg.Custom.write(n.cfg.Release, dir, n.cfg.Nodes); err != nil {
			return err
		}
	}
	for i := range n.cfg.Nodes {
		keys, err := n.cfg.Release.keys(i)
		if err != nil {
			return err
		}
		node := &Node{
			URL:         "http://" + loopback + ":" + strconv.Itoa(ports[2*i]),
			NodeID:      keys.nodeID,
			DataDir:     filepath.Join(dir, "node"+strconv.Itoa(i)),
			index:       i,
			httpPort:    ports[2*i],
			stakingPort: ports[2*i+1],
			keys:        keys,
			extra:       n.custom,
			alone:       n.cfg.Custom != nil && n.cfg.Nodes == 1,
		}
		if i > 0 {
			node.bootstrap = n.Nodes[0]
		}
		node.PluginDir = filepath.Join(node.DataDir, "plugins")
		node.ProfileDir = filepath.Join(node.DataDir, "profiles")
		if err := os.MkdirAll(node.PluginDir, 0o755); err != nil {
			return err
		}
		n.Nodes = append(n.Nodes, node)
	}
	return nil
}

// Start runs node i again, with the data and the ports that it had. It does not
// wait until the node is healthy.
func (n *Network) Start(i int) error {
	return n.Nodes[i].start(n.cfg.Spawner, n.cfg.Release.Binary, n.chainConfigs)
}

// Stop kills node i, as a crash would, and waits for its end.
func (n *Network) Stop(i int) { n.Nodes[i].kill() }

// Pause halts node i (SIGSTOP): its connections stay open and nothing is answered.
func (n *Network) Pause(i int) error { return n.Nodes[i].pause(true) }

// Resume lets a paused node go on (SIGCONT).
func (n *Network) Resume(i int) error { return n.Nodes[i].pause(false) }

// Heal starts every stopped node, resumes every paused one, and waits until all are healthy.
func (n *Network) Heal(ctx context.Context) error {
	for i, node := range n.Nodes {
		process, paused := node.state()
		var err error
		switch {
		case process == nil:
			err = n.Start(i)
		case paused:
			err = n.Resume(i)
		}
		if err != nil {
			return err
		}
	}
	return n.WaitHealthy(ctx)
}

// Close kills all nodes. Their data and logs stay.
func (n *Network) Close() {
	for _, node := range n.Nodes {
		node.kill()
	}
}
