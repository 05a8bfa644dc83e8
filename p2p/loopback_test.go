package p2p

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/engine/chain"
)

// listen serves a remote on a loopback socket until the test ends.
func (r *remote) listen() Address {
	r.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { r.accept(conn) })
		}
	})
	r.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			r.t.Error(err)
		}
		r.cut()
		wg.Wait()
	})
	return Address{NodeID: r.id, Addr: netip.MustParseAddrPort(l.Addr().String())}
}

// start runs a network over real sockets and waits until it is connected; the
// function it returns ends it.
func start(t testing.TB, addresses []Address, change ...func(*Config)) (*Network, func()) {
	t.Helper()
	n, stop := startUnready(t, addresses, change...)
	eventually(t, "connected", func() bool { return n.Stats().Ready == len(addresses) })
	return n, stop
}

// startUnready is start without the wait.
func startUnready(t testing.TB, addresses []Address, change ...func(*Config)) (*Network, func()) {
	t.Helper()
	cfg := testConfig(t, nil)
	cfg.Logger = nil
	for _, f := range change {
		f(&cfg)
	}
	n, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	var ids []chain.NodeID
	for _, a := range addresses {
		ids = append(ids, a.NodeID)
	}
	n.AddAddresses(addresses)
	n.SetWanted(ids)
	return n, sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// eventually waits for something that no event tells of.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatalf("never %s", what)
		}
	}
}

// TestCrowd asks many remotes from many goroutines while links break and
// requests close, and checks that each question that was taken has one answer.
func TestCrowd(t *testing.T) {
	before := runtime.NumGoroutine()
	var addresses []Address
	var remotes []*remote
	for range 6 {
		r := newRemote(t)
		remotes = append(remotes, r)
		addresses = append(addresses, r.listen())
	}
	listening := runtime.NumGoroutine()
	n, stop := start(t, addresses)
	defer stop()

	const askers = 8
	rounds := 60
	var asked, answered, failed atomic.Int64
	var wg sync.WaitGroup
	for i := range askers {
		wg.Go(func() {
			for j := range rounds {
				var open sync.WaitGroup
				q, err := n.Open(testChain, fmt.Appendf(nil, "%d %d", i, j), 20*time.Second, func(a Answer) {
					if a.Err != nil && a.Err != ErrDisconnected {
						t.Errorf("answer %+v", a)
					}
					answered.Add(1)
					open.Done()
				})
				if err != nil {
					t.Error(err)
					return
				}
				for _, a := range addresses {
					open.Add(1)
					if err := q.Ask(a.NodeID); err == nil {
						asked.Add(1)
					} else {
						open.Done()
						failed.Add(1)
						if err != ErrNotConnected && err != ErrBusy {
							t.Error(err)
						}
					}
				}
				open.Wait()
				q.Close()
				if i == 0 && j%20 == 10 {
					remotes[j/20].cut()
				}
			}
		})
	}
	wg.Wait()
	if asked.Load() != answered.Load() || asked.Load() < int64(askers*rounds) {
		t.Errorf("%d asked, %d answered, %d refused", asked.Load(), answered.Load(), failed.Load())
	}
	eventually(t, "connected again", func() bool { return n.Stats().Ready == len(addresses) })
	if s := n.Stats(); s.OpenRequests != 0 {
		t.Errorf("stats %+v", s)
	}
	for _, a := range addresses {
		if s := n.Status(a.NodeID); s.Waiting != 0 || s.Latency == 0 {
			t.Errorf("status %+v", s)
		}
	}
	stop()
	eventually(t, "back to the goroutines of before Run", func() bool { return runtime.NumGoroutine() <= listening })
	if before > listening {
		t.Errorf("%d goroutines before, %d after listening", before, listening)
	}
}

