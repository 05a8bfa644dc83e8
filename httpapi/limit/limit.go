package limit

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"strings"
	"time"

	"quorate/engine/metric"
	"quorate/httpapi/reload"
)

// Headers that are read. Lookups are by these names, as fasthttp normalizes them.
const (
	HeaderKey       = "X-Service-Api-Key"
	HeaderKeySDK    = "X-Glacier-Api-Key"
	HeaderForwarded = "X-Forwarded-For"
)

// The statuses of refusals.
const (
	statusBadRequest      = 400
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
	Metrics *metric.Set
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
		c.Metrics = metric.NewSet()
	}
	return nil
}

func (r rate) check() error {
	if r.perMinute < 1 || r.perMinute > MaxRate {
		return fmt.Errorf("%d units per minute: must be 1 to %d", r.perMinute, MaxRate)
	}
	if r.burst < 1 || r.burst > MaxRate {
		return fmt.Errorf("a burst of %d units: must be 1 to %d", r.burst, MaxRate)
	}
	return nil
}

// Route is what a request is for.
type Route struct {
	// Pattern is the route's, such as /v1/chains/{chainId}/transactions.
	Pattern string
	// Chain returns the EVM chain ID that the request names, in decimal digits, or
	// else the name that it has for the chain; empty for none. It is called where a
	// key is good for certain chains only. Nil: the route names no chain.
	Chain func() string
	// Public routes never need a key.
	Public bool
	// Owned routes are about what belongs to their client: they need a key on any server.
	Owned bool
	// Probe routes are charged, but never refused for want of units.
	Probe bool
}

// NeedsKey refuses a client without an API key what would belong to it.
const NeedsKey = "webhooks belong to an API key, and the request has none that counts: send it in the header x-service-api-key. " +
	"The operator makes one with \"quorate key NAME\" and names its file with --api-keys-file; " +
	"a server that only its own machine can reach may be started with --limits webhooks-keyless=true instead"

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
	// Client is who the request counts for.
	Client Client
	// Limited is set when rates apply. Then Limit is the burst of the client,
	// Remaining what is left of it, and Reset when all of it would be there again. What
	// comes back in a minute is PerMinute.
	Limited          bool
	Limit, Remaining int64
	PerMinute        int64
	Reset            time.Duration
}

// Client is who a request counts for: an API key, or else an address.
type Client struct {
	key  *key
	addr netip.Addr
}

// ClientAt returns the client at an address.
func ClientAt(a netip.Addr) Client { return Client{addr: a.Unmap()} }

// String returns what tells clients apart: "key:" and the name or hash of the API
// key, or else the address (of IPv6 the /64). Use it to share something else than
// units fairly.
func (c Client) String() string {
	switch {
	case c.key != nil:
		return KeyClient(c.key.id)
	case !c.addr.IsValid():
		return "unknown"
	case c.addr.Is4():
		return c.addr.String()
	}
	p, _ := c.addr.Prefix(64) // 64 bits are in every IPv6 address
	return p.String()
}

// Named returns the client of which [Client.String] returned text, maybe on a server with the
// same API keys. ok is false if there is no such key here.
func (l *Limiter) Named(text string) (c Client, ok bool) {
	if id, isKey := strings.CutPrefix(text, ofKey); isKey {
		if l == nil || l.keys == nil {
			return c, false
		}
		c.key = l.keys.Get().named(id)
		return c, c.key != nil
	}
	if p, err := netip.ParsePrefix(text); err == nil {
		return Client{addr: p.Addr()}, true
	}
	c.addr, _ = netip.ParseAddr(text) // or it was not known
	return c, true
}

// HasKey reports whether it is an API key, and not an address.
func (c Client) HasKey() bool { return c.key != nil }

// ofKey is before the name of a key in what tells clients apart.
const ofKey = "key:"

// KeyClient returns what [Client.String] returns of the API key with a name.
func KeyClient(name string) string { return ofKey + name }

// IsKey reports whether what [Client.String] returned was that of an API key.
func IsKey(client string) bool { return strings.HasPrefix(client, ofKey) }

// Permits reports whether the client may ask for a chain, by its EVM chain ID in decimal
// digits: for requests whose path names none.
func (c Client) Permits(chain string) bool {
	return c.key == nil || c.key.tier.permitsChain(&Route{Chain: func() string { return chain }})
}

