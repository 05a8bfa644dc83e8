package bench

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// bare answers the same bytes again and again, whatever is asked: nothing that
// answers them over HTTP could do less.
type bare struct {
	url    string
	server *fasthttp.Server
	ln     net.Listener
	ended  chan error
}

// newBare starts one on a free port of loopback. It answers the bodies in turns.
func newBare(bodies [][]byte) (*bare, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &bare{url: "http://" + ln.Addr().String(), server: bareHandler(bodies), ln: ln, ended: make(chan error, 1)}
	go func() { b.ended <- b.server.Serve(ln) }()
	return b, nil
}

func bareHandler(bodies [][]byte) *fasthttp.Server {
	var next atomic.Uint64
	return &fasthttp.Server{
		NoDefaultServerHeader: true, ReadBufferSize: 8 << 10, WriteBufferSize: 8 << 10,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.SetContentType("application/json")
			ctx.Response.SetBodyRaw(bodies[next.Add(1)%uint64(len(bodies))])
		},
	}
}

// stop ends the server and waits for that.
func (b *bare) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := b.server.ShutdownWithContext(ctx)
	_ = b.ln.Close() // ShutdownWithContext does not know it if Serve has only just begun
	return errors.Join(err, <-b.ended)
}
