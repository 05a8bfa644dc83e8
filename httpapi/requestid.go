package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

// headerRequestID names a request in the log. A client may name its requests
// itself; others get a name in the answer.
const headerRequestID = "X-Request-Id"

var requestIDKey = fasthttp.AppendNormalizedHeaderKey(nil, headerRequestID)

// maxRequestID bounds a client's name for a request, in bytes.
const maxRequestID = 64

// requestIDs makes names of requests: what tells this server from others, and a number.
type requestIDs struct {
	prefix string
	last   atomic.Uint64
}

func (r *requestIDs) init() {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	r.prefix = hex.EncodeToString(b[:]) + "-"
}

// name puts the request's name into the answer and returns it, within buf if it fits.
func (r *requestIDs) name(ctx *fasthttp.RequestCtx, buf []byte) []byte {
	id := ctx.Request.Header.Peek(headerRequestID)
	if !isRequestID(id) {
		id = strconv.AppendUint(append(buf[:0], r.prefix...), r.last.Add(1), 16)
	}
	ctx.Response.Header.SetCanonical(requestIDKey, id)
	return id
}

// isRequestID reports whether a client's name can be repeated in a log and in a
// header. Others are replaced: a request is not refused for its name.
func isRequestID(id []byte) bool {
	for _, c := range id {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return len(id) > 0 && len(id) <= maxRequestID
}

// answered names an answered request, and logs it at debug. Neither query nor
// headers are logged: they may hold keys.
func (s *Server) answered(ctx *fasthttp.RequestCtx, route string) {
	var buf [maxRequestID]byte
	id := s.requestIDs.name(ctx, buf[:])
	if !s.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	status, body := ctx.Response.StatusCode(), 0
	if !ctx.Response.IsBodyStream() {
		body = len(ctx.Response.Body())
	}
	line := []slog.Attr{
		slog.String("request", string(id)), slog.String("method", string(ctx.Method())), slog.String("path", door.Excerpt(ctx.Path())),
		slog.String("route", route), slog.Int("status", status), slog.Int("bytes", body),
		slog.Duration("took", time.Since(received(ctx))), slog.String("client", ctx.RemoteIP().String()),
	}
	if status >= fasthttp.StatusBadRequest && body > 0 && len(ctx.Response.Header.ContentEncoding()) == 0 {
		line = append(line, slog.String("answer", door.Excerpt(ctx.Response.Body())))
	}
	s.log.LogAttrs(context.Background(), slog.LevelDebug, "request", line...)
}
