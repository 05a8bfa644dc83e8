package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"quorate/aggregator/bls"
	"quorate/devnet"
	"quorate/engine/chain"
	"quorate/engine/source"
	"quorate/engine/source/platform"
	"quorate/p2p"
	"quorate/p2p/wire"
)

// farmArgument makes the test binary a simulated network in a process of its
// own, so that its memory and CPU time do not count as ours.
const farmArgument = "-simulated-validators"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == farmArgument {
		if err := runFarm(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runFarm runs validators, and a TLS echo as the floor, until its input ends.
func runFarm(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	d, err := devnet.New(devnet.Config{Validators: n})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	select {
	case <-d.Ready():
	case err := <-ended:
		cancel()
		return err
	}
	cert, err := p2p.LoadOrCreateCertificate(filepath.Join(os.TempDir(), fmt.Sprintf("quorate-bench-%d.pem", os.Getpid())))
	if err != nil {
		cancel()
		return err
	}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13})
	if err != nil {
		cancel()
		return err
	}
	var echoes sync.WaitGroup
	echoes.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			echoes.Go(func() { _, _ = io.Copy(conn, conn) }) // ends with its client
		}
	})
	fmt.Println(d.NodeURL(), ln.Addr())
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	cancel()
	err = errors.Join(<-ended, ln.Close(), os.Remove(filepath.Join(os.TempDir(), fmt.Sprintf("quorate-bench-%d.pem", os.Getpid()))))
	echoes.Wait()
	return err
}

// startFarm returns the addresses of another process' node API and TLS echo.
func startFarm(t testing.TB, count int) (nodeURL, echo string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], farmArgument, strconv.Itoa(count))
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
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	nodeURL, echo, _ = strings.Cut(strings.TrimSpace(line), " ")
	return nodeURL, echo
}

