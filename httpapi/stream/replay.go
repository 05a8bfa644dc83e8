package stream

import (
	"time"

	"quorate/httpapi/door"
	"quorate/httpapi/sign"
)

const (
	// replaysAtOnce bounds the streams that read history at the same moment: each piece
	// of it takes a turn.
	replaysAtOnce = 2
	// eventsPerUnit is how many events of history cost a unit, about as rows of pages do.
	eventsPerUnit = 4
	// bytesPerUnit is how many bytes of it do, as of the body of a request.
	bytesPerUnit = 2 << 10
)

// replay is a chain's history on its way to a client, which may be all of the chain: it is
// paid for as it is sent, and waits for requests.
type replay struct {
	on    bool      // what is read is history, until the stream has caught up
	until time.Time // when the client has units again; zero: it has them
}

// turn takes a turn in reading history, which end gives back. False means that the client's
// units, or the end of the server, are waited for.
func (c *chainStream) turn() (end func(), ok bool) {
	m := c.t.room
	c.replay.until = time.Time{}
	if wait, ok := m.Limits.Charge(c.t.client, door.UnitsFree); !ok {
		c.replay.until = time.Now().Add(max(wait, sign.Retry))
		return nil, false
	}
	select {
	case m.streams.replays <- struct{}{}:
	case <-m.Stopped:
		return nil, false
	}
	began, before := time.Now(), len(c.t.buf)
	return func() {
		worked := time.Since(began)
		<-m.streams.replays
		m.Limits.Owe(c.t.client, (len(c.t.buf)-before)/bytesPerUnit)
		m.Spare.Rest(worked, m.Stopped)
	}, true
}
