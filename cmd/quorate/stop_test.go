package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"quorate/devnet"
)

// Besides asProgram, how the test binary is to run as quorate.
const (
	// inTime has it keep to the time of a stop.
	inTime = "QUORATE_TEST_IN_TIME"
	// noOverride takes root's right to write where it must not.
	noOverride = "QUORATE_TEST_NO_OVERRIDE"
	// onTmpfs has the size of a tmpfs of the process alone, and the folder to mount it
	// on, which is made: "300m:/tmp/x".
	onTmpfs = "QUORATE_TEST_TMPFS"
)

// prepareProgram does what the environment asks for before main.
func prepareProgram() {
	if os.Getenv(noOverride) != "" {
		// Of this thread alone, which is why the program is executed again by it.
		runtime.LockOSThread()
		err := errors.Join(
			unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_DAC_OVERRIDE, 0, 0, 0),
			os.Unsetenv(noOverride),
		)
		if err == nil {
			err = syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		}
		panic(err)
	}
	if size, dir, ok := strings.Cut(os.Getenv(onTmpfs), ":"); ok {
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			err = unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size)
		}
		if err != nil {
			panic(err)
		}
	}
}

// pit is a way to a node that can turn into one that accepts and says nothing,
// or a byte now and then, and can close.
type pit struct {
	ln   net.Listener
	to   string
	mode atomic.Int32
	done chan struct{}

	mu    sync.Mutex
	conns []net.Conn
}

const (
	passing int32 = iota
	silent
	trickling
)

func newPit(t *testing.T, nodeURL string, mode int32) *pit {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return servePit(t, ln, nodeURL, mode)
}

func servePit(t *testing.T, ln net.Listener, nodeURL string, mode int32) *pit {
	p := &pit{ln: ln, to: strings.TrimPrefix(nodeURL, "http://"), done: make(chan struct{})}
	p.mode.Store(mode)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.keep(conn)
			all.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		close(p.done)
		p.close()
		all.Wait()
	})
	return p
}

func (p *pit) url() string { return "http://" + p.ln.Addr().String() }

func (p *pit) keep(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conn)
}

// close refuses connections from now on and ends those that there are.
func (p *pit) close() {
	_ = p.ln.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		_ = conn.Close()
	}
}

func (p *pit) serve(conn net.Conn) {
	defer conn.Close()
	if p.mode.Load() == passing {
		node, err := net.Dial("tcp", p.to)
		if err != nil {
			return
		}
		p.keep(node)
		var asking sync.WaitGroup
		defer asking.Wait()
		asking.Go(func() { p.copy(node, conn) })
		p.copy(conn, node)
		return
	}
	asked := make([]byte, 1<<16)
	if _, err := conn.Read(asked); err != nil {
		return
	}
	p.hang(conn)
}

