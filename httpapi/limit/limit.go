package limit

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// Headers that are read. Lookups are by these names, as fasthttp normalizes them.
const (
	HeaderKey       = "X-Service-Api-Key"
	HeaderKeySDK    = "X-Glacier-Api-Key"
	HeaderForwarded = "X-Forwarded-For"
)

// The statuses of refusals.
const (
	statusUnauthorized    = 401
	statusForbidden       = 403
	statusTooManyRequests = 429
)

// Config says who is admitted at which rate. Zero values take the defaults.
type Config struct {
	// KeysFile has the tiers and keys; see the package's documentation. Default:
	// no keys are known.
	KeysFile string
	// RequireKey refuses requests without a key, public routes apart.
	RequireKey bool
	// UnitsPerMinute is the rate of a client without a key, 1 to 100,000,000
	// compute units. Default 6,000.
	UnitsPerMinute int64
	// Burst is how many units a client without a key may use at once. Default one
	// minute's.
	Burst int64
	// NoLimit lets every rate pass; keys are checked all the same.
	NoLimit bool
	// MaxClients bounds the addresses that are remembered, about 200 bytes each.
	// Default 65,536.
	MaxClients int
	// TrustedProxies are the peers whose X-Forwarded-For is believed. Anyone in
	// here can pass for any client. Default none.
	TrustedProxies []netip.Prefix

	// Logger takes the log; nil discards it. Keys are never logged.
	Logger *slog.Logger
	// Metrics takes the metrics; nil keeps them private.
	Metrics *metrics.Set
}

func (c *Config) fill() error {
	c.UnitsPerMinute = cmp.Or(c.UnitsPerMinute, 6000)
	c.Burst = cmp.Or(c.Burst, c.UnitsPerMinute)
	c.MaxClients = cmp.Or(c.MaxClients, 1<<16)
	if err := (rate{c.UnitsPerMinute, c.Burst}).check(); err != nil {
		return err
	}
	if c.MaxClients < 1 {
		return errors.New("MaxClients must be positive")
	}
	for _, p := range c.TrustedProxies {
		if !p.IsValid() {
			return errors.New("TrustedProxies has an invalid prefix")
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = metrics.NewSet()
	}
	return nil
}

func (r rate) check() error {
	if r.perMinute < 1 || r.perMinute > maxRate {
		return fmt.Errorf("%d units per minute: must be 1 to %d", r.perMinute, maxRate)
	}
	if r.burst < 1 || r.burst > maxRate {
		return fmt.Errorf("a burst of %d units: must be 1 to %d", r.burst, maxRate)
	}
	return nil
}

// Route is what a request is for.
type Route struct {
	// Pattern is the route's, such as /v1/chains/{chainId}/transactions.
	Pattern string
	// Chain is the EVM chain ID that the request names, in decimal digits; empty
	// for none.
	Chain string
	// Public routes never need a key.
	Public bool
}

// Decision says what becomes of a request.
type Decision struct {
	Allow bool
	// Status and Message are of the answer to a request that is not allowed.
	Status  int
	Message string
	// RetryAfter, if not 0, is when the same request would be allowed.
	RetryAfter time.Duration
	// Tier is the tier of the key that counted; empty for none.
	Tier string
}

// Limiter decides about requests. Its methods may be called from several goroutines.
type Limiter struct {
	cfg     Config
	start   time.Time
	rate    rate // without a key
	clients clients
	keys    atomic.Pointer[keyTable] // never nil

	nextCheck atomic.Int64 // of the keys file, as time since start
	loading   sync.Mutex   // guards the two below
	seen      version      // of the keys file, when it was last read
	complaint string       // what was last logged of it, so as not to repeat it

	noKey, unknownKey, forbidden, limited *metrics.Counter
	loaded, notLoaded                     *metrics.Counter
}

// New makes a limiter. A keys file that cannot be read now is an error.
func New(cfg Config) (*Limiter, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	refused := func(reason string) *metrics.Counter {
		return cfg.Metrics.GetOrCreateCounter(`quorate_limit_refused_total{reason="` + reason + `"}`)
	}
	l := &Limiter{
		cfg: cfg, start: time.Now(), rate: rate{cfg.UnitsPerMinute, cfg.Burst},
		noKey: refused("no_key"), unknownKey: refused("unknown_key"), forbidden: refused("forbidden"), limited: refused("rate"),
		loaded:    cfg.Metrics.GetOrCreateCounter(`quorate_limit_keys_loads_total{result="ok"}`),
		notLoaded: cfg.Metrics.GetOrCreateCounter(`quorate_limit_keys_loads_total{result="failed"}`),
	}
	l.clients.init(cfg.MaxClients)
	l.keys.Store(&keyTable{})
	if err := l.Reload(); err != nil {
		return nil, err
	}
	return l, nil
}

// Admit decides about one request and takes its units. header gives the value of
// a request header, the lines of one that comes several times joined by commas;
// see [Header]. remote is the connection's peer; an invalid one is a client of its own.
func (l *Limiter) Admit(header func(name string) []byte, remote netip.Addr, route Route, units int) Decision {
	now := time.Since(l.start)
	l.check(now)
	value := keyIn(header)
	// A server without keys takes no notice of one meant for another.
	if len(value) > 0 && (l.cfg.KeysFile != "" || l.cfg.RequireKey) {
		k := l.keys.Load().find(value)
		switch {
		case k != nil && k.permits(&route):
			return l.take(k.bucket, now, k.tier.rate, units, k.tier.name)
		case route.Public:
		case k == nil:
			l.unknownKey.Inc()
			return Decision{Status: statusUnauthorized, Message: "the API key is not known"}
		default:
			l.forbidden.Inc()
			return k.refusal(&route)
		}
	} else if l.cfg.RequireKey && !route.Public {
		l.noKey.Inc()
		return Decision{Status: statusUnauthorized, Message: "an API key is required, in the header x-service-api-key"}
	}
	if l.cfg.NoLimit {
		return Decision{Allow: true}
	}
	return l.take(l.clients.bucket(l.client(header, remote)), now, l.rate, units, "")
}

// keyIn returns the API key that a request carries, if any.
func keyIn(header func(name string) []byte) []byte {
	if value := header(HeaderKey); len(value) > 0 {
		return value
	}
	return header(HeaderKeySDK)
}

func (l *Limiter) take(b *bucket, now time.Duration, r rate, units int, tier string) Decision {
	if l.cfg.NoLimit {
		return Decision{Allow: true, Tier: tier}
	}
	wait := b.take(now, r, int64(units))
	if wait <= 0 {
		return Decision{Allow: true, Tier: tier}
	}
	l.limited.Inc()
	message := "the rate limit of this API key is reached"
	if tier == "" {
		message = "the rate limit of clients without an API key is reached"
	}
	return Decision{Status: statusTooManyRequests, Message: message, RetryAfter: wait, Tier: tier}
}
