package httpapi

import (
	"bytes"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/reply"
	"quorate/httpapi/service"
	"quorate/httpapi/ui"
	"quorate/httpapi/view"
)

// rootPath is where people find the first page, and programs what there is.
const rootPath = "/"

// The headers of pages. Nothing of another host is loaded, no inline script runs, and no
// other site can frame them.
const (
	pageType    = "text/html; charset=utf-8"
	pagePolicy  = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
	pageVary    = fasthttp.HeaderAccept + ", " + fasthttp.HeaderAcceptEncoding
	pageCaching = "private, no-cache" // asked for again each time

	headerReferrerPolicy = "Referrer-Policy"
)

// pages are what browsers see. A server without pages still has the index at [rootPath].
type pages struct {
	s      *Server
	site   *ui.Site // nil: there are none
	kept   *keptPages
	assets map[string]*asset
}

func (s *Server) newPages() (*pages, error) {
	p := &pages{s: s}
	if s.cfg.Pages == nil {
		return p, nil
	}
	cfg := *s.cfg.Pages
	cfg.API, cfg.Log, cfg.KeysRequired = inProcess{s}, s.log, s.cfg.Limits.RequiresKey()
	if cfg.Logs == nil {
		cfg.Logs = inProcess{s}.Logs
	}
	if cfg.Tokens == nil {
		cfg.Tokens = inProcess{s}.Tokens
	}
	if s.cfg.Limits.HasKeys() {
		cfg.KeyKnown = s.cfg.Limits.Knows
	}
	if cfg.Mode == ui.Off {
		return p, nil
	}
	var err error
	if p.site, err = ui.New(cfg); err != nil {
		return nil, err
	}
	p.kept = newKeptPages()
	p.assets, err = packedAssets()
	return p, err
}

// endpoints returns the lines of the table of routes that are pages. They are in no
// description of the API: [Routes] has what programs use.
func (p *pages) endpoints() []door.Endpoint {
	list := []door.Endpoint{{Route: &door.Route{
		Method: fasthttp.MethodGet, Pattern: rootPath, Units: door.UnitsFree, Key: door.KeyNever, Access: door.Everywhere, Page: true,
		Doc: "shows the first page, and to programs the addresses of what is served",
	}, Handle: p.s.index}}
	if p.site == nil {
		return list
	}
	list = append(list, door.Endpoint{Route: &door.Route{
		Method: fasthttp.MethodGet, Pattern: ui.AssetPrefix + "{name}", Units: door.UnitsFree, Key: door.KeyNever, Access: door.Everywhere, Page: true,
		Doc: "returns a style sheet or a script of pages",
	}, Handle: p.asset})
	table := p.site.Pages()
	for i := range table {
		page := &table[i]
		r := &door.Route{Method: fasthttp.MethodGet, Pattern: page.Pattern, Units: page.Units, Access: door.Everywhere, Page: true, Kept: true, Cookie: true, Doc: "shows a page"}
		if page.Operator {
			r.Access = door.Operator
		}
		if page.Open || page.Operator {
			r.Key = door.KeyNever
		}
		if strings.Contains(page.Pattern, "{chain}") {
			r.Chain = "chain" // for keys that are good for certain chains
		}
		if page.Pattern == rootPath {
			list[0] = door.Endpoint{Route: r, Handle: p.root(page)}
			continue
		}
		list = append(list, door.Endpoint{Route: r, Handle: p.handler(page)})
		if page.Post != nil {
			send := *r
			send.Method, send.Kept, send.Doc = fasthttp.MethodPost, false, "takes the form of a page"
			list = append(list, door.Endpoint{Route: &send, Handle: p.handler(page)})
		}
	}
	return list
}

// root makes the handler of the first page. Whoever does not ask for HTML is a program.
func (p *pages) root(page *ui.Page) door.Handler {
	show := p.handler(page)
	return func(ctx *fasthttp.RequestCtx, q door.Params) {
		if !wantsHTML(ctx) {
			p.s.index(ctx, q)
			return
		}
		show(ctx, q)
	}
}

