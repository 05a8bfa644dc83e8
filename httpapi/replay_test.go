package httpapi

import (
	"net/netip"
	"testing"

	"quorate/httpapi/door"
	"quorate/httpapi/limit"
)

// History is paid for as it is sent: by its events and bytes. Without units left the stream
// waits, and events of now cost nothing.
func TestEventReplayIsCharged(t *testing.T) {
	t.Parallel()
	c := newEventChain(t, 400)
	l := newLimiter(t, limit.Config{UnitsPerMinute: 1, Burst: 10_000})
	_, addr := serveEvents(t, c, Config{Limits: l})
	client := limit.ClientAt(netip.MustParseAddr("127.0.0.1"))
	left := func() int64 {
		d := l.More(client, 0, 1)
		return d.Remaining
	}
	live := mustListen(t, addr, "topics=blocks&chainId=43112", "")
	live.must(t)
	before := left()
	all := mustListen(t, addr, "topics=blocks&chainId=43112&startBlock=0", "")
	bytes := 0
	for h := range uint64(400) {
		e := all.must(t)
		if bytes += len(e.data); e.height(t) != h {
			t.Fatalf("block %d: %+v", h, e)
		}
	}
	const refilled = 5 // minutes that the test may take
	if used, least := before-left(), int64(door.UnitsLarge+400/4+bytes/perUnit-refilled); used < least {
		t.Errorf("400 blocks of history in %d bytes cost %d units, want %d", bytes, used, least)
	}
	before = left()
	c.grow(t, 20)
	for range 20 {
		live.must(t)
		all.must(t)
	}
	if used := before - left(); used > 20 {
		t.Errorf("20 blocks of now cost %d units on two streams", used)
	}
}
