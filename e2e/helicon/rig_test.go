package helicon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/e2e/helicon/replay"
	"quorate/e2e/proc"
	"quorate/e2e/quorate"
)

const (
	evmTestdata = "../../engine/source/evm/testdata/helicon"
	pTestdata   = "../../engine/chain/platform/testdata/helicon"
	networkID   = "13338"

	// indexWait bounds the time until what a node has is served, pollEvery is how often
	// that is looked at.
	indexWait = time.Minute
	pollEvery = 50 * time.Millisecond
)

var (
	spawner  *proc.Spawner // set by TestMain, read by tests
	recorded = sync.OnceValues(func() (*replay.World, error) { return replay.Load("testdata", evmTestdata, pTestdata) })
	binary   = sync.OnceValues(func() (string, error) { return quorate.Build(context.Background()) })
)

func TestMain(m *testing.M) {
	spawner = proc.NewSpawner()
	code := m.Run()
	spawner.Close()
	os.Exit(code)
}

func world(t *testing.T) *replay.World {
	t.Helper()
	w, err := recorded()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// served is a node of the recorded network with its address.
type served struct {
	*replay.Node
	http *httptest.Server
}

func startNode(t *testing.T, w *replay.World, tip int, lie replay.Lie) served {
	t.Helper()
	n, err := replay.NewNode(w, tip, lie)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(n)
	t.Cleanup(s.Close)
	return served{n, s}
}

// server is a running product.
type server struct {
	*quorate.Server
	client *quorate.Client
	data   string // its data folder
}

// startServer runs the product on a folder. No validator can be reached, so it takes a
// while until it says that it is ready; it follows the chains meanwhile.
func startServer(t *testing.T, dir string, nodes []served, args ...string) *server {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	ports, err := proc.Ports(1)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{data: filepath.Join(dir, "data")}
	all := append([]string{"serve", "--genesis-file", networkID + "=" + filepath.Join(pTestdata, "p-genesis.hex"), "--data-dir", s.data,
		"--http-host", "127.0.0.1", "--http-port", strconv.Itoa(ports[0]), "--sign-ahead=false", "--rate-limit", "off"}, args...)
	for _, n := range nodes {
		all = append(all, "--node-url", n.http.URL)
	}
	s.Server, err = quorate.Start(t.Context(), quorate.Config{Spawner: spawner, Binary: path, Args: all, Ready: "quorate ready", LogPath: filepath.Join(dir, "serve.log")})
	if err != nil {
		t.Fatal(err)
	}
	s.client = quorate.NewClient(s.URL)
	t.Cleanup(s.client.Close)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.LogTail())
		}
	})
	return s
}

func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
}

// get decodes the answer of an address, which must be 200.
func (s *server) get(ctx context.Context, path string, v any) error {
	a, err := s.client.Get(ctx, path)
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return fmt.Errorf("%s: %s", path, a)
	}
	if err := json.Unmarshal(a.Body, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// eventually waits until a check passes.
func eventually(t *testing.T, within time.Duration, check func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := check(t.Context())
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within %v: %v", within, err)
		}
	}
}

// waitBlock waits until a block of the C-Chain is served.
func (s *server) waitBlock(t *testing.T, height int) {
	t.Helper()
	eventually(t, indexWait, func(ctx context.Context) error { return s.get(ctx, blockPath(height), &struct{}{}) })
}

// waitPrimary waits until the last recorded blocks of the P- and X-Chain are served.
func (s *server) waitPrimary(t *testing.T, w *replay.World) {
	t.Helper()
	eventually(t, indexWait, func(ctx context.Context) error {
		for name, c := range map[string]*replay.Chain{"p": &w.P, "x": &w.X} {
			path := fmt.Sprintf("%s/%s-chain/blocks/%d", chainsPath, name, len(c.Blocks)-1)
			if err := s.get(ctx, path, &struct{}{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// says checks that the server's log has all of some words in one line.
func (s *server) says(words ...string) error {
	b, err := os.ReadFile(s.LogPath())
	if err != nil {
		return err
	}
lines:
	for _, line := range strings.Split(string(b), "\n") {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue lines
			}
		}
		return nil
	}
	return fmt.Errorf("no line of the log has %q", words)
}

// command runs a command of the product on a data folder; it must end well.
func command(t *testing.T, data string, args ...string) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	r, err := quorate.Run(t.Context(), path, append(args, "--data-dir", data)...)
	if err != nil || r.Code != 0 {
		t.Fatalf("%v: %v, exit code %d\n%s%s", args, err, r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}
