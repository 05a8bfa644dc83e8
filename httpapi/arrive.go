package httpapi

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/httpapi/door"
)

const (
	// prefetched is what fasthttp reads of a body before its handler runs.
	prefetched = 8 << 10
	// largeBodies bounds the memory of bodies on their way that are larger than
	// prefetched, of all connections together.
	largeBodies = 256 << 20
)

// bodies reads the bodies of requests. A body takes memory as it arrives, not as
// its header promises: a client that says 5 MiB and sends one byte costs 8 KiB.
type bodies struct {
	pool  sync.Pool
	large atomic.Int64 // bytes beyond prefetched
	// reading counts the bodies that are more than prefetched and not complete.
	reading atomic.Int64
}

// body is the memory of one body.
type body struct{ b []byte }

// put takes memory back once the request is answered.
func (m *bodies) put(b *body) {
	if b == nil {
		return
	}
	m.large.Add(-int64(max(0, cap(b.b)-prefetched)))
	if cap(b.b) <= prefetched {
		b.b = b.b[:0]
		m.pool.Put(b)
	}
}

// grow makes room for more of a body, of which size bytes are promised, or an
// unknown number if size is negative. It returns false when bodies take too much.
func (m *bodies) grow(b *body, size, limit int) bool {
	to := max(prefetched, 4*cap(b.b)) // in few steps: each clears and copies all of it
	if size >= 0 {
		to = min(to, max(size, prefetched))
	}
	to = min(to, max(limit+1, prefetched)) // one more, to see that it is too large
	more := int64(to - max(cap(b.b), prefetched))
	if more > 0 && m.large.Add(more) > largeBodies {
		m.large.Add(-more)
		return false
	}
	b.b = append(make([]byte, 0, to), b.b...)
	return true
}

// headerUnasked marks a request that waits to be told to go on by no wish of its client's.
// A client that sends it does so to itself.
const (
	headerUnasked = "Quorate-Unasked"
	goOnPlease    = "100-continue"
)

// headerReceived keeps fasthttp from waiting for the beginning of a long body before it asks
// for anything: beforeBody comes first, as if the client had asked whether it may send.
func headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.ContentLength() > prefetched && string(h.Peek(fasthttp.HeaderExpect)) != goOnPlease {
		h.Set(fasthttp.HeaderExpect, goOnPlease)
		h.Set(headerUnasked, "1")
	}
	// With both of them another server on the way may have seen the body's end elsewhere
	// (RFC 9112, 6.1): what follows on the connection is not believed.
	if h.ContentLength() == -1 && bytes.Contains(bytes.ToLower(h.RawHeaders()), []byte("content-length")) {
		h.SetConnectionClose()
	}
	return fasthttp.RequestConfig{}
}

// beforeBody answers from its header what can be answered from that, which ends the
// connection. Otherwise the request is admitted, and handled once its body comes.
func (s *Server) beforeBody(ctx *fasthttp.RequestCtx) int {
	s.handle(ctx)
	if _, ok := ctx.UserValue(admitted{}).(door.Params); !ok {
		endConn(ctx)
		return ctx.Response.StatusCode()
	}
	h := &ctx.Request.Header
	if c, ok := ctx.Conn().(*conn); ok { // before 1.1 nobody could ask
		c.unasked = len(h.Peek(headerUnasked)) > 0 || !h.IsHTTP11()
	}
	h.Del(fasthttp.HeaderExpect)
	h.Del(headerUnasked)
	return fasthttp.StatusContinue
}

// admitted is the key of the params of a request that was admitted by beforeBody.
type admitted struct{}

// readBody reads the body of a request, if there is one, into memory that is
// given back with put.
func (s *Server) readBody(ctx *fasthttp.RequestCtx, r *door.Route) (*body, *door.Failure) {
	limit := s.cfg.bodyLimit(r)
	size := ctx.Request.Header.ContentLength()
	if size > limit {
		return nil, s.notRead(ctx, fasthttp.ErrBodyTooLarge, limit)
	}
	stream := ctx.RequestBodyStream()
	if stream == nil {
		return nil, nil
	}
	if size > prefetched || size < 0 {
		s.bodies.reading.Add(1)
		defer s.bodies.reading.Add(-1)
	}
	b, _ := s.bodies.pool.Get().(*body)
	if b == nil {
		b = &body{}
	}
	for {
		if len(b.b) == cap(b.b) && !s.bodies.grow(b, size, limit) {
			s.stats.Rejected("bodies").Inc()
			endConn(ctx)
			return b, &door.Failure{Status: fasthttp.StatusServiceUnavailable, Message: "too many large requests are arriving", RetryAfter: time.Second}
		}
		n, err := stream.Read(b.b[len(b.b):cap(b.b)])
		b.b = b.b[:len(b.b)+n]
		switch {
		case len(b.b) > limit:
			return b, s.notRead(ctx, fasthttp.ErrBodyTooLarge, limit)
		case len(b.b) == size || errors.Is(err, io.EOF) && size < 0:
			ctx.Request.SetBodyRaw(b.b)
			return b, nil
		case errors.Is(err, io.EOF):
			return b, s.notRead(ctx, io.ErrUnexpectedEOF, limit)
		case err != nil:
			return b, s.notRead(ctx, err, limit)
		}
	}
}

// bodyLimit is how long a body may be.
func (c *Config) bodyLimit(r *door.Route) int {
	if r.Node {
		return c.MaxExtBody
	}
	return c.MaxBody
}

// notRead counts a body that did not arrive, and returns the answer to it, which is
// the last on its connection.
func (s *Server) notRead(ctx *fasthttp.RequestCtx, err error, limit int) *door.Failure {
	endConn(ctx)
	f, reason := classify(err, limit)
	if reason != "" {
		s.stats.Rejected(reason).Inc()
	}
	return f
}

// leaveBody ends the connection after an answer to a request whose body was not
// read: what follows on it would be taken for the next request. A short body has
// arrived already.
func leaveBody(ctx *fasthttp.RequestCtx) {
	if !ctx.Request.IsBodyStream() {
		return
	}
	if size := ctx.Request.Header.ContentLength(); size < 0 || size > prefetched {
		endConn(ctx)
	}
}

// endConn ends the connection after the answer, which a client that still sends
// gets to see.
func endConn(ctx *fasthttp.RequestCtx) {
	ctx.SetConnectionClose()
	if c, ok := ctx.Conn().(*conn); ok {
		c.linger.Store(true)
	}
}

// tooLarge is the answer to a body above its limit.
func tooLarge(limit int) *door.Failure {
	return &door.Failure{Status: fasthttp.StatusRequestEntityTooLarge,
		Message: "the request's body is larger than " + strconv.Itoa(limit) + " bytes"}
}
