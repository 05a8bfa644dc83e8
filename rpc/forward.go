package rpc

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
)

const (
	// maxForward bounds the body of a chain RPC in bytes. It is what the chains' own
	// servers accept.
	maxForward = 5 << 20
	// forwardTimeout bounds the wait for the followed node. It is shorter than the
	// time in which an answer must have been sent.
	forwardTimeout = 25 * time.Second
	// maxForwards bounds the bodies being forwarded at once.
	maxForwards = 256
)

// forward passes a chain's JSON-RPC to the followed node and its answer back as
// they are, batches included.
func (s *Service) forward(ctx *fasthttp.RequestCtx, id chain.ID) {
	if !acceptsPost(ctx) || !isChainJSON(ctx) || !fits(ctx, maxForward) {
		return
	}
	body := ctx.PostBody()
	select {
	case s.sending <- struct{}{}:
		defer func() { <-s.sending }()
	default:
		s.count("bc", "busy").Inc()
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		answerFault(ctx, fasthttp.StatusServiceUnavailable, "too many calls are being passed to the followed node", body)
		return
	}
	work, cancel := context.WithTimeout(s.work, forwardTimeout)
	defer cancel()
	// A copy: the request's memory is used again once we return, and the sender
	// may still be reading when it gave up waiting.
	status, contentType, answer, err := s.cfg.Forward.Forward(work, id, bytes.Clone(body))
	if err != nil {
		s.notForwarded(ctx, id, body, err)
		return
	}
	s.count("bc", "ok").Inc()
	if contentType == "" {
		contentType = contentJSON
	}
	noSniff(ctx)
	ctx.Response.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentType)
	ctx.Response.SetBodyRaw(answer)
}

// notForwarded says in plain words that the node gave no answer. The cause goes
// to the log alone: it names the node's address, which may hold a key.
func (s *Service) notForwarded(ctx *fasthttp.RequestCtx, id chain.ID, body []byte, err error) {
	s.count("bc", "error").Inc()
	s.warned.Log(s.work, s.log, slog.LevelWarn, "a chain RPC call could not be passed to the followed node",
		slog.String("chain", id.String()), slog.String("error", excerpt(err.Error())))
	switch {
	case s.work.Err() != nil:
		answerFault(ctx, fasthttp.StatusServiceUnavailable, "this node is shutting down", body)
	case errors.Is(err, context.DeadlineExceeded):
		answerFault(ctx, fasthttp.StatusGatewayTimeout, "the followed node did not answer in time", body)
	default:
		answerFault(ctx, fasthttp.StatusBadGateway, "the followed node cannot be reached or gave no usable answer", body)
	}
}

// answerFault answers a call that did not get through with a JSON-RPC error, which
// clients read whatever the status. It carries the id of the call, if that is one.
func answerFault(ctx *fasthttp.RequestCtx, status int, message string, call []byte) {
	req, _ := decodeRequest(call)
	if req.ID != nil && len(*req.ID) > maxEcho {
		req.ID = nil
	}
	body := appendError(ctx.Response.SwapBody(nil)[:0], serverError(message), req.ID)
	ctx.Response.SwapBody(body)
	ctx.Response.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentJSON)
}

// isChainJSON refuses other media types than those that the chains' own servers accept.
func isChainJSON(ctx *fasthttp.RequestCtx) bool {
	media, _, _ := bytes.Cut(ctx.Request.Header.ContentType(), []byte(";"))
	switch strings.ToLower(string(bytes.TrimSpace(media))) {
	case contentJSON, "application/json-rpc", "application/jsonrequest":
		return true
	}
	answerText(ctx, fasthttp.StatusUnsupportedMediaType,
		"invalid content type, only application/json is supported\n")
	return false
}
