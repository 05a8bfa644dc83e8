// Package nodeapi is the HTTP interface of the simulated network's node: the
// JSON-RPC methods that clients of a real node use, with the same paths, bodies
// and error texts. The node is that of validator 0, or another.
package nodeapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/devnet/evmrpc"
	"quorate/devnet/primary"
	"quorate/devnet/world"
	"quorate/engine/chain"
	"quorate/engine/metric"
)

const (
	maxBody      = evmrpc.MaxBody
	idleTimeout  = 2 * time.Minute
	drainTimeout = 5 * time.Second
)

// Live reports what cannot be read from the world's state: which validators run, and where.
type Live interface {
	// Online reports whether validator i is connected to the others.
	Online(i int) bool
	// Address returns the staking address of validator i. It stays the same while
	// the validator is stopped.
	Address(i int) netip.AddrPort
}

// Config says what a [Server] serves. World and Live are needed.
type Config struct {
	World *world.World
	Live  Live
	// Index is the validator whose node it is. Whichever it is, the node runs the
	// chains that validator 0's does.
	Index int
	// EVM answers for the EVM chains that the node runs, by blockchain ID; nil
	// means that they have no RPC.
	EVM map[chain.ID]*evmrpc.Handler
	// Primary are the P- and the X-Chain with their blocks; nil means that the P-Chain
	// has empty ones and the node runs no X-Chain.
	Primary *primary.Chain
	// Helicon is when that upgrade activates; the zero time is never.
	Helicon time.Time
	// Drain is how long requests in flight may take once Run is to end. Default 5 s.
	Drain time.Duration
	// Logger gets the server's own errors; nil discards them.
	Logger *slog.Logger
	// Metrics gets quorate_devnet_api_requests_total by service; nil means none.
	Metrics *metric.Set
}

// Server answers HTTP requests. Make it with [New].
type Server struct {
	world  *world.World
	live   Live
	log    *slog.Logger
	index  int // of its validator
	nodeID string
	drain  time.Duration

	helicon time.Time // zero: never

	info, platform, avax, health *service
	proposers                    map[chain.ID]*service // by blockchain

	// primary is nil without a P-Chain with blocks, and so are avm and indices.
	primary *primaryAPI
	avm     *service
	indices map[string]*service // by chain and kind, as in X/vtx

	requests map[*service]metric.Counter

	// sets caches answers of platform.getAllValidatorsAt by height.
	setsMu sync.Mutex
	sets   map[uint64][]byte

	blocks blockChain

	evm         map[chain.ID]*evmrpc.Handler
	evmRequests metric.Counter
	life        context.Context // of Serve, set before it begins
	sockets     *evmrpc.Conns   // likewise
}

// New builds a server.
func New(cfg Config) *Server {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metric.NewSet()
	}
	s := &Server{
		world: cfg.World, live: cfg.Live, log: cfg.Logger,
		index: cfg.Index, nodeID: cfg.World.Validators()[cfg.Index].NodeID.String(),
		drain: cmp.Or(cfg.Drain, drainTimeout),
		sets:  make(map[uint64][]byte),
		evm:   cfg.EVM, helicon: cfg.Helicon,
	}
	requests := func(service string) metric.Counter {
		return cfg.Metrics.Counter("quorate_devnet_api_requests_total", "Requests to the simulated node.", "service", service)
	}
	s.evmRequests = requests("evm")
	c, x := s.world.CChainID(), s.world.XChainID()
	s.blocks.genesis, s.blocks.time = sha256.Sum256(append(c[:], x[:]...)), s.world.GenesisTime()
	s.info = s.infoService()
	if !s.helicon.IsZero() {
		s.info.methods["upgrades"] = call(s.upgrades)
	}
	s.platform = s.platformService()
	s.avax = s.avaxService()
	s.health = s.healthService()
	if cfg.Primary != nil {
		s.addPrimary(cfg.Primary)
	}
	s.requests = make(map[*service]metric.Counter)
	for _, svc := range s.indices {
		s.requests[svc] = requests(svc.name)
	}
	if s.avm != nil {
		s.requests[s.avm] = requests(s.avm.name)
	}
	for _, svc := range []*service{s.info, s.platform, s.avax, s.health} {
		s.requests[svc] = requests(svc.name)
	}
	s.proposers = make(map[chain.ID]*service)
	ids := []chain.ID{chain.PlatformChainID, c}
	for _, l := range s.world.L1s() {
		ids = append(ids, l.ChainID)
	}
	if s.primary != nil {
		ids = append(ids, x)
	}
	for _, id := range ids {
		svc := s.proposerService(id)
		s.proposers[id], s.requests[svc] = svc, requests(svc.name)
	}
	return s
}

