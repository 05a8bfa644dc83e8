package feedtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// NATS are processes of a NATS server with JetStream, one or a cluster of three.
type NATS struct {
	// URL names all servers.
	URL string

	t       testing.TB
	servers []*natsServer
}

type natsServer struct {
	file, dir, addr string
	cmd             *exec.Cmd
	ended           chan struct{}
}

// nats returns the path of a server's program, which is built once for all tests of a process.
var nats = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("quorate-nats-server-%d", os.Getuid()))
	build := exec.Command("go", "build", "-trimpath", "-modfile=nats.mod", "-o", path, "github.com/nats-io/nats-server/v2")
	build.Dir = filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "e2e")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", build, err, text)
	}
	return path, nil
})

// StartNATS starts one server, or a cluster of three, until the test ends.
func StartNATS(t testing.TB, servers int) *NATS {
	t.Helper()
	if _, err := nats(); err != nil {
		t.Fatal(err)
	}
	n := &NATS{t: t}
	var routes, urls []string
	for range servers {
		routes = append(routes, "nats://"+freeAddress(t))
	}
	for i := range servers {
		s := &natsServer{dir: t.TempDir(), addr: freeAddress(t)}
		s.file = filepath.Join(s.dir, "nats.conf")
		text := fmt.Sprintf("server_name: n%d\nlisten: %q\njetstream { store_dir: %q, sync_interval: 1s }\n", i, s.addr, filepath.Join(s.dir, "js"))
		if servers > 1 {
			text += fmt.Sprintf("cluster { name: quorate, listen: %q, no_advertise: true, routes: [%s] }\n", strings.TrimPrefix(routes[i], "nats://"), strings.Join(routes, ", "))
		}
		if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n.servers, urls = append(n.servers, s), append(urls, "nats://"+s.addr)
	}
	n.URL = strings.Join(urls, ",")
	t.Cleanup(func() {
		for i := range n.servers {
			n.Kill(i)
		}
	})
	for i := range n.servers {
		n.Start(i)
	}
	return n
}

// Start starts a server that does not run.
func (n *NATS) Start(i int) {
	n.t.Helper()
	s := n.servers[i]
	program, err := nats()
	if err != nil {
		n.t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	s.cmd, s.ended = exec.Command(program, "-c", s.file), make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	cmd, ended := s.cmd, s.ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is killed
		_ = log.Close()
	}()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		conn, err := net.DialTimeout("tcp", s.addr, time.Second)
		if err == nil {
			_ = conn.Close() // it listens
			return
		}
		select {
		case <-tick.C:
		case <-late:
			n.t.Fatalf("server %d does not listen: %v", i, err)
		}
	}
}

// Kill kills a server, if it runs.
func (n *NATS) Kill(i int) {
	s := n.servers[i]
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	<-s.ended
	s.cmd = nil
}

// Wipe removes what a server that does not run has on disk.
func (n *NATS) Wipe(i int) {
	if err := os.RemoveAll(filepath.Join(n.servers[i].dir, "js")); err != nil {
		n.t.Error(err)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // it was free
	return l.Addr().String()
}

// Eventually calls f until it succeeds.
func Eventually(t *testing.T, f func() error) {
	t.Helper()
	tick, late := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatal(err)
		}
	}
}