// index answers with the addresses of what there is.
func (s *Server) index(ctx *fasthttp.RequestCtx, p door.Params) {
	var links []string
	add := func(name, path string, is bool) {
		if is {
			links = append(links, name, path)
		}
	}
	add("api", service.ListPath, true)
	add("openapi", service.OpenAPIPath, true)
	add("chains", "/v1/chains", s.cfg.Chains != nil)
	add("events", "/v1/events", s.cfg.Events != nil && s.cfg.Chains != nil)
	add("health", "/health", s.cfg.Health != nil)
	add("metrics", metricsPath, s.cfg.Ext != nil && p.Scope.Serves(door.Operator))
	b := append(ctx.Response.SwapBody(nil)[:0], `{"name":"Quorate"`...)
	prefix := s.pathPrefix(ctx)
	for i := 0; i < len(links); i += 2 {
		b = append(view.AppendString(append(b, ','), links[i]), ':')
		b = view.AppendString(b, prefix+links[i+1])
	}
	ctx.Response.SwapBody(append(b, '}'))
	ctx.Response.Header.SetContentType(door.ContentJSON)
	ctx.Response.Header.Set(fasthttp.HeaderVary, pageVary)
}

// handler makes the handler of a page.
func (p *pages) handler(page *ui.Page) door.Handler {
	return func(ctx *fasthttp.RequestCtx, q door.Params) {
		in := p.input(ctx, &q)
		if f := p.foreign(ctx, page); f != nil {
			out := p.site.Fail(in, f.Status, f.Message)
			p.send(ctx, &out)
			return
		}
		if ctx.IsPost() {
			in.Form = func(name string) string { return string(ctx.PostArgs().Peek(name)) }
			in.Remote = ctx.RemoteAddr().String()
			out := p.site.Serve(page, in)
			p.send(ctx, &out)
			return
		}
		if found, _ := q.Kept.(*keptPage); found != nil {
			p.headers(ctx, fasthttp.StatusOK)
			if found.encoding != "" {
				ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, found.encoding)
			}
			ctx.Response.SetBodyRaw(found.body)
			return
		}
		in.Charge = func(units int) (time.Duration, bool) { return p.s.cfg.Limits.Charge(q.Client, units) }
		k := p.kept.key(ctx, &in)
		out := p.site.Serve(page, in)
		p.send(ctx, &out)
		if out.Status == fasthttp.StatusOK && out.Type == "" {
			p.kept.keep(&k, ctx)
		}
	}
}

// foreign refuses forms that another site's page sends, and asks for operators' pages by
// a name that is not this server's: whoever can point a name at this machine would make
// his page one of ours.
func (p *pages) foreign(ctx *fasthttp.RequestCtx, page *ui.Page) *door.Failure {
	if page.Operator && !p.known(ctx) {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "operators' pages are not served under this name: use an IP address or localhost, " +
			"or name it in --http-allowed-hosts"}
	}
	if !ctx.IsPost() {
		return nil
	}
	if p.s.fromOtherSite(ctx) {
		return &door.Failure{Status: fasthttp.StatusForbidden, Message: "the form was sent by a page of another site"}
	}
	return nil
}

// known reports whether the client asks for a name of this server.
func (p *pages) known(ctx *fasthttp.RequestCtx) bool {
	return p.s.cfg.OwnHost == nil || p.s.cfg.OwnHost(ctx.Host())
}

