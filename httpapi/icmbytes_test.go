package httpapi

import (
	"testing"

	"github.com/holiman/uint256"

	events "quorate/engine/chain/icm"
	"quorate/httpapi/reply"
)

// TestICMBytes: a page of long messages ends early, with a token to go on, and all pages
// together have every message.
func TestICMBytes(t *testing.T) {
	const messages, long = 17, 250 << 10 // two pages and more
	c, want := ownSample(), map[string]int{}
	self := c.ID()
	for i := range uint32(messages) {
		m := &events.Message{Nonce: *uint256.NewInt(uint64(i)), From: alice, Destination: icmStranger, To: bob, Data: make([]byte, long)}
		id := events.MessageID(&events.Messengers[0], &self, &icmStranger, &m.Nonce)
		c.grow(icmTx(uint64(i+20), events.Event{Kind: events.Sent, ID: id, Messenger: events.Messengers[0], Peer: icmStranger, Message: m}))
		want[id.String()]++
	}
	s := dataServer(t, Config{}, c)
	got := map[string]int{}
	for next, pages := "", 0; ; pages++ {
		path := "/v1/icm/messages?pageSize=100" + next
		resp := get(s, path)
		if n := len(resp.Body()); n > reply.MaxPage+2*long+(64<<10) {
			t.Errorf("a page of %d bytes", n)
		}
		var p struct {
			Messages      []struct{ MessageID string }
			NextPageToken string
		}
		if err := decode(resp.Body(), &p); err != nil {
			t.Fatal(err)
		}
		for _, m := range p.Messages {
			got[m.MessageID]++
		}
		if p.NextPageToken == "" || pages > messages {
			break
		}
		next = "&pageToken=" + p.NextPageToken
	}
	for id, n := range want {
		if got[id] != n {
			t.Errorf("%s is there %d times", id, got[id])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d messages, want %d", len(got), len(want))
	}
}