// copy passes on what comes, as long as it is to.
func (p *pit) copy(to, from net.Conn) {
	defer to.Close()
	part := make([]byte, 1<<16)
	for {
		n, err := from.Read(part)
		if p.mode.Load() != passing {
			p.hang(from)
			return
		}
		if n > 0 {
			if _, err := to.Write(part[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hang sends nothing, or the beginning of an answer without an end.
func (p *pit) hang(conn net.Conn) {
	next := "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
	for {
		if p.mode.Load() == trickling {
			if _, err := io.WriteString(conn, next); err != nil {
				return
			}
			next = " "
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-p.done:
			return
		}
	}
}

// doomed is a server that is to come to its end.
type doomed struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	url    string // once it serves
	stderr *lockedBuffer
	out    io.Reader
}

func startDoomed(t *testing.T, nodeURL, dir string, attr *syscall.SysProcAttr, env ...string) *doomed {
	t.Helper()
	cmd := exec.Command(os.Args[0], "serve", "--node-url", nodeURL, "--http-port", "0", "--data-dir", dir,
		"--log-display-level", "warn", "--sign-ahead=false")
	cmd.Env = append(append(os.Environ(), asProgram+"=1", inTime+"=1"), env...)
	cmd.SysProcAttr = attr
	d := &doomed{t: t, cmd: cmd, dir: dir, stderr: &lockedBuffer{}}
	cmd.Stderr = d.stderr
	var err error
	if d.out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return d
}

// serves waits until it is ready and has had a message signed, so that there is
// something in memory that a close has to write.
func (d *doomed) serves(net *devnet.Devnet) {
	d.t.Helper()
	d.url = readyURL(d.t, d.out, "quorate ready", d.stderr)
	status, answer := post(d.t, d.url+endpoint1, fmt.Sprintf(`{"message":"%x"}`, net.Message(1).Bytes()))
	if status != http.StatusCreated {
		d.t.Fatalf("status %d: %v", status, answer)
	}
	awaitChains(d.t, d.url+"/ext/bc/C/rpc", "eth_blockNumber")
}

// ends asks for the end, and checks how it comes.
func (d *doomed) ends(code int, reasons ...string) {
	d.t.Helper()
	started := time.Now()
	d.signal()
	d.ended(started, code, reasons...)
}

func (d *doomed) signal() {
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		d.t.Error(err)
	}
}

func (d *doomed) ended(started time.Time, code int, reasons ...string) {
	d.t.Helper()
	never := time.AfterFunc(3*lastResort, func() { _ = d.cmd.Process.Kill() })
	_ = d.cmd.Wait() // the exit code says it
	never.Stop()
	took, text := time.Since(started), d.stderr.String()
	// The time is kept by the process itself; here is room for a slow machine.
	if got := d.cmd.ProcessState.ExitCode(); got != code || took > 2*lastResort || strings.Contains(text, "the stop has not ended") {
		d.t.Errorf("exit code %d after %s, want %d\n%s", got, took.Round(time.Millisecond), code, text)
	}
	for _, reason := range reasons {
		if !strings.Contains(text, reason) {
			d.t.Errorf("standard error does not say %q:\n%s", reason, text)
		}
	}
	if code != exitDone && !strings.Contains(text, "\nquorate: ") && !strings.HasPrefix(text, "quorate: ") {
		d.t.Errorf("no reason on standard error:\n%s", text)
	}
}

// TestStop: whatever disk and node do, at the start, in operation and at the
// stop, a signal ends the server within 10 s, with the documented exit code and
// the reason.
func TestStop(t *testing.T) {
	campaign(t)
	net := startNetwork(t, devnet.Config{Blocks: 20, BlockInterval: 500 * time.Millisecond})
	gone := newPit(t, net.NodeURL(), passing)
	gone.close()
	for _, c := range stopCases(net, gone.url()) {
		t.Run(c.name, c.run)
	}
}

type stopCase struct {
	name string
	run  func(t *testing.T)
}

func stopCases(net *devnet.Devnet, deadURL string) []stopCase {
	return append([]stopCase{
		{"dead node at the start", func(t *testing.T) {
			d := startDoomed(t, deadURL, t.TempDir(), nil)
			awaitLine(t, d.stderr, "does not answer")
			d.ends(exitDone)
		}},
		{"silent node at the start", func(t *testing.T) { stopAtStart(t, net, silent) }},
		{"trickling node at the start", func(t *testing.T) { stopAtStart(t, net, trickling) }},
		{"node that dies in operation", func(t *testing.T) {
			p := newPit(t, net.NodeURL(), passing)
			d := startDoomed(t, p.url(), t.TempDir(), nil)
			d.serves(net)
			p.close()
			d.ends(exitDone)
		}},
		{"silent node at the stop", func(t *testing.T) { stopWithPit(t, net, silent) }},
		{"trickling node at the stop", func(t *testing.T) { stopWithPit(t, net, trickling) }},
		{"second signal", func(t *testing.T) {
			p := newPit(t, net.NodeURL(), passing)
			d := startDoomed(t, p.url(), t.TempDir(), nil)
			d.serves(net)
			p.mode.Store(silent)
			wait := d.hangingRequest()
			defer wait()
			started := time.Now()
			d.signal()
			awaitRefused(t, d.url)
			d.signal()
			_ = d.cmd.Wait()
			if state := d.cmd.ProcessState.Sys().(syscall.WaitStatus); !state.Signaled() || time.Since(started) > forwardTime {
				t.Errorf("%v after %s", d.cmd.ProcessState, time.Since(started))
			}
		}},
	}, diskCases(net)...)
}

func diskCases(net *devnet.Devnet) []stopCase {
	return []stopCase{
		{"data folder removed", func(t *testing.T) {
			d := startDoomed(t, net.NodeURL(), t.TempDir(), nil)
			d.serves(net)
			// The server makes files while they are removed.
			err := os.RemoveAll(d.dir)
			for range 20 {
				if err == nil {
					break
				}
				err = os.RemoveAll(d.dir)
			}
			if err != nil {
				t.Fatal(err)
			}
			d.ends(exitFailed, "close the results database", "cannot be written")
		}},
		{"data folder read-only", func(t *testing.T) {
			d := startDoomed(t, net.NodeURL(), t.TempDir(), nil, noOverride+"=1")
			d.serves(net)
			protect(t, d.dir)
			d.ends(exitFailed, "close the results database", "permission denied")
		}},
		{"data folder read-only at the start", func(t *testing.T) {
			dir := t.TempDir()
			protect(t, dir)
			started := time.Now()
			d := startDoomed(t, net.NodeURL(), dir, nil, noOverride+"=1")
			d.ended(started, exitFailed, "permission denied")
		}},
		{"no file can grow", func(t *testing.T) {
			d := startDoomed(t, net.NodeURL(), t.TempDir(), nil)
			d.serves(net)
			limit := unix.Rlimit{}
			if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
				t.Fatal(err)
			}
			d.ends(exitFailed, "close the results database", "file too large")
		}},
		{"full tmpfs", func(t *testing.T) {
			d := startOnTmpfs(t, net.NodeURL(), 300)
			d.serves(net)
			d.fill()
			d.ends(exitFailed, "close the results database", "no space left")
		}},
		{"full tmpfs at the start", func(t *testing.T) {
			started := time.Now()
			d := startOnTmpfs(t, net.NodeURL(), 8)
			d.ended(started, exitFailed, "no space left for the data folder")
		}},
	}
}

// stopAtStart asks for the end while the node's first answer is waited for.
func stopAtStart(t *testing.T, net *devnet.Devnet, mode int32) {
	p := newPit(t, net.NodeURL(), mode)
	d := startDoomed(t, p.url(), t.TempDir(), nil)
	poll(t, 5*time.Millisecond, "the node is asked", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.conns) > 0
	})
	d.ends(exitDone)
}

