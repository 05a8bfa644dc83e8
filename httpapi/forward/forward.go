// Package forward passes requests on to other servers of a fleet: what has an owner to the
// home, and what this server lacks to who has it.
package forward

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/metric"
	"quorate/httpapi/door"
	"quorate/httpapi/exports"
	"quorate/httpapi/limit"
)

// Config says who is in the fleet.
type Config struct {
	// Members are the addresses of servers with nodes, the home first. Required.
	Members []string
	// Secrets sign requests between servers: the first signs, all are taken. Required.
	Secrets [][]byte
	// CanSign reports whether messages of a network, or of all if its name is empty, can be
	// signed here, and CanReach whether a node answers for a chain. Nil ones always do.
	CanSign  func(network string) bool
	CanReach func(chain string) bool
	// Ready is closed once this server knows which chains there are: until then it does not say
	// of one that it is not served. Nil: it does from the start.
	Ready   <-chan struct{}
	Metrics *metric.Set
	Logger  *slog.Logger
}

const (
	// lookEvery is how often the home is looked for.
	lookEvery = 5 * time.Second
	// dialTime bounds the connecting to another server, answerTime the wait for the header of
	// its answer: it is longer than an export takes to be accepted.
	dialTime, answerTime = time.Second, 15 * time.Second
	// small is the length of an answer up to which it is read before it is passed on.
	small = 64 << 10
	// lifePath is what is asked of the home to find out whether it lives, and is this server.
	lifePath = "/livez"
	// retry is when asking again makes sense while another server is away.
	retry = time.Second
)

// place is where the home is.
type place int32

const (
	unknown place = iota
	here
	elsewhere
)

// Fleet is the fleet as one of its servers sees it.
type Fleet struct {
	cfg    Config
	name   string // of this process
	client http.RoundTripper
	home   atomic.Int32 // a place
	away   atomic.Bool  // the home did not answer last

	atHome, atMember, failed, wrong, looped metric.Counter
}

// New returns a fleet of which it is not known yet whether this server is the home.
func New(cfg Config) *Fleet {
	var name [8]byte
	rand.Read(name[:]) // never fails
	f := &Fleet{cfg: cfg, name: hex.EncodeToString(name[:]), client: &http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext, TLSHandshakeTimeout: dialTime,
		ResponseHeaderTimeout: answerTime, IdleConnTimeout: 10 * time.Second, MaxIdleConnsPerHost: 64, DisableCompression: true,
	}}
	count := func(result string) metric.Counter {
		return cfg.Metrics.Counter("quorate_fleet_forwarded_total", "Requests passed on to other servers of the fleet.", "result", result)
	}
	f.atHome, f.atMember, f.failed = count("home"), count("member"), count("failed")
	f.looped = count("looped")
	f.wrong = cfg.Metrics.Counter("quorate_fleet_refused_total", "Requests whose signature of the fleet was wrong or too old.")
	cfg.Metrics.GaugeFunc("quorate_fleet_home", "1 if this server is the home of its fleet.", func() float64 {
		return one(place(f.home.Load()) == here)
	})
	cfg.Metrics.GaugeFunc("quorate_fleet_home_away", "1 while the home of the fleet does not answer.", func() float64 { return one(f.away.Load()) })
	return f
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Start looks where the home is, until ctx ends; the function that it returns waits for that.
// A nil Fleet does nothing.
func (f *Fleet) Start(ctx context.Context) (wait func()) {
	if f == nil {
		return func() {}
	}
	var one sync.WaitGroup
	one.Go(func() { f.run(ctx) })
	return one.Wait
}

func (f *Fleet) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		f.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks the home for a sign of life. If this is the home, it gets that request itself, and
// [Fleet.Sent] notices.
func (f *Fleet) look(ctx context.Context) place {
	if at := place(f.home.Load()); at == here {
		return at
	}
	ctx, cancel := context.WithTimeout(ctx, lookEvery)
	defer cancel()
	resp, err := f.send(ctx, f.cfg.Members[0], request{method: fasthttp.MethodGet, uri: lifePath})
	if err == nil {
		err = resp.Body.Close()
	}
	if was := f.away.Swap(err != nil); was != (err != nil) {
		f.cfg.Logger.Warn("the home of the fleet", "address", f.cfg.Members[0], "away", err != nil, "err", err)
	}
	if err != nil {
		return place(f.home.Load()) // as it was
	}
	f.home.CompareAndSwap(int32(unknown), int32(elsewhere))
	return place(f.home.Load())
}

