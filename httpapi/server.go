package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/hooks"
	"quorate/httpapi/icm"
	"quorate/httpapi/metrics"
	primaryapi "quorate/httpapi/primary"
	"quorate/httpapi/reply"
	"quorate/httpapi/service"
	"quorate/httpapi/sign"
	"quorate/httpapi/stream"
)

// forceWait bounds the wait for handlers once their connections were cut.
const forceWait = 2 * time.Second

// ErrUsed is returned by a Serve after the first or after a Shutdown.
var ErrUsed = errors.New("httpapi: server was already started or stopped")

// Server serves the HTTP interface on its listeners, once.
type Server struct {
	cfg    Config
	log    *slog.Logger
	router *door.Router
	forms  forms // of errors
	stats  door.Stats
	other  *door.RouteStats // requests of no route
	fast   *fasthttp.Server
	conns  *connections

	// For data endpoints.
	desk    *reply.Desk
	evm     evmapi.Room
	metrics metrics.Room
	icm     icm.Room
	primary primaryapi.Room
	hooks   hooks.Room
	sign    sign.Room
	stream  stream.Room
	service service.Room
	origins origins
	pages   *pages

	// work is the context of all requests. It ends when a shutdown takes too long.
	work context.Context
	halt context.CancelFunc

	inFlight   atomic.Int64
	requestIDs requestIDs
	bodies     bodies

	mu    sync.Mutex
	state state
	lns   []net.Listener // of running
}

type state uint8

const (
	idle state = iota
	running
	stopped
)

// New checks cfg and returns a server that does not serve yet.
func New(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Logger, stats: door.Stats{Set: cfg.Metrics}}
	s.requestIDs.init()
	s.work, s.halt = context.WithCancel(context.Background())
	s.conns = newConnections(&s.cfg, s.stats.Rejected("connections").Inc, s.stats.Rejected("evicted").Inc)
	for _, reason := range []string{"bodies", "in_flight", "panic"} {
		s.stats.Rejected(reason) // from the start on, so that the first of them is a growth
	}
	s.other, s.origins = s.stats.Route("other"), newOrigins(cfg.Origins)
	if err := s.prepareData(); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	var err error
	if s.pages, err = s.newPages(); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	endpoints := append(s.endpoints(), s.pages.endpoints()...)
	s.forms = formsOf(endpoints)
	if s.router, err = door.NewRouter(endpoints, s.stats.Route); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	cfg.Metrics.GaugeFunc("quorate_http_requests_in_flight", "Requests being answered.", func() float64 { return float64(s.inFlight.Load()) })
	cfg.Metrics.GaugeFunc("quorate_http_connections", "Open connections of clients.", func() float64 { return float64(s.conns.len()) })
	s.fast = &fasthttp.Server{
		Handler:      s.handle,
		ErrorHandler: s.onBadRequest,
		Logger:       fastLogger{cfg.Logger},
		// Ours is the limit that counts; this one, which answers in plain text, is
		// above it for the moment between a connection's close and its worker's end.
		Concurrency:     2 * (cfg.MaxConns + operatorConns),
		ReadBufferSize:  cfg.MaxHeader,
		WriteBufferSize: writeRoom,
		ReadTimeout:     cfg.ReadTimeout,
		WriteTimeout:    cfg.WriteTimeout,
		IdleTimeout:     cfg.IdleTimeout,
		// Bodies are read by readBody, as they come: fasthttp itself would take the
		// memory for all of a body as soon as its length was announced.
		StreamRequestBody:            true,
		MaxRequestBodySize:           max(cfg.MaxBody, cfg.MaxExtBody),
		HeaderReceived:               headerReceived,
		ExpectHandler:                s.beforeBody,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
	}
	return s, nil
}

// repeatShare is the part of the memory for answers that is for those to requests for signed
// messages.
const repeatShare = 4