// stopWithPit asks for the end while a client waits for a node that hangs.
func stopWithPit(t *testing.T, net *devnet.Devnet, mode int32) {
	t.Parallel() // it waits, and does nothing else
	p := newPit(t, net.NodeURL(), passing)
	d := startDoomed(t, p.url(), t.TempDir(), nil)
	d.serves(net)
	p.mode.Store(mode)
	wait := d.hangingRequest()
	defer wait()
	d.ends(exitDone)
}

// hangingRequest sends a request that is passed on to the node, and returns when
// it is on its way. wait waits for its answer, which may be any.
func (d *doomed) hangingRequest() (wait func()) {
	d.t.Helper()
	done := make(chan struct{})
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		defer close(done)
		resp, err := client.Post(d.url+"/ext/bc/C/rpc", "application/json",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	poll(d.t, 5*time.Millisecond, "the request is under way", func() bool {
		return counters(d.t, d.url)["quorate_http_requests_in_flight"] >= 2 // with the one that asks
	})
	return func() { <-done }
}

func awaitLine(t *testing.T, b *lockedBuffer, text string) {
	t.Helper()
	poll(t, 5*time.Millisecond, "the log says "+text, func() bool { return strings.Contains(b.String(), text) })
}

// awaitRefused waits until nothing listens at url any more.
func awaitRefused(t *testing.T, url string) {
	t.Helper()
	poll(t, 5*time.Millisecond, "the port is closed", func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
}

// protect makes a folder with all below it read-only until the end of the test.
func protect(t *testing.T, dir string) {
	t.Helper()
	set := func(mode os.FileMode) {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			return os.Chmod(path, mode)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	set(0o500)
	t.Cleanup(func() { set(0o700) })
}

// startOnTmpfs starts a server whose data folder is a tmpfs of so many MiB. An
// ordinary user may mount one in a user namespace of the process' own.
func startOnTmpfs(t *testing.T, nodeURL string, size int) *doomed {
	t.Helper()
	dir := t.TempDir()
	return startDoomed(t, nodeURL, dir, ownMounts(), fmt.Sprintf("%s=%dm:%s", onTmpfs, size, dir))
}

// ownMounts has a process begin where only it sees what it mounts.
func ownMounts() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// fill leaves no space on the tmpfs of the server.
func (d *doomed) fill() {
	d.t.Helper()
	f, err := os.Create(fmt.Sprintf("/proc/%d/root%s/filler", d.cmd.Process.Pid, d.dir))
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size, at := int64(1<<20), int64(0); size >= 1<<12; {
		switch err := unix.Fallocate(int(f.Fd()), 0, at, size); {
		case errors.Is(err, syscall.ENOSPC):
			size /= 2
		case err != nil:
			d.t.Fatal(err)
		default:
			at += size
		}
	}
}