// Sent reports whether another server of the fleet has sent a request, which then was admitted
// and charged there. It returns what the request is answered of: one that is for no client sees
// what operators see. No request was sent by a nil Fleet.
func (f *Fleet) Sent(ctx *fasthttp.RequestCtx, scope door.Scope) (door.Scope, bool) {
	if f == nil {
		return scope, false
	}
	header := ctx.Request.Header.Peek(Header)
	if len(header) == 0 {
		return scope, false
	}
	s, ok := read(f.cfg.Secrets, string(ctx.Method()), string(ctx.Request.Header.RequestURI()), string(header), time.Now())
	if !ok {
		f.wrong.Inc()
		return scope, false
	}
	if s.sender == f.name && string(ctx.Path()) == lifePath {
		f.home.Store(int32(here))
	}
	if s.client == "" && ctx.IsGet() {
		scope = door.ForOperators
	}
	ctx.SetUserValue(stamped{}, s)
	return scope, true
}

// stamped is where a request keeps what its header says.
type stamped struct{}

// Client finds out who the client of a request of another server is, or else answers it.
func Client(ctx *fasthttp.RequestCtx, limits *limit.Limiter, p *door.Params) (ok bool) {
	s, _ := ctx.UserValue(stamped{}).(stamp)
	if p.Client, ok = limits.Named(s.client); !ok {
		door.Fail(ctx, &door.Failure{Status: fasthttp.StatusForbidden,
			Message: "the API key is not known to the server that answers this: all servers of a fleet need the same keys"})
	}
	return ok
}

// CheckBody returns why the body of a request of another server is not taken, nil if it is.
func CheckBody(ctx *fasthttp.RequestCtx) *door.Failure {
	if s, ok := ctx.UserValue(stamped{}).(stamp); ok && sha256.Sum256(ctx.Request.Body()) != s.sum {
		return door.BadRequest("the body is not the one that was signed")
	}
	return nil
}

// Answer reports whether another server has answered a request: what has an owner is at the home
// alone, and some servers lack what others have. owe charges for a file that the home sends.
func (f *Fleet) Answer(work context.Context, ctx *fasthttp.RequestCtx, r *door.Route, p door.Params, owe func(*fasthttp.RequestCtx, *door.Params, int)) bool {
	switch {
	case r.Home:
		answered := f.toHome(work, ctx, &p)
		if answered && ctx.Response.IsBodyStream() {
			owe(ctx, &p, max(0, ctx.Response.Header.ContentLength()/exports.FilePerUnit-p.Paid))
		}
		return answered
	case r.Needs == door.NeedsStake && f.cfg.CanSign != nil && !f.cfg.CanSign(string(p.Get("network"))),
		r.Needs == door.NeedsNode && f.cfg.CanReach != nil && !f.cfg.CanReach(string(p.Get("chain"))):
		f.toMember(work, ctx, &p)
		return true
	case r.Access == door.Public && !r.Page && f.starting():
		door.Fail(ctx, &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: retry, Message: "this server is starting; others of the fleet serve"})
		return true
	}
	return false
}

// starting reports whether this server does not know yet which chains there are.
func (f *Fleet) starting() bool {
	select {
	case <-f.cfg.Ready:
		return false
	default:
		return f.cfg.Ready != nil
	}
}

// toHome passes a request on to the home, and reports whether it has answered: not if this
// server is the home.
func (f *Fleet) toHome(work context.Context, ctx *fasthttp.RequestCtx, p *door.Params) bool {
	at := place(f.home.Load())
	if at == unknown {
		at = f.look(work)
	}
	switch {
	case at == here:
		return false
	case at == unknown:
		f.homeAway(ctx, errors.New("it was not found yet"))
		return true
	case p.Forwarded:
		f.loop(ctx)
		return true
	}
	work, cancel := context.WithCancel(work)
	resp, err := f.send(work, f.cfg.Members[0], requestOf(ctx, p))
	if err != nil {
		cancel()
		f.homeAway(ctx, err)
		return true
	}
	f.atHome.Inc()
	if err := passOn(ctx, resp, cancel); err != nil {
		f.homeAway(ctx, err)
	}
	return true
}