// prepareData makes what data endpoints need.
func (s *Server) prepareData() (err error) {
	if s.desk, err = reply.New(reply.Config{
		Dialect: s.cfg.Dialect, Origins: len(s.cfg.Origins) > 0 && !s.origins.all, TokenKey: s.cfg.TokenKey, OlderTokenKeys: s.cfg.OlderTokenKeys, InFleet: s.cfg.Fleet != nil, CompressMin: s.cfg.CompressMin,
		AnswerBytes: s.cfg.AnswerBytes - s.cfg.AnswerBytes/repeatShare, Limits: s.cfg.Limits, Work: s.work, Log: s.log,
	}); err != nil {
		return err
	}
	s.evm.Chains, s.evm.NodeTimeout = s.cfg.Chains, s.cfg.NodeTimeout
	s.evm.Facts = s.cfg.Facts
	s.evm.Use(s.desk)
	s.metrics.EVM = &s.evm
	s.metrics.Use(s.desk, s.cfg.Metrics, s.cfg.PointBytes)
	s.icm.EVM, s.icm.Signed = &s.evm, s.cfg.Signed
	s.icm.Use(s.desk)
	s.sign = sign.Room{Networks: s.cfg.Networks, EVM: s.cfg.Chains, Primary: s.cfg.Primary, Limits: s.cfg.Limits, Received: received}
	s.sign.Use(s.desk, s.cfg.AnswerBytes/repeatShare)
	s.primary.Finder = primaryapi.Finder{Networks: s.cfg.Primary, Unknown: s.sign.Unknown}
	s.primary.EVM = s.cfg.Chains
	s.primary.Use(s.desk)
	s.hooks = hooks.Room{Webhooks: s.cfg.Webhooks, EVM: s.cfg.Chains, Primary: s.primary.Finder}
	s.hooks.Use(s.desk)
	s.stream = stream.Room{
		Events: s.cfg.Events, EVM: &s.evm, Primary: s.primary.Finder, Sign: &s.sign, Health: s.cfg.Health, Limits: s.cfg.Limits, Spare: s.cfg.Spare,
		Most: s.cfg.MaxStreams, PerClient: s.cfg.MaxStreamsPerClient, Operators: operatorConns / 2, // probes and people need the others
		Conn: connOf, Stopped: s.conns.stopped, LastWrites: func() time.Time { return s.conns.lastWrites },
	}
	s.stream.Use(s.desk, s.cfg.Metrics)
	s.service = service.Room{Health: s.cfg.Health, Table: func() []door.Route { return routes(s) }, PublicURL: s.cfg.PublicURL}
	s.service.Use(s.desk)
	held := func(cache string, bytes func() int64) { // the engine's caches are in this metric, too
		s.cfg.Metrics.GaugeFunc("quorate_cache_bytes", "What a cache or buffer holds, about.", func() float64 { return float64(bytes()) }, "cache", cache)
	}
	bytesHeld := func() int64 { return s.desk.Answers.Bytes() + s.sign.Bytes() }
	held("answers", bytesHeld)
	held("points", s.metrics.Bytes)
	s.cfg.Metrics.GaugeFunc("quorate_http_answers_bytes", "Memory of kept bodies of answers.", func() float64 { return float64(bytesHeld()) })
	return nil
}

// endpoints makes the handlers of what s is configured to serve.
func (s *Server) endpoints() []door.Endpoint {
	table := routes(s)
	list := make([]door.Endpoint, 0, len(table))
	for i := range table {
		r := &table[i]
		if r.Off {
			continue
		}
		list = append(list, door.Endpoint{Route: r, Handle: r.Make(r)})
	}
	return list
}

// Listener is a listener that serves a part of the routes. Any other serves all.
type Listener struct {
	net.Listener
	Scope door.Scope
}

// Run serves lns until ctx ends, then shuts down within ShutdownTimeout. It
// returns nil when everything in flight was answered.
func (s *Server) Run(ctx context.Context, lns ...net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(lns...) }()
	var serveErr error
	defer s.cfg.Fleet.Start(ctx)()
	select {
	case serveErr = <-served:
		served <- nil
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ShutdownTimeout)
	defer cancel()
	stopErr := s.Shutdown(stop)
	late := <-served
	if serveErr == nil && errors.Is(late, ErrUsed) {
		late = nil // ctx ended before Serve began, which has closed the listeners
	}
	return errors.Join(serveErr, stopErr, late)
}

// Serve answers requests on lns until Shutdown, and then returns nil at once:
// Shutdown is what waits. It takes them over. When one of them fails it returns
// why, and the others are served on.
func (s *Server) Serve(lns ...net.Listener) error {
	s.mu.Lock()
	if s.state != idle {
		s.mu.Unlock()
		return errors.Join(ErrUsed, closeAll(lns))
	}
	s.state, s.lns = running, lns
	s.mu.Unlock()
	ended := make(chan error, len(lns))
	for _, ln := range lns {
		l := &listener{Listener: ln, conns: s.conns}
		if scoped, ok := ln.(Listener); ok {
			l.scope = scoped.Scope
		}
		go func() { ended <- s.fast.Serve(l) }()
	}
	for range lns {
		if err := <-ended; err != nil {
			return err
		}
	}
	return nil
}

// closeAll closes listeners, some of which may be closed already.
func closeAll(lns []net.Listener) error {
	var errs []error
	for _, ln := range lns {
		if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Shutdown stops accepting, waits until everything in flight is answered and
// closes all connections. When ctx ends first it cuts them and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	lns, before := s.lns, s.state
	s.state = stopped
	s.mu.Unlock()
	defer s.halt()
	if before != running {
		return nil
	}
	// Serve may be on its way to Accept yet, where fasthttp does not know the listeners.
	closeErr := closeAll(lns)
	s.conns.stop()
	s.stream.Stop()
	hard, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Closing the listener again is its only error. It does not wait for the
		// connections' last bytes; their own count does.
		_ = s.fast.ShutdownWithContext(hard)
		select {
		case <-s.conns.none:
		case <-hard.Done():
		}
	}()
	select {
	case <-done:
		return closeErr
	case <-ctx.Done():
	}
	s.halt()
	s.conns.closeAll()
	late := time.NewTimer(forceWait)
	defer late.Stop()
	select {
	case <-done:
		return fmt.Errorf("httpapi: requests in flight were cut: %w", ctx.Err())
	case <-late.C:
		cancel()
		<-done
		return fmt.Errorf("httpapi: %d requests do not end: %w", s.inFlight.Load(), ctx.Err())
	}
}

// InFlight returns how many requests are being answered.
func (s *Server) InFlight() int64 { return s.inFlight.Load() }
