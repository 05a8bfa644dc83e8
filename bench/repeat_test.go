package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/aggregator"
	"quorate/httpapi"
	"quorate/httpapi/limit"
)

// rigConns is the number of connections that ask at the same time.
const rigConns = 4

// oneNetwork is a server's only network.
type oneNetwork struct{ *aggregator.Aggregator }

func (n oneNetwork) ByName(string) (httpapi.Aggregator, bool) { return n.Aggregator, true }
func (n oneNetwork) ByID(uint32) (httpapi.Aggregator, bool)   { return n.Aggregator, true }

// repeats are clients of a server over loopback that ask the same again and again.
type repeats struct {
	request  []byte
	encoding string // that answers may have, of GET requests
	conns    []net.Conn
	readers  []*bufio.Reader
}

// quorateServer serves the whole path of a repeated request: HTTP, body,
// aggregator, kept result. It gives what it answers, too.
func quorateServer(t testing.TB, n int) (server *repeats, answer []byte) {
	t.Helper()
	r := newRig(t, n, true)
	srv, err := httpapi.New(httpapi.Config{Networks: oneNetwork{r.Aggregator}, Limits: generous(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server = dialAll(t, r, func(ln net.Listener) error { return srv.Run(ctx, ln) }, cancel)
	res, err := r.Aggregate(ctx, r.jobs[0].req)
	if err != nil {
		t.Fatal(err)
	}
	return server, []byte(`{"signedMessage":"` + hex.EncodeToString(res.Signed) + `"}`)
}

// generous limits count all requests, as the command's do, and refuse none.
func generous(t testing.TB) *limit.Limiter {
	t.Helper()
	l, err := limit.New(limit.Config{UnitsPerMinute: 100_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bareServer answers the same bytes to the same request without any work.
func bareServer(t testing.TB, like *repeats, answer []byte) *repeats {
	t.Helper()
	srv := &fasthttp.Server{
		NoDefaultServerHeader: true, ReadBufferSize: 8 << 10, WriteBufferSize: 8 << 10,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetStatusCode(fasthttp.StatusCreated)
			ctx.Response.Header.SetContentType("application/json")
			ctx.Response.SetBodyRaw(answer)
		},
	}
	out := dialAll(t, nil, srv.Serve, func() {
		if err := srv.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	out.request = like.request
	return out
}

func dialAll(t testing.TB, r *rig, serve func(net.Listener) error, stop func()) *repeats {
	t.Helper()
	s, end := dialUntil(t, serve, stop)
	if r != nil {
		req := r.jobs[0].req
		body := fmt.Sprintf(`{"message":"%x","quorumPercentage":%d,"quorumPercentageBuffer":%d}`, req.Message, req.Quorum, req.Buffer)
		s.request = fmt.Appendf(nil, "POST /v1/signatureAggregator/fuji/aggregateSignatures HTTP/1.1\r\nHost: quorate\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	t.Cleanup(end)
	return s
}

// dialUntil connects clients to a server, until end is called.
func dialUntil(t testing.TB, serve func(net.Listener) error, stop func()) (_ *repeats, end func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- serve(ln) }()
	s := &repeats{}
	for range rigConns {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s.conns, s.readers = append(s.conns, c), append(s.readers, bufio.NewReader(c))
	}
	return s, func() {
		var errs []error
		for _, c := range s.conns {
			errs = append(errs, c.Close())
		}
		stop()
		if err := errors.Join(append(errs, <-ended)...); err != nil {
			t.Error(err)
		}
	}
}

// accept has the requests say that answers may be packed.
func (s *repeats) accept(encoding string) {
	s.request = bytes.Replace(s.request, []byte("\r\n"), []byte("\r\nAccept-Encoding: "+encoding+"\r\n"), 1)
}

// ask sends count requests over all connections together, depth at a time on
// each, and gives the body of the last answer.
func (s *repeats) ask(t testing.TB, count, depth int) string {
	var wg sync.WaitGroup
	bodies := make([]string, len(s.conns))
	for i, c := range s.conns {
		wg.Go(func() {
			batch := []byte(strings.Repeat(string(s.request), depth))
			var resp fasthttp.Response
			for range count / len(s.conns) / depth {
				if _, err := c.Write(batch); err != nil {
					t.Error(err)
					return
				}
				for range depth {
					if err := resp.Read(s.readers[i]); err != nil || resp.StatusCode() != fasthttp.StatusCreated {
						t.Errorf("status %d, error %v", resp.StatusCode(), err)
						return
					}
				}
			}
			bodies[i] = strings.TrimSpace(string(resp.Body()))
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return bodies[0]
}

// BenchmarkRepeat is a request whose result is kept, over loopback HTTP with
// its client in the same process. x/bare is the rate against that of a bare
// fasthttp handler that answers the same bytes. With 16 requests to a write
// (pipelined) the client and the kernel weigh less, and the server more.
func BenchmarkRepeat(b *testing.B) {
	for _, n := range []int{5, 1000} {
		ours, answer := quorateServer(b, n)
		bare := bareServer(b, ours, answer)
		// A connection that is idle for long is closed, so it is used at once.
		if got, want := ours.ask(b, rigConns, 1), bare.ask(b, rigConns, 1); got != want || got == "" {
			b.Fatalf("the answers differ:\n%s\n%s", got, want)
		}
		for _, depth := range []int{1, 16} {
			b.Run(fmt.Sprintf("N=%d/pipelined=%d", n, depth), func(b *testing.B) {
				const count = 3200
				round := func(s *repeats) func() { return func() { s.ask(b, count, depth) } }
				b.ReportAllocs()
				rounds := 0
				for b.Loop() {
					rounds++
					round(ours)()
				}
				b.ReportMetric(float64(rounds*count)/b.Elapsed().Seconds(), "req/s")
				b.StopTimer()
				b.ReportMetric(allocations(5, 1, round(ours))/count, "allocs/req")
				b.ReportMetric(1/against(wall(), 5, round(ours), round(bare)), "x/bare")
			})
		}
	}
}
