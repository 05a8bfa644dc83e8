package webhook

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// reserved are addresses that are nobody's on the internet, or that lead to others that
// are not, besides those that [netip.Addr] knows.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carriers' own
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"), // IPv4 in IPv6
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // IPv4 in IPv6
	netip.MustParsePrefix("fec0::/10"),
}

// isPublic reports whether an address is one of the internet.
func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// control refuses a connection to an address that is not public. It sees the address
// that is connected to, whatever a name meant before.
func control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	if !isPublic(at.Addr()) {
		return fmt.Errorf("%w: %s is not an address of the internet", ErrURL, at.Addr())
	}
	return nil
}

// CheckURL says why nothing can be delivered to an address, as far as it shows.
func CheckURL(text string, private bool) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fmt.Errorf("%w: it is no URL", ErrURL)
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("%w: it must begin with https:// or http://", ErrURL)
	case u.Hostname() == "" || u.Opaque != "":
		return fmt.Errorf("%w: it names no host", ErrURL)
	case u.User != nil:
		return fmt.Errorf("%w: it must not have a user or a password", ErrURL)
	case len(text) > 2048:
		return fmt.Errorf("%w: it is longer than 2,048 bytes", ErrURL)
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !private && !isPublic(a) {
		return fmt.Errorf("%w: %s is not an address of the internet", ErrURL, a)
	}
	return nil
}

// newClient returns what delivers. private lets it connect to any address.
func newClient(private bool, timeout time.Duration) *http.Client {
	d := &net.Dialer{Timeout: timeout / 2}
	if !private {
		d.Control = control
	}
	return &http.Client{
		Timeout: timeout,
		// A redirect could lead anywhere, and its target was never named by the client.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:               nil, // its address is not the receiver's
			DialContext:         d.DialContext,
			TLSHandshakeTimeout: timeout / 2, ResponseHeaderTimeout: timeout, IdleConnTimeout: time.Minute,
			MaxIdleConns: 256, MaxIdleConnsPerHost: 2, MaxResponseHeaderBytes: 16 << 10,
			DisableCompression: true,
		},
	}
}
