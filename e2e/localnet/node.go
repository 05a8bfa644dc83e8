package localnet

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/ava-labs/avalanchego/ids"

	"quorate/e2e/proc"
)

const (
	loopback = "127.0.0.1"
	// outputFile is where a node's standard output goes, beside its data.
	outputFile = "output.log"
	// logTail is how much of a log an error shows, in bytes.
	logTail = 2 << 10
	// haltMost is how many milliseconds a process may take to halt.
	haltMost = 10_000
)

// addressInUse is what a node logs when another process took one of its ports.
var addressInUse = []byte("address already in use")

// cChainConfig turns on the warp API, the full history and the debug API.
const cChainConfig = `{
  "warp-api-enabled": true,
  "pruning-enabled": false,
  "eth-apis": ["eth", "eth-filter", "net", "web3", "internal-eth", "internal-blockchain",
    "internal-transaction", "debug", "debug-tracer", "internal-debug", "internal-tx-pool", "internal-account"]
}
`

// A Node is one avalanchego process of the network.
type Node struct {
	URL     string // of the node's HTTP API, without a trailing slash
	NodeID  ids.NodeID
	DataDir string
	// PluginDir is where it looks for virtual machines, ProfileDir where it writes profiles.
	PluginDir, ProfileDir string

	index       int
	httpPort    int
	stakingPort int
	keys        keyFiles
	bootstrap   *Node    // nil for the node that the others start from
	extra       []string // further flags
	alone       bool     // it is the only one of its network

	mu      sync.Mutex
	process *proc.Process // nil while the node is stopped
	paused  bool
}

func (n *Node) args(chainConfigs string) []string {
	var ips, nodeIDs string
	if n.bootstrap != nil {
		ips = net.JoinHostPort(loopback, strconv.Itoa(n.bootstrap.stakingPort))
		nodeIDs = n.bootstrap.NodeID.String()
	}
	return append([]string{
		"--network-id=local",
		"--data-dir=" + n.DataDir,
		"--plugin-dir=" + n.PluginDir,
		"--profile-dir=" + n.ProfileDir,
		"--chain-config-dir=" + chainConfigs,
		"--http-host=" + loopback,
		"--http-port=" + strconv.Itoa(n.httpPort),
		"--staking-host=" + loopback,
		"--staking-port=" + strconv.Itoa(n.stakingPort),
		"--public-ip=" + loopback,
		"--staking-tls-cert-file=" + n.keys.cert,
		"--staking-tls-key-file=" + n.keys.key,
		"--staking-signer-key-file=" + n.keys.signer,
		"--bootstrap-ips=" + ips,
		"--bootstrap-ids=" + nodeIDs,
		"--network-allow-private-ips=true",
		"--network-health-min-conn-peers=1",
		"--index-enabled=true",
		"--api-admin-enabled=true",
		// Without it the proposed P-Chain height trails the tip by half a minute.
		"--proposervm-use-current-height=true",
		// The default of 30 s would be most of the time that a start takes.
		"--health-check-frequency=1s",
		// A stake may end within a test; a day is the shortest otherwise.
		"--min-stake-duration=1s",
		// A tenth of the volume by default: a network of some minutes needs far less.
		"--system-tracker-disk-required-available-space-percentage=1",
		"--system-tracker-disk-warning-available-space-percentage=1",
		// The default of 32768 is above the hard limit of some machines.
		"--fd-limit=16000",
		"--log-display-level=off",
	}, n.extra...)
}

// start runs the node. It is an error when it runs already.
func (n *Node) start(s *proc.Spawner, binary, chainConfigs string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		return fmt.Errorf("node %d runs already", n.index)
	}
	output, err := os.OpenFile(n.outputPath(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer output.Close() // the child has its own
	cmd := exec.Command(binary, n.args(chainConfigs)...)
	cmd.Stdout, cmd.Stderr = output, output
	p, err := s.Start(cmd)
	if err != nil {
		return err
	}
	n.process, n.paused = p, false
	return nil
}

// healthPath is where the node says that it is healthy. One that is alone never is,
// for want of messages from others: it only says that it has bootstrapped.
func (n *Node) healthPath() string {
	if n.alone {
		return "/ext/health/readiness"
	}
	return "/ext/health"
}

// kill ends the node as a crash would and waits for its end. It does nothing to a stopped node.
func (n *Node) kill() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return
	}
	n.process.Kill()
	n.process, n.paused = nil, false
}

// pause stops the node's process (SIGSTOP) or lets it go on (SIGCONT): its
// connections stay open but nothing is read or answered.
func (n *Node) pause(paused bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process == nil {
		return fmt.Errorf("node %d does not run", n.index)
	}
	if n.paused == paused {
		return nil
	}
	sig := syscall.SIGCONT
	if paused {
		sig = syscall.SIGSTOP
	}
	if err := n.process.Signal(sig); err != nil {
		return fmt.Errorf("node %d: %w", n.index, err)
	}
	n.paused = paused
	if !paused {
		return nil
	}
	return halted(n.process.PID())
}

// halted waits until no thread of a process runs: on a busy machine one may go on for a
// moment, and answer, after the process was told to stop.
func halted(pid int) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range haltMost {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			return err
		}
		running := 0
		for _, name := range threads {
			raw, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue // the thread has ended
			}
			if err != nil {
				return err
			}
			// The state follows the name, which is in parentheses.
			if i := bytes.LastIndexByte(raw, ')'); i < 0 || !bytes.HasPrefix(raw[i:], []byte(") T")) {
				running++
			}
		}
		if running == 0 && len(threads) > 0 {
			return nil
		}
		<-tick.C
	}
	return fmt.Errorf("process %d does not halt", pid)
}

// state reports whether the node should answer now.
func (n *Node) state() (p *proc.Process, paused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.process, n.paused
}

// endError explains why the process ended by itself.
func (n *Node) endError(p *proc.Process) error {
	tail, err := n.logTail()
	if err != nil {
		return fmt.Errorf("node %d ended (%s), and its log cannot be read: %w", n.index, p.Status(), err)
	}
	if bytes.Contains(tail, addressInUse) {
		return fmt.Errorf("node %d: %w", n.index, errPortTaken)
	}
	return fmt.Errorf("node %d ended by itself (%s); end of its log:\n%s", n.index, p.Status(), tail)
}

// logTail returns the end of the node's output and of its main log.
func (n *Node) logTail() ([]byte, error) {
	var tail []byte
	for _, path := range []string{n.outputPath(), filepath.Join(n.DataDir, "logs", "main.log")} {
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // it failed before it had opened its log
		}
		if err != nil {
			return nil, err
		}
		tail = append(tail, b[max(0, len(b)-logTail):]...)
	}
	return tail, nil
}

func (n *Node) outputPath() string { return filepath.Join(n.DataDir, outputFile) }
