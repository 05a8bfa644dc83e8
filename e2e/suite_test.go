package e2e

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/utils/constants"

	"quorate/e2e/emit"
	"quorate/e2e/localnet"
	"quorate/e2e/proc"
	"quorate/e2e/quorate"
	"quorate/e2e/verify"
)

const (
	// networkWait bounds building and starting the network, healWait mending it after a test.
	networkWait = 15 * time.Minute
	healWait    = 3 * time.Minute
	// testWait bounds everything else that a single test waits for.
	testWait = 2 * time.Minute
	// atOnce is how many tests run beside the one that has the shared network: most of them
	// wait most of the time, for blocks, epochs and pages.
	atOnce = 3
	// entryNode is the node that the product follows and that sends transactions: it is never stopped.
	entryNode = 0
)

// torture asks for all rounds of what each change goes through once.
var torture = os.Getenv("QUORATE_TORTURE") != ""

// suite is what the tests of this package share.
type suite struct {
	dir     string // data and logs of everything
	spawner *proc.Spawner
	seats   chan struct{}          // of the tests that run beside each other
	turn    sync.Mutex             // held by the one of them that uses the network
	network func() (*world, error) // started by the first test that needs it
	binary  func() (string, error) // built by the first test that needs it
	sdks    func() (string, error) // the folder in which the first test that needs them has the SDKs installed
}

// world is the running network with what is needed to use and judge it.
type world struct {
	*localnet.Network
	release *localnet.Release
	emitter *emit.Emitter
	oracle  *verify.Verifier // the primary network's set; it does not change
}

var shared *suite // set by TestMain, read by tests

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "quorate-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	// Tests that wait for their turn have begun for the testing package, which shall not
	// keep others back for that.
	flag.Parse()
	if err := flag.Set("test.parallel", "1000"); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	shared = &suite{dir: dir, spawner: proc.NewSpawner(), seats: make(chan struct{}, atOnce)}
	shared.sdks = sync.OnceValues(shared.installSDKs)
	shared.network = sync.OnceValues(shared.startNetwork)
	shared.binary = sync.OnceValues(func() (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), networkWait)
		defer cancel()
		return quorate.Build(ctx)
	})
	code := m.Run()
	shared.spawner.Close() // kills the network
	if code != 0 {
		fmt.Fprintln(os.Stderr, "e2e: failed; logs of all nodes and servers are in", dir)
		return code
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: remove the data:", err)
		return 1
	}
	return 0
}

func (s *suite) startNetwork() (*world, error) {
	ctx, cancel := context.WithTimeout(context.Background(), networkWait)
	defer cancel()
	release, err := localnet.Build(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, "network")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	network, err := localnet.Start(ctx, localnet.Config{
		Nodes:    localnet.MaxNodes,
		Release:  release,
		Dir:      dir,
		Spawner:  s.spawner,
		Progress: os.Stderr,
	})
	if err != nil {
		return nil, err
	}
	url := network.Nodes[entryNode].URL
	emitter, err := emit.Dial(ctx, url)
	if err != nil {
		return nil, err
	}
	oracle, err := verify.Fetch(ctx, url, constants.PrimaryNetworkID, verify.Proposed)
	if err != nil {
		return nil, err
	}
	return &world{Network: network, release: release, emitter: emitter, oracle: oracle}, nil
}

// leaveOut skips a test that cannot run here. In CI that is a failure: nothing may
// pass there that was not tried.
func leaveOut(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("left out, which CI does not allow: "+format, args...)
	}
	t.Skipf("LEFT OUT: "+format, args...)
}

// beside lets a test that does not use the shared network run beside others.
func beside(t *testing.T) {
	t.Helper()
	t.Parallel()
	begin := time.Now()
	shared.seats <- struct{}{}
	t.Cleanup(func() { <-shared.seats })
	t.Logf("its turn after %v", time.Since(begin).Round(time.Second))
}

// inTurn lets a test that uses the shared network run beside those that do not. Tests that
// count signatures or take times are better off with the machine to themselves, before.
func inTurn(t *testing.T) {
	t.Helper()
	t.Parallel()
	begin := time.Now()
	shared.turn.Lock()
	t.Cleanup(shared.turn.Unlock)
	t.Logf("its turn after %v", time.Since(begin).Round(time.Second))
}

// useNetwork returns the shared network with all nodes healthy, and mends it after the test.
func useNetwork(t *testing.T) *world {
	t.Helper()
	w, err := shared.network()
	if err != nil {
		t.Fatalf("the local network: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), healWait)
		defer cancel()
		if err := w.Heal(ctx); err != nil {
			t.Errorf("mend the network after the test: %v", err)
		}
	})
	return w
}

// emit sends n distinct messages and waits until they are accepted.
func (w *world) emit(t *testing.T, n int) []emit.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	begin := time.Now()
	messages, err := w.emitter.Send(ctx, payloads(n))
	if err != nil {
		t.Fatalf("emit %d messages: %v", n, err)
	}
	t.Logf("emitted %d messages in %v, blocks %d to %d", n, time.Since(begin).Round(time.Millisecond),
		messages[0].Block, messages[n-1].Block)
	return messages
}

// payloads makes n payloads that no other call makes.
func payloads(n int) [][]byte {
	run := make([]byte, 24)
	rand.Read(run) // never fails
	out := make([][]byte, n)
	for i := range out {
		out[i] = binary.BigEndian.AppendUint64(append([]byte(nil), run...), uint64(i))
	}
	return out
}
