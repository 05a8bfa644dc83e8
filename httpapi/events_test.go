package httpapi

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quorate/aggregator"
	"quorate/devnet/torture"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
	"quorate/engine/events"
	"quorate/engine/health"
	"quorate/httpapi/limit"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 20)
	s, addr := serveEvents(t, c, Config{})
	query := "topics=blocks,transactions,transfers,messages&chainId=43112&addresses=" + alice.String()
	live := mustListen(t, addr, query, "")
	first := live.must(t)
	if first.name != "snapshot" || first.height(t) != 19 || first.id == "" {
		t.Fatalf("begins with %+v", first)
	}
	c.grow(t, 3)
	names := map[string]int{}
	var list []event
	for names["message"] < 3 {
		e := live.must(t)
		names[e.name]++
		list = append(list, e)
		switch e.name {
		case "message":
			var m struct {
				Message struct{ UnsignedMessage, SignedMessage, MessageID, DestinationBlockchainID, TxHash string }
			}
			want := messageOf(e.height(t))
			u, _ := warp.Parse(want)
			if err := json.Unmarshal([]byte(e.data), &m); err != nil || m.Message.SignedMessage != hex.EncodeToString([]byte("signed"))+hex.EncodeToString(want) ||
				m.Message.UnsignedMessage != hex.EncodeToString(want) || m.Message.MessageID != u.ID().String() ||
				m.Message.DestinationBlockchainID != (chain.ID{byte(e.height(t) % 2)}).String() {
				t.Errorf("message %s, %v", e.data, err)
			}
		case "transaction":
			var tx struct {
				Transaction struct{ NativeTransaction json.RawMessage }
			}
			var hash struct{ TxHash string }
			if err := errors.Join(json.Unmarshal([]byte(e.data), &tx), json.Unmarshal(tx.Transaction.NativeTransaction, &hash)); err != nil {
				t.Fatal(err)
			}
			if body := get(s, base+"/transactions?pageSize=100").Body(); !strings.Contains(string(body), string(tx.Transaction.NativeTransaction)) {
				t.Errorf("%s is not in the list %s", tx.Transaction.NativeTransaction, body)
			}
		}
	}
	if names["block"] != 3 || names["transaction"] != 3 {
		t.Errorf("events: %v", names)
	}
	for i := range list {
		again := mustListen(t, addr, query, list[i].id)
		for _, want := range list[i+1:] {
			if got := again.must(t); got != want {
				t.Fatalf("after %s came %+v, not %+v", list[i].id, got, want)
			}
		}
	}
	all := mustListen(t, addr, "topics=blocks&chainId=C&startBlock=0", "")
	for h := range uint64(23) {
		if e := all.must(t); e.name != "block" || e.height(t) != h {
			t.Fatalf("block %d: %+v", h, e)
		}
	}
	odd := mustListen(t, addr, "topics=messages&chainId=43112&startBlock=1&destinationBlockchainId="+chain.ID{1}.String(), "")
	for h := uint64(1); h < 22; h += 2 {
		if e := odd.must(t); e.height(t) != h {
			t.Fatalf("message of block %d: %+v", h, e)
		}
	}
	if n := s.cfg.Metrics.Value("quorate_events_sent_total", "event", "block"); n < 26 {
		t.Errorf("%v blocks are counted", n)
	}
}

// After the chain went back the stream takes back what is void, at once or when the
// client comes back.
func TestEventRetraction(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 40)
	_, addr := serveEvents(t, c, Config{})
	live := mustListen(t, addr, "topics=blocks&chainId=43112", "")
	away := live.must(t).id
	c.back(t, 3)
	c.grow(t, 5)
	for _, l := range []*reader{live, mustListen(t, addr, "topics=blocks&chainId=43112", away)} {
		e := l.must(t)
		if e.name != "retraction" || e.height(t) > 36 {
			t.Fatalf("%+v after the chain went back to block 36", e)
		}
		for h := e.height(t) + 1; h < 42; h++ {
			if e := l.must(t); e.name != "block" || e.height(t) != h || !strings.Contains(e.data, c.blocks[h].Hash.String()) {
				t.Fatalf("block %d: %+v", h, e)
			}
		}
	}
}

