package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ava-labs/avalanchego/api/health"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"

	"quorate/e2e/localnet"
)

// strayFile is in plugin folders and no virtual machine.
const strayFile = "README.txt"

// The virtual machines in the folders: one works, the others fail in one way each.
var (
	vmGood    = constants.SubnetEVMID
	vmExit    = ids.ID{'e', 'x', 'i', 't'}
	vmHang    = ids.ID{'h', 'a', 'n', 'g'}
	vmVersion = ids.ID{'v', 'e', 'r', 's', 'i', 'o', 'n'}
	vmFile    = ids.ID{'f', 'i', 'l', 'e'}
	// vmStray is how an answer names the stray file: it can only hold IDs.
	vmStray = idOf(strayFile)
)

func idOf(name string) (id ids.ID) {
	copy(id[:], name)
	return id
}

// failureWords are what the product tells of each failure.
var failureWords = map[ids.ID][]string{
	vmExit:    {"handshake failed", "code 3", "the genesis is missing"},
	vmHang:    {"handshake failed", "not dialled back", "10s"},
	vmVersion: {"handshake failed", "44", "45"},
	vmFile:    {"failed to start process", "permission denied"},
}

// plugins are what is put into plugin folders.
type plugins struct{ good, bad string }

func buildPlugins(t *testing.T, w *world) plugins {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), networkWait)
	defer cancel()
	good, err := localnet.BuildPlugin(ctx, w.release, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(testDir(t), "badplugin")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bad, "./badplugin").CombinedOutput(); err != nil {
		t.Fatalf("build the plugin that fails: %v\n%s", err, out)
	}
	return plugins{good, bad}
}

