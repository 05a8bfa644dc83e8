package evmrpc

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/goccy/go-json"
	"github.com/valyala/fasthttp"
)

const (
	maxSubscriptions = 16
	writeTimeout     = 10 * time.Second
)

// Conns counts WebSocket connections, which the HTTP server lets go of. The zero
// value is ready.
type Conns struct {
	mu     sync.Mutex
	closed bool
	open   sync.WaitGroup
}

func (c *Conns) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.open.Add(1)
	return true
}

// Wait lets no further connection begin, and waits for the end of all.
func (c *Conns) Wait() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.open.Wait()
}

// Upgrade answers a request for a WebSocket. The connection is served until
// its end or that of life, and counted by conns.
func (h *Handler) Upgrade(ctx *fasthttp.RequestCtx, life context.Context, conns *Conns) {
	if h.faulty(FaultBusy) {
		ctx.Error("too many requests", fasthttp.StatusTooManyRequests)
		return
	}
	if !ctx.IsGet() || string(ctx.Request.Header.Peek("Sec-WebSocket-Key")) == "" {
		ctx.Error("Bad Request", fasthttp.StatusBadRequest)
		return
	}
	r := &http.Request{
		Method: http.MethodGet, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: string(ctx.Host()), Header: make(http.Header),
	}
	for key, value := range ctx.Request.Header.All() {
		r.Header.Add(string(key), string(value))
	}
	ctx.HijackSetNoResponse(true)
	ctx.Hijack(func(conn net.Conn) {
		if !conns.enter() {
			return
		}
		defer conns.open.Done()
		h.socket(life, conn, r)
	})
}

// hijacked is a connection that the HTTP server closes once its handler has returned, and
// no sooner: to close it is to end what waits for it.
type hijacked struct{ net.Conn }

// Close implements net.Conn.
func (c hijacked) Close() error { return c.SetDeadline(time.Unix(1, 0)) }

// response lets the WebSocket library write its answer to a connection that
// another HTTP server has accepted.
type response struct {
	conn   net.Conn
	header http.Header
	err    error
}

// Header returns the headers of the answer.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sends the head of the answer.
func (w *response) WriteHeader(status int) {
	answer := http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: w.header}
	if status != http.StatusSwitchingProtocols {
		answer.Close = true
	}
	w.err = answer.Write(w.conn)
}

// Write sends a part of the body.
func (w *response) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	return w.conn.Write(b)
}

// Hijack returns the connection.
func (w *response) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.err != nil {
		return nil, nil, w.err
	}
	return w.conn, bufio.NewReadWriter(bufio.NewReader(w.conn), bufio.NewWriter(w.conn)), nil
}

// socket serves one connection.
func (h *Handler) socket(life context.Context, conn net.Conn, r *http.Request) {
	if err := conn.SetDeadline(time.Time{}); err != nil { // the HTTP server's
		return
	}
	ws, err := websocket.Accept(&response{conn: hijacked{conn}, header: make(http.Header)}, r,
		&websocket.AcceptOptions{InsecureSkipVerify: true}) // any origin, as nodes by default
	if err != nil {
		return // the client has its answer
	}
	ws.SetReadLimit(MaxBody)
	ctx, cancel := context.WithCancel(life)
	_, swapped := h.swap()
	s := &session{handler: h, wake: make(chan struct{}, 1), old: !swapped}
	h.connected(1)
	defer h.connected(-1)
	var heads sync.WaitGroup
	heads.Go(func() { s.push(ctx, ws); cancel() })
	s.serve(ctx, ws)
	cancel()
	heads.Wait()
	_ = ws.CloseNow() // whatever is left of it
}

// session is the subscriptions of one connection.
type session struct {
	handler *Handler
	wake    chan struct{} // there is a first subscription
	old     bool          // it is of the software of before Helicon

	mu   sync.Mutex // guards what follows
	subs []subscription
	next uint64 // height of the first head that was not told
	txs  uint64 // height of the first block whose acceptance was not told
	last node   // what the node was when heads were told last
	ids  uint64
}

