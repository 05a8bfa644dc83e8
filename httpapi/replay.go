package httpapi

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
	s := c.t.s
	c.replay.until = time.Time{}
	if wait, ok := s.cfg.Limits.Charge(c.t.client, door.UnitsFree); !ok {
		c.replay.until = time.Now().Add(max(wait, sign.Retry))
		return nil, false
	}
	select {
	case s.streams.replays <- struct{}{}:
	case <-s.conns.stopped:
		return nil, false
	}
	began, before := time.Now(), len(c.t.buf)
	return func() {
		worked := time.Since(began)
		<-s.streams.replays
		s.cfg.Limits.Owe(c.t.client, (len(c.t.buf)-before)/perUnit)
		s.cfg.Spare.Rest(worked, s.conns.stopped)
	}, true
}
