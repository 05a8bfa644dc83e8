package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/devnet"
	"quorate/engine/chain"
)

// maxFlooded is how many times as long as without a flood, and as a bare server's, the 99th
// percentile of honest requests may be beside it.
const maxFlooded = 3

// BenchmarkFlood floods a server with requests that nobody can answer, and tells what that
// does to those who ask for messages that validators sign: failed counts the honest requests
// without a good answer, x/quiet and x/bare are the 99th percentile beside the flood against
// that without it and against that of a bare server beside it, which is what the busy
// machine takes.
func BenchmarkFlood(b *testing.B) {
	f := &flooding{
		Load:    Load{URL: "", Rate: 20, Concurrency: 64, Duration: 10 * time.Second},
		garbage: 500, clients: 8,
	}
	f.URL, f.network, f.messages = signingServer(b)
	for b.Loop() {
		f.run(b)
		b.Logf("\n%s", f)
		if err := f.broken(); err != nil {
			b.Error(err)
		}
	}
	b.ReportMetric(float64(f.beside.failed), "failed")
	b.ReportMetric(quotient(p99(f.beside), p99(f.quiet)), "x/quiet")
	b.ReportMetric(quotient(p99(f.beside), p99(f.bare)), "x/bare")
}

// signingServer runs the shipped program beside a simulated network in this process, and
// gives its address and messages that can be signed.
func signingServer(t testing.TB) (url, network string, messages []string) {
	t.Helper()
	d, err := devnet.New(devnet.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	<-d.Ready()
	program := filepath.Join(t.TempDir(), "quorate")
	if out, err := exec.Command("go", "build", "-o", program, "quorate/cmd/quorate").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, "serve", "--node-url", d.NodeURL(), "--http-port", "0", "--data-dir", t.TempDir())
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	facts := d.Facts("")
	ready := (&farm{out: bufio.NewScanner(out)}).line(t, "quorate")
	return ready[1], facts.Signature.Network, facts.Signature.Messages
}

// flooding is a flood and those who have to get on beside it. Of [Load], Rate is that of the
// honest requests, and Duration the length of each of the three parts.
type flooding struct {
	Load
	network  string
	messages []string // in hex, each asked for once
	garbage  float64  // requests due each second
	clients  int      // addresses of this machine that they come from

	quiet, beside, bare *meter
	answers             []ErrorCount // those to the garbage
}

// run asks for signed messages at a steady rate: alone, beside the flood, and then asks a
// bare server while the flood goes on. A fifth of a part before is not measured, for
// connections are made once.
func (f *flooding) run(t testing.TB) {
	t.Helper()
	var err error
	if err = f.Load.fill(false); err == nil {
		f.messages, err = checkMessages(f.messages)
	}
	if err != nil {
		t.Fatal(err)
	}
	how := newSigning(&Config{Style: Camel, Network: f.network, Quorum: 67})
	honest := f.server(t, f.URL, how)
	body := f.first(t, honest) // whoever is flooded has asked before
	plain, err := newBare([][]byte{body})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = plain.stop() }() // nothing is lost with it
	items := &feed{item: once(f.messages[1:])}
	f.part(t, honest, items, f.Duration/5)
	f.quiet = f.part(t, honest, items, f.Duration)
	stop := f.start(t)
	f.beside = f.part(t, honest, items, f.Duration)
	f.bare = f.part(t, f.server(t, plain.url, anyAnswer{how}), &feed{item: again(f.messages)}, f.Duration)
	f.answers = stop()
	if items.dry.Load() {
		t.Fatal("the messages did not suffice")
	}
}

