package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"time"

	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"

	"quorate/engine/health"
)

// call answers a JSON-RPC request on the path of a service. All errors of
// JSON-RPC have status 200: a node's own client drops the message of any other.
func (s *Service) call(ctx *fasthttp.RequestCtx, service string) {
	if !acceptsPost(ctx) {
		return
	}
	if !isJSON(ctx) || !fits(ctx, maxRequest) {
		return
	}
	started := time.Now()
	req, fault := decodeRequest(ctx.PostBody())
	var m *method
	if fault == nil {
		m, fault = s.lookup(service, req.Method)
	}
	var result any
	var err error
	if fault == nil {
		result, err = s.run(m, req)
		if !errors.Is(err, errParams) {
			noSniff(ctx) // as a node has it: only once the method ran
		}
		if err != nil {
			fault = serverError(publicText(err))
		}
	} else {
		err = errors.New(fault.Message)
		s.count(service, "invalid").Inc()
	}
	if service == "admin" {
		s.audit(ctx.RemoteAddr().String(), req, err, time.Since(started))
	}
	if req.ID == nil && (fault == nil || fault.Code != codeParse) {
		return // a notification: done, and nobody wants to know
	}
	if report, ok := result.(health.Report); ok {
		tellUnknownTags(ctx, &report)
	}
	body := ctx.Response.SwapBody(nil)[:0]
	if fault == nil {
		if body, err = appendResult(body, result, req.ID); err != nil {
			s.log.Error("a result cannot be written", "method", m.service+"."+m.name, "error", err)
			fault, body = serverError("internal error"), nil
		}
	}
	if fault != nil {
		body = appendError(body, fault, req.ID)
	}
	ctx.Response.SwapBody(body)
	ctx.Response.Header.SetContentType(contentRPC)
}

// run calls a method. What it waits for ends with the service, not with the
// connection: a call that was begun is finished.
func (s *Service) run(m *method, req *serverRequest) (any, error) {
	work, cancel := context.WithTimeout(s.work, callTimeout)
	defer cancel()
	result, err := m.run(s, work, req.Params)
	if err != nil {
		m.count.failed.Inc()
		return nil, err
	}
	m.count.ok.Inc()
	return result, nil
}

// Administer calls a method of the administration, such as admin.setLoggerLevel, as a
// client of /ext/admin does, and returns its result in JSON. remote is who asks, for the
// log. The error is for the client.
func (s *Service) Administer(method string, params any, remote string) (json.RawMessage, error) {
	if s.cfg.Admin == nil {
		return nil, errUnavailable
	}
	m, fault := s.lookup("admin", method)
	if fault != nil {
		return nil, errors.New(fault.Message)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	req := &serverRequest{Method: method, Params: (*json.RawMessage)(&raw)}
	started := time.Now()
	result, err := s.run(m, req)
	s.audit(remote, req, err, time.Since(started))
	if err != nil {
		return nil, errors.New(publicText(err))
	}
	return json.Marshal(result)
}

// audit leaves a line of each call of the administration. Values are a client's
// and cut short; the log's writers escape them.
func (s *Service) audit(remote string, req *serverRequest, err error, took time.Duration) {
	level, outcome := slog.LevelInfo, "ok"
	if err != nil {
		level, outcome = slog.LevelWarn, excerpt(err.Error())
	}
	params := ""
	if req.Params != nil {
		params = excerpt(string(*req.Params))
	}
	s.log.LogAttrs(s.work, level, "admin call", slog.String("method", excerpt(req.Method)),
		slog.String("params", params), slog.String("remote", remote),
		slog.String("outcome", outcome), slog.Duration("took", took))
}

// publicText words an error for a client: what failed, without where files are.
func publicText(err error) string {
	var file *fs.PathError
	if errors.As(err, &file) {
		return fmt.Sprintf("a file operation failed: %s: %v", file.Op, file.Err)
	}
	return err.Error()
}

// acceptsPost refuses all methods but POST, in a node's words.
func acceptsPost(ctx *fasthttp.RequestCtx) bool {
	if ctx.IsPost() {
		return true
	}
	answerText(ctx, fasthttp.StatusMethodNotAllowed, "rpc: POST method required, received "+excerpt(string(ctx.Method())))
	return false
}

// isJSON refuses other media types than application/json, in a node's words. A
// page of another origin cannot send this one without asking first.
func isJSON(ctx *fasthttp.RequestCtx) bool {
	media, _, _ := bytes.Cut(ctx.Request.Header.ContentType(), []byte(";"))
	if len(media) == len(contentJSON) && strings.EqualFold(string(media), contentJSON) {
		return true
	}
	answerText(ctx, fasthttp.StatusUnsupportedMediaType, "rpc: unrecognized Content-Type: "+excerpt(string(media)))
	return false
}

// fits refuses a body of more than limit bytes.
func fits(ctx *fasthttp.RequestCtx, limit int) bool {
	n := len(ctx.PostBody())
	if n <= limit {
		return true
	}
	answerText(ctx, fasthttp.StatusRequestEntityTooLarge,
		fmt.Sprintf("rpc: the body has %d bytes, more than %d\n", n, limit))
	return false
}
