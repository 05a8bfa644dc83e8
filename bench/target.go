package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"
)

// target answers requests: a server, or what stands in for one in tests.
type target interface {
	// ask asks for one item. It gives what went wrong as a short text that is the
	// same for errors of one kind, or "". answered is false if there was no answer at all.
	ask(ctx context.Context, item string) (kind string, answered bool)
	close()
}

// form is how items are asked for over HTTP.
type form interface {
	// request fills in an empty request to the server at base.
	request(req *fasthttp.Request, base, item string)
	// kind returns what is wrong with an answer as a short text, or "".
	kind(item string, status int, body []byte) string
}

// maxAnswer bounds an answer in bytes.
const maxAnswer = 4 << 20

// server is a target reached by HTTP.
type server struct {
	load   *Load
	form   form
	base   string
	client *fasthttp.HostClient
	dialer net.Dialer

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]struct{}
	cut   bool
}

// newServer resolves the address once, so that what was checked is what is dialed.
func newServer(ctx context.Context, load *Load, address string, how form) (*server, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%w: %q is not of the form http://HOST:PORT", ErrConfig, address)
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	ips, err := (&net.Resolver{}).LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	ip := pick(ips, load.AllowRemote)
	if !ip.IsValid() {
		return nil, fmt.Errorf("%w: %s is not on this machine's loopback; load on a server is an attack unless it is yours, so others must be allowed with --allow-remote", ErrConfig, u.Host)
	}
	s := &server{load: load, form: how, base: strings.TrimSuffix(address, "/"), dialer: net.Dialer{Timeout: load.Timeout}, conns: make(map[net.Conn]struct{})}
	addr := net.JoinHostPort(ip.String(), port)
	s.client = &fasthttp.HostClient{
		Addr: addr, MaxConns: load.Concurrency, NoDefaultUserAgentHeader: true,
		MaxIdleConnDuration: time.Minute, MaxResponseBodySize: maxAnswer, ReadBufferSize: 8 << 10,
		// A request that is sent twice would be measured as one.
		RetryIfErr: func(*fasthttp.Request, int, error) (bool, bool) { return false, false },
		Dial:       func(string) (net.Conn, error) { return s.dial(addr) },
	}
	return s, nil
}

// pick returns the first address that may be loaded, IPv4 first.
func pick(ips []netip.Addr, remote bool) (best netip.Addr) {
	for _, ip := range ips {
		ip = ip.Unmap()
		if (remote || ip.IsLoopback()) && (!best.IsValid() || ip.Is4() && !best.Is4()) {
			best = ip
		}
	}
	return best
}

func (s *server) dial(addr string) (net.Conn, error) {
	conn, err := s.dialer.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut {
		return nil, errors.Join(net.ErrClosed, conn.Close())
	}
	c := &trackedConn{Conn: conn, of: s}
	s.conns[c] = struct{}{}
	return c, nil
}

// trackedConn is a connection that can be cut when the run is given up.
type trackedConn struct {
	net.Conn
	of *server
}

func (c *trackedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.conns, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// close cuts all connections, so that requests in flight fail at once, and
// refuses new ones.
func (s *server) close() {
	s.mu.Lock()
	s.cut = true
	var open []net.Conn
	for c := range s.conns {
		open = append(open, c)
	}
	s.mu.Unlock()
	for _, c := range open {
		_ = c.Close() // it is of no use to anyone any more
	}
}

func (s *server) ask(_ context.Context, item string) (kind string, answered bool) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	s.form.request(req, s.base, item)
	if err := s.client.DoTimeout(req, resp, s.load.Timeout); err != nil {
		return failureKind(err), false
	}
	return s.form.kind(item, resp.StatusCode(), resp.Body()), true
}

// failureKind names an error without an answer. Addresses and ports are left out.
func failureKind(err error) string {
	var op *net.OpError
	var errno syscall.Errno
	switch {
	case errors.Is(err, fasthttp.ErrTimeout), errors.Is(err, fasthttp.ErrDialTimeout):
		return kindTimeout
	case errors.As(err, &op) && op.Timeout():
		return kindTimeout
	case errors.As(err, &op) && errors.As(err, &errno):
		return "no answer: " + op.Op + ": " + errno.Error()
	case errors.As(err, &op):
		return "no answer: " + op.Op + ": " + firstWords(op.Err.Error())
	case errors.Is(err, fasthttp.ErrConnectionClosed):
		return "no answer: connection closed"
	}
	return "no answer: " + firstWords(err.Error())
}

// Kinds of errors that have no words of their own.
const (
	kindTimeout = "no answer: timed out"
	kindUnsent  = "no answer: not sent, all connections were busy"
	kindGarbage = "wrong answer: not the signed message"
)

// errorKind names an answer with an error.
func errorKind(status int, body []byte) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + firstWords(errorText(body)))
}

// errorText returns the sentence in an error's body.
func errorText(body []byte) string {
	var e struct{ Message, Error string }
	if err := json.Unmarshal(body, &e); err != nil {
		return string(body[:min(len(body), 200)])
	}
	if e.Message != "" {
		return e.Message
	}
	return e.Error
}

// firstWords returns the start of a text: what follows a colon, or the sixth
// word, is taken to be particulars.
func firstWords(text string) string {
	text, _, _ = strings.Cut(text, ": ")
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
	text = strings.Join(words[:min(len(words), 6)], " ")
	if r := []rune(text); len(r) > 80 {
		text = string(r[:80])
	}
	return text
}
