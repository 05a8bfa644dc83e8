package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/token"
	"quorate/httpapi/view"
)

// forceWait bounds the wait for handlers once their connections were cut.
const forceWait = 2 * time.Second

// ErrUsed is returned by a Serve after the first or after a Shutdown.
var ErrUsed = errors.New("httpapi: server was already started or stopped")

// Server serves the HTTP interface on one listener, once.
type Server struct {
	cfg    Config
	log    *slog.Logger
	router *router
	stats  stats
	other  *routeStats // requests of no route
	fast   *fasthttp.Server
	conns  *connections

	// For data endpoints.
	tokens    *token.Codec
	packers   *compressors
	addresses *view.Addresses
	tokenMeta *tokenCache
	calls     calls
	vary      string // value of the Vary header
	points    *points
	answers   *answers

	metricCalls metricCalls

	// work is the context of all requests. It ends when a shutdown takes too long.
	work context.Context
	halt context.CancelFunc

	inFlight atomic.Int64

	mu    sync.Mutex
	state state
	ln    net.Listener // of running
}

type state uint8

const (
	idle state = iota
	running
	stopped
)

// New checks cfg and gives a server that does not serve yet.
func New(cfg Config) (*Server, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Logger, stats: stats{cfg.Metrics}}
	s.work, s.halt = context.WithCancel(context.Background())
	s.conns = newConnections(cfg.MaxConns, s.stats.rejected("connections").Inc)
	s.other = s.stats.route("other")
	if err := s.prepareData(); err != nil {
		return nil, fmt.Errorf("httpapi: %w", err)
	}
	var err error
	if s.router, err = newRouter(s.endpoints(), s.stats.route); err != nil {
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
		Concurrency:        2*cfg.MaxConns + 64,
		ReadBufferSize:     cfg.MaxHeader,
		WriteBufferSize:    8 << 10,
		ReadTimeout:        cfg.ReadTimeout,
		WriteTimeout:       cfg.WriteTimeout,
		IdleTimeout:        cfg.IdleTimeout,
		MaxRequestBodySize: cfg.MaxBody,
		HeaderReceived: func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
			return fasthttp.RequestConfig{MaxRequestBodySize: s.maxBody(h.RequestURI())}
		},
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
	}
	return s, nil
}

// prepareData makes what data endpoints need.
func (s *Server) prepareData() (err error) {
	if s.tokens, err = token.New(s.cfg.TokenKey); err != nil {
		return err
	}
	if s.packers, err = newCompressors(s.cfg.CompressMin); err != nil {
		return err
	}
	s.addresses, s.tokenMeta = view.NewAddresses(), newTokenCache()
	s.points = newPoints(s.cfg.Metrics)
	s.answers = newAnswers()
	s.vary = fasthttp.HeaderAcceptEncoding
	if s.cfg.Dialect == view.Auto {
		s.vary += ", " + fasthttp.HeaderUserAgent + ", " + headerGlacierKey
	}
	return nil
}

// endpoints makes the handlers of what s is configured to serve.
func (s *Server) endpoints() []endpoint {
	table := Routes()
	list := make([]endpoint, 0, len(table))
	for i := range table {
		r := &table[i]
		if r.needs == needsChains && s.cfg.Chains == nil || r.needs == needsExt && s.cfg.Ext == nil {
			continue
		}
		list = append(list, endpoint{r, r.make(s, r)})
	}
	return list
}

// Run serves ln until ctx ends, then shuts down within ShutdownTimeout. It
// returns nil when everything in flight was answered.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	var serveErr error
	select {
	case serveErr = <-served:
		served <- nil
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ShutdownTimeout)
	defer cancel()
	return errors.Join(serveErr, s.Shutdown(stop), <-served)
}

// Serve answers requests on ln until Shutdown, and then returns nil at once:
// Shutdown is what waits. It takes ln over.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	if s.state != idle {
		s.mu.Unlock()
		return errors.Join(ErrUsed, ln.Close())
	}
	s.state, s.ln = running, ln
	s.mu.Unlock()
	return s.fast.Serve(&listener{Listener: ln, conns: s.conns})
}

// Shutdown stops accepting, waits until everything in flight is answered and
// closes all connections. When ctx ends first it cuts them and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	ln, before := s.ln, s.state
	s.state = stopped
	s.mu.Unlock()
	defer s.halt()
	if before != running {
		return nil
	}
	// Serve may be on its way to Accept yet, where fasthttp does not know the listener.
	closeErr := ln.Close()
	if errors.Is(closeErr, net.ErrClosed) {
		closeErr = nil
	}
	s.conns.stop()
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

// handle is the entry of every request that could be read.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	n := s.inFlight.Add(1)
	to := s.other
	defer func() {
		if v := recover(); v != nil {
			s.panicked(ctx, v)
		}
		to.observe(ctx.Response.StatusCode(), time.Since(ctx.Time()))
		s.inFlight.Add(-1)
	}()
	path := ctx.URI().PathOriginal()
	rt, p := s.router.find(path)
	if rt == nil {
		s.noRoute(ctx, path)
		return
	}
	to = rt.stats
	e := rt.method(ctx.Method())
	switch {
	case e == nil && ctx.IsOptions():
		options(ctx, rt.allow)
	case e == nil:
		ctx.Response.Header.Set(fasthttp.HeaderAllow, rt.allow)
		fail(ctx, &failure{status: fasthttp.StatusMethodNotAllowed,
			message: "method " + excerpt(ctx.Method()) + " is not allowed here; allowed are " + rt.allow})
	case n > int64(s.cfg.MaxInFlight) && !e.Probe:
		s.stats.rejected("in_flight").Inc()
		fail(ctx, &failure{fasthttp.StatusServiceUnavailable, "too many requests are being answered", time.Second})
	case s.admit(ctx, e.Route, &p):
		e.handle(ctx, p)
	}
}

// maxBody bounds the body of a request for uri.
func (s *Server) maxBody(uri []byte) int {
	if isExt(uri) {
		return s.cfg.MaxExtBody
	}
	return s.cfg.MaxBody
}

func isExt(path []byte) bool {
	rest, ok := bytes.CutPrefix(path, []byte("/ext"))
	return ok && (len(rest) == 0 || rest[0] == '/')
}

func (s *Server) noRoute(ctx *fasthttp.RequestCtx, path []byte) {
	if ctx.IsOptions() && string(path) == "*" {
		options(ctx, "GET, HEAD, POST, OPTIONS")
		return
	}
	fail(ctx, &failure{status: fasthttp.StatusNotFound, message: "nothing is served at " + excerpt(path)})
}

func options(ctx *fasthttp.RequestCtx, allow string) {
	ctx.Response.Header.Set(fasthttp.HeaderAllow, allow)
	ctx.Response.SetStatusCode(fasthttp.StatusNoContent)
}

// panicked turns a defect into one failed request: the others go on.
func (s *Server) panicked(ctx *fasthttp.RequestCtx, v any) {
	s.stats.rejected("panic").Inc()
	s.log.Error("request failed by a defect", "method", string(ctx.Method()), "path", excerpt(ctx.Path()),
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	ctx.Response.Reset()
	ctx.SetConnectionClose()
	fail(ctx, &failure{status: fasthttp.StatusInternalServerError, message: "internal error"})
}

// fastLogger takes what fasthttp has to say, mostly of clients that went away.
type fastLogger struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (l fastLogger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("connection ended", "cause", fmt.Sprintf(format, args...))
	}
}
