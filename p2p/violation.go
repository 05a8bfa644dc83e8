package p2p

import (
	"errors"
	"time"

	"quorate/p2p/wire"
)

// violation is a way in which a peer breaks the protocol.
type violation uint8

const (
	unknownID violation = iota // an answer to a request that was never made
	malformed                  // a message that does not parse
	tooLarge                   // a frame, or what it decompresses to, above the limit
	violations
)

func (v violation) String() string {
	return [violations]string{"unknown_id", "malformed", "too_large"}[v]
}

// nameEvery is how often a peer is named in the log for what it does wrong.
const nameEvery = 10 * time.Minute

// violated counts what the peer did wrong, and names it in the log now and then.
func (p *peer) violated(v violation, detail any) {
	p.net.ins.violations[v].Inc()
	now := int64(p.net.now()) + 1 // never 0
	last := p.named.Load()
	if last != 0 && now-last < int64(nameEvery) || !p.named.CompareAndSwap(last, now) {
		return
	}
	p.net.cfg.Logger.Warn("peer breaks the protocol", "node", p.id, "kind", v, "detail", detail, "named again after", nameEvery)
}

// unreadable tells a message that is too large from one that is broken.
func unreadable(err error) violation {
	if errors.Is(err, wire.ErrTooLarge) {
		return tooLarge
	}
	return malformed
}

// given tells whether an ID may be that of a request made before, open or not.
// IDs come from a counter, so that all others are inventions.
func (t *requestTable) given(id uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return id&1 == 1 && uint64(id-t.first)/2 < t.steps
}
