package rpc

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/health"
	"quorate/engine/log"
	"quorate/engine/metric"
)

const (
	contentText = "text/plain; charset=utf-8"
	contentRPC  = "application/json; charset=utf-8"
	contentJSON = "application/json"
)

// Config says what a [Service] serves. Everything may be left out; what is
// missing is answered with 404.
type Config struct {
	// NodeID is the value of the Node-Id header of every answer.
	NodeID string
	// Metrics returns what /ext/metrics answers besides the metrics of this service.
	// Series must differ between the sets. Nil: there are no others.
	Metrics func() []*metric.Set
	// Admin is what /ext/admin acts on. It has no credentials: whoever reaches the
	// port may call it. Nil: there is no administration.
	Admin *Admin
	// Health gives the reports of /ext/health; nil: there are none.
	Health Health
	// Chains gives the names under /ext/bc; nil: there is no chain RPC.
	Chains Chains
	// Forward passes chain RPC to the followed node; nil: there is no chain RPC.
	Forward Forwarder
	// AllowedHosts are names that requests may be sent to besides IP addresses and
	// localhost, without port; "*" allows all. Others are refused, because a name
	// that an attacker can point at this machine makes his page same-origin.
	AllowedHosts []string
	// Logger takes the log; nil discards it.
	Logger *slog.Logger
}

// Admin holds what the administration acts on. Methods whose part is nil answer
// that they are not available.
type Admin struct {
	Logs     Logs
	Chains   Chains
	Profiles Profiles
	VMs      VMs
}

// Logs reads and changes the levels of named loggers.
type Logs interface {
	// Levels gives the levels of every logger.
	Levels() map[string]log.LevelPair
	// SetLevels changes the logger called name, or all for "". A nil level stays.
	// The error wraps [log.ErrUnknownLogger] for a name that there is not.
	SetLevels(name string, file, display *log.Level) (map[string]log.LevelPair, error)
}

// Chains knows the names of blockchains. A name is a blockchain ID or an alias.
// Errors are of package chains. All methods may be called at once.
type Chains interface {
	// Lookup gives the ID of a followed chain.
	Lookup(name string) (chain.ID, bool)
	// Alias gives a chain a further name.
	Alias(name, alias string) error
	// Aliases gives all names of a chain, its primary one first.
	Aliases(name string) ([]string, error)
}

// Profiles writes profiles of the process to files.
type Profiles interface {
	StartCPU() error
	StopCPU() error
	Memory() error
	Lock() error
}

// VMs loads virtual machines from the plugin folder.
type VMs interface {
	// Load starts what is new there. It gives the names of each VM loaded, and why
	// the others, by VM ID or file name, were not.
	Load(ctx context.Context) (loaded map[chain.ID][]string, failed map[string]string, err error)
}

// Health gives the last results of the health checks. No method runs a check.
type Health interface {
	Health(tags []string) health.Report
	Readiness(tags []string) health.Report
	Liveness() health.Report
}

// Forwarder passes the body of a chain's RPC to a node that runs the chain.
type Forwarder interface {
	// Forward gives the node's answer as it is; answer belongs to the caller. err
	// means that there was none.
	Forward(ctx context.Context, id chain.ID, body []byte) (status int, contentType string, answer []byte, err error)
}

// Service answers requests for paths below /ext.
type Service struct {
	cfg     Config
	log     *slog.Logger
	set     *metric.Set
	hosts   hosts
	methods map[string]*method // by service and method with an upper-case initial
	aliases aliases
	sending chan struct{} // one place for each body being forwarded
	warned  *log.Throttle // of failures to forward

	// work is the context of what a request has others do. It ends with Close.
	work context.Context
	halt context.CancelFunc
}

// New gives the service. It holds no resources and runs nothing by itself.
func New(cfg Config) *Service {
	s := &Service{
		cfg: cfg, log: cfg.Logger, set: metric.NewSet(), hosts: newHosts(cfg.AllowedHosts),
		methods: make(map[string]*method), sending: make(chan struct{}, maxForwards),
		warned: log.NewThrottle(10 * time.Second),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.work, s.halt = context.WithCancel(context.Background())
	for _, m := range table() {
		m.count = s.counters(m.service + "." + m.name)
		s.methods[m.service+"."+upperInitial(m.name)] = &m
	}
	return s
}

// Close gives up what requests wait for: VMs being loaded, calls to the followed
// node. They are answered with an error. It need not be called.
func (s *Service) Close() { s.halt() }

// Handler answers one request.
func (s *Service) Handler(ctx *fasthttp.RequestCtx) {
	header := &ctx.Response.Header
	header.Set(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
	if s.cfg.NodeID != "" {
		header.Set("Node-Id", s.cfg.NodeID)
	}
	if !s.hosts.allow(ctx.Host()) {
		answerText(ctx, fasthttp.StatusForbidden, "invalid host specified\n")
		return
	}
	path, ok := decodePath(ctx.URI().PathOriginal())
	switch {
	case !ok:
		answerText(ctx, fasthttp.StatusBadRequest, "400 Bad Request")
		return
	case !isClean(path):
		redirect(ctx, path)
		return
	}
	e := s.find(path)
	if e.kind == admin {
		if !sameOrigin(ctx) {
			s.refused(ctx)
			return
		}
	} else if crossOrigin(ctx, e.kind) {
		return
	}
	s.serve(ctx, e)
}

func (s *Service) serve(ctx *fasthttp.RequestCtx, e endpoint) {
	switch e.kind {
	case admin:
		s.call(ctx, "admin")
	case healthAll, healthHealth, healthReadiness, healthLiveness:
		s.health(ctx, e.kind)
	case metricsText:
		s.metrics(ctx)
	case chainRPC:
		s.forward(ctx, e.chain)
	case nothing, chainBase:
		answerText(ctx, fasthttp.StatusNotFound, "404 page not found\n")
	}
}

func (s *Service) metrics(ctx *fasthttp.RequestCtx) {
	if !ctx.IsGet() && !ctx.IsHead() {
		ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD")
		answerText(ctx, fasthttp.StatusMethodNotAllowed, "metrics are read with GET\n")
		return
	}
	// The text is complete before the status line is sent.
	body := bytes.NewBuffer(ctx.Response.SwapBody(nil)[:0])
	sets := []*metric.Set{s.set}
	if s.cfg.Metrics != nil {
		sets = append(sets, s.cfg.Metrics()...)
	}
	// Series that cannot be read are missing; the others are as good as ever.
	if err := metric.Write(body, sets...); err != nil {
		s.warned.Log(ctx, s.log, slog.LevelError, "metrics cannot be read", slog.Any("err", err))
	}
	ctx.Response.SwapBody(body.Bytes())
	ctx.Response.Header.SetContentType(metric.ContentType)
}

func answerText(ctx *fasthttp.RequestCtx, status int, text string) {
	ctx.Response.ResetBody()
	ctx.Response.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentText)
	// An answer in plain text must not be taken for a page.
	noSniff(ctx)
	ctx.Response.SetBodyString(text)
}

func noSniff(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
}