// serve answers requests until the connection or ctx ends.
func (s *session) serve(ctx context.Context, ws *websocket.Conn) {
	for {
		_, body, err := ws.Read(ctx)
		if err != nil {
			return
		}
		if !s.handler.hold(ctx) || !s.handler.park(ctx) {
			return
		}
		answer := s.handler.answer(body, s)
		if answer == nil {
			continue
		}
		if s.handler.faulty(FaultTruncated) {
			answer = answer[:len(answer)/2]
		}
		if err := write(ctx, ws, answer); err != nil {
			return
		}
		s.wakeUp()
	}
}

func (s *session) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func write(ctx context.Context, ws *websocket.Conn, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return ws.Write(ctx, websocket.MessageText, body)
}

// push tells heads until the connection or ctx ends. One that reads slowly gets
// them late; nothing is kept for it.
func (s *session) push(ctx context.Context, ws *websocket.Conn) {
	for {
		grown, changed := s.handler.news()
		if _, swapped := s.handler.swap(); swapped && s.old {
			s.handler.park(ctx)
			return // the software that it was connected to has ended
		}
		for _, note := range s.due(s.handler.now()) {
			if err := write(ctx, ws, note); err != nil {
				return
			}
		}
		select {
		case <-grown:
		case <-changed:
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

// due returns the messages about heads up to the tip, at most those of some
// blocks. Heads that took the place of others are told again.
func (s *session) due(n *node) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.chain != nil && n.chain != s.last.chain {
		s.next = min(s.next, s.last.accepted+1)
	}
	s.last = *n
	tip := n.latest
	if len(s.subs) == 0 || s.handler.faulty(FaultBackwards) {
		s.next, s.txs = tip+1, n.tip+1
		return nil
	}
	if n.traits.Repeats {
		s.next = min(s.next, tip)
	}
	const most = 64
	var notes [][]byte
	for ; s.txs <= n.tip && len(notes) < most*len(s.subs); s.txs++ {
		for i := range s.subs {
			notes = s.subs[i].accepted(notes, n, s.txs)
		}
	}
	for ; s.next <= tip && len(notes) < most*len(s.subs); s.next++ {
		for i := range s.subs {
			notes = s.subs[i].executed(notes, n, s.next)
		}
	}
	if s.next <= tip || s.txs <= n.tip {
		s.wakeUp()
	}
	return notes
}

func (s *session) subscribe(dst []byte, r *request) ([]byte, error) {
	a, err := arguments(r.Params, 1, 2)
	if err != nil {
		return dst, err
	}
	var name string
	if err := json.Unmarshal(a[0], &name); err != nil {
		return dst, invalid("expected subscription name as first argument")
	}
	sub := subscription{kind: name}
	if a[1] != nil && name == subLogs {
		if sub.filter, err = s.handler.now().subscribed(a[1]); err != nil {
			return dst, err
		}
	}
	if !sub.known() || r.Method != "eth"+subscribeSuffix {
		space := r.Method[:len(r.Method)-len(subscribeSuffix)]
		return dst, &callError{code: codeMethod, text: "no " + strconv.Quote(name) + " subscription in " + space + " namespace"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subs) == maxSubscriptions {
		return dst, errors.New("too many subscriptions")
	}
	if len(s.subs) == 0 {
		n := s.handler.now()
		s.next, s.txs = n.latest+1, n.tip+1
	}
	s.ids++
	text := "0x" + strconv.FormatUint(s.ids, 16)
	sub.id = text
	s.subs = append(s.subs, sub)
	return strconv.AppendQuote(dst, text), nil
}

func (s *session) unsubscribe(dst []byte, r *request) ([]byte, error) {
	a, err := arguments(r.Params, 1, 1)
	if err != nil {
		return dst, err
	}
	id, err := a.text(0, "rpc.ID")
	if err != nil {
		return dst, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.subs, func(sub subscription) bool { return sub.id == id })
	if i < 0 {
		return dst, errors.New("subscription not found")
	}
	s.subs = slices.Delete(s.subs, i, i+1)
	return append(dst, "true"...), nil
}
