package httpapi

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/metric"
	"quorate/engine/yield"
	evmapi "quorate/httpapi/evm"
	"quorate/httpapi/exports"
	"quorate/httpapi/forward"
	"quorate/httpapi/hooks"
	"quorate/httpapi/limit"
	"quorate/httpapi/probe"
	"quorate/httpapi/reply"
	"quorate/httpapi/stream"
	"quorate/httpapi/token"
	"quorate/httpapi/ui"
	"quorate/httpapi/view"
)

// Charge takes units from the client of a request that was admitted. False means
// that it has too few, and nothing was taken; after wait it would have them, or never if wait is 0.
type Charge func(units int) (wait time.Duration, ok bool)

// ExtCost is what [Config.ExtCost] says of a request below /ext/bc.
type ExtCost struct {
	// Units is the price: that of the method, of a batch the sum over its members.
	// 0 is that of the route.
	Units int
	// Operator is set if the request is not for a chain after all, but goes by an
	// alias to what only operators may call.
	Operator bool
}

// Config says what a [Server] serves and within which bounds. Zero values take
// the defaults given with each field.
type Config struct {
	// Networks are the networks that are followed. Required.
	Networks Networks
	// Ext serves /ext and all below; nil answers 404. charge takes units for what
	// follows on a request that was admitted, such as the messages of a WebSocket.
	Ext func(ctx *fasthttp.RequestCtx, charge Charge)
	// ExtCost says what a request below /ext/bc is, of which until then the price of its route
	// and its bytes were charged. It may read the body. Nil charges each what its route says.
	ExtCost func(ctx *fasthttp.RequestCtx) ExtCost

	// Health is what /health answers from; nil: there is no such path.
	Health probe.Health

	// Ready returns why this process cannot answer what is read, or, with a network, have its
	// messages signed; nil: there is no /ready.
	Ready func(sign string) error

	// Chains are the EVM chains that are followed; nil serves no data endpoints.
	Chains Chains
	// Primary are the primary networks that are followed; nil serves none of their
	// endpoints.
	Primary PrimaryNetworks
	// Operations writes exports; nil serves no operations. They need Chains too.
	Operations exports.Operations
	// Events knows what happens on the chains; nil serves no events. They need Chains too.
	Events stream.Events
	// Webhooks delivers to clients' servers; nil serves no webhooks. They need Chains too.
	Webhooks hooks.Webhooks
	// WebhooksKeyless lets clients without an API key have webhooks, which then belong to
	// their address. For a server that only its own machine can reach.
	WebhooksKeyless bool
	// MaxStreams bounds the streams of events, MaxStreamsPerClient those of one API key, or
	// address without one. Defaults 2,048 and 128.
	MaxStreams, MaxStreamsPerClient int
	// PublicURL is the address of this server as clients know it, without a slash at its
	// end: that of files is told with it.
	PublicURL string
	// DownloadTime is for how long an address of a file is good. Default 1 h.
	DownloadTime time.Duration
	// Facts know what answers about EVM chains say that is in no block.
	evmapi.Facts
	// Signed reports whether the warp message with an ID is signed, as far as this server
	// knows. Nil: of none.
	Signed func(id chain.ID) bool
	// OwnHost reports whether a host, with or without port, is a name of this server:
	// nothing is answered under any other, see [Server.misdirected]. Nil: all are.
	OwnHost func(host []byte) bool
	// Pages says what browsers see, its API and log apart; nil: there are no pages.
	Pages *ui.Config
	// Fleet passes requests on to other servers with the same keys; nil: there are none.
	Fleet *forward.Fleet
	// Limits knows the API keys and keeps clients within their rates. Nil admits all.
	Limits *limit.Limiter
	// Origins are the origins whose pages may use the public routes, such as
	// https://example.com; "*" are all. Default none.
	Origins []string
	// Dialect says which form the answers have. Default by the client.
	Dialect view.Mode
	// TokenKey is the secret that page tokens are signed with, at least 16 bytes.
	// Servers that share it take each other's tokens. Default: random, so that
	// tokens end with the process.
	TokenKey []byte
	// OlderTokenKeys are further ones whose tokens are taken.
	OlderTokenKeys [][]byte
	// FileKeys sign addresses of exports: the first signs, all are taken. Default TokenKey.
	FileKeys [][]byte
	// CompressMin is the size in bytes from which on bodies of data endpoints are
	// compressed for clients that ask for it. Default 2 KiB; negative never compresses.
	CompressMin int
	// NodeTimeout bounds the wait for a balance that only a chain's node knows.
	// Default 5 s.
	NodeTimeout time.Duration

	// OnRequest, if not nil, is called with each request that is answered. It must not block.
	OnRequest func()
	// Spare is the processors' time that requests leave: streams of history wait for it. Nil:
	// they do not.
	Spare *yield.Time
	// AnswerBytes bounds the answers that are kept, a quarter of it those to requests for
	// signed messages, and PointBytes the points of metrics.
	// Default 32 MiB each.
	AnswerBytes, PointBytes int64
	// MaxBody bounds a request's body in bytes, MaxExtBody that of one below /ext.
	// Defaults 1 MiB and 5 MiB.
	MaxBody, MaxExtBody int
	// MaxHeader bounds a request's line and header together in bytes; each
	// connection holds a buffer of this size. Default 8 KiB, at least 1 KiB.
	MaxHeader int
	// MaxConns bounds the open connections to listeners for clients. When there are
	// more, the one that waits longest for its client goes; when all are being
	// answered, further ones get 503. Default 4096.
	MaxConns int
	// MaxConnsPerClient bounds those from one address (of IPv6 the /64); further ones
	// are answered 503 and closed. Default 256.
	MaxConnsPerClient int
	// Uncapped are addresses that may have more: proxies. Default loopback.
	Uncapped []netip.Prefix
	// MaxInFlight bounds the requests being answered at once, probes apart; further
	// ones are answered 503. Default half of MaxConns.
	MaxInFlight int
	// ReadTimeout bounds the arrival of one request, header and body. Default 30 s.
	ReadTimeout time.Duration
	// WriteTimeout bounds the sending of one answer. Default 30 s.
	WriteTimeout time.Duration
	// IdleTimeout bounds the wait for a connection's next request. Default 120 s.
	IdleTimeout time.Duration
	// ShutdownTimeout bounds how long Run waits for answers in flight. Default 10 s.
	ShutdownTimeout time.Duration

	// Logger takes the log; nil discards it.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metric.Set
}