// homeAway answers that the home is away.
func (f *Fleet) homeAway(ctx *fasthttp.RequestCtx, err error) {
	f.failed.Inc()
	f.cfg.Logger.Debug("the home of the fleet does not answer", "address", f.cfg.Members[0], "err", err)
	door.Fail(ctx, &door.Failure{Status: fasthttp.StatusServiceUnavailable, RetryAfter: retry,
		Message: "the server that keeps webhooks and exports is away; all else is served"})
}

// loop refuses to pass a request on a second time.
func (f *Fleet) loop(ctx *fasthttp.RequestCtx) {
	f.looped.Inc()
	door.Fail(ctx, &door.Failure{Status: fasthttp.StatusLoopDetected,
		Message: "another server of the fleet has passed this on already: their files name different members, or none can answer it"})
}

// request is what is passed on.
type request struct {
	method, uri, client string
	header              http.Header
	body                []byte
}

// passed are the headers of a request that another server needs; those of the client's own
// connection and key stay here.
var passed = []string{
	fasthttp.HeaderContentType, fasthttp.HeaderContentEncoding, fasthttp.HeaderAccept, fasthttp.HeaderAcceptEncoding, fasthttp.HeaderRange,
	fasthttp.HeaderIfRange, fasthttp.HeaderUserAgent, "X-App-Component", "X-Request-Id",
}

// requestOf copies a request: its memory is used again once it is answered.
func requestOf(ctx *fasthttp.RequestCtx, p *door.Params) request {
	h := &ctx.Request.Header
	r := request{method: string(h.Method()), uri: string(h.RequestURI()), client: p.Client.String(), header: http.Header{}}
	for _, name := range passed {
		if value := h.Peek(name); len(value) > 0 {
			r.header.Set(name, string(value))
		}
	}
	r.body = bytes.Clone(ctx.Request.Body())
	return r
}

// send sends a request to a member.
func (f *Fleet) send(ctx context.Context, member string, r request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, r.method, member+r.uri, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		out.Header[name] = values
	}
	out.Header.Set(Header, Sign(f.cfg.Secrets[0], r.method, r.uri, f.name, r.client, r.body, time.Now()))
	return f.client.RoundTrip(out)
}

// ours are the headers of an answer that this server sets itself, or its connection.
func ours(name string) bool {
	switch name {
	case fasthttp.HeaderConnection, fasthttp.HeaderKeepAlive, fasthttp.HeaderTransferEncoding, fasthttp.HeaderContentLength, fasthttp.HeaderDate,
		fasthttp.HeaderServer, fasthttp.HeaderXContentTypeOptions:
		return true
	}
	return strings.HasPrefix(name, "Ratelimit-") || strings.HasPrefix(name, "Access-Control-")
}

// passOn answers with what another server has answered; cancel ends what is left of that.
func passOn(ctx *fasthttp.RequestCtx, resp *http.Response, cancel context.CancelFunc) error {
	if resp.ContentLength < 0 || resp.ContentLength > small {
		head(ctx, resp)
		ctx.Response.SetBodyStream(&rest{resp.Body, cancel}, int(resp.ContentLength))
		return nil
	}
	defer cancel()
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("its answer broke off: %w", err)
	}
	head(ctx, resp)
	ctx.Response.SetBodyRaw(body)
	return nil
}

// head copies the status and the headers of an answer.
func head(ctx *fasthttp.RequestCtx, resp *http.Response) {
	ctx.Response.SetStatusCode(resp.StatusCode)
	for name, values := range resp.Header {
		for _, v := range values {
			if !ours(name) {
				ctx.Response.Header.Set(name, v)
			}
		}
	}
}

// rest is a body that is passed on as it comes.
type rest struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements [io.Closer]: the server calls it when it is done with the answer.
func (r *rest) Close() error {
	err := r.ReadCloser.Close()
	r.cancel()
	return err
}