func (p *pages) send(ctx *fasthttp.RequestCtx, out *ui.Output) {
	p.headers(ctx, out.Status)
	if out.Location != "" {
		ctx.Response.Header.Set(fasthttp.HeaderLocation, out.Location)
	}
	if out.RetryAfter > 0 {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, door.RetrySeconds(out.RetryAfter))
	}
	if out.Key != nil {
		p.setKey(ctx, *out.Key)
	}
	if out.Type != "" {
		ctx.Response.Header.SetContentType(out.Type)
		ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename="`+out.File+`"`)
	}
	p.s.desk.Packers.Pack(ctx, out.HTML, nil)
}

// headers sets the status and the headers that all pages have.
func (p *pages) headers(ctx *fasthttp.RequestCtx, status int) {
	ctx.Response.SetStatusCode(status)
	h := &ctx.Response.Header
	h.SetContentType(pageType)
	h.Set(fasthttp.HeaderContentSecurityPolicy, pagePolicy)
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	h.Set(headerReferrerPolicy, "same-origin")
	h.Set(fasthttp.HeaderCacheControl, pageCaching)
	h.Set(fasthttp.HeaderVary, pageVary)
}

// input is what a page may know of a request.
func (p *pages) input(ctx *fasthttp.RequestCtx, q *door.Params) ui.Input {
	prefix := p.s.pathPrefix(ctx)
	return ui.Input{
		Path: string(ctx.URI().PathOriginal()), RawQuery: string(ctx.URI().QueryString()), Prefix: prefix, Base: p.s.address(ctx) + prefix,
		Operator: q.Scope.Serves(door.Operator) && p.known(ctx),
		Param:    func(name string) string { return string(q.Get(name)) },
		Query:    func(name string) string { return string(ctx.QueryArgs().Peek(name)) },
	}
}

// refused makes a page of a refusal in JSON, for whoever asked for a page.
func (p *pages) refused(ctx *fasthttp.RequestCtx, q door.Params) {
	status := ctx.Response.StatusCode()
	if p.site == nil || status < 400 || !bytes.Equal(ctx.Response.Header.ContentType(), []byte(door.ContentJSON)) || !wantsHTML(ctx) {
		return
	}
	var said struct{ Message string }
	if json.Unmarshal(ctx.Response.Body(), &said) != nil {
		return
	}
	out := p.site.Fail(p.input(ctx, &q), status, said.Message)
	ctx.Response.ResetBody()
	p.send(ctx, &out)
}

// failed is refused for a request that failed by a defect, which may be the page's own.
func (p *pages) failed(ctx *fasthttp.RequestCtx, q door.Params) {
	defer func() {
		if v := recover(); v != nil {
			p.s.panicked(ctx, v)
		}
	}()
	p.refused(ctx, q)
}

// wantsHTML reports whether a request asks for HTML by name. Browsers do; programs that
// take anything get JSON.
func wantsHTML(ctx *fasthttp.RequestCtx) bool {
	accept := ctx.Request.Header.Peek(fasthttp.HeaderAccept)
	for len(accept) > 0 {
		var item []byte
		item, accept, _ = bytes.Cut(accept, door.Comma)
		kind, attrs, _ := bytes.Cut(item, []byte(";"))
		if bytes.EqualFold(bytes.TrimSpace(kind), []byte("text/html")) {
			return len(bytes.TrimSpace(attrs)) == 0 || reply.Weight(attrs) > 0
		}
	}
	return false
}

// The headers with which a proxy says what it was asked.
const (
	headerForwardedPrefix = "X-Forwarded-Prefix"
	headerForwardedProto  = "X-Forwarded-Proto"
)

// behindProxy reports whether a request came by a proxy that is believed: one of this
// machine, or one that was named.
func (s *Server) behindProxy(ctx *fasthttp.RequestCtx) bool {
	peer := remoteAddr(ctx)
	for _, p := range s.cfg.Uncapped {
		if p.Contains(peer) {
			return true
		}
	}
	return false
}

// pathPrefix returns the path below which clients see all of ours, without a slash at
// its end: as the proxy says, or by the host as the server's own address says.
func (s *Server) pathPrefix(ctx *fasthttp.RequestCtx) string {
	if said := ctx.Request.Header.Peek(headerForwardedPrefix); len(said) > 0 && s.behindProxy(ctx) {
		if prefix := strings.TrimRight(string(said), "/"); isPrefix(prefix) {
			return prefix
		}
	}
	_, rest, _ := strings.Cut(s.cfg.PublicURL, "://")
	host, path, ok := strings.Cut(rest, "/")
	if path = "/" + strings.TrimRight(path, "/"); ok && isPrefix(path) && strings.EqualFold(host, string(ctx.Host())) {
		return path
	}
	return ""
}

// maxPrefix bounds the length of a path prefix.
const maxPrefix = 100

// isPrefix reports whether a text is a path of plain segments.
func isPrefix(s string) bool {
	if len(s) < 2 || len(s) > maxPrefix || s[0] != '/' {
		return false
	}
	for seg := range strings.SplitSeq(s[1:], "/") {
		if seg == "" || seg == "." || seg == ".." {
			return false
		}
		for _, c := range []byte(seg) {
			if ok := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("._~-", c) >= 0; !ok {
				return false
			}
		}
	}
	return true
}

// address returns the scheme and host with which the client reached the server. It
// stands in commands that people copy into a shell, so a host that is no plain name, which
// resolvers may well know, is the address of the connection instead.
func (s *Server) address(ctx *fasthttp.RequestCtx) string {
	scheme := "http"
	if said := ctx.Request.Header.Peek(headerForwardedProto); ctx.IsTLS() || string(said) == "https" && s.behindProxy(ctx) {
		scheme = "https"
	}
	host := ctx.Host()
	for _, c := range host {
		if ok := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte(".:_-[]", c) >= 0; !ok {
			return scheme + "://" + ctx.LocalAddr().String()
		}
	}
	return scheme + "://" + string(host)
}