// What cannot be streamed is refused before the stream begins.
func TestEventsRefused(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 5)
	s, _ := serveEvents(t, c, Config{})
	other := newEventChain(t, 0)
	other.made = 50
	other.grow(t, 9)
	at, _, err := events.NewHub(other.x).Tip()
	if err != nil {
		t.Fatal(err)
	}
	c.grow(t, 20)
	for query, status := range map[string]int{
		"":                                  400,
		"topics=all":                        400,
		"topics=blocks":                     400,
		"topics=blocks&chainId=":            400,
		"topics=blocks&chainId=43112,":      400,
		"topics=transactions&chainId=43112": 400,
		"topics=transactions&chainId=43112&addresses=0x12":             400,
		"topics=transfers&chainId=43112":                               400,
		"topics=blocks,validators":                                     400,
		"topics=blocks&chainId=43112&startBlock=x":                     400,
		"topics=messages&chainId=43112&quorumPercentage=0":             400,
		"topics=messages&chainId=43112&quorumPercentage=101":           400,
		"topics=blocks&chainId=43112&lastEventId=43112:5":              400,
		"topics=blocks&chainId=43112&lastEventId=43112:5..":            400,
		"topics=blocks&chainId=43112&lastEventId=43112:" + at.String(): 410,
		"topics=blocks&chainId=43112&lastEventId=7:" + at.String():     410,
		"topics=validators":                                            404,
		"topics=health":                                                404,
		"topics=blocks&chainId=" + "a,b,c,d,e,f,g,h,i":                 400,
	} {
		resp := get(s, "/v1/events?"+query)
		if resp.IsBodyStream() {
			t.Errorf("%q opens a stream", query)
			_ = resp.CloseBodyStream()
		} else if resp.StatusCode() != status {
			t.Errorf("%q: %d %s", query, resp.StatusCode(), resp.Body())
		}
	}
	if n := s.stream.Open(); n != 0 {
		t.Errorf("%d streams are left open", n)
	}
}

// Streams are bounded by client and in all, and closed ones make room.
func TestEventLimits(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 2)
	s, addr := serveEvents(t, c, Config{MaxStreamsPerClient: 2})
	s.stream.Heartbeat = time.Millisecond
	const query = "topics=blocks&chainId=43112"
	one, two := mustListen(t, addr, query, ""), mustListen(t, addr, query, "")
	one.must(t)
	two.must(t)
	if _, err := listen(t.Context(), addr, query, ""); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("a third stream: %v", err)
	}
	if err := one.body.Close(); err != nil {
		t.Fatal(err)
	}
	for ctx, stop := context.WithTimeout(t.Context(), time.Minute); ; {
		l, err := listen(ctx, addr, query, "")
		if err == nil {
			l.body.Close()
			stop()
			break
		}
		if !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
	}
	if n := s.cfg.Metrics.Value("quorate_events_ended_total", "reason", "client"); n < 1 {
		t.Error("the end of a client's stream is not counted")
	}
}

// A key that is not good for a chain opens no stream of it; pages may read streams.
func TestEventAdmission(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 2)
	s, addr := serveEvents(t, c, Config{Origins: []string{"*"}, Limits: newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 150})})
	l := mustListen(t, addr, "topics=blocks&chainId=43112", "")
	l.must(t)
	if _, err := listen(t.Context(), addr, "topics=blocks&chainId=43112", ""); err == nil || !strings.Contains(err.Error(), "429") {
		t.Errorf("a second stream costs nothing: %v", err)
	}
	resp := get(s, "/v1/events?topics=x", "Origin", "https://app.example")
	if string(resp.Header.Peek("Access-Control-Allow-Origin")) != "*" {
		t.Errorf("a page cannot read streams:\n%s", &resp.Header)
	}
}

