package vm

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quorate/engine/chain"
)

// install puts a fake plugin of that name into the folder.
func install(t *testing.T, dir, name string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func newLoader(t *testing.T, cfg Config) *Loader {
	t.Helper()
	if cfg.HandshakeTimeout == 0 {
		cfg.HandshakeTimeout = 30 * time.Second
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustLoad(t *testing.T, l *Loader) (map[chain.ID][]string, map[string]string) {
	t.Helper()
	found, failed, err := l.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found, failed
}

// mustBeGone checks that no process is left of the plugins in dir: n have
// started. Leaders are reaped already; children may still be on their way out,
// and are waited for by their locks.
func mustBeGone(t *testing.T, dir string, n int) {
	t.Helper()
	leaders, _ := filepath.Glob(filepath.Join(dir, leaderLock+"*"))
	children, _ := filepath.Glob(filepath.Join(dir, childLock+"*"))
	if len(leaders)+len(children) != n {
		t.Errorf("%d processes have started, want %d", len(leaders)+len(children), n)
	}
	for _, path := range leaders {
		pid := lockPID(t, path)
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d is left: %v", pid, err)
		}
	}
	for _, path := range append(leaders, children...) {
		awaitLock(t, path)
	}
}

func lockPID(t *testing.T, path string) int {
	t.Helper()
	pid, err := strconv.Atoi(path[strings.LastIndexByte(path, '-')+1:])
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// awaitLock returns when the process that holds the file has ended.
func awaitLock(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
}

// speak is the protocols that followed nodes speak.
func speak(versions ...uint32) func(context.Context) []uint32 {
	return func(context.Context) []uint32 { return versions }
}

func TestPlugins(t *testing.T) {
	t.Parallel()
	short := Config{HandshakeTimeout: 3 * time.Second, StopTimeout: 200 * time.Millisecond}
	for _, c := range []struct {
		behaviour string
		cfg       Config
		version   string
		failure   string // all of it
		processes int
	}{
		{behaviour: "good", version: "v1.2.3"},
		{behaviour: "child", version: "v1.2.3", processes: 2},
		{behaviour: "stubborn", cfg: short, version: "v1.2.3"},
		{behaviour: "lingers", cfg: short, version: "v1.2.3"},
		{behaviour: "exits", failure: "handshake failed: the process exited with code 3: no room left in state"},
		{behaviour: "explains", failure: "handshake failed: the process exited with code 1: failed to set fd limit"},
		{behaviour: "crashes", failure: "handshake failed: the process was ended by signal: killed"},
		{behaviour: "hangs", cfg: short, failure: "handshake failed: the VM has not dialled back within 3s"},
		{behaviour: "floods", cfg: short, failure: "handshake failed: the VM has not dialled back within 3s"},
		{behaviour: "babbles", cfg: short, failure: "handshake failed: the VM has not dialled back within 3s"},
		{behaviour: "protocol", failure: "handshake failed: the VM speaks RPCChainVM protocol version 39, the followed nodes speak 45 or 46"},
		{behaviour: "helicon", version: "v1.2.3"},
		{behaviour: "good", cfg: Config{Protocols: speak(45)}, version: "v1.2.3"},
		{behaviour: "good", cfg: Config{Protocols: speak(46)}, failure: "handshake failed: the VM speaks RPCChainVM protocol version 45, the followed nodes speak 46"},
		{behaviour: "helicon", cfg: Config{Protocols: speak(46)}, version: "v1.2.3"},
		{behaviour: "helicon", cfg: Config{Protocols: speak(45, 46)}, version: "v1.2.3"},
		{behaviour: "helicon", cfg: Config{Protocols: speak(45)}, failure: "handshake failed: the VM speaks RPCChainVM protocol version 46, the followed nodes speak 45"},
		{behaviour: "address", failure: `handshake failed: the VM gave "not an address" as its address, which is not a loopback address with a port`},
		{behaviour: "remote", failure: `handshake failed: the VM gave "192.0.2.1:80" as its address, which is not a loopback address with a port`},
		{behaviour: "garbage", failure: "handshake failed: the VM sent a message that cannot be read: grpc: error unmarshalling request: malformed message: unexpected EOF"},
		{behaviour: "nobody", cfg: short, failure: "the version cannot be read: no answer within 3s"},
		{behaviour: "silent", cfg: short, failure: "the version cannot be read: no answer within 3s"},
		{behaviour: "refuses", failure: "the version cannot be read: version is a secret"},
		{behaviour: "dies", failure: "the version cannot be read: the process exited with code 7: out of memory"},
		{behaviour: "longversion", failure: "the version cannot be read: grpc: received message larger than max (4099 vs. 4096)"},
		{behaviour: "oddversion", failure: "the version cannot be read: it is not plain text of at most 256 bytes"},
		{behaviour: "garbled", failure: "the version cannot be read: grpc: failed to unmarshal the received message: malformed message: unexpected EOF"},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			t.Parallel()
			dir, id := t.TempDir(), fakeID(c.behaviour)
			install(t, dir, id.String())
			c.cfg.Dir = dir
			l := newLoader(t, c.cfg)
			found, failed := mustLoad(t, l)
			mustBeGone(t, dir, max(c.processes, 1))
			if c.failure != "" {
				want := map[string]string{id.String(): c.failure}
				if len(found) != 0 || !maps.Equal(failed, want) {
					t.Errorf("got %v, %q, want %q", found, failed, want)
				}
				if _, ok := l.Get(id); ok || len(l.Known()) != 0 {
					t.Error("a VM that has failed is known")
				}
				return
			}
			if names, ok := found[id]; !ok || names == nil || len(names) != 0 || len(failed) != 0 {
				t.Errorf("got %v, %q", found, failed)
			}
			if v, ok := l.Get(id); !ok || v.ID != id || v.Version != c.version {
				t.Errorf("known as %+v, %v", v, ok)
			}
		})
	}
}

// A child that leaves its process group is out of reach; it must not hold a load up.
func TestEscapedChild(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	install(t, dir, fakeID("escapes").String())
	found, failed := mustLoad(t, newLoader(t, Config{Dir: dir}))
	if len(found) != 1 || len(failed) != 0 {
		t.Errorf("got %v, %q", found, failed)
	}
	children, _ := filepath.Glob(filepath.Join(dir, childLock+"*"))
	for _, path := range children {
		if err := syscall.Kill(lockPID(t, path), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	mustBeGone(t, dir, 2)
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	dir, id := t.TempDir(), fakeID("environment")
	install(t, dir, id.String())
	l := newLoader(t, Config{Dir: dir})
	mustLoad(t, l)
	v, _ := l.Get(id)
	if !strings.HasPrefix(v.Version, engineAddress+"=127.0.0.1:") || strings.Contains(v.Version, " ") {
		t.Errorf("environment %q", v.Version)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("no program"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	install(t, dir, "subnetevm")
	install(t, dir, "my-vm.exe")
	install(t, dir, fakeID("mine").String()) // the same VM as my-vm, the first in order
	write("README.md")
	write("odd\xff\nname")
	write("timestampvm")
	write(".hidden")
	write(".hidden.txt")
	script := fakeID("empty script").String()
	write(script)
	socket := fakeID("pipe").String()
	broken := fakeID("broken link").String()
	if err := errors.Join(
		os.Chmod(filepath.Join(dir, script), 0o750),
		os.Mkdir(filepath.Join(dir, "folder"), 0o750),
		os.Symlink("folder", filepath.Join(dir, "linked folder")),
		os.Symlink("nowhere", filepath.Join(dir, broken)),
		syscall.Mkfifo(filepath.Join(dir, socket), 0o770),
	); err != nil {
		t.Fatal(err)
	}
	l := newLoader(t, Config{Dir: dir, Alias: map[chain.ID][]string{fakeID("mine"): {"my-vm", "mine"}}})
	found, failed := mustLoad(t, l)
	mustBeGone(t, dir, 2)
	wantFound := map[chain.ID][]string{fakeID("subnetevm"): {"subnetevm"}, fakeID("mine"): {"my-vm", "mine"}}
	if !maps.EqualFunc(found, wantFound, slices.Equal) {
		t.Errorf("found %v, want %v", found, wantFound)
	}
	mine := fakeID("mine").String()
	wantFailed := map[string]string{
		fakeID("README.md").String():     `invalid vmID: "README"`,
		fakeID("odd\xff\nname").String(): `invalid vmID: "odd name"`,
		standIn(mine).String():           "VM " + mine + ` is the file "my-vm.exe" already; "` + mine + `" is left out`,
		fakeID("timestamp").String():     "failed to start process: permission denied",
		script:                           "failed to start process: exec format error",
		socket:                           "not a regular file",
		broken:                           "no such file or directory",
	}
	if !maps.Equal(failed, wantFailed) {
		t.Errorf("failed %q, want %q", failed, wantFailed)
	}
	if got := l.Known(); len(got) != 2 {
		t.Errorf("known: %v", got)
	}
}

func TestMissingFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []Config{{}, {Dir: dir}} {
		if found, failed := mustLoad(t, newLoader(t, cfg)); found == nil || len(found)+len(failed) != 0 {
			t.Errorf("%q: got %v, %v", cfg.Dir, found, failed)
		}
	}
	if _, _, err := newLoader(t, Config{Dir: dir, DirRequired: true}).Load(t.Context()); !errors.Is(err, ErrNoFolder) {
		t.Errorf("got %v", err)
	}
	_, _, err := newLoader(t, Config{Dir: file}).Load(t.Context())
	if err == nil || strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func TestTooManyFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range maxFiles + 1 {
		if err := os.Symlink("none", filepath.Join(dir, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := newLoader(t, Config{Dir: dir}).Load(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 1000") {
		t.Errorf("got %v", err)
	}
}

// What is loaded is started again only once its file has changed; what has
// failed is started again each time.
func TestLoadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, exits := fakeID("good"), fakeID("exits")
	install(t, dir, good.String())
	install(t, dir, exits.String())
	l := newLoader(t, Config{Dir: dir})
	mustLoad(t, l)
	mustBeGone(t, dir, 2)
	found, failed := mustLoad(t, l)
	mustBeGone(t, dir, 3)
	if len(found) != 0 || len(failed) != 1 {
		t.Errorf("the second time: %v, %q", found, failed)
	}
	// Another file under the same name, which is no program any more.
	path := filepath.Join(dir, good.String())
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o640)); err != nil {
		t.Fatal(err)
	}
	if _, failed := mustLoad(t, l); failed[good.String()] != "failed to start process: permission denied" {
		t.Errorf("replaced: %q", failed)
	}
	if got := l.Known(); len(got) != 0 {
		t.Errorf("replaced, but known: %v", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	install(t, dir, good.String())
	if found, _ := mustLoad(t, l); len(found) != 1 || len(l.Known()) != 1 {
		t.Errorf("mended: %v, %v", found, l.Known())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if found, _ := mustLoad(t, l); len(found) != 0 || len(l.Known()) != 0 {
		t.Errorf("removed: %v, %v", found, l.Known())
	}
}

// waitForLock returns when a plugin has started in dir.
func waitForLock(t *testing.T, dir string) {
	t.Helper()
	for t.Context().Err() == nil {
		if found, _ := filepath.Glob(filepath.Join(dir, leaderLock+"*")); len(found) > 0 {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	install(t, dir, fakeID("hangs").String())
	l := newLoader(t, Config{Dir: dir, HandshakeTimeout: lifetime})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the server shuts down")
	done := make(chan error, 1)
	go func() {
		_, _, err := l.Load(ctx)
		done <- err
	}()
	waitForLock(t, dir)
	// A second call waits, and its own context ends its wait.
	second, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, _, err := l.Load(second); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting call: got %v", err)
	}
	cancel(why)
	if err := <-done; !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	mustBeGone(t, dir, 1)
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	install(t, dir, fakeID("good").String())
	install(t, dir, fakeID("exits").String())
	l := newLoader(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&tail{}, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	var mu sync.Mutex
	var found, failed, busy int
	var wg sync.WaitGroup
	const calls = maxWaiting + 8
	for range calls {
		wg.Go(func() {
			a, b, err := l.Load(t.Context())
			l.Known()
			l.Get(fakeID("good"))
			mu.Lock()
			defer mu.Unlock()
			found, failed = found+len(a), failed+len(b)
			if errors.Is(err, ErrBusy) {
				busy++
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if found != 1 || failed+busy != calls {
		t.Errorf("%d calls: %d found, %d failed, %d were too many", calls, found, failed, busy)
	}
	mustBeGone(t, dir, 1+failed)
}
