package evmrpc

import (
	"context"
	"io"
	"strings"

	"github.com/valyala/fasthttp"
)

// ServeHTTP answers an HTTP request to the chain's RPC path. It waits no longer
// than until life ends.
func (h *Handler) ServeHTTP(ctx *fasthttp.RequestCtx, life context.Context) {
	if h.faulty(FaultBusy) {
		ctx.Error("too many requests", fasthttp.StatusTooManyRequests)
		return
	}
	method := string(ctx.Method())
	switch {
	case method == fasthttp.MethodGet && len(ctx.PostBody()) == 0 && len(ctx.URI().QueryString()) == 0:
		return // nodes say 200 to that, for health checks
	case method == fasthttp.MethodPut || method == fasthttp.MethodDelete:
		ctx.Error("method not allowed\n", fasthttp.StatusMethodNotAllowed)
		return
	case len(ctx.PostBody()) > MaxBody:
		ctx.Error("content length too large\n", fasthttp.StatusRequestEntityTooLarge)
		return
	}
	media, _, _ := strings.Cut(string(ctx.Request.Header.ContentType()), ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "application/json", "application/json-rpc", "application/jsonrequest":
	default:
		ctx.Error("invalid content type, only application/json is supported\n", fasthttp.StatusUnsupportedMediaType)
		return
	}
	if !h.hold(life) || !h.park(life) {
		ctx.SetConnectionClose()
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		return
	}
	ctx.SetContentType("application/json")
	if h.faulty(FaultHuge) {
		ctx.SetBodyStream(hugeBody(), -1)
		return
	}
	answer := h.Answer(ctx.PostBody())
	if h.faulty(FaultTruncated) {
		answer = answer[:len(answer)/2]
	}
	ctx.Response.SetBodyRaw(answer)
}

// hugeBody returns an answer that no client should take in whole, of unknown length.
func hugeBody() io.Reader {
	return io.MultiReader(strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":"0x`), io.LimitReader(zeros{}, hugeAnswer), strings.NewReader(`"}`))
}

// zeros reads as the digit 0 without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], manyZeros)
	}
	return n, nil
}

var manyZeros = strings.Repeat("0", 1<<12)