// fill puts all virtual machines into a plugin folder, and what is skipped there.
func (p plugins) fill(t *testing.T, dir string) {
	t.Helper()
	link(t, p.good, dir, vmGood.String())
	link(t, p.bad, dir, vmExit.String()+".exit")
	link(t, p.bad, dir, vmHang.String()+".hang")
	link(t, p.bad, dir, vmVersion.String()+".version")
	write(t, filepath.Join(dir, vmFile.String()))
	write(t, filepath.Join(dir, ".hidden"))
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, dir, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("no program\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// loadResult is what the official client gives.
type loadResult struct {
	loaded map[ids.ID][]string
	failed map[ids.ID]string
	err    error
}

func load(ctx context.Context, p *party) loadResult {
	loaded, failed, err := p.admin.LoadVMs(ctx)
	return loadResult{loaded, failed, err}
}

// TestLoadVMs has a real virtual machine loaded beside several that fail, by the
// product and by a real node.
func TestLoadVMs(t *testing.T) {
	inTurn(t)
	w := useNetwork(t)
	p := buildPlugins(t, w)
	real, ours, s := w.parties(t, pluginNode)
	t.Cleanup(func() { emptyFolder(t, real.pluginDir) })
	p.fill(t, real.pluginDir)
	p.fill(t, ours.pluginDir)
	ctx, cancel := context.WithTimeout(t.Context(), testWait)
	defer cancel()

	got := load(ctx, ours)
	noneLeft(t, s)
	want := load(ctx, real)         // afterwards: each plugin has 5 s there, and the machine to itself
	endProcesses(t, real.pluginDir) // the node leaves children of its plugins behind
	if want.err != nil {
		t.Fatalf("the node: %v", want.err)
	}
	// The node has no other name for it, we have the usual one.
	checkLoaded(t, got, map[ids.ID][]string{vmGood: {"subnetevm"}})
	if !slices.Equal(keys(got.loaded), keys(want.loaded)) || !slices.Equal(keys(got.failed), keys(want.failed)) {
		t.Errorf("loaded and failed:\nnode    %v, %q\nquorate %v, %q", want.loaded, want.failed, got.loaded, got.failed)
	}
	checkFailed(t, s, got, vmExit, vmHang, vmVersion, vmFile)
	for id, text := range want.failed {
		t.Logf("%s:\nnode    %s\nquorate %s", bytes.TrimRight(id[:], "\x00"), text, got.failed[id])
	}

	// A stray file fails the node's whole call. The node also takes what failed for
	// loaded from then on; the product tries again.
	write(t, filepath.Join(real.pluginDir, strayFile))
	write(t, filepath.Join(ours.pluginDir, strayFile))
	want, got = load(ctx, real), load(ctx, ours)
	noneLeft(t, s)
	if want.err == nil || !strings.Contains(want.err.Error(), `invalid vmID: "README"`) {
		t.Errorf("the node with a stray file: %+v", want)
	}
	checkLoaded(t, got, map[ids.ID][]string{})
	checkFailed(t, s, got, vmExit, vmHang, vmVersion, vmFile, vmStray)
	if text := got.failed[vmStray]; !strings.Contains(text, `invalid vmID: "README"`) {
		t.Errorf("the stray file: %q", text)
	}

	// What failed works now; the C-Chain's virtual machine comes by its name.
	for _, name := range []string{vmExit.String() + ".exit", vmHang.String() + ".hang", vmVersion.String() + ".version", vmFile.String(), strayFile} {
		remove(t, filepath.Join(ours.pluginDir, name))
	}
	link(t, p.good, ours.pluginDir, vmExit.String())
	link(t, p.good, ours.pluginDir, "evm.bin")
	got = load(ctx, ours)
	noneLeft(t, s)
	checkLoaded(t, got, map[ids.ID][]string{vmExit: {}, constants.EVMID: {"evm"}})
	checkFailed(t, s, got)
	checkKnown(ctx, t, s)
}

func keys[V any](m map[ids.ID]V) []ids.ID {
	return slices.SortedFunc(maps.Keys(m), ids.ID.Compare)
}

func checkLoaded(t *testing.T, got loadResult, want map[ids.ID][]string) {
	t.Helper()
	if got.err != nil {
		t.Fatal(got.err)
	}
	if !maps.EqualFunc(got.loaded, want, slices.Equal[[]string]) {
		t.Errorf("loaded %v, want %v", got.loaded, want)
	}
}

// checkFailed wants exactly these to have failed, each with its own cause, and no
// text to tell where the files are.
func checkFailed(t *testing.T, s *rpcServer, got loadResult, want ...ids.ID) {
	t.Helper()
	slices.SortFunc(want, ids.ID.Compare)
	if !slices.Equal(keys(got.failed), want) {
		t.Errorf("failed: %v, want %v", got.failed, want)
	}
	for id, text := range got.failed {
		for _, word := range failureWords[id] {
			if !strings.Contains(text, word) {
				t.Errorf("%s failed with %q, which does not tell %q", id, text, word)
			}
		}
		if strings.Contains(text, s.pluginDir) {
			t.Errorf("%s: the path of the folder is in %q", id, text)
		}
	}
}

// checkKnown waits until the C-Chain's check shows the version of its virtual machine.
func checkKnown(ctx context.Context, t *testing.T, s *rpcServer) {
	t.Helper()
	await(ctx, t, "the version of the C-Chain's virtual machine is known", func() (string, bool) {
		r, err := health.NewClient(s.URL).Health(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(r.Checks["C"].Details)
		if err != nil {
			t.Fatal(err)
		}
		var message struct {
			Engine struct {
				VM struct{ ID, Name, Version string }
			}
		}
		if err := json.Unmarshal(b, &message); err != nil {
			t.Fatal(err)
		}
		vm := message.Engine.VM
		if vm.ID != constants.EVMID.String() || vm.Name != "evm" {
			t.Errorf("virtual machine of the C-Chain: %+v", vm)
		}
		return fmt.Sprintf("%+v", vm), strings.HasPrefix(vm.Version, "v")
	})
}

// noneLeft wants no process of a plugin to be left, ended ones not yet reaped included. A
// child of a plugin that was killed with it is nobody's to wait for, and ends a moment later.
func noneLeft(t *testing.T, s *rpcServer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	await(ctx, t, "no process of a plugin is left", func() (left string, none bool) {
		for _, p := range processes(t) {
			if strings.HasPrefix(p.command, s.pluginDir+"/") || p.parent == s.PID() {
				left += fmt.Sprintf("process %d of parent %d: %q ", p.id, p.parent, p.command)
			}
		}
		return left, left == ""
	})
}

// endProcesses ends what still runs out of a plugin folder.
func endProcesses(t *testing.T, dir string) {
	t.Helper()
	for _, p := range processes(t) {
		if strings.HasPrefix(p.command, dir+"/") {
			t.Logf("the node has left process %d behind", p.id)
			if err := syscall.Kill(p.id, syscall.SIGKILL); err != nil {
				t.Log(err) // it has ended meanwhile
			}
		}
	}
}

type process struct {
	id, parent int
	command    string // the first argument; empty for a zombie
}

// processes lists all processes of the machine.
func processes(t *testing.T) []process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var all []process
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		command, err := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		if err != nil {
			continue // it has ended
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(command), "\x00")
		p := process{id: id, command: first}
		// Behind the name, which is in parentheses and may hold anything: state, parent.
		rest := stat[bytes.LastIndexByte(stat, ')')+1:]
		if _, err := fmt.Sscanf(string(rest), " %1s %d", new(string), &p.parent); err != nil {
			t.Fatalf("process %d: %v in %q", id, err, rest)
		}
		all = append(all, p)
	}
	return all
}

// emptyFolder removes what the test has put into a folder that others use too.
func emptyFolder(t *testing.T, dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Error(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			t.Error(err)
		}
	}
}
