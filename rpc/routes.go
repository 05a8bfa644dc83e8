package rpc

import (
	"bytes"
	"net/url"
	pathpkg "path"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
)

// kind is what is served at a path.
type kind uint8

const (
	nothing kind = iota
	admin
	healthAll // GET and POST
	healthHealth
	healthReadiness
	healthLiveness
	metricsText
	nodeInfo // passed on, as chainRPC is
	chainRPC
	chainSocket
)

// endpoint is one thing that is served.
type endpoint struct {
	kind  kind
	chain chain.ID // of chainRPC and chainSocket; of nodeInfo the P-Chain
	sub   string   // what is behind the chain's name; empty for the chain itself
}

// path is where a node has the endpoint, behind the chain's own path.
func (e endpoint) path() string {
	if e.sub == "" {
		return ""
	}
	return "/" + e.sub
}

var (
	extPrefix   = []byte("/ext/")
	chainPrefix = []byte("bc/")
	slash       = []byte("/")
)

// find returns what is served at a clean path. A real endpoint always goes before
// an alias, so that a chain that comes later cannot be hidden by one.
func (s *Service) find(path []byte) endpoint {
	name, ok := bytes.CutPrefix(path, extPrefix)
	if !ok {
		return endpoint{}
	}
	return s.resolve(name)
}

// resolve returns what answers at name, which is a path's part behind /ext/.
func (s *Service) resolve(name []byte) endpoint {
	if e := s.real(name); e.kind != nothing {
		return e
	}
	if to, ok := s.aliases.lookup(name); ok {
		return s.real([]byte(to))
	}
	return endpoint{}
}

// real returns the endpoint of that name, aliases left out.
func (s *Service) real(name []byte) endpoint {
	k := nothing
	switch string(name) {
	case "admin":
		if s.cfg.Admin != nil {
			k = admin
		}
	case "health":
		k = healthAll
	case "health/health":
		k = healthHealth
	case "health/readiness":
		k = healthReadiness
	case "health/liveness":
		k = healthLiveness
	case "metrics":
		k = metricsText
	case "info":
		if s.cfg.Forward != nil && s.cfg.ChainRPC != Off {
			return endpoint{kind: nodeInfo, chain: chain.PlatformChainID}
		}
	default:
		return s.realChain(name)
	}
	if k >= healthAll && k <= healthLiveness && s.cfg.Health == nil {
		k = nothing
	}
	return endpoint{kind: k}
}

func (s *Service) realChain(name []byte) endpoint {
	rest, ok := bytes.CutPrefix(name, chainPrefix)
	if first, _, _ := bytes.Cut(name, slash); string(first) == platformName {
		rest, ok = name, true
	}
	if !ok || s.cfg.Chains == nil || s.cfg.Forward == nil || s.cfg.ChainRPC == Off {
		return endpoint{}
	}
	of, sub, more := bytes.Cut(rest, slash)
	if more && !s.isDoor(sub) {
		return endpoint{}
	}
	id, ok := s.cfg.Chains.Lookup(string(of))
	switch {
	case !ok:
		return endpoint{}
	case string(sub) == socketDoor:
		return endpoint{chainSocket, id, socketDoor}
	}
	return endpoint{chainRPC, id, string(sub)}
}

// mayBecome reports whether a path at which nothing is served may be that of a chain
// that is not known yet.
func (s *Service) mayBecome(ctx *fasthttp.RequestCtx) bool {
	path, _ := decodePath(ctx.URI().PathOriginal())
	return s.cfg.Chains != nil && s.cfg.Forward != nil && s.cfg.ChainRPC != Off && s.cfg.Learning != nil &&
		(bytes.HasPrefix(path, []byte("/ext/bc/")) || string(path) == "/ext/"+platformName) && s.cfg.Learning()
}

// platformName is the P-Chain's. Nodes answer for it at /ext/P too, where their Go
// client asks.
const platformName = "P"

// isDoor reports whether sub may be asked for below a chain: in mode All that is
// any segment that goes into a path as it is.
func (s *Service) isDoor(sub []byte) bool {
	for _, d := range doors {
		if d.path == string(sub) {
			return d.path != ""
		}
	}
	if s.cfg.ChainRPC != All || len(sub) == 0 || len(sub) > maxDoor {
		return false
	}
	for _, c := range sub {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			return false
		}
	}
	return true
}

// maxDoor bounds the name of a path below a chain, in bytes.
const maxDoor = 64

// subPaths returns the paths that are served below an endpoint; an alias of it has
// them too.
func (e endpoint) subPaths() []string {
	switch {
	case e.kind == healthAll:
		return []string{"/health", "/readiness", "/liveness"}
	case e.kind == chainRPC && e.sub == "":
		var paths []string
		for _, d := range doors[1:] {
			paths = append(paths, "/"+d.path)
		}
		return paths
	default:
		return nil
	}
}

// decodePath decodes %XX. False means that there is a broken one.
func decodePath(path []byte) ([]byte, bool) {
	if bytes.IndexByte(path, '%') < 0 {
		return path, true
	}
	decoded, err := url.PathUnescape(string(path))
	return []byte(decoded), err == nil
}

// isClean reports whether a path has no empty segment but a last one, and none
// that is a dot or two.
func isClean(path []byte) bool {
	_, rest, more := bytes.Cut(path, slash)
	var segment []byte
	for more {
		segment, rest, more = bytes.Cut(rest, slash)
		if len(segment) == 0 && more || string(segment) == "." || string(segment) == ".." {
			return false
		}
	}
	return true
}

// cleanPath returns the path without its empty segments and dots. A slash at the end stays.
func cleanPath(path []byte) string {
	to := pathpkg.Clean(string(path))
	if path[len(path)-1] == '/' && to != "/" {
		to += "/"
	}
	return to
}

// redirect sends the client to the clean form of path.
func redirect(ctx *fasthttp.RequestCtx, path []byte) {
	// Escaped, so that no browser takes a backslash for the slash of a host.
	location := url.URL{Path: cleanPath(path), RawQuery: string(ctx.URI().QueryString())}
	ctx.Response.Header.Set(fasthttp.HeaderLocation, location.String())
	ctx.Response.SetStatusCode(fasthttp.StatusMovedPermanently)
}
