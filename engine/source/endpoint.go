package source

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"quorate/internal/hostport"
)

// Endpoint is the address of a node with the credentials that it asks for: user
// and password, query parameters, headers. Hosted nodes put keys in each of them,
// and in the path.
//
// Printing an Endpoint in any way shows scheme and host alone. Its fields are
// behind a pointer, so that printing a struct that holds one shows no more.
// The zero value is no address.
type Endpoint struct{ p *endpoint }

type endpoint struct {
	scheme, host string // host with its port, if one was given
	path         string // as given
	query        string // as given, without the question mark
	header       []headerField
	secrets      []string // what must not be shown, the longest first
}

type headerField struct{ name, value string }

// errEndpoint does not quote the address: it may hold a password.
var errEndpoint = errors.New("a node's address is not of the form http://HOST:PORT")

// ParseEndpoint reads an address, for example https://USER:PASSWORD@HOST/PATH?token=KEY.
// User and password become a header of basic authentication. No error holds any
// part of the address but its host.
func ParseEndpoint(raw string) (Endpoint, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || !validPort(u.Port()) {
		if _, _, err := hostport.Split(raw); err == nil { // which has no room for a password
			return Endpoint{}, fmt.Errorf("%w; did you mean http://%s?", errEndpoint, raw)
		}
		return Endpoint{}, errEndpoint
	}
	if u.Fragment != "" {
		return Endpoint{}, fmt.Errorf("the address of node %s has a fragment", u.Host)
	}
	p := &endpoint{scheme: u.Scheme, host: u.Host, path: u.EscapedPath(), query: u.RawQuery}
	for _, values := range u.Query() {
		p.conceal(values...)
	}
	// As written too: that is how a node would send them back.
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if _, value, ok := strings.Cut(pair, "="); ok {
			p.conceal(value)
		} else {
			p.conceal(pair)
		}
	}
	// What follows /ext/ is a node's own path, whose IDs are also in answers.
	prefix, _, _ := strings.Cut(u.Path, "/ext/")
	for segment := range strings.SplitSeq(prefix, "/") {
		if len(segment) >= minPathSecret {
			p.conceal(segment)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		both := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
		p.conceal(u.User.Username(), password, both)
		p.header = append(p.header, headerField{"Authorization", "Basic " + both})
	}
	return Endpoint{p}, nil
}

// validPort reports whether an address can have that port, or none.
func validPort(port string) bool {
	_, err := hostport.Port(port)
	return port == "" || err == nil
}

// ParseWebSocket reads the address of a WebSocket, ws://HOST:PORT/PATH.
func ParseWebSocket(raw string) (Endpoint, error) {
	rest, ok := strings.CutPrefix(raw, "ws")
	if !ok {
		return Endpoint{}, errors.New("a WebSocket's address is not of the form ws://HOST:PORT/PATH")
	}
	return ParseEndpoint("http" + rest)
}

// ParseEndpoints reads the addresses of several nodes, each for all that the node has.
func ParseEndpoints(raw ...string) ([]Endpoint, error) {
	out := make([]Endpoint, len(raw))
	for i, s := range raw {
		var err error
		if out[i], err = ParseEndpoint(s); err != nil {
			return nil, err
		}
		if path := out[i].p.path + "/"; strings.Contains(path, "/ext/") {
			return nil, fmt.Errorf("the address of node %s has a path of one of its APIs: leave out what begins with /ext", out[i].p.host)
		}
	}
	return out, nil
}

// ownHeaders are set by the HTTP and WebSocket clients themselves.
var ownHeaders = []string{
	"Host", "Connection", "Content-Length", "Content-Type", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Expect", "Accept-Encoding",
}

// WithHeader returns the endpoint with a header that each request to it carries.
// Errors hold the name at most.
func (e Endpoint) WithHeader(name, value string) (Endpoint, error) {
	name = textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
	value = strings.TrimSpace(value)
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return Endpoint{}, errors.New("a node header has no valid name: it is not of the form Name: value")
	case value == "" || !httpguts.ValidHeaderFieldValue(value):
		return Endpoint{}, fmt.Errorf("the node header %s has no valid value", name)
	case slices.Contains(ownHeaders, name) || strings.HasPrefix(name, "Sec-Websocket-"):
		return Endpoint{}, fmt.Errorf("the node header %s cannot be set: it belongs to the connection", name)
	}
	for _, h := range e.p.header {
		if h.name == name {
			return Endpoint{}, fmt.Errorf("the node header %s is given twice for %s (a user in the address is Authorization)", name, e)
		}
	}
	p := *e.p
	p.header = append(slices.Clip(p.header), headerField{name, value})
	p.secrets = slices.Clone(p.secrets)
	p.conceal(value)
	// The word before a token, as in "Bearer KEY", is no secret.
	if _, token, ok := strings.Cut(value, " "); ok {
		p.conceal(strings.TrimSpace(token))
	}
	return Endpoint{&p}, nil
}

