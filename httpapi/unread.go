package httpapi

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

// onBadRequest answers what fasthttp could not read as a request. Whatever it
// leaves in ctx is sent, and then the connection is closed.
func (s *Server) onBadRequest(ctx *fasthttp.RequestCtx, err error) {
	f, reason := classify(err, s.cfg.MaxBody)
	if reason != "" {
		s.stats.Rejected(reason).Inc()
	}
	if c, ok := ctx.Conn().(*conn); ok {
		c.linger.Store(true)
		// The deadline that stands is that of the answer before, or of what did not arrive.
		// An error means that the client is gone, as the write will find.
		_ = c.SetWriteDeadline(time.Now().Add(lingerTime))
	}
	door.Fail(ctx, f)
	s.forms.apply(ctx)
	s.answered(ctx, "unread")
}

// classify says what went wrong with reading a request. The reason, a metrics
// label, is empty when the client just went away.
func classify(err error, maxBody int) (f *door.Failure, reason string) {
	var small *fasthttp.ErrSmallBuffer
	var netErr net.Error
	switch {
	case errors.As(err, &small):
		return &door.Failure{Status: fasthttp.StatusRequestHeaderFieldsTooLarge,
			Message: "the request's address and headers are too long"}, "header_too_large"
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return tooLarge(maxBody), "body_too_large"
	case errors.As(err, &netErr) && netErr.Timeout():
		return &door.Failure{Status: fasthttp.StatusRequestTimeout,
			Message: "the request did not arrive in time"}, "timeout"
	case errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &netErr):
		return door.BadRequest("the request was cut off"), ""
	}
	return door.BadRequest("the request is not valid HTTP/1.1"), "malformed"
}
