package service

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

// OpenAPIPath is where the description of the API is.
const OpenAPIPath = "/openapi.json"

// LLMsPath is where the same is for programs that write calls: a page of Markdown.
const LLMsPath = "/llms.txt"

// Description is what is served of the description, for one kind of listener.
type Description struct {
	Plain      []byte
	gzip, zstd func() []byte // packed when they are asked for first
	etag       string
	media      string // the content type
	Err        error
}

// describeRoutes makes the handler of the description. It is made when it is asked for
// first: most servers never are.
func (m *Room) describeRoutes(path string) door.Handler {
	var made [door.ForOperators + 1]func() *Description
	for scope := range made {
		made[scope] = sync.OnceValue(func() *Description { return m.Describe(door.Scope(scope), path) })
	}
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		d := made[p.Scope]()
		if d.Err != nil {
			m.desk.Log.Error("the API cannot be described", "err", d.Err)
			door.Fail(ctx, door.Internal())
			return
		}
		d.answer(ctx, m.desk.Vary)
	}
}

// Describe describes what listeners of a scope serve, in the form of a path.
func (m *Room) Describe(scope door.Scope, path string) *Description {
	var served []door.Route
	for _, r := range m.Table() {
		if !r.Off && scope.Serves(r.Access) {
			served = append(served, r)
		}
	}
	url := m.PublicURL
	if url == "" {
		url = "/"
	}
	d := &Description{media: string(door.ContentJSON)}
	if d.Plain, d.Err = Document(served, url); d.Err == nil && path == LLMsPath {
		var doc openapi.Document
		d.Err = json.Unmarshal(d.Plain, &doc)
		d.Plain, d.media = doc.AppendLLMs(nil), string(shape.Text)+"; charset=utf-8"
	}
	if d.Err != nil {
		return d
	}
	d.gzip = sync.OnceValue(func() []byte { return deflate.AppendGzip(nil, d.Plain) })
	d.zstd = sync.OnceValue(func() []byte { return m.desk.Packers.Zstd(d.Plain) })
	sum := sha256.Sum256(d.Plain)
	// Weak, since the packed forms have the same.
	d.etag = `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	return d
}

// answer sends the description, or that it has not changed.
func (d *Description) answer(ctx *fasthttp.RequestCtx, vary string) {
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderETag, d.etag)
	h.Set(fasthttp.HeaderVary, vary)
	h.Set(fasthttp.HeaderCacheControl, "no-cache") // asked for each time whether it changed
	if HoldsTag(ctx.Request.Header.Peek(fasthttp.HeaderIfNoneMatch), d.etag) {
		ctx.Response.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	h.SetContentType(d.media)
	body := d.Plain
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

// HoldsTag reports whether a list of entity tags has one, by weak comparison.
func HoldsTag(list []byte, tag string) bool {
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