// startPeers connects to all validators of a farm.
func startPeers(t testing.TB, nodeURL string) (*p2p.Network, []chain.NodeID) {
	t.Helper()
	caller, err := source.Open(nodeURL)
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	node := platform.New(caller)
	known, err := node.Peers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cert, err := p2p.LoadOrCreateCertificate(filepath.Join(t.TempDir(), "staker.pem"))
	if err != nil {
		t.Fatal(err)
	}
	proof := bls.SecretKeyFromSeed([]byte("a key of no validator, 32 bytes.")).SignProof(nil)
	n, err := p2p.New(p2p.Config{
		NetworkID: rigNetwork, Certificate: cert, IPProof: proof[:], BytesPerSecond: -1, // measures the code, not the limit
		ClientVersion: wire.Version{Name: "avalanchego", Major: 1, Minor: 14, Patch: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ids []chain.NodeID
	var addresses []p2p.Address
	for _, p := range known {
		ids = append(ids, p.NodeID)
		addresses = append(addresses, p2p.Address{NodeID: p.NodeID, Addr: p.PublicIP})
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	n.AddAddresses(addresses)
	n.SetWanted(ids)
	await(t, func() bool { return n.Stats().Ready == len(ids) })
	return n, ids
}

// await waits for something that no event tells of.
func await(t testing.TB, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(time.Minute)
	for !ok() {
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatal("not connected within a minute")
		}
	}
}

// rounds of questions of BenchmarkPeers that are one unit of work.
const perBatch = 50

// BenchmarkPeers asks validators of a simulated network in another process for
// signatures that they have made before, over TLS on loopback: what the peer
// protocol costs, with the simulated side on the same cores. x/tls is the rate
// against frames of the same length that another TLS server sends back as they are.
func BenchmarkPeers(b *testing.B) {
	const validators = 8
	nodeURL, echo := startFarm(b, validators+1) // one is the node itself, and no peer of its own
	network, ids := startPeers(b, nodeURL)
	d, err := devnet.New(devnet.Config{Validators: validators + 1}) // the same messages
	if err != nil {
		b.Fatal(err)
	}
	msg := d.Message(1)
	body := wire.AppendSignatureRequest(nil, msg.Bytes(), nil)
	ask := func() {
		for range perBatch {
			var open sync.WaitGroup
			q, err := network.Open(msg.SourceChainID, body, 9*time.Second, func(a p2p.Answer) {
				if a.Err != nil {
					b.Error(a.Err)
				}
				open.Done()
			})
			if err != nil {
				b.Fatal(err)
			}
			open.Add(len(ids))
			for _, id := range ids {
				if err := q.Ask(id); err != nil {
					b.Fatal(err)
				}
			}
			open.Wait()
			q.Close()
		}
	}
	floor := echoes(b, echo, len(ids), len(body)+64)
	b.ReportAllocs()
	batches := 0
	for b.Loop() {
		batches++
		ask()
	}
	b.ReportMetric(float64(batches*perBatch*len(ids))/b.Elapsed().Seconds(), "answers/s")
	b.StopTimer()
	b.ReportMetric(allocations(5, 4, ask)/float64(perBatch*len(ids)), "allocs/answer")
	b.ReportMetric(1/against(wall(), 5, ask, floor), "x/tls")
}

// echoes returns the floor of ask: one frame to each connection, and back.
func echoes(t testing.TB, addr string, count, size int) func() {
	t.Helper()
	var conns []*tls.Conn
	for range count {
		// The other side is our own process with a certificate of its own.
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		conns = append(conns, c)
	}
	answered := make(chan error, count)
	for _, c := range conns {
		go func() {
			buf := make([]byte, size)
			for {
				_, err := io.ReadFull(c, buf)
				answered <- err
				if err != nil {
					return
				}
			}
		}()
	}
	frame := make([]byte, size)
	return func() {
		for range perBatch {
			for _, c := range conns {
				if _, err := c.Write(frame); err != nil {
					t.Fatal(err)
				}
			}
			for range conns {
				if err := <-answered; err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// BenchmarkIdle is the whole engine, connected to 1,000 validators in another
// process and asked nothing: memory for each of them and in all, as the Go
// runtime counts heap and stacks in use and as the system counts resident
// memory, and CPU time in percent of one core over 10 s. B/peer counts from an
// engine that is connected to 5.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		few, _, _ := idle(b, 5, time.Second)
		many, resident, share := idle(b, 1000, 10*time.Second)
		b.ReportMetric(float64(many-few)/995, "B/peer")
		b.ReportMetric(float64(many)/(1<<20), "MiB-heap+stacks")
		b.ReportMetric(float64(resident)/(1<<20), "MiB-resident")
		b.ReportMetric(100*share, "%core")
	}
	b.ReportMetric(0, "ns/op")
}

// idle measures an engine that is connected and not asked for a while.
func idle(b *testing.B, validators int, during time.Duration) (inUse, resident int64, share float64) {
	nodeURL, _ := startFarm(b, validators)
	_, stop := startEngine(b, nodeURL, validators)
	defer stop()
	<-time.After(time.Second) // what connecting left to do
	for range 3 {             // stacks shrink by half at a time
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	held, err := (process{os.Getpid()}).rss()
	if err != nil {
		b.Fatal(err)
	}
	before, start := cpu(), time.Now()
	<-time.After(during)
	return int64(m.HeapInuse + m.StackInuse), held, float64(cpu()-before) / float64(time.Since(start))
}

// TestFarm: the benchmarks above stand on it.
func TestFarm(t *testing.T) {
	t.Parallel()
	nodeURL, echo := startFarm(t, 3)
	n, ids := startPeers(t, nodeURL)
	if len(ids) != 2 || n.Stats().Ready != 2 {
		t.Errorf("%d peers, %+v", len(ids), n.Stats())
	}
	if _, _, err := net.SplitHostPort(echo); err != nil {
		t.Error(err)
	}
}
