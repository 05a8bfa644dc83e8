package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/health"
)

const (
	// healthGets are sent by one client, one after the other.
	healthGets = 10_000
	// checkEvery is the frequency that the servers of these tests are started with.
	checkEvery = time.Second
)

// getHealth reads GET /ext/health; status and report must agree.
func (s *rpcServer) getHealth(ctx context.Context, t *testing.T) (int, *health.APIReply) {
	t.Helper()
	status, body, err := getBody(ctx, s.URL+"/ext/health")
	if err != nil {
		t.Fatal(err)
	}
	r := new(health.APIReply)
	if err := json.Unmarshal(body, r); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	if r.Healthy != (status == http.StatusOK) {
		t.Fatalf("status %d with %s", status, body)
	}
	return status, r
}

// awaitRed waits until GET answers 503 and one of the checks fails, and gives the report.
func (s *rpcServer) awaitRed(ctx context.Context, t *testing.T, checks ...string) *health.APIReply {
	t.Helper()
	var last *health.APIReply
	await(ctx, t, "503 by "+strings.Join(checks, ", "), func() (string, bool) {
		status, r := s.getHealth(ctx, t)
		last = r
		red := status == http.StatusServiceUnavailable
		for _, name := range checks {
			red = red && r.Checks[name].Error != nil
		}
		return failingChecks(r), red
	})
	for name, c := range last.Checks {
		if c.Error == nil {
			continue
		}
		t.Logf("%s: %s (%d in a row since %v)", name, *c.Error, c.ContiguousFailures, c.TimeOfFirstFailure)
		if c.ContiguousFailures < 1 || c.TimeOfFirstFailure == nil || c.TimeOfFirstFailure.After(c.Timestamp) {
			t.Errorf("%s fails with %+v", name, c)
		}
	}
	return last
}

// awaitGreen waits until GET answers 200, and checks that nothing tells of failures.
func (s *rpcServer) awaitGreen(ctx context.Context, t *testing.T) {
	t.Helper()
	await(ctx, t, "200", func() (string, bool) {
		status, r := s.getHealth(ctx, t)
		if status == http.StatusOK {
			for name, c := range r.Checks {
				if c.ContiguousFailures != 0 || c.TimeOfFirstFailure != nil {
					t.Errorf("%s passes with %+v", name, c)
				}
			}
		}
		return failingChecks(r), status == http.StatusOK
	})
}

// TestHealthOfNode stops the node that the server follows, and starts it again.
func TestHealthOfNode(t *testing.T) {
	w := useNetwork(t)
	s := serveRPC(t, filepath.Join(testDir(t), "data"), w.Nodes[victim].URL)
	ctx, cancel := context.WithTimeout(t.Context(), healWait)
	defer cancel()
	s.awaitGreen(ctx, t)
	w.Stop(victim)
	s.awaitRed(ctx, t, "P", "X", "C", "bootstrapped")
	// The start was completed once, and the server itself answers.
	for _, path := range []string{"/ext/health/readiness", "/ext/health/liveness"} {
		if status, body, err := getBody(ctx, s.URL+path); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d, %v, %s", path, status, err, body)
		}
	}
	// An unhealthy node is no failed call.
	if r, err := health.NewClient(s.URL).Health(ctx, nil); err != nil || r.Healthy {
		t.Errorf("health.health: %+v, %v", r, err)
	}
	if err := w.Start(victim); err != nil {
		t.Fatal(err)
	}
	s.awaitGreen(ctx, t)
}

// TestHealthOfDisk fills the volume of the data folder, and makes room again.
func TestHealthOfDisk(t *testing.T) {
	const (
		// volume and fill leave less than the 512 MiB that the server wants.
		volume = "size=768m"
		fill   = 384 << 20
	)
	dir := filepath.Join(testDir(t), "volume")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, volume); err != nil {
		leaveOut(t, "a volume of its own needs the right to mount one: %v", err)
	}
	t.Cleanup(func() { // after the server's end
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	w := useNetwork(t)
	s := serveRPC(t, filepath.Join(dir, "data"), w.entry())
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()
	s.awaitGreen(ctx, t)
	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, fill); err != nil {
		t.Fatal(err)
	}
	r := s.awaitRed(ctx, t, "diskspace")
	if message, _ := r.Checks["diskspace"].Details.(map[string]any); message["availableDiskBytes"].(float64) > 512<<20 {
		t.Errorf("diskspace tells %v", message)
	}
	remove(t, filler)
	if err := f.Close(); err != nil { // the space is free from here on
		t.Fatal(err)
	}
	s.awaitGreen(ctx, t)
}

// TestHealthGets reads the health as fast as one client can: no check runs more
// often than its frequency for that.
func TestHealthGets(t *testing.T) {
	w := useNetwork(t)
	s := serveRPC(t, filepath.Join(testDir(t), "data"), w.entry())
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	runs := map[string]map[time.Time]bool{} // by check: when its runs ended
	begin := time.Now()
	for range healthGets {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/ext/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Checks map[string]struct{ Timestamp time.Time }
		}
		err = json.NewDecoder(resp.Body).Decode(&r)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range r.Checks {
			if runs[name] == nil {
				runs[name] = map[time.Time]bool{}
			}
			runs[name][c.Timestamp] = true
		}
	}
	took := time.Since(begin)
	t.Logf("%d GETs in %v, %.0f a second", healthGets, took.Round(time.Millisecond), healthGets/took.Seconds())
	// The result that was there at the start, one for each full period, and one for the begun one.
	most := int(took/checkEvery) + 2
	for name, times := range runs {
		if len(times) > most {
			t.Errorf("check %s ran %d times in %v at a frequency of %v", name, len(times)-1, took, checkEvery)
		}
	}
	if len(runs) < 8 {
		t.Errorf("only these checks were seen: %v", runs)
	}
}
