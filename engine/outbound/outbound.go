package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/net/idna"

	"quorate/internal/hostport"
)

// ErrRefused is wrapped by the errors of addresses that nothing is sent to.
var ErrRefused = errors.New("nothing is sent there")

// MaxURL bounds an address.
const MaxURL = 2048

// Config says what a client may reach. The zero value reaches every port of the internet,
// by HTTP and HTTPS, and follows no redirect.
type Config struct {
	// Private allows addresses that are not of the internet.
	Private bool
	// Trusted is the address of a server that may be anywhere, at its port alone, and so
	// may those below its name. The operator has named it.
	Trusted *url.URL
	// Ports and Schemes are the only ones allowed but for Trusted; empty: any port, http
	// and https.
	Ports   []uint16
	Schemes []string
	// Redirects is how many are followed. Without any an answer that redirects is returned.
	Redirects int
	// Timeout bounds a request with all its redirects and the reading of its answer.
	// Default 10 s.
	Timeout time.Duration
	// PerHost bounds the connections to one host; 0 does not.
	PerHost int

	// lookup and public stand in for the resolver and for the rule in tests.
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)
	public func(a netip.Addr) error
}

// internet knows which addresses are the internet's. Ports are the client's own rule.
var internet = ssrf.New(ssrf.WithAnyPort())

// CheckAddr says why nothing is sent to an address that a stranger has named; nil for one
// of the internet.
func CheckAddr(a netip.Addr) error {
	if a = a.Unmap(); a.Zone() != "" {
		return fmt.Errorf("%w: %s is of one link alone", ErrRefused, a)
	}
	if internet.SafeAddr(a) != nil {
		return fmt.Errorf("%w: %s is not an address of the internet", ErrRefused, a)
	}
	return nil
}

// Check says why nothing is sent to an address, as far as it shows before its host is
// looked up.
func (c *Config) Check(u *url.URL) error {
	schemes := c.Schemes
	if len(schemes) == 0 {
		schemes = []string{"https", "http"}
	}
	host := u.Hostname()
	switch {
	case !slices.Contains(schemes, u.Scheme) && (defaultPorts[u.Scheme] == "" || !c.trusts(hostPort(u))):
		return fmt.Errorf("%w: the address must begin with %s://", ErrRefused, strings.Join(schemes, ":// or "))
	case host == "" || u.Opaque != "":
		return fmt.Errorf("%w: the address names no host", ErrRefused)
	case u.User != nil:
		return fmt.Errorf("%w: the address must not have a user or a password", ErrRefused)
	case c.trusts(hostPort(u)):
		return nil
	}
	port := cmp.Or(u.Port(), defaultPorts[u.Scheme])
	if err := c.checkPort(port); err != nil {
		return err
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return c.checkAddr(a)
	}
	if hostport.EndsInNumber(host) && !c.Private {
		return fmt.Errorf("%w: %s is not how an address is written", ErrRefused, host)
	}
	return nil
}

// CheckText does the same for an address that was not parsed yet.
func (c *Config) CheckText(text string) error {
	if len(text) > MaxURL {
		return fmt.Errorf("%w: the address is longer than %d bytes", ErrRefused, MaxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%w: it is no URL", ErrRefused)
	}
	return c.Check(u)
}

// lookupTime bounds the look at a name before anything is sent to it.
const lookupTime = 2 * time.Second

// CheckHost does what Check does, and looks the host up: one that does not exist, or has no
// address of the internet, is refused at once. What cannot be looked up now is left to the
// connection, which checks it in any case.
func (c *Config) CheckHost(ctx context.Context, u *url.URL) error {
	if err := c.Check(u); err != nil || c.Private || c.trusts(hostPort(u)) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	list, err := c.resolve(ctx, u.Hostname())
	var missing *net.DNSError
	switch {
	case errors.As(err, &missing) && missing.IsNotFound:
		return fmt.Errorf("%w: the host %s does not exist", ErrRefused, u.Hostname())
	case errors.Is(err, ErrRefused):
		return err
	}
	err = nil
	for _, a := range list {
		if err = c.checkAddr(a); err == nil {
			return nil
		}
	}
	return err
}

func (c *Config) checkPort(port string) error {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("%w: %q is no port", ErrRefused, port)
	}
	if len(c.Ports) > 0 && !slices.Contains(c.Ports, uint16(n)) {
		return fmt.Errorf("%w: port %d is not allowed", ErrRefused, n)
	}
	return nil
}

