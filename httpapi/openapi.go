package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"sync"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/httpapi/deflate"
	"quorate/httpapi/door"
	"quorate/httpapi/openapi"
	"quorate/httpapi/reply"
	"quorate/httpapi/shape"
)

// openAPIPath is where the description of the API is.
const openAPIPath = "/openapi.json"

// llmsPath is where the same is for programs that write calls: a page of Markdown.
const llmsPath = "/llms.txt"

// description is what is served of the description, for one kind of listener.
type description struct {
	plain      []byte
	gzip, zstd func() []byte // packed when they are asked for first
	etag       string
	media      string // the content type
	err        error
}

// OpenAPI returns the description of everything that a server can serve, as OpenAPI 3.0.3.
// What a server does serve is at /openapi.json.
func OpenAPI() ([]byte, error) { return documentOf(Routes(), "/") }

// describeRoutes makes the handler of the description. It is made when it is asked for
// first: most servers never are.
func describeRoutes(s *Server, path string) door.Handler {
	var made [door.ForOperators + 1]func() *description
	for scope := range made {
		made[scope] = sync.OnceValue(func() *description { return s.makeDescription(door.Scope(scope), path) })
	}
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		d := made[p.Scope]()
		if d.err != nil {
			s.log.Error("the API cannot be described", "err", d.err)
			door.Fail(ctx, door.Internal())
			return
		}
		d.answer(ctx, s.desk.Vary)
	}
}

// makeDescription describes what listeners of a scope serve, in the form of a path.
func (s *Server) makeDescription(scope door.Scope, path string) *description {
	var served []door.Route
	for _, r := range routes(s) {
		if !r.Off && scope.Serves(r.Access) {
			served = append(served, r)
		}
	}
	url := s.cfg.PublicURL
	if url == "" {
		url = "/"
	}
	d := &description{media: string(door.ContentJSON)}
	if d.plain, d.err = documentOf(served, url); d.err == nil && path == llmsPath {
		var doc openapi.Document
		d.err = json.Unmarshal(d.plain, &doc)
		d.plain, d.media = doc.AppendLLMs(nil), string(shape.Text)+"; charset=utf-8"
	}
	if d.err != nil {
		return d
	}
	d.gzip = sync.OnceValue(func() []byte { return deflate.AppendGzip(nil, d.plain) })
	d.zstd = sync.OnceValue(func() []byte { return s.desk.Packers.Zstd(d.plain) })
	sum := sha256.Sum256(d.plain)
	// Weak, since the packed forms have the same.
	d.etag = `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return d
}

// answer sends the description, or that it has not changed.
func (d *description) answer(ctx *fasthttp.RequestCtx, vary string) {
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderETag, d.etag)
	h.Set(fasthttp.HeaderVary, vary)
	h.Set(fasthttp.HeaderCacheControl, "no-cache") // asked for each time whether it changed
	if holdsTag(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch), d.etag) {
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType(d.media)
	body := d.plain
	switch name := reply.Encoding(ctx.Request.Header.Peek(fasthttp.HeaderAcceptEncoding)); name {
	case "gzip":
		body = d.gzip()
		h.Set(fasthttp.HeaderContentEncoding, name)
	case "zstd":
		body = d.zstd()
		h.Set(fasthttp.HeaderContentEncoding, name)
	}
	ctx.Response.SetBodyRaw(body)
}

// holdsTag reports whether a list of entity tags has one, by weak comparison.
func holdsTag(list []byte, tag string) bool {
	for len(list) > 0 {
		var item []byte
		item, list, _ = bytes.Cut(list, door.Comma)
		item = bytes.TrimSpace(item)
		if string(item) == "*" || string(bytes.TrimPrefix(item, []byte("W/"))) == tag[len("W/"):] {
			return true
		}
	}
	return false
}