// Limiter decides about requests. Its methods may be called from several goroutines.
type Limiter struct {
	cfg     Config
	start   time.Time
	rate    rate // without a key
	clients clients
	keys    *reload.Value[keyTable] // nil without a keys file

	noKey, unknownKey, forbidden, limited metric.Counter
	loaded, notLoaded                     metric.Counter
}

// New makes a limiter. A keys file that cannot be read now is an error.
func New(cfg Config) (*Limiter, error) {
	if err := cfg.fill(); err != nil {
		return nil, fmt.Errorf("limit: %w", err)
	}
	refused := func(reason string) metric.Counter {
		return cfg.Metrics.Counter("quorate_limit_refused_total", "Requests refused for their key or rate.", "reason", reason)
	}
	loads := func(result string) metric.Counter {
		return cfg.Metrics.Counter("quorate_limit_keys_loads_total", "Times that the keys file was read.", "result", result)
	}
	l := &Limiter{
		cfg: cfg, start: time.Now(), rate: rate{cfg.UnitsPerMinute, cfg.Burst},
		noKey: refused("no_key"), unknownKey: refused("unknown_key"), forbidden: refused("forbidden"), limited: refused("rate"),
		loaded:    loads("ok"),
		notLoaded: loads("failed"),
	}
	l.clients.init(cfg.MaxClients)
	if cfg.KeysFile == "" {
		return l, nil
	}
	var err error
	l.keys, err = openKeys(&cfg, func(err error) {
		if err != nil {
			l.notLoaded.Inc()
		} else {
			l.loaded.Inc()
		}
	})
	if err == nil {
		l.perKey()
	}
	return l, err
}

// Reload reads the keys file now, changed or not. On an error the keys from before
// stay in force.
func (l *Limiter) Reload() error {
	if l.keys == nil {
		return nil
	}
	return l.keys.Reload()
}

// find returns the key with a value, nil if there is none.
func (l *Limiter) find(value []byte) *key {
	if l.keys == nil {
		return nil
	}
	return l.keys.Get().find(value)
}

// Admit decides about one request and takes its units. header returns the value of
// a request header, the lines of one that comes several times joined by commas;
// see [Header]. remote is the connection's peer; an invalid one is a client of its own.
func (l *Limiter) Admit(header func(name string) []byte, remote netip.Addr, route Route, units int) Decision {
	now := time.Since(l.start)
	var value []byte
	// A server without keys takes no notice of one meant for another.
	if l.cfg.KeysFile != "" || l.cfg.RequireKey {
		if value = header(HeaderKey); len(value) == 0 {
			value = header(HeaderKeySDK)
		}
	}
	if len(value) > 0 {
		k := l.find(value)
		switch {
		case k != nil && k.permits(&route):
			return l.take(Client{key: k}, now, 1, units, route.Probe)
		case route.Public:
		case k == nil:
			l.unknownKey.Inc()
			return Decision{Status: statusUnauthorized, Message: "the API key is not known"}
		default:
			l.forbidden.Inc()
			return k.refusal(&route)
		}
	} else if route.Owned {
		l.noKey.Inc()
		return Decision{Status: statusUnauthorized, Message: NeedsKey}
	} else if l.cfg.RequireKey && !route.Public {
		l.noKey.Inc()
		return Decision{Status: statusUnauthorized, Message: "an API key is required, in the header x-service-api-key"}
	}
	return l.take(Client{addr: l.client(header, remote)}, now, 1, units, route.Probe)
}

// RequiresKey reports whether requests without a key are refused. A nil Limiter refuses
// none.
func (l *Limiter) RequiresKey() bool { return l != nil && l.cfg.RequireKey }

// HasKeys reports whether there is a keys file.
func (l *Limiter) HasKeys() bool { return l != nil && l.keys != nil }

// Knows reports whether a key is in the keys file and not disabled.
func (l *Limiter) Knows(value string) bool {
	if l == nil {
		return false
	}
	k := l.find([]byte(value))
	return k != nil && !k.disabled
}