func TestPlainDialer(t *testing.T) {
	if _, err := dialTCP(t.Context(), netip.MustParseAddrPort("127.0.0.1:1")); err == nil {
		t.Skip("something listens on port 1")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dialTCP(ctx, netip.MustParseAddrPort("127.0.0.1:1")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// askOnce returns a function that asks a remote in another process and waits for the answer.
func askOnce(t testing.TB) func() {
	t.Helper()
	addresses := startFarm(t, 1)
	n, stop := start(t, addresses, func(c *Config) { c.BytesPerSecond = -1 })
	t.Cleanup(stop)
	answers := make(chan error, 1)
	q, err := n.Open(testChain, make([]byte, 150), time.Minute, func(a Answer) { answers <- a.Err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return func() {
		if err := q.Ask(addresses[0].NodeID); err != nil {
			t.Fatal(err)
		}
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkAsk(b *testing.B) {
	once := askOnce(b)
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}

// From Ask to deliver nothing is allocated, but for one small reader that
// crypto/tls makes for each record.
func TestAskDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("pools are emptied at random under the race detector")
	}
	once := askOnce(t)
	once()
	if n := testing.AllocsPerRun(1000, once); n > 1 {
		t.Errorf("%v allocations for a question and its answer", n)
	}
}

// BenchmarkStatus is what the aggregator does for each validator of a request.
func BenchmarkStatus(b *testing.B) {
	n, err := New(testConfig(b, nil))
	if err != nil {
		b.Fatal(err)
	}
	var ids []chain.NodeID
	for i := range 1000 {
		ids = append(ids, chain.NodeID{byte(i), byte(i >> 8)})
	}
	n.SetWanted(ids)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if n.Status(ids[i%1000]).Connected {
			b.Fatal("connected")
		}
		i++
	}
}

// farmArgument makes the test binary a process of remotes, so that their memory
// and their work do not count as ours.
const farmArgument = "-remotes"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == farmArgument {
		os.Exit(farm(os.Args[2]))
	}
	os.Exit(m.Run())
}

// farm serves remotes until its input ends: a number of idle ones, behind one
// for each way of flooding us.
func farm(count string) int {
	var n int
	if _, err := fmt.Sscan(count, &n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	t := &farmTB{}
	var remotes []*remote
	for _, f := range floods() {
		r := newRemote(t)
		r.flood(f)
		remotes = append(remotes, r)
	}
	for range n {
		remotes = append(remotes, newRemote(t))
	}
	for _, r := range remotes {
		a := r.listen()
		fmt.Println(a.NodeID, a.Addr)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	return 0
}

// farmTB stands in for a test in the other process.
type farmTB struct{ testing.TB }

func (*farmTB) Helper()                        {}
func (*farmTB) Cleanup(func())                 {}
func (*farmTB) Fatal(args ...any)              { panic(fmt.Sprint(args...)) }
func (*farmTB) Errorf(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }

// startFarm runs idle remotes in another process until the test ends.
func startFarm(t testing.TB, count int) []Address {
	t.Helper()
	idle, _ := startRemotes(t, count)
	return idle
}

// startRemotes is startFarm that also returns remotes that flood whoever
// connects, in the order of [floods].
func startRemotes(t testing.TB, count int) (idle, flooding []Address) {
	t.Helper()
	cmd := exec.Command(os.Args[0], farmArgument, fmt.Sprint(count))
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(input.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	var addresses []Address
	count += len(floods())
	for lines := bufio.NewScanner(output); len(addresses) < count && lines.Scan(); {
		id, addr, _ := strings.Cut(lines.Text(), " ")
		node, err := chain.ParseNodeID(id)
		if err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, Address{NodeID: node, Addr: netip.MustParseAddrPort(addr)})
	}
	return addresses[len(floods()):], addresses[:len(floods())]
}

// idleBytes returns the memory that an idle link takes, stacks included.
func idleBytes(t testing.TB, count int) float64 {
	t.Helper()
	addresses := startFarm(t, count)
	before := inUse()
	n, stop := start(t, addresses)
	defer stop()
	// One question to each, as a link that was never used is not the usual one.
	var open sync.WaitGroup
	q, err := n.Open(testChain, make([]byte, 150), time.Minute, func(Answer) { open.Done() })
	if err != nil {
		t.Fatal(err)
	}
	open.Add(len(addresses))
	for _, a := range addresses {
		if err := q.Ask(a.NodeID); err != nil {
			t.Fatal(err)
		}
	}
	open.Wait()
	q.Close()
	return float64(inUse()-before) / float64(count)
}

// inUse returns the bytes of live heap and of stacks.
func inUse() int64 {
	var m runtime.MemStats
	for range 3 { // stacks shrink by half at a time
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A thousand peers must stay under 150 MB.
func TestIdlePeerBudget(t *testing.T) {
	const most = 100 << 10
	if got := idleBytes(t, 150); got > most {
		t.Errorf("%.0f bytes for each idle peer, more than %d", got, most)
	} else {
		t.Logf("%.0f bytes for each idle peer", got)
	}
}

func BenchmarkIdlePeers(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(idleBytes(b, 500), "B/peer")
	}
	b.ReportMetric(0, "ns/op")
}
