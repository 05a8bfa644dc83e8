package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"
)

// No test of this package is parallel: there is one CPU profiler and one rate of
// lock sampling in a process.

func newProfiler(t *testing.T) (*Profiler, string, *bytes.Buffer) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data", "profiles")
	log := &bytes.Buffer{}
	p := New(dir, slog.New(slog.NewTextHandler(log, nil)))
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if rate := runtime.SetMutexProfileFraction(-1); rate != 0 {
			t.Errorf("locks are still sampled, rate %d", rate)
		}
	})
	return p, dir, log
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantFiles checks that a folder holds these files and no others.
func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("folder holds %q, want %q", got, want)
	}
}

// readByPprof returns what pprof's own reader finds in a profile: its types of
// samples, and the functions in them.
func readByPprof(t *testing.T, dir, name string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-raw", filepath.Join(dir, name)).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// contend makes one goroutine wait for a mutex that another holds.
func contend() {
	var mu sync.Mutex
	var wg sync.WaitGroup
	mu.Lock()
	started := make(chan struct{})
	wg.Go(func() {
		close(started)
		mu.Lock()
		defer mu.Unlock()
	})
	<-started
	for range 100 {
		runtime.Gosched()
	}
	mu.Unlock()
	wg.Wait()
}

// waitInContend goes on until the runtime has a new sample of a wait in contend.
func waitInContend(t *testing.T) {
	t.Helper()
	before := sampledWaits(t)
	for range 10_000 {
		if contend(); sampledWaits(t) > before {
			return
		}
	}
	t.Fatal("no wait was sampled")
}

// sampledWaits returns how many waits in contend the runtime has sampled, from the
// text form: a line "<cycles> <count> @ <addresses>" and then the functions.
func sampledWaits(t *testing.T) (sum int) {
	t.Helper()
	var text bytes.Buffer
	must(t, pprof.Lookup("mutex").WriteTo(&text, 1))
	count := 0
	for line := range strings.Lines(text.String()) {
		var cycles int64
		if n, err := fmt.Sscanf(line, "%d %d @", &cycles, &count); err == nil && n == 2 {
			continue
		}
		if strings.Contains(line, "profile.contend") {
			sum += count
			count = 0 // inlined frames have lines of their own
		}
	}
	return sum
}

func burn(d time.Duration) (n uint64) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := range uint64(1000) {
			n = n*31 + i
		}
	}
	return n
}