// Charge takes units for what follows on a request that was admitted. False means
// that there are too few; after wait there would be enough. A nil Limiter has no
// rates.
func (l *Limiter) Charge(c Client, units int) (wait time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	if !l.cfg.NoLimit {
		p := l.purseOf(c)
		if wait = p.take(time.Since(l.start), int64(units)); wait > 0 {
			l.limited.Inc()
			return wait, false
		}
	}
	c.used(0, units)
	return 0, true
}

// Owe takes units for what was done already, also if there are too few: the client waits
// that much longer. Fewer than none are given back. A nil Limiter has no rates.
func (l *Limiter) Owe(c Client, units int) {
	if l == nil || units == 0 {
		return
	}
	if !l.cfg.NoLimit {
		p := l.purseOf(c)
		p.owe(time.Since(l.start), int64(units))
	}
	c.used(0, units)
}

// State returns what a client has left, as a decision that allows.
func (l *Limiter) State(c Client) Decision {
	d := l.decision(c)
	if l != nil && !l.cfg.NoLimit {
		p := l.purseOf(c)
		d.Limited, d.Limit, d.PerMinute = true, p.burst(), p.rates[0].perMinute
		d.Remaining, d.Reset = p.left(time.Since(l.start))
	}
	return d
}

// More takes units that a request which was admitted costs beyond those that it has paid, or
// refuses it. A nil Limiter has no rates.
func (l *Limiter) More(c Client, paid, units int) Decision {
	if l == nil || units <= 0 {
		return Decision{Allow: true, Client: c}
	}
	if d, most := l.decision(c), l.Most(c); int64(paid+units) > most {
		l.limited.Inc()
		return d.above(paid+units, most)
	}
	return l.take(c, time.Since(l.start), 0, units, false)
}

// Most returns how many units a client may use at once. What costs more is never taken.
func (l *Limiter) Most(c Client) int64 {
	if l == nil || l.cfg.NoLimit {
		return math.MaxInt64
	}
	if c.key != nil {
		return c.key.tier.rate.burst
	}
	return l.rate.burst
}

// decision returns one that allows a client's request.
func (l *Limiter) decision(c Client) Decision {
	d := Decision{Allow: true, Client: c}
	if c.key != nil {
		d.Tier = c.key.tier.name
	}
	return d
}

// above makes it that of a request that no wait makes possible.
func (d Decision) above(units int, most int64) Decision {
	d.Allow, d.Status = false, statusBadRequest
	d.Message = fmt.Sprintf("the request costs %d compute units, and the largest that is taken costs %d: ask for less at a time", units, most)
	return d
}

// used counts what was admitted.
func (c Client) used(requests, units int) {
	if c.key != nil {
		c.key.used.add(requests, units)
	}
}

// perKey adds the metrics of single keys. Keys of one name are counted together.
func (l *Limiter) perKey() {
	add := func(name, help string, of func(*usage) uint64) {
		l.cfg.Metrics.Counters(name, help, []string{"key"}, func(emit func(float64, ...string)) {
			sums := make(map[string]uint64)
			for _, k := range l.keys.Get().keys {
				sums[k.id] += of(k.used)
			}
			for id, n := range sums {
				emit(float64(n), id)
			}
		})
	}
	add("quorate_limit_key_requests_total", "Requests admitted with an API key, by its name.", func(u *usage) uint64 { return u.requests.Load() })
	add("quorate_limit_key_units_total", "Compute units of requests admitted with an API key, by its name.", func(u *usage) uint64 { return u.units.Load() })
}

func (l *Limiter) take(c Client, now time.Duration, requests, units int, always bool) Decision {
	d := l.decision(c)
	if l.cfg.NoLimit {
		c.used(requests, units)
		return d
	}
	p := l.purseOf(c)
	if int64(units) > p.burst() && !always {
		l.limited.Inc()
		return d.above(units, p.burst())
	}
	d.RetryAfter = p.take(now, int64(units))
	d.Limited, d.Limit, d.PerMinute = true, p.burst(), p.rates[0].perMinute
	d.Remaining, d.Reset = p.left(now)
	if d.RetryAfter <= 0 || always {
		d.RetryAfter = 0
		c.used(requests, units)
		return d
	}
	l.limited.Inc()
	d.Allow, d.Status = false, statusTooManyRequests
	d.Message = "the rate limit of this API key is reached"
	if c.key == nil {
		d.Message = "the rate limit of clients without an API key is reached"
	}
	return d
}
