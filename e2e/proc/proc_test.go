package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// roleVar makes the test binary play a part instead of running tests.
	roleVar    = "QUORATE_E2E_ROLE"
	roleParent = "parent" // starts a child that sleeps, prints its ID, and waits
	rolePanic  = "panic"  // the same, but panics once its input ends
	roleDeaf   = "deaf"   // ignores SIGTERM

	waitBound = 20 * time.Second
)

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVar); role {
	case "":
		os.Exit(m.Run())
	case roleDeaf:
		deaf()
	default:
		parent(role)
	}
}

func parent(role string) {
	p, err := NewSpawner().Start(exec.Command("sleep", "600"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("child", p.PID())
	io.Copy(io.Discard, os.Stdin)
	if role == rolePanic {
		panic("as a test may")
	}
}

func deaf() {
	signal.Ignore(syscall.SIGTERM)
	fmt.Println("deaf")
	select {}
}

func spawner(t *testing.T) *Spawner {
	s := NewSpawner()
	t.Cleanup(s.Close)
	return s
}

// gone waits until a process is no more, or is a zombie that nobody reaps.
func gone(t *testing.T, pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitBound)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		// pid (command) state ...
		if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, "Z") {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// TestChildDiesWithParent ends a parent in each way that a test process may end.
func TestChildDiesWithParent(t *testing.T) {
	for _, c := range []struct {
		name, role string
		end        func(p *Process, input io.Closer) error
	}{
		{"kill", roleParent, func(p *Process, _ io.Closer) error { return p.Signal(syscall.SIGKILL) }},
		{"exit", roleParent, func(_ *Process, input io.Closer) error { return input.Close() }},
		{"panic", rolePanic, func(_ *Process, input io.Closer) error { return input.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := spawner(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVar+"="+c.role)
			input, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			watcher := NewLineWatcher("child", io.Discard)
			cmd.Stdout = watcher
			p, err := s.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			child, err := strconv.Atoi(found(t, watcher))
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(child, 0); err != nil {
				t.Fatalf("the child does not run: %v", err)
			}
			if err := c.end(p, input); err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			gone(t, child)
		})
	}
}

func found(t *testing.T, w *LineWatcher) string {
	t.Helper()
	select {
	case rest := <-w.Found():
		return rest
	case <-time.After(waitBound):
		t.Fatal("the line never came")
		return ""
	}
}

func TestStop(t *testing.T) {
	t.Parallel()
	s := spawner(t)
	start := func(cmd *exec.Cmd) *Process {
		t.Helper()
		p, err := s.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}

	p := start(exec.Command("sleep", "600"))
	if code, err := p.Stop(waitBound); err != nil || code != -1 {
		t.Errorf("sleep ended by SIGTERM: code %d, %v", code, err)
	}
	if _, err := p.Stop(waitBound); err == nil {
		t.Error("stopped twice without an error")
	}
	p.Kill() // allowed after the end

	p = start(exec.Command("sleep", "600"))
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Kill()

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+roleDeaf)
	watcher := NewLineWatcher("deaf", io.Discard)
	cmd.Stdout = watcher
	p = start(cmd)
	found(t, watcher)
	if _, err := p.Stop(time.Millisecond); err == nil {
		t.Error("no error for a process that ignores SIGTERM")
	}
	gone(t, p.PID())
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := NewSpawner()
	var all []*Process
	for range 3 {
		p, err := s.Start(exec.Command("sleep", "600"))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	s.Close()
	s.Close()
	for _, p := range all {
		if code := p.ExitCode(); code != -1 {
			t.Errorf("process %d: exit code %d", p.PID(), code)
		}
	}
	if _, err := s.Start(exec.Command("sleep", "600")); !errors.Is(err, ErrClosed) {
		t.Errorf("start after close: %v", err)
	}
}

func TestStartFails(t *testing.T) {
	t.Parallel()
	if _, err := spawner(t).Start(exec.Command(filepath.Join(t.TempDir(), "none"))); err == nil {
		t.Error("started a program that does not exist")
	}
}

func TestLineWatcher(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := NewLineWatcher("quorate ready", &out)
	text := "a quorate ready no\nquorate ready http://127.0.0.1:1 \nquorate ready again\n"
	for i := range len(text) { // one byte at a time
		if _, err := w.Write([]byte(text[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := found(t, w), "http://127.0.0.1:1"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if out.String() != text {
		t.Errorf("passed on %q", out.String())
	}
	select {
	case again := <-w.Found():
		t.Errorf("found again: %q", again)
	default:
	}
}

func TestPorts(t *testing.T) {
	t.Parallel()
	ports, err := Ports(10)
	if err != nil || len(ports) != 10 {
		t.Fatalf("%v, %v", ports, err)
	}
	seen := map[int]bool{}
	for _, port := range ports {
		if seen[port] || port < firstPort || port > lastPort {
			t.Errorf("port %d twice or out of range", port)
		}
		seen[port] = true
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			t.Errorf("not free: %v", err)
			continue
		}
		l.Close()
	}
}
