package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/engine/chain"
	"quorate/engine/source"
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
	// contentHTML is what a node never answers with, but a portal or proxy before it does.
	contentHTML = "text/html"
)

// forward passes what the mode allows of JSON-RPC for a chain, or for the info API, to a
// followed node, and its answer back as it is, batches included.
func (s *Service) forward(ctx *fasthttp.RequestCtx, e endpoint) {
	if !acceptsPost(ctx) || !isChainJSON(ctx) || !fits(ctx, maxForward) {
		return
	}
	body := ctx.PostBody()
	calls := s.callsOf(ctx)
	if s.cfg.ChainRPC != All {
		s.screen(calls, e)
		if calls.allowed() == 0 {
			s.count("bc", "refused").Inc()
			answerCalls(ctx, calls.answer())
			return
		}
	}
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
	here := answerPast(work, s, calls, e)
	if here && calls.allowed() == 0 {
		s.count("bc", "archive").Inc()
		answerCalls(ctx, calls.answer())
		return
	}
	// A copy: the request's memory is used again once we return, and the sender
	// may still be reading when it gave up waiting.
	passed := bytes.Clone(body)
	if s.cfg.ChainRPC != All || here {
		passed = calls.appendAllowed(passed[:0])
	}
	answer, err := s.pass(work, e, passed)
	if err != nil {
		s.notForwarded(ctx, e.chain, body, err)
		return
	}
	s.passOn(ctx, calls, &answer, body)
}

// pastTimeout bounds the time for what is answered of a request from archives.
const pastTimeout = 10 * time.Second

// answerPast answers the calls that are about what is archived of an EVM chain, and reports
// whether there were any.
func answerPast(ctx context.Context, s *Service, calls *chainCalls, e endpoint) (any bool) {
	if s.cfg.Past == nil || e.sub != "rpc" || s.cfg.ChainRPC == All && !calls.exact {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, pastTimeout)
	defer cancel()
	for i := range calls.list {
		call := &calls.list[i]
		if call.fault != nil || !json.Valid(call.id) { // without one nobody waits
			continue
		}
		result, ok, err := s.cfg.Past(ctx, e.chain, call.method, call.params)
		switch {
		case !ok:
			continue
		case err != nil:
			call.fault = serverError(clip(err.Error(), maxMessage))
		default:
			call.result = result
		}
		any = true
	}
	return any
}

// pass posts body to what a followed node has for e.
func (s *Service) pass(ctx context.Context, e endpoint, body []byte) (source.Passed, error) {
	if e.kind == nodeInfo {
		return s.cfg.Forward.Info(ctx, body)
	}
	return s.cfg.Forward.Forward(ctx, e.chain, e.path(), body)
}

// passOn answers with what a node has answered. body is the request's.
func (s *Service) passOn(ctx *fasthttp.RequestCtx, calls *chainCalls, answer *source.Passed, body []byte) {
	release := answer.Release
	defer func() { release() }()
	status, contentType := answer.Status, answer.ContentType
	text := answer.Body
	if status == fasthttp.StatusOK {
		text = calls.merge(text)
	}
	if status >= fasthttp.StatusInternalServerError && !strings.HasPrefix(contentType, contentJSON) {
		s.count("bc", "error").Inc() // a page of whatever stands before the node
		answerFault(ctx, fasthttp.StatusBadGateway, fmt.Sprintf("the followed node failed with HTTP %d", status), body)
		return
	}
	if strings.HasPrefix(strings.ToLower(contentType), contentHTML) {
		s.count("bc", "error").Inc() // the same, with a status that is no failure; not under our name
		answerFault(ctx, fasthttp.StatusBadGateway, "the followed node answered with a web page", body)
		return
	}
	s.count("bc", "ok").Inc()
	if contentType == "" {
		contentType = contentJSON
	}
	noSniff(ctx)
	ctx.Response.SetStatusCode(status)
	ctx.Response.Header.SetContentType(contentType)
	if len(text) <= smallAnswer {
		ctx.Response.SetBodyRaw(text)
		return
	}
	ctx.Response.SetBodyStream(&heldBody{bytes.NewReader(text), release}, len(text))
	release = func() {}
}

// smallAnswer is the length, in bytes, up to which an answer does not count while its
// client takes it.
const smallAnswer = 64 << 10

// heldBody is an answer that counts until it was written, or its client has gone.
type heldBody struct {
	*bytes.Reader
	release func()
}

// Close implements [io.Closer]: the server calls it when it is done with the answer.
func (b *heldBody) Close() error {
	b.release()
	return nil
}

// callsKey is where a request keeps its calls between [Service.Cost] and its answer.
type callsKey struct{}

// callsOf reads the calls of a request, once.
func (s *Service) callsOf(ctx *fasthttp.RequestCtx) *chainCalls {
	if c, ok := ctx.UserValue(callsKey{}).(*chainCalls); ok {
		return c
	}
	c := parseCalls(ctx.PostBody())
	ctx.SetUserValue(callsKey{}, &c)
	return &c
}

// answerCalls answers calls of which none was passed on. Clients read the error of
// a status 200 alone.
func answerCalls(ctx *fasthttp.RequestCtx, body []byte) {
	noSniff(ctx)
	if len(body) == 0 {
		return // notifications
	}
	ctx.Response.Header.SetContentType(contentJSON)
	ctx.Response.SetBodyRaw(body)
}

// notForwarded says in plain words that no node gave an answer. The cause goes to
// the log alone: nodes are the operator's business.
func (s *Service) notForwarded(ctx *fasthttp.RequestCtx, id chain.ID, body []byte, err error) {
	s.count("bc", "error").Inc()
	s.warned.Log(s.work, s.log, slog.LevelWarn, "a chain RPC call could not be passed to the followed node",
		slog.String("chain", id.String()), slog.String("error", excerpt(err.Error())))
	status, message := s.unanswered(err)
	if status == fasthttp.StatusServiceUnavailable {
		ctx.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	}
	answerFault(ctx, status, message, body)
}

// unanswered returns the status and the words for a request that no node answered.
func (s *Service) unanswered(err error) (status int, message string) {
	var refused *source.RefusedError
	switch {
	case s.work.Err() != nil:
		return fasthttp.StatusServiceUnavailable, "this node is shutting down"
	case errors.Is(err, source.ErrNotYet):
		return fasthttp.StatusServiceUnavailable, "the followed nodes have not listed their chains yet"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, source.ErrTimeout):
		return fasthttp.StatusGatewayTimeout, "the followed node did not answer in time"
	case !errors.As(err, &refused):
		return fasthttp.StatusBadGateway, "the followed node cannot be reached or gave no usable answer"
	case refused.Status == fasthttp.StatusNotFound:
		return fasthttp.StatusNotFound, "no followed node serves this: none runs the chain, or the chain has no such path"
	case refused.Busy():
		return fasthttp.StatusServiceUnavailable, "the followed node is busy, or still starts the chain"
	}
	return fasthttp.StatusBadGateway, "the followed node does not take requests of this server"
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