// Loopback returns the addresses of this machine alone.
func Loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// minHeader still holds a request of the official SDKs.
const minHeader = 1 << 10

func (c *Config) fill() error {
	if c.Networks == nil {
		return errors.New("httpapi: Networks is required")
	}
	c.AnswerBytes = cmp.Or(c.AnswerBytes, reply.DefaultBytes)
	c.MaxBody = cmp.Or(c.MaxBody, 1<<20)
	c.MaxExtBody = cmp.Or(c.MaxExtBody, 5<<20)
	c.MaxHeader = cmp.Or(c.MaxHeader, 8<<10)
	c.MaxConns = cmp.Or(c.MaxConns, 4096)
	c.MaxConnsPerClient = cmp.Or(c.MaxConnsPerClient, 256)
	if c.Uncapped == nil {
		c.Uncapped = Loopback()
	}
	c.MaxStreams, c.MaxStreamsPerClient = cmp.Or(c.MaxStreams, 2048), cmp.Or(c.MaxStreamsPerClient, 128)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, max(1, c.MaxConns/2))
	c.ReadTimeout = cmp.Or(c.ReadTimeout, 30*time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 30*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 120*time.Second)
	c.ShutdownTimeout = cmp.Or(c.ShutdownTimeout, 10*time.Second)
	c.NodeTimeout = cmp.Or(c.NodeTimeout, 5*time.Second)
	c.DownloadTime = cmp.Or(c.DownloadTime, time.Hour)
	if c.CompressMin = cmp.Or(c.CompressMin, 2<<10); c.CompressMin < 0 {
		c.CompressMin = math.MaxInt
	}
	if len(c.TokenKey) == 0 {
		c.TokenKey = make([]byte, 2*token.MinKey)
		rand.Read(c.TokenKey) // never fails
	}
	if len(c.FileKeys) == 0 {
		c.FileKeys = [][]byte{c.TokenKey}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metric.NewSet()
	}
	if c.MaxBody < 1 || c.MaxExtBody < 1 || c.MaxConns < 1 || c.MaxConnsPerClient < 1 || c.MaxInFlight < 1 {
		return errors.New("httpapi: MaxBody, MaxExtBody, MaxConns, MaxConnsPerClient and MaxInFlight must be positive")
	}
	if c.MaxHeader < minHeader {
		return fmt.Errorf("httpapi: MaxHeader is %d bytes, must be at least %d", c.MaxHeader, minHeader)
	}
	if c.ReadTimeout < 0 || c.WriteTimeout < 0 || c.IdleTimeout < 0 || c.ShutdownTimeout < 0 || c.NodeTimeout < 0 || c.DownloadTime < 0 {
		return errors.New("httpapi: timeouts must not be negative")
	}
	return nil
}