func TestPprofReadsAll(t *testing.T) {
	p, dir, _ := newProfiler(t)
	must(t, p.StartCPU())
	waitInContend(t)
	held := make([]byte, 8<<20)
	work := burn(300 * time.Millisecond)
	must(t, p.Memory())
	must(t, p.Lock())
	wantFiles(t, dir, "cpu.profile.tmp", "lock.profile", "mem.profile")
	must(t, p.StopCPU())
	wantFiles(t, dir, "cpu.profile", "lock.profile", "mem.profile")
	runtime.KeepAlive(held)
	runtime.KeepAlive(work)
	for name, want := range map[string]string{
		"cpu.profile":  "cpu/nanoseconds",
		"mem.profile":  "TestPprofReadsAll",
		"lock.profile": "profile.contend",
	} {
		if out := readByPprof(t, dir, name); !strings.Contains(out, want) {
			t.Errorf("%s: want %q in\n%s", name, want, out)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm()&^0o640 != 0 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&^0o750 != 0 {
		t.Errorf("folder: mode %v, %v", info.Mode(), err)
	}
}

func TestLockProfileShowsWaits(t *testing.T) {
	p, dir, _ := newProfiler(t)
	must(t, p.Lock()) // opens the window; nothing else samples
	waitInContend(t)
	must(t, p.Lock())
	if out := readByPprof(t, dir, lockFile); !strings.Contains(out, "contend") {
		t.Errorf("want the wait in contend in\n%s", out)
	}
}

func TestLockSamplingEnds(t *testing.T) {
	p, _, _ := newProfiler(t)
	want := func(rate int) {
		t.Helper()
		if got := runtime.SetMutexProfileFraction(-1); got != rate {
			t.Fatalf("locks are sampled at rate %d, want %d", got, rate)
		}
	}
	want(0)
	must(t, p.StartCPU())
	want(lockRate)
	must(t, p.StopCPU())
	want(0)
	must(t, p.Lock())
	must(t, p.Lock()) // renews the window
	want(lockRate)
	must(t, p.StartCPU())
	must(t, p.StopCPU())
	want(lockRate) // for the window
	must(t, p.close())
	want(0)
	p.timers.Wait()

	p, _, _ = newProfiler(t)
	p.lockWindow = time.Millisecond
	must(t, p.Lock())
	p.timers.Wait()
	want(0)
}

func TestStates(t *testing.T) {
	p, dir, log := newProfiler(t)
	if err := p.StopCPU(); !errors.Is(err, ErrNotRunning) || err.Error() != "cpu profiler doesn't exist" {
		t.Errorf("stop while idle: %v", err)
	}
	wantFiles(t, dir)
	must(t, p.StartCPU())
	if err := p.StartCPU(); !errors.Is(err, ErrRunning) || err.Error() != "cpu profiler already running" {
		t.Errorf("second start: %v", err)
	}
	must(t, p.Close())
	wantFiles(t, dir, cpuFile)
	if out := readByPprof(t, dir, cpuFile); !strings.Contains(out, "cpu/nanoseconds") {
		t.Errorf("flushed profile:\n%s", out)
	}
	if !strings.Contains(log.String(), "CPU profile written") {
		t.Errorf("log: %s", log)
	}
	for name, f := range map[string]func() error{"start": p.StartCPU, "stop": p.StopCPU, "memory": p.Memory, "lock": p.Lock} {
		if err := f(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	must(t, p.Close())
}

func TestProfileTakenElsewhere(t *testing.T) {
	p, dir, _ := newProfiler(t)
	var other bytes.Buffer
	must(t, pprof.StartCPUProfile(&other))
	defer pprof.StopCPUProfile()
	if err := p.StartCPU(); !errors.Is(err, ErrRunning) || err.Error() != ErrRunning.Error() {
		t.Errorf("got %v", err)
	}
	wantFiles(t, dir)
	if err := p.StopCPU(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("stop of another's profile: %v", err)
	}
}

func TestLimit(t *testing.T) {
	p, dir, log := newProfiler(t)
	p.cpuLimit = time.Millisecond
	must(t, p.StartCPU())
	p.timers.Wait()
	wantFiles(t, dir, cpuFile)
	if err := p.StopCPU(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("stop after the limit: %v", err)
	}
	if !strings.Contains(log.String(), "reached its limit") {
		t.Errorf("log: %s", log)
	}
}

func TestLinksAreNotFollowed(t *testing.T) {
	p, dir, _ := newProfiler(t)
	must(t, os.MkdirAll(dir, 0o700))
	target := filepath.Join(t.TempDir(), "precious")
	must(t, os.WriteFile(target, []byte("keep me"), 0o600))
	for _, name := range []string{memFile, memFile + ".tmp", lockFile, cpuFile, cpuFile + ".tmp"} {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	must(t, p.Memory())
	must(t, p.Lock())
	must(t, p.StartCPU())
	must(t, p.StopCPU())
	content, err := os.ReadFile(target)
	info, statErr := os.Stat(target)
	if err != nil || statErr != nil || string(content) != "keep me" || info.Mode().Perm() != 0o600 {
		t.Errorf("target of the links: %q, %v, %v, %v", content, info.Mode(), err, statErr)
	}
	for _, name := range []string{memFile, lockFile, cpuFile} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestErrors(t *testing.T) {
	check := func(p *Profiler, dir string, want ...string) {
		t.Helper()
		run := func(name, want string, f func() error) {
			t.Helper()
			if err := f(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "/") {
				t.Errorf("%s: got %v, want %q and no path", name, err, want)
			}
		}
		run("memory", want[0], p.Memory)
		run("lock", want[1], p.Lock)
		run("cpu", want[2], func() error {
			if err := p.StartCPU(); err != nil {
				return err
			}
			return p.StopCPU()
		})
		if err := p.StopCPU(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("a failed CPU profile still runs: %v", err)
		}
	}
	p, dir, _ := newProfiler(t)
	for _, name := range []string{memFile, lockFile, cpuFile} { // a folder in the place of the file
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o700))
	}
	check(p, dir, "cannot write mem.profile: file exists", "cannot write lock.profile: file exists", "cannot write cpu.profile: file exists")
	wantFiles(t, dir, cpuFile, lockFile, memFile)

	p, dir, _ = newProfiler(t)
	must(t, os.MkdirAll(filepath.Dir(dir), 0o700))
	must(t, os.WriteFile(dir, nil, 0o600)) // a file in the place of the folder
	const want = "cannot make the profile folder: not a directory"
	check(p, dir, want, want, want)
}

func TestLastProfileStaysUntilTheNext(t *testing.T) {
	p, dir, _ := newProfiler(t)
	must(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, cpuFile)
	must(t, os.WriteFile(path, []byte("last"), 0o600))
	must(t, os.WriteFile(path+".tmp", []byte("left by a crash"), 0o600))
	must(t, p.StartCPU())
	if content, err := os.ReadFile(path); err != nil || string(content) != "last" {
		t.Errorf("while profiling: %q, %v", content, err)
	}
	must(t, p.StopCPU())
	if content, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		t.Errorf("after: %.20q, %v", content, err)
	}
	wantFiles(t, dir, cpuFile)
}

func TestAtOnce(t *testing.T) {
	p, _, _ := newProfiler(t)
	var wg sync.WaitGroup
	for range 4 {
		for _, f := range []func() error{p.StartCPU, p.StopCPU, p.Memory, p.Lock} {
			wg.Go(func() {
				for range 5 {
					if err := f(); err != nil && !errors.Is(err, ErrRunning) && !errors.Is(err, ErrNotRunning) {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
}
