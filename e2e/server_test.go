package e2e

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/ids"

	"quorate/e2e/localnet"
	"quorate/e2e/proc"
	"quorate/e2e/quorate"
	"quorate/e2e/verify"
)

const (
	quorum = 67
	// fullBuffer asks for every validator's signature.
	fullBuffer = 100 - quorum

	metricReady    = "quorate_p2p_peers_ready"
	metricRequests = "quorate_p2p_requests_total"
	// metricOnRequest counts nodes that take the server for a validator.
	metricOnRequest = "quorate_p2p_peers_on_request"

	// connectWait bounds the time until the server has reached all validators.
	connectWait  = 30 * time.Second
	connectEvery = 50 * time.Millisecond
)

// admitting has every request counted, as on a public host, against a rate that no
// test reaches.
var admitting = []string{"--rate-limit", "on", "--limits", "rate-limit-units=100000000"}

// server is a running product with a client to it.
type server struct {
	*quorate.Server
	client  *quorate.Client
	running bool
}

// product returns the product's binary; the test fails when it cannot be built.
func product(t *testing.T) string {
	t.Helper()
	path, err := shared.binary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startServer runs quorate serve on a fresh data folder and waits until it is
// connected to the given number of validators. It signs nothing before it is
// asked, so that tests know who could sign. The test fails when the server does
// not end with exit code 0 afterwards.
func startServer(t *testing.T, nodeURL string, peers int) *server {
	t.Helper()
	dir := testDir(t)
	s := launch(t, quorate.Config{
		Args: append([]string{"serve", "--node-url", nodeURL, "--http-host", "127.0.0.1", "--http-port", freePort(t),
			"--data-dir", filepath.Join(dir, "data"), "--sign-ahead=false"}, admitting...),
		Ready:   "quorate ready",
		LogPath: filepath.Join(dir, "serve.log"),
	})
	s.waitConnected(t, peers)
	return s
}

// launch runs a serving command of the product for the time of the test.
func launch(t *testing.T, cfg quorate.Config) *server {
	t.Helper()
	cfg.Spawner, cfg.Binary = shared.spawner, product(t)
	begin := time.Now()
	running, err := quorate.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s after %v", cfg.Ready, time.Since(begin).Round(time.Millisecond))
	s := &server{Server: running, client: quorate.NewClient(running.URL), running: true}
	t.Cleanup(func() {
		s.client.Close()
		if !s.running {
			return
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// kill ends the server by SIGKILL; restart runs it again on the same data.
func (s *server) kill(t *testing.T) {
	t.Helper()
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	s.running = false
}

func (s *server) restart(t *testing.T) {
	t.Helper()
	running, err := s.Restart(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.client.Close()
	s.Server, s.client, s.running = running, quorate.NewClient(running.URL), true
}

// waitConnected waits until the server can ask so many validators.
func (s *server) waitConnected(t *testing.T, peers int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), connectWait)
	defer cancel()
	tick := time.NewTicker(connectEvery)
	defer tick.Stop()
	for {
		connected := s.metric(t, metricReady)
		if connected >= float64(peers) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%v of %d validators connected after %v:\n%s", connected, peers, connectWait, s.LogTail())
		}
	}
}

func (s *server) metric(t *testing.T, name string) float64 {
	t.Helper()
	value, err := s.client.Metric(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// request asks for unsigned at the usual quorum and the given buffer.
func request(unsigned []byte, buffer int) quorate.Request {
	return quorate.Request{
		Message:                hex.EncodeToString(unsigned),
		QuorumPercentage:       quorum,
		QuorumPercentageBuffer: buffer,
	}
}

// post sends a request to endpoint 1.
func (s *server) post(t *testing.T, r quorate.Request) *quorate.Answer {
	t.Helper()
	answer, err := s.client.Aggregate(t.Context(), r)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.LogTail())
	}
	return answer
}

// aggregate has a message signed and gives the signed message and the time it took.
func (s *server) aggregate(t *testing.T, unsigned []byte, buffer int) ([]byte, time.Duration) {
	t.Helper()
	answer := s.post(t, request(unsigned, buffer))
	signed, err := answer.Signed()
	if err != nil {
		t.Fatalf("%v\n%s", err, s.LogTail())
	}
	return signed, answer.Took
}

// mustVerify has avalanchego's own code check a signed message at the usual quorum.
func mustVerify(t *testing.T, oracle *verify.Verifier, signed, unsigned []byte) *verify.Report {
	t.Helper()
	report, err := oracle.Verify(signed, unsigned, quorum, 100)
	if err != nil {
		t.Fatalf("avalanchego does not accept the signed message %x: %v", signed, err)
	}
	return report
}

// wantSigners checks that exactly all nodes but one (or none, for -1) have signed.
func wantSigners(t *testing.T, w *world, report *verify.Report, missing int) {
	t.Helper()
	var want []ids.NodeID
	for i, node := range w.Nodes {
		if i != missing {
			want = append(want, node.NodeID)
		}
	}
	got := slices.Clone(report.Signers)
	slices.SortFunc(got, ids.NodeID.Compare)
	slices.SortFunc(want, ids.NodeID.Compare)
	if !slices.Equal(got, want) {
		t.Fatalf("signed by %v\nwant %v", got, want)
	}
}

// testDir makes a folder for the test's data and logs; it is kept when a test fails.
func testDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(shared.dir, strings.ReplaceAll(t.Name(), "/", "-")+"-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func freePort(t *testing.T) string {
	t.Helper()
	ports, err := proc.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(ports[0])
}

// entry is the URL of the node that the server follows.
func (w *world) entry() string { return w.Nodes[entryNode].URL }

// serve starts a server on the network, connected to all nodes.
func (w *world) serve(t *testing.T) *server {
	t.Helper()
	return startServer(t, w.entry(), localnet.MaxNodes)
}