func (c *Config) checkAddr(a netip.Addr) error {
	switch {
	case c.Private:
		return nil
	case c.public != nil:
		return c.public(a)
	}
	return CheckAddr(a)
}

// trusts reports whether a host and its port are trusted or below those that are.
func (c *Config) trusts(host, port string) bool {
	if c.Trusted == nil {
		return false
	}
	most, at := hostPort(c.Trusted)
	if port != at {
		return false
	}
	if _, err := netip.ParseAddr(most); err == nil { // no name is below it
		return host == most
	}
	return most != "" && (host == most || strings.HasSuffix(host, "."+most))
}

// defaultPorts are those of addresses without one.
var defaultPorts = map[string]string{"https": "443", "http": "80"}

// hostPort returns the host of an address and its port, in the one way they are compared.
func hostPort(u *url.URL) (host, port string) {
	return canonical(u.Hostname()), cmp.Or(u.Port(), defaultPorts[u.Scheme])
}

// canonical returns a host in the one way it is compared: a connection has it in ASCII.
func canonical(host string) string {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.String()
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	return strings.ToLower(host)
}

// New returns a client. One with a trusted host must not be used for addresses of
// strangers, as it keeps its connections to that host.
func New(cfg Config) *http.Client {
	cfg.Timeout = cmp.Or(cfg.Timeout, 10*time.Second)
	return &http.Client{
		Timeout:       cfg.Timeout,
		CheckRedirect: cfg.redirect,
		Transport: &http.Transport{
			Proxy:               nil, // its address is not the one that was checked
			DialContext:         cfg.dial,
			TLSHandshakeTimeout: cfg.Timeout / 2, ResponseHeaderTimeout: cfg.Timeout, IdleConnTimeout: time.Minute,
			MaxIdleConns: 256, MaxIdleConnsPerHost: 2, MaxConnsPerHost: cfg.PerHost, MaxResponseHeaderBytes: 16 << 10,
			DisableCompression: true, // HTTP/2 is off, as DialContext is set
		},
	}
}

// redirect checks where an answer leads.
func (c *Config) redirect(req *http.Request, via []*http.Request) error {
	if c.Redirects == 0 {
		return http.ErrUseLastResponse
	}
	if len(via) > c.Redirects {
		return fmt.Errorf("%w: it redirects more than %d times", ErrRefused, c.Redirects)
	}
	req.Header.Del("Referer") // an address may be a secret
	if len(req.URL.String()) > MaxURL {
		return fmt.Errorf("%w: a redirect is longer than %d bytes", ErrRefused, MaxURL)
	}
	return c.Check(req.URL)
}

// dial looks a host up once, and connects to the first of the addresses that may be
// connected to and answers.
func (c *Config) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	d := &net.Dialer{Timeout: c.Timeout / 2}
	trusted := c.trusts(canonical(host), port)
	if !trusted {
		if err := c.checkPort(port); err != nil {
			return nil, err
		}
		// The last look, at the socket's own address.
		d.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrRefused, err)
			}
			return c.checkAddr(at.Addr())
		}
	}
	list, err := c.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range list {
		if !trusted {
			if err := c.checkAddr(a); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		conn, err := d.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// maxAddresses bounds the addresses of a name that are tried.
const maxAddresses = 4

func (c *Config) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout/2)
		defer cancel()
	}
	lookup := c.lookup
	if lookup == nil {
		lookup = net.DefaultResolver.LookupNetIP
	}
	list, err := lookup(ctx, "ip", host)
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w: %s has no address", ErrRefused, host)
	}
	return list[:min(len(list), maxAddresses)], err
}
