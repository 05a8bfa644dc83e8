package httpapi

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

// forms are those of errors that are not the common one.
type forms []form

// form is that of all below a path, or of the path alone if it is a whole pattern.
type form struct {
	path  string // without the slash at its beginning
	alone bool
	*door.Refusal
}

// formsOf returns the forms of routes.
func formsOf(list []door.Endpoint) (all forms) {
	for i := range list {
		r := list[i].Route
		if r.Refusal != nil {
			path, _, more := strings.Cut(r.Pattern[1:], "/{")
			all = append(all, form{path, !more, r.Refusal})
		}
	}
	return all
}

// apply brings a failure into the form that clients of its path know. It goes by the path as
// it was sent: a request may have failed before it had a route.
func (l forms) apply(ctx *fasthttp.RequestCtx) {
	f := door.Failed(ctx)
	if f == nil {
		return
	}
	for i := range l {
		if l[i].has(ctx.Request.Header.RequestURI()) {
			ctx.Response.SwapBody(l[i].Append(ctx.Response.SwapBody(nil)[:0], f.Status, f.Message))
		}
	}
}

// has reports whether an address, however it is encoded, is one of the form.
func (f *form) has(uri []byte) bool {
	path, _, _ := bytes.Cut(uri, []byte("?"))
	if _, rest, ok := bytes.Cut(path, []byte("://")); ok && path[0] != '/' {
		path = rest[max(0, bytes.IndexByte(rest, '/')):] // without the host
	}
	path, rooted := bytes.CutPrefix(path, door.Slash)
	for want := range strings.SplitSeq(f.path, "/") {
		var seg []byte
		seg, path, _ = bytes.Cut(path, door.Slash) // path is nil after the last
		if got, ok := door.Unescape(seg); !ok || string(got) != want {
			return false
		}
	}
	return rooted && (path == nil || !f.alone)
}
