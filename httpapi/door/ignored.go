package door

import (
	"strings"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/suggest"
)

const (
	// maxIgnored bounds the names that are told back to a client, maxIgnoredName each
	// of them in bytes.
	maxIgnored     = 16
	maxIgnoredName = 40
)

// HeaderIgnored names what a request says and its route does not know.
const HeaderIgnored = "X-Ignored"

// Ignored are the names in a request that its route does not know. A client may
// have its own reasons for them, so they do no harm, but are told.
type Ignored struct{ Names []string }

// Add takes a name, or refuses it as a known one that was mistyped. what says what
// it names.
func (g *Ignored) Add(what string, name []byte, known []string) *Failure {
	if meant, ok := suggest.Name(string(name), known); ok {
		return BadRequest(what + " " + Excerpt(name) + " is unknown; did you mean " + meant + "?")
	}
	if len(g.Names) < maxIgnored {
		g.Names = append(g.Names, headerToken(name))
	}
	return nil
}

// Tell names them in the answer.
func (g *Ignored) Tell(ctx *fasthttp.RequestCtx) {
	if len(g.Names) > 0 {
		ctx.Response.Header.Set(HeaderIgnored, strings.Join(g.Names, ", "))
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
