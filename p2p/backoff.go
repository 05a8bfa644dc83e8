package p2p

import (
	"math/rand/v2"
	"net/netip"
	"time"
)

const (
	// minRedial and maxRedial bound the wait between dials of one node; it
	// doubles with each failure in a row.
	minRedial      = time.Second
	minRedialLocal = 250 * time.Millisecond
	maxRedial      = 30 * time.Second
	// upgradePause is how long a validator refuses a second TLS set-up from the
	// same source address, loopback exempt. Dialing earlier gives a bare close.
	upgradePause = 10 * time.Second
	// settled is how long a link must have held for its end not to count as a failure.
	settled = 30 * time.Second
)

// backoff decides when a node may be dialed again.
type backoff struct {
	fails    int
	dialed   time.Time     // start of the last dial
	ended    time.Time     // end of the last attempt or link
	delay    time.Duration // to wait from ended, jitter included
	upgraded time.Time     // when the last TCP connection was made
	target   netip.Addr    // to whom it was made
	spread   time.Duration // random part of the pause after it
	bans     int           // since the last good link
	banned   time.Time     // until when the node is not dialed at all
	eager    bool          // the pause after TLS is not kept: the node may be set up to have none
}

// dial notes that a dial starts now.
func (b *backoff) dial(now time.Time) { b.dialed = now }

// upgrade notes that a TCP connection to ip was made, so that TLS was tried.
func (b *backoff) upgrade(ip netip.Addr, now time.Time) {
	b.upgraded, b.target = now, ip
	b.spread = rand.N(time.Second)
}

// end notes the end of an attempt or of a link; success ends the row of failures.
func (b *backoff) end(ip netip.Addr, success bool, now time.Time) {
	b.ended = now
	b.fails++
	if success {
		b.fails, b.bans = 0, 0
	}
	least := leastRedial(ip)
	full := min(least<<min(b.fails, 10), maxRedial)
	b.delay = max(least, full/2+rand.N(full/2+1))
}

const (
	// banTerm is how long a node is left alone that was dropped for what it sent;
	// it doubles up to maxBanTerm while no link lasts in between.
	banTerm    = time.Minute
	maxBanTerm = 16 * time.Minute
)

// ban keeps the node from being dialed, and returns for how long.
func (b *backoff) ban(now time.Time) time.Duration {
	term := min(banTerm<<min(b.bans, 10), maxBanTerm)
	b.bans++
	b.banned = now.Add(term)
	return term
}

// earliest is when ip may be dialed at all, however urgent it is.
func (b *backoff) earliest(ip netip.Addr) time.Time {
	if b.dialed.IsZero() {
		return time.Time{}
	}
	if at := b.undisturbed(ip); at.After(b.banned) {
		return at
	}
	return b.banned
}

// undisturbed is when ip may be dialed by the rules of peers.
func (b *backoff) undisturbed(ip netip.Addr) time.Time {
	at := b.dialed.Add(leastRedial(ip))
	if !ip.IsLoopback() && ip == b.target && !b.eager {
		if pause := b.upgraded.Add(upgradePause + b.spread); pause.After(at) {
			at = pause
		}
	}
	return at
}

// urgentShare is the part of the wait that remains when somebody wants to ask
// the node: a node that has been away for long is not dialed every second.
const urgentShare = 8

// next is when ip should be dialed.
func (b *backoff) next(ip netip.Addr, urgent bool) time.Time {
	at, delay := b.earliest(ip), b.delay
	if urgent {
		delay /= urgentShare
	}
	if after := b.ended.Add(delay); after.After(at) {
		return after
	}
	return at
}

func leastRedial(ip netip.Addr) time.Duration {
	if ip.IsLoopback() {
		return minRedialLocal
	}
	return minRedial
}
