package httpapi

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
)

// maxParams bounds the parameters of one pattern.
const maxParams = 4

// handler answers one request. p aliases the request.
type handler func(ctx *fasthttp.RequestCtx, p params)

// entry is one line of the route table. Segments of pattern are literal, such as
// "balances:getNative", or "{name}", which takes any one segment.
type entry struct {
	method, pattern string
	// units is what a request costs, in compute units; 0 is never limited.
	units  int
	handle handler
}

// route is what is served at one pattern.
type route struct {
	pattern string
	params  []string
	methods []methodHandler
	allow   string // value of the Allow header
	stats   *routeStats
}

type methodHandler struct {
	method string
	units  int
	handle handler
}

// method gives the handler for a method, or nil. HEAD is GET without the body, which
// the server leaves out itself.
func (r *route) method(m []byte) *methodHandler {
	if string(m) == fasthttp.MethodHead {
		m = []byte(fasthttp.MethodGet)
	}
	for i := range r.methods {
		if r.methods[i].method == string(m) {
			return &r.methods[i]
		}
	}
	return nil
}

// params are the values of a pattern's parameters, percent-decoded.
type params struct {
	names  []string
	values [maxParams][]byte
}

// get gives the value of a parameter of the route's pattern.
func (p *params) get(name string) []byte {
	for i, n := range p.names {
		if n == name {
			return p.values[i]
		}
	}
	return nil
}

// router finds routes by the segments of a path. It does not change after newRouter.
type router struct{ root node }

type node struct {
	literal map[string]*node
	param   *node
	route   *route // nil if no pattern ends here
}

// newRouter builds the tree of entries; stats makes the metrics of a pattern.
func newRouter(entries []entry, stats func(pattern string) *routeStats) (*router, error) {
	r := &router{}
	for _, e := range entries {
		if err := r.add(e, stats); err != nil {
			return nil, fmt.Errorf("route %s %s: %w", e.method, e.pattern, err)
		}
	}
	return r, nil
}

func (r *router) add(e entry, stats func(string) *routeStats) error {
	path, ok := strings.CutPrefix(e.pattern, "/")
	if !ok {
		return fmt.Errorf("pattern does not start with a slash")
	}
	n := &r.root
	var names []string
	for seg := range strings.SplitSeq(path, "/") {
		name, isParam := strings.CutPrefix(seg, "{")
		switch {
		case seg == "":
			return fmt.Errorf("pattern has an empty segment")
		case isParam:
			if names = append(names, strings.TrimSuffix(name, "}")); len(names) > maxParams {
				return fmt.Errorf("more than %d parameters", maxParams)
			}
			if n.param == nil {
				n.param = &node{}
			}
			n = n.param
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
	if n.route == nil {
		n.route = &route{pattern: e.pattern, params: names, stats: stats(e.pattern)}
	}
	return n.route.add(e)
}

func (r *route) add(e entry) error {
	if r.pattern != e.pattern {
		return fmt.Errorf("same paths as %s", r.pattern)
	}
	if r.method([]byte(e.method)) != nil {
		return fmt.Errorf("defined twice")
	}
	r.methods = append(r.methods, methodHandler{e.method, e.units, e.handle})
	allow := make([]string, 0, len(r.methods)+2)
	for _, m := range r.methods {
		allow = append(allow, m.method)
		if m.method == fasthttp.MethodGet {
			allow = append(allow, fasthttp.MethodHead)
		}
	}
	r.allow = strings.Join(append(allow, fasthttp.MethodOptions), ", ")
	return nil
}

// find gives the route of a path as it was sent, not decoded, so that an encoded
// slash does not separate. A literal segment goes before a parameter. Nil means
// that there is none; a trailing or doubled slash is part of no route.
func (r *router) find(path []byte) (*route, params) {
	var p params
	if len(path) == 0 || path[0] != '/' {
		return nil, p
	}
	rt := r.root.find(path[1:], &p, 0)
	if rt != nil {
		p.names = rt.params
	}
	return rt, p
}

// find visits each node of the tree at most once: the table bounds its work.
func (n *node) find(path []byte, p *params, depth int) *route {
	seg, rest, more := bytes.Cut(path, slash)
	seg, ok := unescape(seg)
	if !ok || len(seg) == 0 {
		return nil
	}
	if next := n.literal[string(seg)]; next != nil {
		if rt := next.end(rest, more, p, depth); rt != nil {
			return rt
		}
	}
	if n.param == nil || depth == maxParams {
		return nil
	}
	p.values[depth] = seg
	return n.param.end(rest, more, p, depth+1)
}

func (n *node) end(rest []byte, more bool, p *params, depth int) *route {
	if !more {
		return n.route
	}
	return n.find(rest, p, depth)
}

var slash = []byte("/")

// unescape decodes %XX in a path segment. Without any, it gives seg itself.
func unescape(seg []byte) ([]byte, bool) {
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
		hi, lo := hexDigit(seg[i+1]), hexDigit(seg[i+2])
		if hi|lo > 15 {
			return nil, false
		}
		out = append(out, hi<<4|lo)
		i += 2
	}
	return out, true
}

// hexDigit gives the value of a hex digit, 0xff for any other character.
func hexDigit(c byte) byte {
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