// Serve answers requests on ln until ctx ends, lets those in flight finish, and
// closes ln. It returns nil after an ordinary end, and may then be called again.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	spare := &spareConns{Listener: ln, open: make(map[*spareConn]struct{})}
	server := &fasthttp.Server{
		Handler:            s.handle,
		Name:               "quorate-devnet",
		MaxRequestBodySize: maxBody,
		IdleTimeout:        idleTimeout,
		ReadTimeout:        idleTimeout,
		WriteTimeout:       idleTimeout,
		CloseOnShutdown:    true,
		Logger:             serverLog{s.log},
	}
	life, end := context.WithCancel(ctx)
	s.life, s.sockets = life, new(evmrpc.Conns)
	defer s.sockets.Wait()
	defer end()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(spare) }()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("serving the node API: %w", err)
		}
		return nil
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	spare.end()
	if err := server.ShutdownWithContext(drain); err != nil {
		return fmt.Errorf("stopping the node API: %w", err)
	}
	// A server that was shut down before it began would listen for ever.
	if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("stopping the node API: %w", err)
	}
	if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serving the node API: %w", err)
	}
	return nil
}

// spareConns is a listener that knows on which connections nothing was asked yet, as
// clients open them ahead. The library would wait for their first request when it is to end.
type spareConns struct {
	net.Listener
	mu    sync.Mutex
	open  map[*spareConn]struct{}
	ended bool
}

// Accept implements [net.Listener].
func (s *spareConns) Accept() (net.Conn, error) {
	nc, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &spareConn{Conn: nc, of: s}
	if s.ended {
		return c, nc.Close()
	}
	s.open[c] = struct{}{}
	return c, nil
}

// end closes those that are left.
func (s *spareConns) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for c := range s.open {
		c.Conn.Close()
	}
}

// spareConn is one until something is read from it.
type spareConn struct {
	net.Conn
	of   *spareConns
	used sync.Once
}

func (c *spareConn) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	c.used.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		delete(c.of.open, c)
	})
	return n, err
}

// serverLog passes the HTTP library's complaints about clients on.
type serverLog struct{ log *slog.Logger }

// Printf logs one complaint.
func (l serverLog) Printf(format string, args ...any) {
	l.log.Debug("node API: " + fmt.Sprintf(format, args...))
}

func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("Node-Id", s.nodeID)
	if s.serveEVM(ctx) {
		return
	}
	svc := s.route(string(ctx.Path()))
	if svc == nil {
		plain(ctx, fasthttp.StatusNotFound, "404 page not found\n")
		return
	}
	s.requests[svc].Inc()
	if s.primary != nil && s.primary.unwell(ctx, svc) {
		return
	}
	if svc == s.health && ctx.IsGet() {
		s.getHealth(ctx)
		return
	}
	s.rpc(ctx, svc)
}

