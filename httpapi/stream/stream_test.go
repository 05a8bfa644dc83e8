package stream

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"quorate/engine/events"
	"quorate/engine/metric"
	"quorate/httpapi/limit"
	"quorate/httpapi/view"
)

// TestEventsWritten: a stream keeps no block that was written: its client may take nothing
// for long.
func TestEventsWritten(t *testing.T) {
	t.Parallel()
	c := &chainStream{t: &stream{room: &Room{}}, info: &view.ChainInfo{ChainID: "1"}}
	kept := []events.Event{{Kind: events.OfBlock, Block: &events.Block{}}, {Kind: events.OfBlock, Block: &events.Block{}}}
	c.batch.Events = kept
	if err := c.writeEvents(); err != nil || len(c.batch.Events) > 0 || kept[0].Block != nil || kept[1].Block != nil {
		t.Errorf("%v, %d events are left, of %v", err, len(c.batch.Events), kept)
	}
}

// lastDeadline is a connection that keeps the last deadline of writes, and calls set before
// it takes one over.
type lastDeadline struct {
	net.Conn
	set  func()
	last time.Time
}

func (d *lastDeadline) SetWriteDeadline(t time.Time) error {
	if set := d.set; set != nil {
		d.set = nil
		set()
	}
	d.last = t
	return nil
}

// TestEventsStop: a stopping server gives all streams one second together, whatever their
// clients take, and also those that are just about to write.
func TestEventsStop(t *testing.T) {
	t.Parallel()
	stopped, end := make(chan struct{}), time.Now().Add(time.Minute)
	m := &Room{Stopped: stopped, LastWrites: func() time.Time { return end }}
	conn := &lastDeadline{}
	st := &stream{room: m, conn: conn, buf: make([]byte, 3)}
	m.streams.open = map[*stream]struct{}{st: {}}
	conn.set = func() {
		close(stopped)
		m.Stop()
	}
	for range 3 {
		if n, err := st.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
		if !conn.last.Equal(end) {
			t.Errorf("writes end at %v, not at %v", conn.last, end)
		}
	}
}

// TestOperatorStreams: streams of pages leave room where operators and their probes
// connect.
func TestOperatorStreams(t *testing.T) {
	t.Parallel()
	const operators = 32
	m := &Room{Most: 1000, PerClient: 1000, Operators: operators}
	l := &m.streams
	l.init(metric.NewSet())
	add := func(operator bool) (*stream, bool) {
		s := &stream{operator: operator}
		return s, l.add(s, m) == nil
	}
	var last *stream
	for range operators {
		s, ok := add(true)
		if !ok {
			t.Fatal("no room for the first ones")
		}
		last = s
	}
	if _, ok := add(true); ok {
		t.Error("they take all connections")
	}
	if _, ok := add(false); !ok {
		t.Error("they keep clients out")
	}
	l.remove(last, endClient)
	if _, ok := add(true); !ok {
		t.Error("the place of one that has ended stays taken")
	}
}

// TestTurns: history is not read without units, and turns are given back.
func TestTurns(t *testing.T) {
	t.Parallel()
	l, err := limit.New(limit.Config{UnitsPerMinute: 1, Burst: 10})
	if err != nil {
		t.Fatal(err)
	}
	m := &Room{Limits: l, Stopped: make(chan struct{})}
	m.streams.init(metric.NewSet())
	client := limit.ClientAt(netip.MustParseAddr("127.0.0.1"))
	c := &chainStream{t: &stream{room: m, client: client}}
	for range 2 * replaysAtOnce {
		end, ok := c.turn()
		if !ok {
			t.Fatal("no turn")
		}
		end()
	}
	l.Owe(client, 1_000_000)
	if _, ok := c.turn(); ok || c.replay.until.IsZero() {
		t.Error("history is read without units")
	}
	if n := len(m.streams.replays); n != 0 {
		t.Errorf("%d turns were not given back", n)
	}
}
