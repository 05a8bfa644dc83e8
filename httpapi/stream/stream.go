package stream

import (
	"context"
	"errors"
	"io"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"quorate/engine/events"
	"quorate/engine/metric"
	"quorate/httpapi/door"
	"quorate/httpapi/limit"
	"quorate/httpapi/view"
)

const (
	heartbeat = 15 * time.Second
	// stateEvery is how often validators and health are looked at.
	stateEvery = time.Second
	// streamWrite bounds one write to a client that takes nothing.
	streamWrite = 20 * time.Second
	slowAfter   = 10 * time.Second
	// streamPiece is about the most of one piece, in bytes.
	streamPiece = 64 << 10
	// eventsAtOnce bounds the events of a chain that are read at once.
	eventsAtOnce = 64
	// readRetry is the wait after rows could not be read, readPatience for how long.
	readRetry    = 200 * time.Millisecond
	readPatience = 10 * time.Second
)

// Why a stream ends.
const (
	endClient   = "client"
	endSlow     = "slow"
	endStopping = "stopping"
	endLost     = "lost"
	endFailed   = "failed"
)

// streams are the open streams of events.
type streams struct {
	mu       sync.Mutex
	open     map[*stream]struct{}
	byClient map[string]int
	stopping bool
	// operators counts those at operators' listeners.
	operators int
	// replays has a place for each stream that reads history now.
	replays chan struct{}

	sent  map[string]metric.Counter
	ended map[string]metric.Counter
}

func (l *streams) init(set *metric.Set) {
	l.replays = make(chan struct{}, replaysAtOnce)
	l.open, l.byClient = make(map[*stream]struct{}), make(map[string]int)
	l.sent, l.ended = make(map[string]metric.Counter), make(map[string]metric.Counter)
	for _, event := range []string{eventSnapshot, eventBlock, eventTransaction, eventTransfer, eventMessage, eventRetraction, eventValidators, eventHealth} {
		l.sent[event] = set.Counter("quorate_events_sent_total", "Events sent to subscribers.", "event", event)
	}
	for _, reason := range []string{endClient, endSlow, endStopping, endLost, endFailed} {
		l.ended[reason] = set.Counter("quorate_events_ended_total", "Streams of events that have ended, by reason.", "reason", reason)
	}
	set.GaugeFunc("quorate_events_subscribers", "Open streams of events.", func() float64 { return float64(l.len()) })
}

func (l *streams) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// add counts a stream in, or says why there is no room for it.
func (l *streams) add(t *stream, m *Room) *door.Failure {
	l.mu.Lock()
	defer l.mu.Unlock()
	client := t.client.String()
	switch {
	case l.stopping:
		return door.Unavailable("the server is stopping")
	case len(l.open) >= m.Most:
		return door.Unavailable("too many streams of events are open")
	case t.operator && l.operators >= m.Operators:
		return door.Unavailable("too many streams of events are open where operators connect")
	case l.byClient[client] >= m.PerClient:
		return &door.Failure{Status: fasthttp.StatusTooManyRequests, Message: "this client has too many streams of events open", RetryAfter: door.QuotaRetry}
	}
	l.open[t] = struct{}{}
	l.byClient[client]++
	if t.operator {
		l.operators++
	}
	return nil
}

func (l *streams) remove(t *stream, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.open[t]; !ok {
		return
	}
	delete(l.open, t)
	if t.operator {
		l.operators--
	}
	client := t.client.String()
	if l.byClient[client]--; l.byClient[client] == 0 {
		delete(l.byClient, client)
	}
	l.ended[reason].Inc()
}

// stop bounds what clients still take. The connections were stopped before.
func (l *streams) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopping = true
	for t := range l.open {
		if t.conn != nil {
			_ = t.conn.SetWriteDeadline(t.room.LastWrites()) // an error: it is gone
		}
	}
}

// stream is a body of Server-Sent Events. The goroutine of its connection owns it.
type stream struct {
	room   *Room
	client limit.Client
	conn   net.Conn // nil in tests without a network
	// operator: it is at an operators' listener.
	operator bool
	dialect  view.Dialect
	quorum   int
	chains   []*chainStream
	states   []*stateStream

	work context.Context // of signing
	halt context.CancelFunc

	buf    []byte
	off    int       // of buf, what was read
	given  time.Time // when the first of buf was read
	last   time.Time // when something was written last
	begun  bool
	over   bool   // buf is the last piece
	reason string // why it has ended
}

// Read implements [io.Reader]: it waits until there is something to send.
func (t *stream) Read(b []byte) (int, error) {
	if t.off == len(t.buf) {
		if t.over {
			return 0, io.EOF
		}
		slow := t.begun && time.Since(t.given) > t.room.SlowAfter
		t.buf, t.off = t.buf[:0], 0
		if cap(t.buf) > 4*streamPiece {
			t.buf = nil
		}
		switch {
		case slow:
			t.end(endSlow, "the client takes its events too slowly")
		default:
			t.fill()
		}
		t.given = time.Now()
	}
	n := copy(b, t.buf[t.off:])
	t.off += n
	if t.conn != nil {
		// The stop may come between the two. An error: the write finds it.
		_ = t.conn.SetWriteDeadline(time.Now().Add(streamWrite))
		if t.stopped() {
			_ = t.conn.SetWriteDeadline(t.room.LastWrites())
		}
	}
	return n, nil
}