func (f *flooding) server(t testing.TB, url string, how form) *server {
	t.Helper()
	s, err := newServer(context.Background(), &f.Load, url, how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// first has the first message signed, and returns the answer.
func (f *flooding) first(t testing.TB, s *server) []byte {
	t.Helper()
	var req fasthttp.Request
	var resp fasthttp.Response
	s.form.request(&req, s.base, f.messages[0])
	err := s.client.DoTimeout(&req, &resp, f.Timeout)
	if kind := s.form.kind(f.messages[0], resp.StatusCode(), resp.Body()); err != nil || kind != "" {
		t.Fatalf("before the flood: %v %s", err, kind)
	}
	return bytes.Clone(resp.Body())
}

func (f *flooding) part(t testing.TB, to target, items *feed, length time.Duration) *meter {
	p := &phase{load: &f.Load, target: to, feed: items, meter: newMeter()}
	p.run(t.Context(), length)
	return p.meter
}

func p99(m *meter) float64 { return latencyOf(m.latency).P99 }

// broken says how the bound is broken, or nil: no honest request may fail, and the 99th
// percentile may be so many times that without the flood or, where the cores are full, that
// of a bare server.
func (f *flooding) broken() error {
	beside := p99(f.beside)
	switch {
	case f.quiet.ok == 0:
		return errors.New("no request was answered before the flood")
	case f.beside.failed > 0 || f.beside.ok == 0:
		return fmt.Errorf("%d of %d honest requests failed beside the flood", f.beside.failed, f.beside.failed+f.beside.ok)
	case beside > maxFlooded*p99(f.quiet) && beside > maxFlooded*p99(f.bare):
		return fmt.Errorf("the 99th percentile is %.2f ms beside the flood, %.2f ms without it and %.2f ms of a bare server", beside, p99(f.quiet), p99(f.bare))
	}
	return nil
}

func (f *flooding) String() string {
	var b strings.Builder
	for i, m := range []*meter{f.quiet, f.beside, f.bare} {
		l := latencyOf(m.latency)
		fmt.Fprintf(&b, "%-23s %d answers, %d failed, p50 %.2f p99 %.2f max %.2f ms %v\n",
			[]string{"without the flood", "beside the flood", "a bare server beside it"}[i], m.ok, m.failed, l.P50, l.P99, l.Max, m.errors())
	}
	fmt.Fprintf(&b, "garbage %v", f.answers)
	return b.String()
}

// anyAnswer is a form of which any answer with the wanted status is a good one.
type anyAnswer struct{ form }

func (anyAnswer) kind(item string, status int, body []byte) string {
	return onlyPages{}.kind(item, status, body)
}

// flood sends garbage from several addresses of this machine.
type flood []*server

// start lets the flood loose until stop, which returns what was answered to it.
func (f *flooding) start(t testing.TB) (stop func() []ErrorCount) {
	t.Helper()
	load := f.Load
	load.Rate, load.Concurrency = f.garbage, 512 // more are not sent
	head, err := hex.DecodeString(f.messages[0])
	if err != nil || len(head) < messageHead {
		t.Fatalf("the first message is no unsigned message: %v", err)
	}
	how, servers := newGarbage(f.network, head[:messageHead]), flood{}
	for i := range f.clients {
		s := f.server(t, f.URL, how)
		s.load, s.client.MaxConns = &load, load.Concurrency
		s.dialer.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(2+i))}
		servers = append(servers, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	context.AfterFunc(ctx, servers.close)
	numbers := &feed{item: func(i int64) (string, bool) { return strconv.FormatInt(i, 10), i < MaxRequests }}
	p := &phase{load: &load, target: servers, feed: numbers, meter: newMeter()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.run(ctx, MaxDuration)
	}()
	return func() []ErrorCount {
		cancel()
		<-done
		return p.meter.errors()
	}
}

func (f flood) ask(ctx context.Context, item string) (kind string, answered bool) {
	i, err := strconv.Atoi(item)
	if err != nil {
		return err.Error(), false
	}
	return f[i/4%len(f)].ask(ctx, item)
}

func (f flood) close() {
	for _, s := range f {
		s.close()
	}
}

// messageHead is the length of a message's version, network and source chain.
const messageHead = 2 + 4 + chain.IDLen

// garbage is the form of requests that cannot be answered: a quarter each of
// chains that do not exist, random payloads of one that does, the same with a
// justification of 64 KiB, and for old heights.
type garbage struct {
	path    string
	head    []byte // of a message of a known chain
	seed    uint64
	subnets []string
	justify string
}

const (
	floodSubnets    = 40
	floodJustify    = 64 << 10
	floodHeightBits = 20 // heights of any length up to it: chains are young and old
)

func newGarbage(network string, head []byte) *garbage {
	g := &garbage{
		path: "/v1/signatureAggregator/" + url.PathEscape(network) + "/aggregateSignatures",
		head: head, seed: rand.Uint64(), justify: hex.EncodeToString(make([]byte, floodJustify)),
	}
	for range floodSubnets {
		var id chain.ID
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
		g.subnets = append(g.subnets, id.String())
	}
	return g
}

// kebab turns members of a request into the relayer's spelling.
var kebab = strings.NewReplacer("signingSubnetId", "signing-subnet-id", "pChainHeight", "pchain-height")

func (g *garbage) request(req *fasthttp.Request, base, item string) {
	i, _ := strconv.ParseUint(item, 10, 64) // what cannot be read is garbage, too
	rng := rand.New(rand.NewPCG(g.seed, i))
	msg := append([]byte(nil), g.head...)
	var tail string
	switch i % 4 {
	case 0:
		for k := 6; k < len(msg); k += 8 {
			binary.BigEndian.PutUint64(msg[k:], rng.Uint64())
		}
		tail = fmt.Sprintf(`,"signingSubnetId":"%s"`, g.subnets[i/4%floodSubnets])
	case 2:
		tail = fmt.Sprintf(`,"justification":"%s"`, g.justify)
	case 3:
		tail = fmt.Sprintf(`,"pChainHeight":%d`, 1+rng.Uint64N(2<<rng.Uint64N(floodHeightBits)))
	}
	// An addressed call from a random contract with a random payload.
	call := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 0, 0, 1}, 20)
	for range 3 {
		call = binary.BigEndian.AppendUint64(call, rng.Uint64())
	}
	call = binary.BigEndian.AppendUint32(call[:len(call)-4], 32)
	for range 4 {
		call = binary.BigEndian.AppendUint64(call, rng.Uint64())
	}
	msg = append(binary.BigEndian.AppendUint32(msg, uint32(len(call))), call...) // 62 bytes
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	if i%8 < 4 {
		req.SetRequestURI(base + g.path)
		req.SetBodyString(fmt.Sprintf(`{"message":"%x"%s}`, msg, tail))
		return
	}
	req.SetRequestURI(base + "/aggregate-signatures")
	req.SetBodyString(fmt.Sprintf(`{"message":"%x"%s}`, msg, kebab.Replace(tail)))
}

