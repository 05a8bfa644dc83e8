package httpapi

import (
	"net"
	"sync"

	"github.com/valyala/fasthttp"
)

// writeRoom is the room for what is written to a connection, in bytes. Pages of ten
// transactions have 8 to 10 KB: with less room each takes two writes, and wakes its
// client twice.
const writeRoom = 16 << 10

// gather makes one write of the two that an answer with more than writeRoom takes:
// fasthttp fills the room, writes it, and then writes the rest. A connection owns it,
// and uses it in its own goroutine only.
type gather struct {
	// more: the next time that the room is full more of the same answer follows.
	more bool
	held *[writeRoom]byte // the full room
	both [2][]byte
	list net.Buffers // of both; here, so that it is not made for each answer
}

var gatherPool = sync.Pool{New: func() any { return new([writeRoom]byte) }}

// expect looks at an answer that is complete, before it is written.
func (g *gather) expect(ctx *fasthttp.RequestCtx) {
	r := &ctx.Response
	g.more = !r.IsBodyStream() && len(r.Body()) > writeRoom && !r.SkipBody && !ctx.IsHead()
}

// write writes to c what fasthttp writes.
func (g *gather) write(c net.Conn, b []byte) (int, error) {
	if g.more && len(b) == writeRoom {
		g.more = false
		if g.held == nil {
			g.held, _ = gatherPool.Get().(*[writeRoom]byte)
			return copy(g.held[:], b), nil
		}
	}
	if g.held == nil {
		return c.Write(b)
	}
	g.both = [2][]byte{g.held[:], b}
	g.list = g.both[:]
	n, err := g.list.WriteTo(c)
	gatherPool.Put(g.held)
	g.both, g.list, g.held = [2][]byte{}, nil, nil
	return int(max(0, n-writeRoom)), err
}
