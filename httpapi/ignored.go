package httpapi

import (
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/near"
)

const (
	// maxIgnored bounds the names that are told back to a client, maxIgnoredName each
	// of them in bytes.
	maxIgnored     = 16
	maxIgnoredName = 40
)

// headerIgnored names what a request says and its route does not know.
const headerIgnored = "X-Ignored"

// ignored are the names in a request that its route does not know. A client may
// have its own reasons for them, so they do no harm, but are told.
type ignored struct{ names []string }

// add takes a name, or refuses it as a known one that was mistyped. what says what
// it names.
func (g *ignored) add(what string, name []byte, known []string) *failure {
	if meant, ok := near.Name(string(name), known); ok {
		return badRequest(what + " " + excerpt(name) + " is unknown; did you mean " + meant + "?")
	}
	if len(g.names) < maxIgnored {
		g.names = append(g.names, headerToken(name))
	}
	return nil
}

// tell names them in the answer.
func (g *ignored) tell(ctx *fasthttp.RequestCtx) {
	if len(g.names) > 0 {
		ctx.Response.Header.Set(headerIgnored, strings.Join(g.names, ", "))
	}
}

// headerToken returns a name in a form that can stand in a list in a header.
func headerToken(name []byte) string {
	b := make([]byte, 0, maxIgnoredName)
	for _, c := range name[:min(len(name), maxIgnoredName)] {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			c = '?'
		}
		b = append(b, c)
	}
	if len(b) == 0 {
		return "?"
	}
	return string(b)
}
