package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"

	"quorate/engine/chain/evm"
)

// gatherServer answers /N with N bytes, as the server does with large pages, and /s/N
// with a stream of them.
func gatherServer(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newConnections(&Config{MaxConns: 100, MaxConnsPerClient: 100}, func() {}, func() {})
	srv := &fasthttp.Server{WriteBufferSize: writeRoom, Handler: func(ctx *fasthttp.RequestCtx) {
		var size int
		if _, err := fmt.Sscanf(string(ctx.Path()), "/s/%d", &size); err == nil {
			ctx.Response.SetBodyStream(bytes.NewReader(gatherBody(size)), size)
		} else if _, err := fmt.Sscanf(string(ctx.Path()), "/%d", &size); err == nil {
			ctx.Response.SetBody(gatherBody(size))
		}
		c, _ := ctx.Conn().(*conn)
		c.gather.expect(ctx)
	}}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(&listener{Listener: ln, conns: conns}) }()
	t.Cleanup(func() {
		if err := srv.Shutdown(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// gatherBytes are what bodies are cut from.
var gatherBytes = sync.OnceValue(func() (b []byte) {
	for h := (evm.Hash{}); len(b) < 7*writeRoom; {
		h = evm.Keccak(h[:])
		b = append(b, h[:]...)
	}
	return b
})

func gatherBody(size int) []byte { return gatherBytes()[size%101:][:size] }

// asked is a request, and how many bytes its answer has.
type asked struct {
	request string
	size    int
}

func gatherGet(size int) asked    { return asked{fmt.Sprintf("GET /%d", size), size} }
func gatherHead(size int) asked   { return asked{fmt.Sprintf("HEAD /%d", size), 0} }
func gatherStream(size int) asked { return asked{fmt.Sprintf("GET /s/%d", size), size} }

// TestGather: answers of all sizes around that of the room arrive whole and in their
// order, also those to requests that came at once, and those without a body.
func TestGather(t *testing.T) {
	t.Parallel()
	c, err := net.Dial("tcp", gatherServer(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := bufio.NewReader(c)
	ask := func(list ...asked) (header int) {
		t.Helper()
		var all []byte
		for _, a := range list {
			all = fmt.Appendf(all, "%s HTTP/1.1\r\nHost: h\r\n\r\n", a.request)
		}
		go func() { _, _ = c.Write(all) }() // the answers may not fit what lies between
		for _, a := range list {
			resp := fasthttp.Response{SkipBody: a.request[0] == 'H'}
			if err := resp.Read(r); err != nil {
				t.Fatalf("%s: %v", a.request, err)
			}
			if !bytes.Equal(resp.Body(), gatherBody(a.size)) {
				t.Fatalf("%s: another body, of %d bytes", a.request, len(resp.Body()))
			}
			header = len(resp.Header.Header())
		}
		return header
	}
	header := ask(gatherGet(writeRoom))
	var all []asked
	for _, rooms := range []int{1, 2, 3, 5} {
		for _, less := range []int{0, header, header + 1} {
			for d := -2; d <= 2; d++ {
				size := rooms*writeRoom - less + d
				ask(gatherGet(size))
				all = append(all, gatherGet(size), gatherHead(size), gatherGet(7), gatherStream(size), gatherGet(size))
			}
		}
	}
	ask(all...)
}

// pieces is a connection that keeps what is written, call by call, and fails once.
type pieces struct {
	net.Conn
	list [][]byte
	most int // bytes that are taken in all
}

func (p *pieces) Write(b []byte) (int, error) {
	n := min(len(b), p.most)
	p.most -= n
	p.list = append(p.list, bytes.Clone(b[:n]))
	if n < len(b) {
		return n, net.ErrClosed
	}
	return n, nil
}

// TestGatherFails: what was held counts as written before, so that an error says of the
// second piece alone how much of it was.
func TestGatherFails(t *testing.T) {
	t.Parallel()
	room, rest := make([]byte, writeRoom), make([]byte, 100)
	for most, want := range map[int]int{0: 0, 10: 0, writeRoom: 0, writeRoom + 30: 30, writeRoom + 100: 100} {
		g, p := gather{more: true}, &pieces{most: most}
		if n, err := g.write(p, room); n != writeRoom || err != nil || len(p.list) > 0 {
			t.Fatalf("the first piece: %d, %v, %d pieces", n, err, len(p.list))
		}
		if n, err := g.write(p, rest); n != want || (err == nil) != (most == writeRoom+100) {
			t.Errorf("%d bytes taken: %d, %v", most, n, err)
		}
		if g.held != nil || g.more {
			t.Error("something is held")
		}
	}
}