// A client that takes its events too slowly is told so, and so is everyone when the
// server stops; both go on later.
func TestEventEnds(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 2)
	s, addr := serveEvents(t, c, Config{})
	s.stream.SlowAfter = -1 // nobody is fast enough for a second piece
	slow := mustListen(t, addr, "topics=blocks&chainId=43112&startBlock=0", "")
	for h := range uint64(2) {
		if e := slow.must(t); e.height(t) != h {
			t.Fatalf("%+v", e)
		}
	}
	if e := slow.must(t); e.name != "end" || !strings.Contains(e.data, `"reason":"slow"`) {
		t.Errorf("a slow client got %+v", e)
	}
	if _, err := slow.next(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
	fast, fastAddr := serveEvents(t, c, Config{})
	l := mustListen(t, fastAddr, "topics=blocks&chainId=43112", slow.id)
	c.grow(t, 1)
	if e := l.must(t); e.name != "block" || e.height(t) != 2 {
		t.Errorf("later came %+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := fast.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if e := l.must(t); e.name != "end" || !strings.Contains(e.data, `"reason":"stopping"`) {
		t.Errorf("at the stop: %+v", e)
	}
}

// A client that reads nothing does not hold up the stop.
func TestEventStopStalled(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 300)
	s, addr := serveEvents(t, c, Config{})
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(1 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request("GET", "/v1/events?topics=blocks&chainId=43112&startBlock=0", "")); err != nil {
		t.Fatal(err)
	}
	for s.cfg.Metrics.Value("quorate_events_subscribers") == 0 {
		<-time.After(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begun := time.Now()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if d := time.Since(begun); d > 30*time.Second {
		t.Errorf("the stop took %s", d)
	}
}

// Messages are told in their order, also those that nobody signs, which hold up the
// others no longer than they are tried.
func TestEventMessages(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 30)
	var asked atomic.Int64
	network := fake(func(_ context.Context, req *aggregator.Request) (*aggregator.Result, error) {
		u, _ := warp.Parse(req.Message)
		call, _ := warp.ParseAddressedCall(u.Payload)
		height := binary.BigEndian.Uint64(call.Payload[56:])
		switch {
		case req.Quorum != 80:
			return nil, errors.New("another quorum")
		case height%10 == 3:
			return nil, &aggregator.Error{Kind: aggregator.Refused, Msg: "they said no"}
		case height%10 == 5 && asked.Add(1)%2 == 1:
			return nil, &aggregator.Error{Kind: aggregator.NotYet, Msg: "not yet", RetryAfter: time.Millisecond}
		}
		return &aggregator.Result{Signed: req.Message}, nil
	})
	_, addr := serveEvents(t, c, Config{Networks: networks{network}})
	l := mustListen(t, addr, "topics=messages&chainId=43112&startBlock=0&quorumPercentage=80", "")
	for h := range uint64(30) {
		e := l.must(t)
		if e.height(t) != h || strings.Contains(e.data, "they said no") != (h%10 == 3) || strings.Contains(e.data, `"signedMessage"`) == (h%10 == 3) {
			t.Fatalf("message %d: %+v", h, e)
		}
	}
}

// What has no order begins with a snapshot and then tells what is other.
func TestEventStates(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 2)
	state := &changing{}
	state.checks.Store(&checks{"C": {}})
	_, addr := serveEvents(t, c, Config{Health: state, Primary: samplePrimaries()})
	l := mustListen(t, addr, "topics=validators,health&network=fuji", "")
	a, b := l.must(t), l.must(t)
	if a.name != "snapshot" || !strings.Contains(a.data, nodeOne.String()) || a.id != "" {
		t.Errorf("validators: %+v", a)
	}
	if b.name != "snapshot" || b.data != `{"topic":"health","items":{"check/C":{"healthy":true},"healthy":true}}` {
		t.Errorf("health: %+v", b)
	}
	state.checks.Store(&checks{"C": {Error: "down"}})
	if e := l.must(t); e.name != "health" || e.data != `{"topic":"health","items":{"check/C":{"healthy":false,"error":"down"},"healthy":false}}` {
		t.Errorf("then: %+v", e)
	}
}

