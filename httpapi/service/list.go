package service

import (
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
	"quorate/httpapi/view"
)

// ListPath is where the server says what it serves: SDKs know more endpoints than
// there are here.
const ListPath = "/v1"

// listRoutes makes the handler of the list of what is served to whoever asks. Each is made
// when it is asked for first.
func (m *Room) listRoutes() door.Handler {
	var made [door.ForOperators + 1]func() []byte
	for scope := range made {
		made[scope] = sync.OnceValue(func() []byte { return m.AppendRoutes(nil, door.Scope(scope)) })
	}
	return func(ctx *fasthttp.RequestCtx, p door.Params) {
		ctx.Response.Header.SetContentType(door.ContentJSON)
		ctx.Response.SetBodyRaw(made[p.Scope]())
	}
}

// AppendRoutes appends the list for listeners of a scope.
func (m *Room) AppendRoutes(dst []byte, scope door.Scope) []byte {
	dst = append(dst, `{"endpoints":[`...)
	first := true
	for _, r := range m.Table() {
		if r.Off || !scope.Serves(r.Access) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		method := r.Method
		if method == "" {
			method = "any"
		}
		dst = view.AppendString(append(dst, `{"method":`...), method)
		dst = view.AppendString(append(dst, `,"path":`...), strings.TrimSuffix(r.Pattern, "/*"))
		if len(r.Query) > 0 {
			dst = append(dst, `,"parameters":[`...)
			for i := range r.Query {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = view.AppendString(dst, r.Query[i].Name)
			}
			dst = append(dst, ']')
		}
		dst = view.AppendString(append(dst, `,"description":`...), r.Doc)
		dst = append(dst, '}')
	}
	return append(appendLeftOut(append(dst, `],"leftOut":`...)), '}')
}
