package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// toldConn notes the deadlines that it is told.
type toldConn struct {
	net.Conn // nil
	start    time.Time
	told     []string
}

func (c *toldConn) note(what string, t time.Time) error {
	text := what + " none"
	if !t.IsZero() {
		text = fmt.Sprint(what, " ", t.Sub(c.start))
	}
	c.told = append(c.told, text)
	return nil
}

func (c *toldConn) SetReadDeadline(t time.Time) error  { return c.note("read", t) }
func (c *toldConn) SetWriteDeadline(t time.Time) error { return c.note("write", t) }
func (c *toldConn) SetDeadline(t time.Time) error      { return c.note("both", t) }
func (c *toldConn) Read([]byte) (int, error)           { c.told = append(c.told, "reads"); return 0, io.EOF }

// TestDeadlines: a deadline is set when it is earlier than the one before, or later by
// more than the slack; one of reading when something is read.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	const slack = 100 * time.Millisecond
	start := time.Now()
	var below *toldConn
	conned := func() *conn {
		below = &toldConn{start: start}
		return &conn{Conn: below, conns: &connections{slack: slack}}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(below.told, want) {
			t.Errorf("%s: told %q, want %q", what, below.told, want)
		}
	}
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

	c := conned()
	read := func(ms ...int) {
		for _, ms := range ms {
			if err := c.SetReadDeadline(at(ms)); err != nil {
				t.Error(err)
			}
		}
		if _, err := c.Read(nil); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	}
	read(30_000)
	read(120_010, 30_010, 120_020) // the request between came in one piece
	read(120_120)
	read(120_121)
	read(30_200)
	expect("read", "read 30s", "reads", "read 2m0.02s", "reads", "reads", "read 2m0.121s", "reads", "read 30.2s", "reads")

	c = conned()
	for _, ms := range []int{30_000, 30_050, 30_100, 30_101, 1_000, 1_050, 30_200} {
		if err := c.SetWriteDeadline(at(ms)); err != nil {
			t.Error(err)
		}
	}
	expect("write", "write 30s", "write 30.101s", "write 1s", "write 30.2s")

	c = conned()
	err := errors.Join(c.SetWriteDeadline(at(1)), c.SetDeadline(time.Time{}), c.SetDeadline(time.Time{}))
	c.hijacked = true
	err = errors.Join(err, c.SetReadDeadline(at(2)), c.SetReadDeadline(at(2)), c.SetWriteDeadline(at(3)), c.SetWriteDeadline(at(3)), c.SetDeadline(at(4)))
	if err != nil {
		t.Error(err)
	}
	expect("hijacked", "write 1ms", "write none", "read 2ms", "read 2ms", "write 3ms", "write 3ms", "both 4ms")

	c = conned()
	c.below = below
	if err := errors.Join(c.SetReadDeadline(at(1)), c.SetReadDeadline(at(1)), c.SetWriteDeadline(at(1)), c.SetWriteDeadline(at(1))); err != nil {
		t.Error(err)
	}
	expect("TLS", "both 1ms", "both 1ms", "write 1ms", "write 1ms")
}
