package door

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/limit"
)

// maxParams bounds the parameters of one pattern.
const maxParams = 4

// Handler answers one request. p aliases the request.
type Handler func(ctx *fasthttp.RequestCtx, p Params)

// Pattern is what is served at one pattern of paths.
type Pattern struct {
	Pattern string
	Params  []string
	Access  Access
	Methods []Endpoint
	Allow   string // value of the Allow header
	Stats   *RouteStats
}

// Endpoint is a line of the table with its handler.
type Endpoint struct {
	*Route
	Handle Handler
}

// Method returns the endpoint for a method, or nil. HEAD is GET without the body,
// which the server leaves out itself.
func (r *Pattern) Method(m []byte) *Endpoint {
	if string(m) == fasthttp.MethodHead {
		m = []byte(fasthttp.MethodGet)
	}
	for i := range r.Methods {
		if want := r.Methods[i].Method; want == "" || want == string(m) {
			return &r.Methods[i]
		}
	}
	return nil
}

// Params are the values of a pattern's parameters, percent-decoded, and who sent
// the request.
type Params struct {
	names  []string
	Values [maxParams][]byte
	Client limit.Client
	Paid   int   // units that were taken for the request
	Scope  Scope // of the listener
	Kept   any   // the answer, if it is a page that is kept
	// Waiting: of the request only its header is there (beforeBody).
	Waiting bool
	// Forwarded: another server of the fleet has admitted and charged the request.
	Forwarded bool
}

// Get returns the value of a parameter of the route's pattern.
func (p *Params) Get(name string) []byte {
	for i, n := range p.names {
		if n == name {
			return p.Values[i]
		}
	}
	return nil
}

// Router finds routes by the segments of a path. It does not change after newRouter.
type Router struct{ root node }

type node struct {
	literal map[string]*node
	param   *node
	verbs   map[string]*node // parameters with a verb behind them, such as :reindex
	route   *Pattern         // nil if no pattern ends here
	rest    *Pattern         // of the pattern that ends here with a star; nil if there is none
}

// NewRouter builds the tree of the endpoints; stats makes the metrics of a pattern.
func NewRouter(endpoints []Endpoint, stats func(pattern string) *RouteStats) (*Router, error) {
	r := &Router{}
	for _, e := range endpoints {
		if err := r.add(e, stats); err != nil {
			return nil, fmt.Errorf("route %s %s: %w", e.Method, e.Pattern, err)
		}
	}
	return r, nil
}

func (r *Router) add(e Endpoint, stats func(string) *RouteStats) error {
	path, ok := strings.CutPrefix(e.Pattern, "/")
	if !ok {
		return fmt.Errorf("pattern does not start with a slash")
	}
	n := &r.root
	if path == "" {
		return n.serve(e, nil, false, stats)
	}
	starred := false
	var names []string
	for seg := range strings.SplitSeq(path, "/") {
		name, isParam := strings.CutPrefix(seg, "{")
		switch {
		case seg == "":
			return fmt.Errorf("pattern has an empty segment")
		case starred:
			return fmt.Errorf("something follows the star")
		case seg == "*":
			starred = true

		case isParam:
			name, verb, _ := strings.Cut(name, "}")
			if names = append(names, name); len(names) > maxParams {
				return fmt.Errorf("more than %d parameters", maxParams)
			}
			n = n.parameter(verb)
		default:
			if n.literal == nil {
				n.literal = make(map[string]*node)
			}
			if n.literal[seg] == nil {
				n.literal[seg] = &node{}
			}
			n = n.literal[seg]
		}
	}
	return n.serve(e, names, starred, stats)
}

// serve adds what is served where a pattern ends, with a star or without.
func (n *node) serve(e Endpoint, names []string, starred bool, stats func(string) *RouteStats) error {
	rt := &n.route
	if starred {
		rt = &n.rest
	}
	if *rt == nil {
		*rt = &Pattern{Pattern: e.Pattern, Access: e.Access, Params: names, Stats: stats(e.Pattern)}
	}
	return (*rt).add(e)
}