// Inherit returns e with the headers of from that it has none of its own for.
func (e Endpoint) Inherit(from Endpoint) Endpoint {
	p := *e.p
	p.header, p.secrets = slices.Clone(p.header), slices.Clone(p.secrets)
	for _, h := range from.p.header {
		if !slices.ContainsFunc(p.header, func(own headerField) bool { return own.name == h.name }) {
			p.header = append(p.header, h)
		}
	}
	p.conceal(from.p.secrets...)
	return Endpoint{&p}
}

// Zero reports whether e is no address.
func (e Endpoint) Zero() bool { return e.p == nil }

// SameHost reports whether both are reached by the same scheme, host and port, so
// that what one is trusted with the other may see.
func (e Endpoint) SameHost(other Endpoint) bool {
	return e.p.scheme == other.p.scheme && strings.EqualFold(e.address(), other.address())
}

// address is host and port.
func (e Endpoint) address() string {
	u := url.URL{Host: e.p.host}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[e.p.scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// target is the address of a request for path, which is empty or begins with a slash.
func (e Endpoint) target(path string) string {
	s := e.p.scheme + "://" + e.p.host + e.At(path).p.path
	if e.p.query != "" {
		s += "?" + e.p.query
	}
	return s
}

// Sibling returns the endpoint of the same credentials whose path has suffix to in
// place of from. False means that the path does not end in from.
func (e Endpoint) Sibling(from, to string) (Endpoint, bool) {
	base, ok := strings.CutSuffix(e.p.path, from)
	if !ok {
		return Endpoint{}, false
	}
	p := *e.p
	p.path = base + to
	return Endpoint{&p}, true
}

// At returns the endpoint at path below e. A path that is not empty begins with a slash.
func (e Endpoint) At(path string) Endpoint {
	p := *e.p
	if path != "" {
		p.path = strings.TrimRight(p.path, "/") + path
	}
	return Endpoint{&p}
}

// Same reports whether both are one address, whatever the headers.
func (e Endpoint) Same(other Endpoint) bool { return e.target("") == other.target("") }

// IsNodePath reports whether the path is laid out as a node's, below /ext/bc/.
func (e Endpoint) IsNodePath() bool { return strings.Contains(e.p.path, "/ext/bc/") }

// HeaderNames returns the names of the headers that requests carry, in order.
func (e Endpoint) HeaderNames() []string {
	names := make([]string, 0, len(e.p.header))
	for _, h := range e.p.header {
		names = append(names, h.name)
	}
	slices.Sort(names)
	return names
}

// dialTarget returns the address of the WebSocket at e and the headers to open it
// with.
func (e Endpoint) dialTarget() (target string, header http.Header) {
	header = make(http.Header)
	for _, h := range e.p.header {
		header.Set(h.name, h.value)
	}
	return "ws" + strings.TrimPrefix(e.target(""), "http"), header
}

// String returns scheme and host: what may be shown.
func (e Endpoint) String() string {
	if e.p == nil {
		return "no address"
	}
	s := e.p.scheme + "://" + e.p.host
	if strings.Trim(e.p.path, "/") != "" {
		s += "/..."
	}
	return s
}

// GoString is String, for %#v.
func (e Endpoint) GoString() string { return e.String() }

// MarshalText is String, for encoders and logs.
func (e Endpoint) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

const (
	// minSecret is the length, in bytes, from which a credential is taken out of
	// texts: shorter ones would be found in words that have nothing to do with them.
	minSecret = 4
	// minDataSecret is the same for the data that a node answers with, where an
	// address or a hash must not be damaged.
	minDataSecret = 12
	// minPathSecret is the length from which a part of the path may be a key.
	minPathSecret = 16
)

// conceal adds secrets.
func (p *endpoint) conceal(secrets ...string) {
	for _, s := range secrets {
		if len(s) >= minSecret && !slices.Contains(p.secrets, s) {
			p.secrets = append(p.secrets, s)
		}
	}
	slices.SortStableFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
}

const redacted = "[redacted]"

// scrub returns text without the secrets of at least least bytes. It copies only
// if there is one.
func (e Endpoint) scrub(text []byte, least int) []byte {
	for _, s := range e.p.secrets {
		if len(s) >= least && bytes.Contains(text, []byte(s)) {
			text = bytes.ReplaceAll(text, []byte(s), []byte(redacted))
		}
	}
	return text
}

// Clean returns err with a text that has none of the credentials; what it wraps
// stays. Libraries put addresses in their errors, and nodes send back what they
// were asked with.
func (e Endpoint) Clean(err error) error {
	if err == nil || e.p == nil {
		return err
	}
	text := err.Error()
	clean := string(e.scrub([]byte(text), minSecret))
	if clean == text {
		return err
	}
	return &cleaned{clean, err}
}

// cleaned is an error whose own text must not be shown.
type cleaned struct {
	text string
	err  error
}

func (c *cleaned) Error() string { return c.text }

// Is and As look into the error without giving it out: its text has secrets.
func (c *cleaned) Is(target error) bool { return errors.Is(c.err, target) }

// As implements errors.As.
func (c *cleaned) As(target any) bool { return errors.As(c.err, target) }
