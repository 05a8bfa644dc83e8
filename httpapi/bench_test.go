package httpapi

import (
	"bufio"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"quorate/aggregator"
	"quorate/httpapi/door"
)

// A teleporter message has about 500 bytes.
var (
	benchMessage = strings.Repeat("5a", 500)
	benchSigned  = &aggregator.Result{Signed: make([]byte, 620)}
	benchRequest = []byte(post(sdkPath, `{"message":"`+benchMessage+`","quorumPercentage":67}`))
)

func benchServer(t testing.TB) *Server {
	t.Helper()
	s, err := New(Config{Networks: networks{signs(string(benchSigned.Signed))}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// floor is a fasthttp handler that answers the same bytes without any work.
func floor() fasthttp.RequestHandler {
	body := []byte(`{"signedMessage":"` + hex.EncodeToString(benchSigned.Signed) + `"}`)
	return func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusCreated)
		ctx.Response.Header.SetContentType(door.ContentJSON)
		ctx.Response.SetBodyRaw(body)
	}
}

// benchWire measures whole requests over an in-memory connection.
func benchWire(b *testing.B, srv *fasthttp.Server) {
	ln := fasthttputil.NewInmemoryListener()
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c, err := ln.Dial()
		if err != nil {
			b.Error(err)
			return
		}
		defer closeConn(b, c)
		r := bufio.NewReader(c)
		var resp fasthttp.Response
		for pb.Next() {
			if _, err := c.Write(benchRequest); err != nil {
				b.Error(err)
				return
			}
			if err := resp.Read(r); err != nil || resp.StatusCode() != fasthttp.StatusCreated {
				b.Errorf("status %d, error %v", resp.StatusCode(), err)
				return
			}
		}
	})
	b.StopTimer()
	if err := srv.Shutdown(); err != nil {
		b.Error(err)
	}
	if err := <-served; err != nil && err != io.EOF {
		b.Error(err)
	}
}

func closeConn(b *testing.B, c net.Conn) {
	if err := c.Close(); err != nil {
		b.Error(err)
	}
}

func BenchmarkKeptWire(b *testing.B) {
	s := benchServer(b)
	benchWire(b, s.fast)
}

func BenchmarkFloorWire(b *testing.B) {
	benchWire(b, &fasthttp.Server{Handler: floor(), NoDefaultServerHeader: true, WriteBufferSize: 8 << 10, ReadBufferSize: 8 << 10})
}

// direct returns a request context as the handler sees it.
func direct(t testing.TB) *fasthttp.RequestCtx {
	t.Helper()
	var req fasthttp.Request
	if err := req.Read(bufio.NewReader(strings.NewReader(string(benchRequest)))); err != nil {
		t.Fatal(err)
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, nil, nil)
	return ctx
}

func BenchmarkKeptHandler(b *testing.B) {
	s, ctx := benchServer(b), direct(b)
	b.ReportAllocs()
	for b.Loop() {
		s.handle(ctx)
	}
}

func BenchmarkFloorHandler(b *testing.B) {
	h, ctx := floor(), direct(b)
	b.ReportAllocs()
	for b.Loop() {
		h(ctx)
	}
}

// TestKeptAllocations is the budget of a request whose body is read: the request, its
// message, the name of its client, and what the decoder takes. One that repeats another
// has none, see TestRepeatAllocations.
func TestKeptAllocations(t *testing.T) {
	s, ctx := benchServer(t), direct(t)
	if n := testing.AllocsPerRun(100, func() { s.handle(ctx) }); n > 19 {
		t.Errorf("%v allocations, at most 19 are allowed", n)
	}
	if ctx.Response.StatusCode() != fasthttp.StatusCreated {
		t.Errorf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
}