// parameter returns the node of a parameter, with a verb behind it if that is not empty.
func (n *node) parameter(verb string) *node {
	if verb == "" {
		if n.param == nil {
			n.param = &node{}
		}
		return n.param
	}
	if n.verbs == nil {
		n.verbs = make(map[string]*node)
	}
	if n.verbs[verb] == nil {
		n.verbs[verb] = &node{}
	}
	return n.verbs[verb]
}

func (r *Pattern) add(e Endpoint) error {
	if r.Pattern != e.Pattern {
		return fmt.Errorf("same paths as %s", r.Pattern)
	}
	if r.Access != e.Access {
		return fmt.Errorf("its methods are on different listeners")
	}
	if r.Method([]byte(e.Method)) != nil {
		return fmt.Errorf("defined twice")
	}
	r.Methods = append(r.Methods, e)
	allow := make([]string, 0, len(r.Methods)+2)
	for _, m := range r.Methods {
		switch m.Method {
		case "": // its handler knows
			allow = append(allow, fasthttp.MethodGet, fasthttp.MethodHead, fasthttp.MethodPost)
		case fasthttp.MethodGet:
			allow = append(allow, fasthttp.MethodGet, fasthttp.MethodHead)
		default:
			allow = append(allow, m.Method)
		}
	}
	r.Allow = strings.Join(append(allow, fasthttp.MethodOptions), ", ")
	return nil
}

// Find returns the route of a path as it was sent, not decoded, so that an encoded
// slash does not separate. A literal segment goes before a parameter, and one with a verb
// before one without. Nil means
// that there is none; a trailing or doubled slash is part of no route but of those
// with a star.
func (r *Router) Find(path []byte) (*Pattern, Params) {
	var p Params
	if len(path) == 0 || path[0] != '/' {
		return nil, p
	}
	if len(path) == 1 {
		return r.root.route, p
	}
	rt := r.root.find(path[1:], &p, 0)
	if rt != nil {
		p.names = rt.Params
	}
	return rt, p
}

// find visits each node of the tree at most once: the table bounds its work.
func (n *node) find(path []byte, p *Params, depth int) *Pattern {
	seg, rest, more := bytes.Cut(path, Slash)
	seg, ok := Unescape(seg)
	if !ok || len(seg) == 0 {
		return n.rest
	}
	if next := n.literal[string(seg)]; next != nil {
		if rt := next.end(rest, more, p, depth); rt != nil {
			return rt
		}
	}
	if i := bytes.LastIndexByte(seg, ':'); i > 0 && n.verbs != nil && depth < maxParams {
		if next := n.verbs[string(seg[i:])]; next != nil {
			p.Values[depth] = seg[:i]
			if rt := next.end(rest, more, p, depth+1); rt != nil {
				return rt
			}
		}
	}
	if n.param != nil && depth < maxParams {
		p.Values[depth] = seg
		if rt := n.param.end(rest, more, p, depth+1); rt != nil {
			return rt
		}
	}
	return n.rest
}

func (n *node) end(rest []byte, more bool, p *Params, depth int) *Pattern {
	switch {
	case more:
		return n.find(rest, p, depth)
	case n.route != nil:
		return n.route
	}
	return n.rest
}

var Slash = []byte("/")

// Unescape decodes %XX in a path segment. Without any, it returns seg itself.
func Unescape(seg []byte) ([]byte, bool) {
	if bytes.IndexByte(seg, '%') < 0 {
		return seg, true
	}
	out := make([]byte, 0, len(seg))
	for i := 0; i < len(seg); i++ {
		if seg[i] != '%' {
			out = append(out, seg[i])
			continue
		}
		if i+2 >= len(seg) {
			return nil, false
		}
		hi, lo := HexDigit(seg[i+1]), HexDigit(seg[i+2])
		if hi|lo > 15 {
			return nil, false
		}
		out = append(out, hi<<4|lo)
		i += 2
	}
	return out, true
}

// HexDigit returns the value of a hex digit, 0xff for any other character.
func HexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
