package p2p

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"quorate/p2p/wire"
)

// violation is a way in which a peer breaks the protocol.
type violation uint8

const (
	unknownID   violation = iota // an answer to a request that was never made
	malformed                    // a message that does not parse
	tooLarge                     // a frame, or what it decompresses to, above what is looked at
	empty                        // a frame without a message
	unaskedPong                  // a Pong without a Ping
	forgedClaim                  // a wanted node's address with a wrong signature, or out of bounds
	violations
)

func (v violation) String() string {
	return [violations]string{"unknown_id", "malformed", "too_large", "empty", "unasked_pong", "forged_claim"}[v]
}

// What a peer sends unasked it pays for, in units, by messages and by bytes. Answers to
// our questions are free up to unitBytes each: we decide how many there are. Whoever has
// spent its tolerance is dropped, and dialed again after [banTerm] at the earliest.
const (
	frameCost     = 1  // a message that we did not ask for
	claimCost     = 1  // an address in it
	pingCost      = 16 // a Ping, as we have to answer it; a real one comes every 22.5 s
	verifyCost    = 16 // an address whose signature has to be checked
	violationCost = 64
	// unitBytes is how many bytes of a message, after decompression, cost a further unit.
	unitBytes = 4 << 10
	// toleranceRate and toleranceBurst are in units per second and units. A real
	// validator sends a few messages a second, and some hundreds of late answers at
	// once after a stall. At this rate the costliest messages take under 1% of a
	// core, and bytes 800 KiB/s; 32 violations at once, or 8 MiB, empty a full bucket.
	toleranceRate  = 200
	toleranceBurst = 2048
)

// errIntolerable ends the link to a peer that has spent its tolerance.
var errIntolerable = errors.New("the peer sends too much unasked or breaks the protocol too often")

// charge takes units off the peer's tolerance. Only the peer's reader calls it.
func (p *peer) charge(units int) error {
	if p.tolerance.take(units, time.Now()) {
		return nil
	}
	return errIntolerable
}

// nameEvery is how often a peer is named in the log for what it does wrong.
const nameEvery = 10 * time.Minute

// name warns of the peer in the log, unless it did so lately: then it is
// detail for whoever looks for it.
func (p *peer) name(what string, args ...any) {
	level := slog.LevelDebug
	now := int64(p.net.now()) + 1 // never 0
	if p.named == 0 || now-p.named >= int64(nameEvery) {
		p.named, level = now, slog.LevelWarn
	}
	args = append([]any{"node", p.id}, append(args, "named again after", nameEvery)...)
	p.net.cfg.Logger.Log(context.Background(), level, what, args...)
}

// violated charges the peer for what it did wrong, and names it in the log now and then.
func (p *peer) violated(v violation, detail any) error {
	p.net.ins.violations[v].Inc()
	p.record.violations.Add(1)
	err := p.charge(violationCost)
	p.name("peer breaks the protocol", "kind", v, "detail", detail)
	if err != nil {
		return fmt.Errorf("%w, the last time: %v: %v", err, v, detail)
	}
	return nil
}

// unreadable distinguishes a message that is too large from one that is broken.
func unreadable(err error) violation {
	if errors.Is(err, wire.ErrTooLarge) {
		return tooLarge
	}
	return malformed
}

// issued reports whether an ID may be that of a request made before, open or
// not. IDs come from a counter, so that all others are inventions. It takes no
// lock: peers may call it as often as they like.
func (t *requestTable) issued(id uint32) bool {
	return id&1 == 1 && uint64(id-t.first)/2 < t.steps.Load()
}