// garbageKinds names the quarters.
var garbageKinds = [...]string{"unknown chain", "random payload", "64 KiB justification", "P-Chain height"}

// kind counts garbage by what it is and the status of its answer.
func (g *garbage) kind(item string, status int, _ []byte) string {
	i, _ := strconv.ParseUint(item, 10, 64) // as in request
	return garbageKinds[i%4] + ": " + strconv.Itoa(status)
}

// flooded is a short run against handler, which honest requests reach with their number and
// garbage with -1. from are the addresses of the flood.
func flooded(t *testing.T, handler func(ctx *fasthttp.RequestCtx, honest int)) (f *flooding, from *sync.Map) {
	t.Helper()
	f, from = &flooding{network: "fuji", garbage: 200, clients: 3}, &sync.Map{}
	known := make(map[string]int)
	for i := range 200 {
		m := hex.EncodeToString(append(make([]byte, messageHead), 0xaa, byte(i)))
		f.messages, known[m] = append(f.messages, "0x"+m), i
	}
	s := serve(t, func(ctx *fasthttp.RequestCtx, _ int) {
		_, rest, _ := bytes.Cut(ctx.PostBody(), []byte(`"message":"`))
		message, _, _ := bytes.Cut(rest, []byte(`"`))
		if i, ok := known[string(message)]; ok {
			handler(ctx, i)
			return
		}
		from.Store(ctx.RemoteIP().String(), true)
		handler(ctx, -1)
	})
	f.URL, f.Rate, f.Duration = s.url, 20, 500*time.Millisecond
	f.run(t)
	return f, from
}

// TestFlood: the flood comes from addresses of its own, is of all kinds, and does
// not count among the honest requests.
func TestFlood(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := make(map[string]int)
	f, from := flooded(t, func(ctx *fasthttp.RequestCtx, honest int) {
		if honest >= 0 {
			good(ctx, honest)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, member := range []string{"signingSubnetId", "signing-subnet-id", "justification", "pChainHeight", "pchain-height"} {
			if bytes.Contains(ctx.PostBody(), []byte(`"`+member+`"`)) {
				seen[member]++
			}
		}
		ctx.SetStatusCode(fasthttp.StatusNotFound)
	})
	if f.quiet.ok == 0 || f.beside.ok == 0 || f.bare.ok == 0 {
		t.Errorf("%s", f)
	}
	for _, e := range slices.Concat(f.quiet.errors(), f.beside.errors(), f.bare.errors()) {
		if e.Kind != kindUnsent { // a full machine leaves requests unsent
			t.Errorf("an honest request failed: %+v", e)
		}
	}
	mu.Lock() // a handler whose client has gone may still run
	if len(seen) != 5 || len(f.answers) != 4 {
		t.Errorf("garbage %v, answers %v", seen, f.answers)
	}
	mu.Unlock()
	for _, ip := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4"} {
		if _, ok := from.Load(ip); !ok {
			t.Errorf("no garbage from %s", ip)
		}
	}
}

// TestFloodBroken: a server that drops honest requests beside the flood, or lets
// them wait, breaks the bound.
func TestFloodBroken(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	f, _ := flooded(t, func(ctx *fasthttp.RequestCtx, honest int) {
		_, now := seen.Load(true)
		switch {
		case honest < 0:
			seen.Store(true, true)
			ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		case now:
			ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		default:
			good(ctx, honest)
		}
	})
	if f.quiet.failed != 0 || f.beside.failed == 0 || f.broken() == nil {
		t.Errorf("%s: %v", f, f.broken())
	}
	took := func(d time.Duration) *meter {
		m := newMeter()
		m.add(d, "", true)
		return m
	}
	slow := flooding{quiet: took(10 * time.Millisecond), beside: took(31 * time.Millisecond), bare: took(10 * time.Millisecond)}
	if slow.broken() == nil {
		t.Error("three times as slow as both is held")
	}
	if slow.bare = took(11 * time.Millisecond); slow.broken() != nil {
		t.Error("what the machine does to a bare server is the server's fault")
	}
}
