package bench

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
)

// AbuseConfig says which flood to let loose on a server, and who has to get on
// beside it. Zero values take the defaults given with each field. Of [Load],
// Rate is that of the honest requests, default 20, and Duration the length of each
// of the three parts, default 10 s. Before them the server is asked for a fifth of
// that, which is not measured: connections are made once, not in the first part.
type AbuseConfig struct {
	Load
	// Messages are unsigned messages in hex that the validators sign, each asked
	// for once; the first also tells which chain the flood invents messages of. Required.
	Messages []string
	// Network names their network in paths. Required.
	Network string
	// Garbage is the number of garbage requests due each second. Default 500.
	Garbage float64
	// Clients is the number of addresses from 127.0.0.2 on that they come from, 1
	// to 200. Default 8.
	Clients int
	// Factor is how many times as long as without the flood the 99th percentile of
	// honest requests may be. Default 3.
	Factor float64
}

const (
	maxFloodClients = 200
	floodSubnets    = 40
	floodInFlight   = 512 // more are not sent
	floodJustify    = 64 << 10
	floodHeightBits = 20 // heights of any length up to it: chains are young and old
)

func (c *AbuseConfig) fill() error {
	if c.Rate == 0 {
		c.Rate = 20
	}
	if c.Garbage == 0 {
		c.Garbage = 500
	}
	if c.Clients == 0 {
		c.Clients = 8
	}
	if c.Factor == 0 {
		c.Factor = 3
	}
	switch {
	case c.Network == "":
		return fmt.Errorf("%w: no network", ErrConfig)
	case len(c.Messages) < 2:
		return fmt.Errorf("%w: %d messages", ErrConfig, len(c.Messages))
	case c.Garbage < 0 || c.Garbage > MaxRate || c.Clients < 1 || c.Clients > maxFloodClients || c.Factor < 1:
		return fmt.Errorf("%w: want at most %d garbage requests a second from 1 to %d clients, and a factor of at least 1", ErrConfig, MaxRate, maxFloodClients)
	}
	var err error
	if c.Messages, err = checkMessages(c.Messages); err != nil {
		return err
	}
	if len(c.Messages[0]) < 2*messageHead {
		return fmt.Errorf("%w: the first message is no unsigned message", ErrConfig)
	}
	return c.Load.fill(true)
}

// messageHead is the length of a message's version, network and source chain.
const messageHead = 2 + 4 + chain.IDLen

// RunAbuse asks a server for signed messages at a steady rate: alone, beside a
// flood of garbage, and then asks a bare HTTP server in this process while the
// flood goes on, which tells what the busy machine alone does to requests.
func RunAbuse(ctx context.Context, cfg AbuseConfig) (*AbuseReport, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	how := newSigning(&Config{Style: Camel, Network: cfg.Network, Quorum: 67})
	honest, err := newServer(ctx, &cfg.Load, cfg.URL, how)
	if err != nil {
		return nil, err
	}
	defer honest.close()
	defer context.AfterFunc(ctx, honest.close)()
	// Whoever floods is a stranger; whoever is flooded has asked before.
	body, err := honest.fetch(cfg.Messages[0])
	if err != nil {
		return nil, causeOf(ctx, fmt.Errorf("before the flood: %w", err))
	}
	plain, err := newBare([][]byte{body})
	if err != nil {
		return nil, err
	}
	defer func() { _ = plain.stop() }() // nothing is lost with it
	floor, err := newServer(ctx, &cfg.Load, plain.url, anyAnswer{how})
	if err != nil {
		return nil, err
	}
	defer floor.close()
	defer context.AfterFunc(ctx, floor.close)()

	r := &AbuseReport{Garbage: cfg.Garbage, Clients: cfg.Clients, Honest: cfg.Rate, Factor: cfg.Factor}
	items := &feed{item: once(cfg.Messages[1:])}
	cfg.warm(ctx, honest, items)
	r.Quiet = cfg.part(ctx, 0, honest, items)
	flood, err := newFlood(ctx, &cfg)
	if err != nil {
		return nil, err
	}
	flood.start(ctx)
	r.Flooded = cfg.part(ctx, 1, honest, items)
	r.Bare = cfg.part(ctx, 2, floor, &feed{item: again(cfg.Messages)})
	r.Answers = flood.stop()
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if items.dry.Load() {
		return r, errors.New("the messages did not suffice: more come from \"quorate devnet --scenario '{messages: N}'\"")
	}
	return r, nil
}

// part is one of three parts of the run.
func (c *AbuseConfig) part(ctx context.Context, i int, to target, items *feed) Beside {
	load := c.Load
	load.Progress = part(c.Progress, i, 3, c.Duration)
	s := &side{target: to, meter: newMeter()}
	stop := load.follow([]*side{s})
	p := &phase{load: &load, target: to, feed: items, meter: s.meter}
	p.run(ctx, c.Duration)
	stop()
	return Beside{OK: s.meter.ok, Failed: s.meter.failed, LatencyMs: latencyOf(s.meter.latency), Errors: s.meter.errors()}
}

// warm asks for a while without measuring.
func (c *AbuseConfig) warm(ctx context.Context, to target, items *feed) {
	p := &phase{load: &c.Load, target: to, feed: items, meter: newMeter()}
	p.run(ctx, c.Duration/5)
}

// anyAnswer is a form of which any answer with the wanted status is a good one.
type anyAnswer struct{ form }

func (anyAnswer) kind(_ string, status int, body []byte) string {
	if status != fasthttp.StatusOK {
		return errorKind(status, body)
	}
	return ""
}

// flood sends garbage from several addresses of this machine.
type flood struct {
	load    Load
	servers []*server
	meter   *meter
	cancel  context.CancelFunc
	done    chan struct{}
}

func newFlood(ctx context.Context, cfg *AbuseConfig) (*flood, error) {
	f := &flood{load: cfg.Load, meter: newMeter(), done: make(chan struct{})}
	f.load.Rate, f.load.Concurrency, f.load.Progress = cfg.Garbage, floodInFlight, nil
	head, err := hex.DecodeString(cfg.Messages[0])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	how := newGarbage(cfg.Network, head[:messageHead])
	for i := range cfg.Clients {
		s, err := newServer(ctx, &f.load, cfg.URL, how)
		if err != nil {
			return nil, err
		}
		s.from = netip.AddrFrom4([4]byte{127, 0, 0, byte(2 + i)}) // at most 200
		f.servers = append(f.servers, s)
	}
	return f, nil
}

// start lets the flood loose until stop.
func (f *flood) start(ctx context.Context) {
	ctx, f.cancel = context.WithCancel(ctx)
	context.AfterFunc(ctx, f.close)
	numbers := &feed{item: func(i int64) (string, bool) { return strconv.FormatInt(i, 10), i < MaxRequests }}
	p := &phase{load: &f.load, target: f, feed: numbers, meter: f.meter}
	go func() {
		defer close(f.done)
		p.run(ctx, MaxDuration)
	}()
}

// stop ends the flood and returns what was answered to it.
func (f *flood) stop() []ErrorCount {
	f.cancel()
	<-f.done
	return f.meter.errors()
}

// ask implements target.
func (f *flood) ask(ctx context.Context, item string) (kind string, answered bool) {
	i, err := strconv.Atoi(item)
	if err != nil {
		return err.Error(), false
	}
	return f.servers[i/4%len(f.servers)].ask(ctx, item)
}

func (f *flood) close() {
	for _, s := range f.servers {
		s.close()
	}
}

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

// dialFrom connects from an address of this machine, if one is given.
func dialFrom(from netip.Addr, addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
	}
	return d.Dial("tcp", addr)
}