// serveEVM answers a request to an EVM chain's RPC or WebSocket path; false
// when it is not one.
func (s *Server) serveEVM(ctx *fasthttp.RequestCtx) bool {
	rest, ok := strings.CutPrefix(string(ctx.Path()), "/ext/")
	if !ok {
		return false
	}
	rest, _ = strings.CutPrefix(rest, "bc/")
	alias, sub, _ := strings.Cut(rest, "/")
	if sub != "rpc" && sub != "ws" {
		return false
	}
	id, ok := s.lookup(alias)
	if !ok {
		return false
	}
	h, ok := s.evm[id]
	if !ok {
		return false
	}
	s.evmRequests.Inc()
	if sub == "ws" {
		h.Upgrade(ctx, s.life, s.sockets)
	} else {
		h.ServeHTTP(ctx, s.life)
	}
	return true
}

// route finds the service behind a path, or nil.
func (s *Server) route(path string) *service {
	rest, ok := strings.CutPrefix(path, "/ext/")
	if !ok {
		return nil
	}
	switch rest {
	case "info":
		return s.info
	case "health", "health/health", "health/readiness", "health/liveness":
		return s.health
	}
	if index, ok := strings.CutPrefix(rest, "index/"); ok {
		return s.indices[index]
	}
	rest, _ = strings.CutPrefix(rest, "bc/")
	alias, sub, _ := strings.Cut(rest, "/")
	id, ok := s.lookup(alias)
	switch {
	case !ok:
		return nil
	case sub == "" && id == chain.PlatformChainID && !strings.HasSuffix(rest, "/"):
		return s.platform
	case sub == "" && id == s.world.XChainID() && !strings.HasSuffix(rest, "/"):
		return s.avm // nil without blocks
	case sub == "proposervm":
		return s.proposers[id] // nil for an X-Chain that this node does not run
	case sub == "avax" && id == s.world.CChainID():
		return s.avax
	default:
		return nil
	}
}

// lookup resolves an alias, also of an X-Chain that this node does not run, or the ID
// of a chain that it runs.
func (s *Server) lookup(alias string) (chain.ID, bool) {
	switch alias {
	case "P", "platform":
		return chain.PlatformChainID, true
	case "C", "evm":
		return s.world.CChainID(), true
	case "X", "avm":
		return s.world.XChainID(), true
	}
	id, err := chain.ParseID(alias)
	return id, err == nil && s.runs(id)
}

// runs reports whether this node runs a chain. Without blocks of the X-Chain it does
// without it, like a real one that syncs a part of the primary network.
func (s *Server) runs(id chain.ID) bool {
	return id == chain.PlatformChainID || s.world.Runs(0, id) || s.primary != nil && id == s.world.XChainID()
}

// subnetOf returns the subnet of a chain that the P-Chain knows, run here or not.
func (s *Server) subnetOf(id chain.ID) (chain.ID, bool) {
	if l, ok := s.world.L1Of(id); ok {
		return l.SubnetID, true
	}
	primary := id == chain.PlatformChainID || id == s.world.CChainID() || id == s.world.XChainID()
	return chain.PrimaryNetworkID, primary
}

func (s *Server) rpc(ctx *fasthttp.RequestCtx, svc *service) {
	if !ctx.IsPost() {
		plain(ctx, fasthttp.StatusMethodNotAllowed, "rpc: POST method required, received "+string(ctx.Method()))
		return
	}
	media, _, _ := strings.Cut(string(ctx.Request.Header.ContentType()), ";")
	if !strings.EqualFold(media, "application/json") {
		plain(ctx, fasthttp.StatusUnsupportedMediaType, "rpc: unrecognized Content-Type: "+media)
		return
	}
	body, err := svc.answer(ctx.PostBody())
	if err != nil {
		s.log.Error("node API answer", "service", svc.name, "error", err)
		plain(ctx, fasthttp.StatusInternalServerError, err.Error())
		return
	}
	if body == nil {
		ctx.Response.Header.SetNoDefaultContentType(true)
		return
	}
	ctx.SetContentType("application/json; charset=utf-8")
	ctx.SetBody(body)
}

func plain(ctx *fasthttp.RequestCtx, status int, text string) {
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(text)
}