// changing is health that changes.
type changing struct{ checks atomic.Pointer[checks] }

func (c *changing) Health(tags []string) health.Report { return c.checks.Load().Health(tags) }

// subscriber keeps the log of a client that loses its connection now and then.
type subscriber struct {
	query string
	id    string
	log   []string // by height
	rnd   *rand.Rand
}

// run listens until the log has the last block's message, or ctx ends.
func (u *subscriber) run(ctx context.Context, t *testing.T, addr func() string, last func() uint64) {
	for ctx.Err() == nil {
		l, err := listen(ctx, addr(), u.query, u.id)
		if err != nil {
			if errors.Is(err, errRefused) && !strings.Contains(err.Error(), "503") {
				t.Error(err)
				return
			}
			continue // the server is away
		}
		done := u.read(t, l, last)
		_ = l.body.Close()
		if done {
			return
		}
	}
}

func (u *subscriber) read(t *testing.T, l *reader, last func() uint64) (done bool) {
	l.id = u.id
	for {
		e, err := l.next()
		if err != nil {
			return false
		}
		u.id = l.id
		switch e.name {
		case "block", "message":
			u.log = append(u.log, fmt.Sprintf("%06d %s", e.height(t), e.name))
		case "retraction":
			stands := fmt.Sprintf("%06d", e.height(t))
			u.log = slices.DeleteFunc(u.log, func(s string) bool { return s[:6] > stands })
		}
		if n := len(u.log); n > 0 && u.log[n-1] == fmt.Sprintf("%06d message", last()) {
			return true
		}
		if u.rnd.IntN(40) == 0 {
			return false
		}
	}
}

// Many subscribers whose server is cut off and made again, and who leave at random, have
// each block and each message once and in order.
func TestEventSubscribers(t *testing.T) {
	n, blocks := torture.Pick(24, 1000), torture.Pick(45, 300)
	c := newEventChain(t, 5)
	var at atomic.Pointer[string]
	var running *Server
	serve := func() {
		s, addr := serveEvents(t, c, Config{MaxStreamsPerClient: 2 * n, MaxStreams: 2 * n})
		running = s
		at.Store(&addr)
	}
	serve()
	var last atomic.Uint64
	last.Store(1 << 40)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(torture.Pick(5, 20))*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	list := make([]*subscriber, n)
	for i := range list {
		list[i] = &subscriber{query: "topics=blocks,messages&chainId=43112&startBlock=0", rnd: rand.New(rand.NewPCG(9, uint64(i)))}
		wg.Go(func() { list[i].run(ctx, t, func() string { return *at.Load() }, last.Load) })
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for range blocks / 3 {
		switch rnd.IntN(8) {
		case 0:
			running.conns.closeAll() // as a kill: nothing that is on its way arrives
			serve()
		case 1:
			c.back(t, rnd.IntN(4))
		}
		c.grow(t, 3)
	}
	last.Store(uint64(len(c.blocks)))
	c.grow(t, 1) // wakes those who wait
	wg.Wait()
	if ctx.Err() != nil {
		t.Fatal("not all subscribers have all there is")
	}
	var want []string
	for h := range c.blocks {
		want = append(want, fmt.Sprintf("%06d block", h), fmt.Sprintf("%06d message", h))
	}
	for i, u := range list {
		if !slices.Equal(u.log, want) {
			t.Fatalf("subscriber %d has %d lines, not %d: %v", i, len(u.log), len(want), u.log)
		}
	}
}
