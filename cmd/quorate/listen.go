package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"quorate/httpapi"
	"quorate/httpapi/door"
	"quorate/httpapi/reload"
	"quorate/internal/hostport"
)

// defaultAdmin is where operators are served when the server is public.
const defaultAdmin = "127.0.0.1:9751"

// noOrigin as --cors-origins lets no page in.
const noOrigin = "none"

// noAdmin as --admin-addr serves operators nowhere.
const noAdmin = "none"

// listenFlags are the flags of quorate serve about who can reach it and how.
type listenFlags struct {
	host, admin       string
	port              int
	cert, key         string
	origins           []string
	conns, connsPerIP int
}

func (f *listenFlags) add(flags, limits *pflag.FlagSet) {
	flags.StringVar(&f.host, "http-host", "127.0.0.1", "address to listen on")
	flags.IntVar(&f.port, "http-port", 9750, "port to listen on; 0 takes a free one")
	flags.StringVar(&f.admin, "admin-addr", "", "address HOST:PORT for operators alone: all of /ext, metrics, health in full, their pages, and what clients are served; none for nowhere "+
		"(default the same port as all else while only this machine can connect to it, otherwise "+defaultAdmin+")")
	flags.StringVar(&f.cert, "tls-cert", "", "file of a certificate chain in PEM to serve HTTPS with, read again when it changes")
	flags.StringVar(&f.key, "tls-key", "", "file of its key in PEM")
	flags.StringSliceVar(&f.origins, "cors-origins", []string{"*"}, "origins whose web pages may use the data API, signing and chain RPC, such as https://example.com; * for all, none for none")
	limits.IntVar(&f.conns, "max-conns", 4096, "most open connections; further ones take the place of those that wait longest for their client")
	limits.IntVar(&f.connsPerIP, "max-conns-per-ip", 256, "most open connections from one address, but for this machine and --trusted-proxies")
}

func (f *listenFlags) check() error {
	var err error
	if f.host, err = hostport.Host(f.host); err != nil {
		return fmt.Errorf("--http-host: %w", err)
	}
	switch {
	case f.port < 0 || f.port > 65535:
		return fmt.Errorf("--http-port %d is not a port", f.port)
	case (f.cert == "") != (f.key == ""):
		return errors.New("--tls-cert and --tls-key need each other")
	case f.conns < 1 || f.connsPerIP < 1:
		return errors.New("limits.max-conns and limits.max-conns-per-ip must be at least 1")
	}
	if f.admin != "" && f.admin != noAdmin {
		if _, _, err := hostport.Split(f.admin); err != nil {
			return fmt.Errorf("--admin-addr: %w", err)
		}
	}
	for _, o := range f.origins {
		if u, err := url.Parse(o); o != "*" && o != noOrigin && o != "null" && (err != nil || u.Host == "" || u.Scheme+"://"+u.Host != o) {
			return fmt.Errorf("--cors-origins: %q is not of the form https://HOST", o)
		}
	}
	return nil
}

// adminAddr returns where operators are served apart from clients, empty for
// nowhere apart, and whether the listener for clients serves operators too.
func (f *listenFlags) adminAddr() (addr string, shared bool) {
	switch {
	case f.admin == noAdmin:
		return "", false
	case f.admin != "":
		return f.admin, false
	case onlyThisMachine(f.host):
		return "", true
	}
	return defaultAdmin, false
}

// onlyThisMachine reports whether no other machine can connect to a host.
func onlyThisMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
}

// doors are the open listeners.
type doors struct {
	listeners []net.Listener
	addr      net.Addr // of the one for clients
	scheme    string
	reload    func() error // reads the certificate again
}

// bind listens at the address that flags name.
func bind(flags, addr string) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err == nil {
		return ln, nil
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without the address, which is there already
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = fmt.Errorf("%w: stop what uses it, or choose another", err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		err = fmt.Errorf("%w: this machine does not have it", err)
	}
	return nil, fmt.Errorf("%s: cannot listen at %s: %w", flags, addr, err)
}

// open binds the listeners.
func (f *listenFlags) open(log *slog.Logger) (_ *doors, err error) {
	d := &doors{scheme: "http", reload: func() error { return nil }}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	ln, err := bind("--http-host and --http-port", net.JoinHostPort(f.host, strconv.Itoa(f.port)))
	if err != nil {
		return nil, err
	}
	admin, shared := f.adminAddr()
	scope := door.ForClients
	if shared {
		scope = door.All
	}
	d.addr, d.listeners = ln.Addr(), append(d.listeners, httpapi.Listener{Listener: ln, Scope: scope})
	if f.cert != "" {
		cfg, certificate, err := reload.OpenTLS(f.cert, f.key, log)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
		}
		d.scheme, d.reload = "https", certificate.Reload
		d.listeners[0] = httpapi.Listener{Listener: tls.NewListener(ln, cfg), Scope: scope}
	}
	if admin == "" {
		return d, nil
	}
	if ln, err = bind("--admin-addr", admin); err != nil {
		return nil, err
	}
	d.listeners = append(d.listeners, httpapi.Listener{Listener: ln, Scope: door.ForOperators})
	log.Info("operators are served at an address of their own", "addr", ln.Addr().String())
	return d, nil
}

// Close closes the listeners that no server has taken over.
func (d *doors) Close() error {
	var errs []error
	for _, ln := range d.listeners {
		errs = append(errs, ln.Close())
	}
	return errors.Join(errs...)
}

// URL returns the same as they write it, as far as this machine knows.
func (d *doors) URL() string {
	return d.scheme + strings.TrimPrefix(clientURL(d.addr, net.InterfaceAddrs), "http")
}

// configure sets what the HTTP server lets in.
func (f *listenFlags) configure(cfg *httpapi.Config, limits *limitFlags) error {
	proxies, err := limits.prefixes()
	cfg.MaxConns, cfg.MaxConnsPerClient = f.conns, f.connsPerIP
	cfg.Uncapped = append(httpapi.Loopback(), proxies...)
	for _, o := range f.origins {
		if o != noOrigin {
			cfg.Origins = append(cfg.Origins, o)
		}
	}
	return err
}

// reloadFiles returns what reads again all files that the HTTP server goes by: the
// certificate, API keys, and what is in no block.
func reloadFiles(cfg *httpapi.Config, d *doors) func() error {
	return func() error {
		errs := []error{d.reload()}
		read := map[any]bool{} // several may be of one file
		for _, of := range []any{cfg.Limits, cfg.Prices, cfg.Reputation, cfg.NFTMetadata, cfg.Logos, cfg.Methods} {
			if r, ok := of.(interface{ Reload() error }); ok && !read[of] {
				read[of] = true
				errs = append(errs, r.Reload())
			}
		}
		return errors.Join(errs...)
	}
}