func (t *stream) stopped() bool {
	select {
	case <-t.room.Stopped:
		return true
	default:
		return false
	}
}

// fill waits for events and writes them to buf.
func (t *stream) fill() {
	if !t.begun {
		t.begun = true
		t.work, t.halt = context.WithCancel(t.room.desk.Work)
		t.buf = append(t.buf, "retry: 1000\n\n"...)
	}
	for {
		if t.stopped() {
			t.end(endStopping, "the server is stopping")
			return
		}
		waits := make([]<-chan struct{}, 0, maxEventChains+1)
		for _, c := range t.chains {
			waits = append(waits, c.hub.Changed()) // before looking: so no change is missed
		}
		more := false
		for _, c := range t.chains {
			again, err := c.write()
			if err != nil {
				t.fault(c, err)
				return
			}
			more = more || again
			if ready := c.waiting(); ready != nil {
				waits = append(waits, ready)
			}
		}
		for _, o := range t.states {
			o.write()
		}
		if t.beat(); len(t.buf) > 0 {
			t.last = time.Now()
			return
		}
		if !more {
			t.wait(waits)
		}
	}
}

// fault ends a stream whose rows cannot be read.
func (t *stream) fault(c *chainStream, err error) {
	if errors.Is(err, events.ErrLost) {
		// Without an ID the client starts over.
		t.buf = append(t.buf, "id:\n"...)
		t.end(endLost, "chain "+c.info.ChainID+": "+err.Error())
		return
	}
	t.room.desk.Log.Error("a chain's rows cannot be read for events", "chain", c.info.ChainID, "err", err)
	t.end(endFailed, "chain "+c.info.ChainID+" cannot be read")
}

// beat shows that the connection lives, and how far the chains are.
func (t *stream) beat() {
	if len(t.buf) == 0 && time.Since(t.last) >= t.room.Heartbeat {
		t.buf = append(t.buf, ": \n"...)
		t.id()
		t.buf = append(t.buf, '\n')
	}
}

// wait waits until something may have changed.
func (t *stream) wait(on []<-chan struct{}) {
	pause := t.room.Heartbeat - time.Since(t.last)
	if len(t.states) > 0 {
		pause = min(pause, stateEvery)
	}
	for _, c := range t.chains {
		if !c.failing.IsZero() {
			pause = min(pause, readRetry)
		}
		if !c.replay.until.IsZero() {
			pause = min(pause, time.Until(c.replay.until))
		}
	}
	timer := time.NewTimer(max(pause, time.Millisecond))
	defer timer.Stop()
	cases := make([]reflect.SelectCase, 0, len(on)+2)
	add := func(ch any) {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ch)})
	}
	add(t.room.Stopped)
	add(timer.C)
	for _, ch := range on {
		add(ch)
	}
	reflect.Select(cases)
}

// id writes the positions of all chains.
func (t *stream) id() {
	if len(t.chains) == 0 {
		return
	}
	t.buf = append(t.buf, "id: "...)
	for i, c := range t.chains {
		if i > 0 {
			t.buf = append(t.buf, ',')
		}
		t.buf = append(append(t.buf, c.info.ChainID...), ':')
		t.buf = c.told.Append(t.buf)
	}
	t.buf = append(t.buf, '\n')
}

// event begins an event, whose data are to be appended, on one line.
func (t *stream) event(name string, id bool) {
	if id {
		t.id()
	}
	t.buf = append(append(append(t.buf, "event: "...), name...), "\ndata: "...)
	if c, ok := t.room.streams.sent[name]; ok {
		c.Inc()
	}
}

// close closes an event.
func (t *stream) closeEvent() { t.buf = append(t.buf, "\n\n"...) }

// end says why there will be no more.
func (t *stream) end(reason, message string) {
	t.reason, t.over = reason, true
	t.event("end", false)
	t.buf = view.AppendString(append(t.buf, `{"reason":`...), reason)
	t.buf = append(view.AppendString(append(t.buf, `,"message":`...), message), '}')
	t.closeEvent()
}

// Close implements [io.Closer].
func (t *stream) Close() error {
	reason := t.reason
	if reason == "" {
		reason = endClient
		if t.begun && time.Since(t.given) > t.room.SlowAfter {
			reason = endSlow
		}
	}
	t.room.streams.remove(t, reason)
	t.release()
	return nil
}

// release frees what the stream holds.
func (t *stream) release() {
	if t.halt != nil {
		t.halt()
	}
	for _, c := range t.chains {
		c.follower.Close()
	}
	t.chains = slices.Delete(t.chains, 0, len(t.chains))
}
