package rpc

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	"github.com/coder/websocket"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/health"
	"quorate/engine/log"
	"quorate/engine/metric"
	"quorate/engine/source"
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
	// Health returns the reports of /ext/health; nil: there are none.
	Health Health
	// Chains returns the names under /ext/bc; nil: there is no chain RPC.
	Chains Chains
	// Forward passes chain RPC to the followed nodes; nil: there is no chain RPC.
	Forward Forwarder
	// Learning reports whether the followed nodes have yet to tell their chains: a
	// chain that is not known may be one then. Nil: they have.
	Learning func() bool
	// Later reports whether a chain is known to execute blocks after it accepted them:
	// its nodes lack some methods then. Nil: none does.
	Later func(chain.ID) bool
	// Head returns the height of an EVM chain, false if it is not known. Nil: of none.
	Head func(chain.ID) (uint64, bool)
	// Past answers a call about what is archived of an EVM chain. The error is for the
	// client; ok is false if a node has to answer. Nil: nothing is archived.
	Past func(ctx context.Context, id chain.ID, method string, params []byte) (result []byte, ok bool, err error)
	// ChainRPC says which methods of chain RPC, and of the info API, are passed on.
	ChainRPC Mode
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
	// Levels returns the levels of every logger.
	Levels() map[string]log.LevelPair
	// SetLevels changes the logger called name, or all for "". A nil level stays.
	// The error wraps [log.ErrUnknownLogger] for a name that there is not.
	SetLevels(name string, file, display *log.Level) (map[string]log.LevelPair, error)
}

// Chains knows the names of blockchains. A name is a blockchain ID or an alias.
// Errors are of package chains. All methods may be called at once.
type Chains interface {
	// Lookup returns the ID of a followed chain.
	Lookup(name string) (chain.ID, bool)
	// Alias adds a further name to a chain.
	Alias(name, alias string) error
	// Aliases returns all names of a chain, its primary one first.
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
	// Load starts what is new there. It returns the names of each VM loaded, and why
	// the others, by VM ID or file name, were not.
	Load(ctx context.Context) (loaded map[chain.ID][]string, failed map[string]string, err error)
}

// Health returns the last results of the health checks. No method runs a check.
type Health interface {
	Health(tags []string) health.Report
	Readiness(tags []string) health.Report
	Liveness() health.Report
}

// Forwarder passes the body of a chain's RPC to a node that runs the chain.
type Forwarder interface {
	// Forward posts body to path below the chain, which is empty or begins with a
	// slash, and returns the node's answer as it is, which the caller has to release.
	// err means that there was none: it wraps [source.ErrNotYet], a
	// [source.RefusedError] or another of that package.
	Forward(ctx context.Context, id chain.ID, path string, body []byte) (a source.Passed, err error)
	// Info posts body to the info API of a node, as Forward does to a chain's.
	Info(ctx context.Context, body []byte) (a source.Passed, err error)
	// Dial opens the WebSocket at path below the chain.
	Dial(ctx context.Context, id chain.ID, path string) (*websocket.Conn, error)
	// Swap returns when nodes replace the chain's API, the zero time if that is not known
	// or never.
	Swap(id chain.ID) time.Time
}

// Charge takes compute units from a request's client. False means that it has too
// few and nothing was taken; after wait it would have them.
type Charge func(units int) (wait time.Duration, ok bool)

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
	prices  map[string]int
	sync    map[string]bool // see family
	sockets sockets

	// work is the context of what a request has others do. It ends with Close.
	work context.Context
	halt context.CancelFunc
}

// New returns the service. It holds no resources and runs nothing by itself.
func New(cfg Config) *Service {
	s := &Service{
		cfg: cfg, log: cfg.Logger, set: metric.NewSet(), hosts: newHosts(cfg.AllowedHosts),
		methods: make(map[string]*method), sending: make(chan struct{}, maxForwards),
		warned: log.NewThrottle(10 * time.Second), prices: prices(), sync: syncMethods(),
	}
	s.sockets.init()
	s.set.GaugeFunc("quorate_rpc_websockets", "Open WebSockets of chain RPC.", func() float64 { return float64(s.sockets.len()) })
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

// Close ends what requests wait for: VMs being loaded, calls to the followed
// node. They are answered with an error. It need not be called.
func (s *Service) Close() { s.halt() }

// Cost returns the price of a request below /ext/bc or to /ext/info, in compute units.
// operator reports that it is for neither, but goes by an alias to something else.
func (s *Service) Cost(ctx *fasthttp.RequestCtx) (units int, operator bool) {
	path, ok := decodePath(ctx.URI().PathOriginal())
	if !ok {
		return unitsLeast, false
	}
	e := s.find(path)
	switch {
	case e.kind == nothing:
		return unitsLeast, false
	case e.kind == chainSocket:
		return unitsOrdinary, false // its messages are charged as they come
	case e.kind != chainRPC && e.kind != nodeInfo:
		return unitsLeast, true
	case !ctx.IsPost() || len(ctx.PostBody()) > maxForward:
		return unitsLeast, false
	}
	return s.cost(s.callsOf(ctx), e), false
}

// Handler answers one request, of a client that is not charged.
func (s *Service) Handler(ctx *fasthttp.RequestCtx) {
	s.Serve(ctx, func(int) (time.Duration, bool) { return 0, true })
}

// Serve answers one request. charge is for what follows on it: the messages of a
// WebSocket. The request itself was paid for, see [Service.Cost].
func (s *Service) Serve(ctx *fasthttp.RequestCtx, charge Charge) {
	header := &ctx.Response.Header
	header.Set(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
	if s.cfg.NodeID != "" {
		header.Set("Node-Id", s.cfg.NodeID)
	}
	if !s.hosts.allow(ctx.Host()) {
		refuse(ctx)
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
	if e.kind == admin && !sameOrigin(ctx) {
		s.refused(ctx)
		return
	}
	s.serve(ctx, e, charge)
}

func (s *Service) serve(ctx *fasthttp.RequestCtx, e endpoint, charge Charge) {
	switch e.kind {
	case admin:
		s.call(ctx, "admin")
	case healthAll, healthHealth, healthReadiness, healthLiveness:
		s.health(ctx, e.kind)
	case metricsText:
		s.metrics(ctx)
	case chainRPC, nodeInfo:
		s.forward(ctx, e)
	case chainSocket:
		s.socket(ctx, e, charge)
	case nothing:
		if s.mayBecome(ctx) {
			ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
			answerFault(ctx, fasthttp.StatusServiceUnavailable, "the followed nodes have not listed their chains yet", ctx.PostBody())
			return
		}
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
