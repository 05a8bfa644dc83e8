package localnet

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quorate/e2e/proc"
)

// fakeNode makes a release whose node is a shell script; the keys are the real
// ones. Tests with it are not parallel: a fork at the wrong moment would inherit
// the open script, which then cannot be run.
func fakeNode(t *testing.T, script string) Config {
	t.Helper()
	release, err := FindRelease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	release.Binary = filepath.Join(dir, "node")
	if err := os.WriteFile(release.Binary, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	spawner := proc.NewSpawner()
	t.Cleanup(spawner.Close)
	return Config{Nodes: 2, Release: release, Dir: dir, Spawner: spawner}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	release, err := FindRelease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg",
		"NodeID-MFrZFVCXPv5iCn6M9K6XduxGTYp891xXZ",
		"NodeID-NFBbbJ4qCmNaCzeW7sxErhvWqvEQMnYcN",
		"NodeID-GWPcbFJZFfZreETSoWjPimr846mXEKCtu",
		"NodeID-P7oB2McjBGgW2NXXWVYjV8JEDFoW9xDE5",
	} {
		k, err := release.keys(i)
		if err != nil || k.nodeID.String() != want {
			t.Errorf("validator %d: %s, %v; want %s", i, k.nodeID, err, want)
		}
		if _, err := os.Stat(k.signer); err != nil {
			t.Errorf("validator %d: %v", i, err)
		}
	}
}

func TestStartRefusesCounts(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{-1, 0, MaxNodes + 1} {
		if _, err := Start(t.Context(), Config{Nodes: nodes}); err == nil {
			t.Errorf("%d nodes: no error", nodes)
		}
	}
}

// TestStartRetriesPorts has every start fail as if another process had taken a port.
func TestStartRetriesPorts(t *testing.T) {
	cfg := fakeNode(t, "echo 'listen tcp: bind: address already in use'; exit 1")
	var progress bytes.Buffer
	cfg.Progress = &progress
	_, err := Start(t.Context(), cfg)
	if !errors.Is(err, errPortTaken) {
		t.Errorf("got %v", err)
	}
	if got := strings.Count(progress.String(), "once more"); got != startTries-1 {
		t.Errorf("tried again %d times, want %d:\n%s", got, startTries-1, progress.String())
	}
}

func TestStartExplainsEnd(t *testing.T) {
	_, err := Start(t.Context(), fakeNode(t, "echo broken in some way; exit 7"))
	if err == nil || !strings.Contains(err.Error(), "broken in some way") || !strings.Contains(err.Error(), "status 7") {
		t.Errorf("got %v", err)
	}
}

// TestStartGivesUp has nodes that never answer: the error says so, and they are ended.
func TestStartGivesUp(t *testing.T) {
	cfg := fakeNode(t, `echo $$ >> "$(dirname "$0")/pids"; exec sleep 600`)
	cfg.HealthTimeout = time.Second
	_, err := Start(t.Context(), cfg)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "0 of 2 nodes healthy") {
		t.Errorf("got %v", err)
	}
	pids, err := os.ReadFile(filepath.Join(cfg.Dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.Fields(string(pids))
	if len(ids) != cfg.Nodes {
		t.Errorf("%d nodes ran, want %d", len(ids), cfg.Nodes)
	}
	for _, id := range ids {
		if _, err := os.Stat(filepath.Join("/proc", id)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("node process %s is still there: %v", id, err)
		}
	}
}

func TestNodeStates(t *testing.T) {
	cfg := fakeNode(t, "exec sleep 600")
	cfg.Progress = writer(nil)
	n := &Network{cfg: cfg}
	if err := n.prepare(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.Pause(0); err == nil {
		t.Error("paused a node that does not run")
	}
	if err := n.Start(0); err != nil {
		t.Fatal(err)
	}
	if err := n.Start(0); err == nil {
		t.Error("started a running node")
	}
	for _, f := range []func(int) error{n.Pause, n.Pause, n.Resume, n.Resume, n.Pause} {
		if err := f(0); err != nil {
			t.Error(err)
		}
	}
	n.Stop(0)
	n.Stop(0)
	if err := n.Start(0); err != nil {
		t.Errorf("start after stop: %v", err)
	}
}

func TestFailing(t *testing.T) {
	t.Parallel()
	const report = `{"checks":{"P":{"error":"x"},"C":{"error":"y"},"bls":{"message":"fine"}},"healthy":false}`
	if got := failing([]byte(report)); got != "C, P" {
		t.Errorf("got %q", got)
	}
	if got := failing([]byte("no")); !strings.Contains(got, "unreadable") {
		t.Errorf("got %q", got)
	}
}
