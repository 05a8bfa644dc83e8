package aggregator

import (
	"encoding/binary"
	"time"

	"quorate/engine/chain"
)

const (
	// maxHabits bounds the nodes whose behaviour is remembered; the least used are
	// forgotten first. Each takes about 200 bytes.
	maxHabits = 1 << 15

	// A node counts as unreliable from this many strikes on, until it signs again.
	unreliableFrom = 4
	// Strikes for keeping silent, for refusing what others have signed, and for
	// refusing it so early that it may just not have executed the block yet.
	strikeSilent, strikeRefused, strikeEarly = 2, 2, 1

	// probeBase is when an unreliable node is probed first; each failed probe
	// doubles the wait, up to probeMax. slowProbe is the same for a slow one.
	probeBase, probeMax = 10 * time.Second, 10 * time.Minute
	slowProbe           = 30 * time.Second
	// probeShare bounds probes to one in so many questions.
	probeShare = 100

	// slowFactor and slowSlack say which validators count as slow.
	slowFactor = 4
	slowSlack  = 25 * time.Millisecond
)

// habitKey names a node in a subnet: the chains of one it may serve well, and
// those of another not at all.
type habitKey struct {
	subnet chain.ID
	node   chain.NodeID
}

// habit is how a node has behaved.
type habit struct {
	strikes uint8         // since it signed last
	term    time.Duration // wait before the next probe, when unreliable
	probeAt time.Time     // not probed before
	latency time.Duration // moving average of the time to a signature; 0: none yet
	seen    time.Time     // when it answered or should have
}

func (h *habit) unreliable() bool { return h.strikes >= unreliableFrom }

// habits remembers how validators behave, so that who refuses, keeps silent or
// is slow is asked only when the others do not suffice, from the third message
// on. Whoever signs again is trusted at once; to find out, one of them is asked
// beside the others now and then. Safe for concurrent use.
type habits struct {
	learned[habitKey, habit]
	asked  uint64 // questions put
	probed uint64 // of them probes
}

func newHabits() *habits { return &habits{learned: newLearned[habitKey, habit](maxHabits)} }

// signed records a signature that took so long. It reports whether that is a
// recovery.
func (h *habits) signed(now time.Time, key habitKey, took time.Duration) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, _ := h.entries.Get(key)
	before := e
	news = e.unreliable()
	if e.latency == 0 || news || took < e.latency/slowFactor {
		e.latency = took // as before counts no more
	}
	e.latency = max(1, e.latency+(took-e.latency)/8)
	e.strikes, e.term, e.seen = 0, e.term/2, now
	e.probeAt = now.Add(slowProbe)
	h.keep(key, before, e)
	return news
}

// strike records that a node refused what others signed, or kept silent. It
// reports whether it counts as unreliable from now on.
func (h *habits) strike(now time.Time, key habitKey, n uint8) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, _ := h.entries.Get(key)
	before := e
	e.seen = now
	if e.unreliable() && now.Before(e.probeAt) && e.term > 0 {
		h.keep(key, before, e) // asked in need, or together with what brought the last strike
		return false
	}
	e.strikes = min(e.strikes+n, unreliableFrom)
	if e.unreliable() {
		e.term = min(max(2*e.term, probeBase), probeMax)
		e.probeAt = now.Add(e.term)
		news = !before.unreliable()
	}
	h.keep(key, before, e)
	return news
}

// claimProbe reports whether a node may be asked just to see how it is, and if
// so counts it as done.
func (h *habits) claimProbe(now time.Time, key habitKey) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.entries.Get(key)
	if !ok || now.Before(e.probeAt) || h.probed*probeShare > h.asked {
		return false
	}
	h.probed++
	before := e
	if e.unreliable() {
		// As if it failed; a signature puts that right.
		e.term = min(max(2*e.term, probeBase), probeMax)
		e.probeAt = now.Add(e.term)
	} else {
		e.probeAt = now.Add(slowProbe)
	}
	h.keep(key, before, e)
	return true
}

// count adds up the questions put.
func (h *habits) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked += uint64(max(n, 0))
}

// keep stores an entry, to be saved if it differs enough. It needs mu.
func (h *habits) keep(key habitKey, before, e habit) {
	drift := (e.latency - before.latency).Abs() > before.latency/4
	h.put(key, e, drift || e.strikes != before.strikes || !e.probeAt.Equal(before.probeAt) && e.unreliable() || e.seen.Sub(before.seen) > 24*time.Hour)
}

// restore puts back what an earlier run has saved.
func (h *habits) restore(now time.Time, key habitKey, e habit) {
	e.probeAt = restored(now, e.probeAt, max(e.term, slowProbe))
	h.putBack(key, e)
}

// Note layout of a habit, version 1, big-endian:
//
//	u8 1 | u8 strikes | u32 term (s) | i64 probe at (unix s) | i64 latency (ns) | i64 seen (unix s)
const habitLen = 1 + 1 + 4 + 8 + 8 + 8

func (h *habit) note() []byte {
	b := make([]byte, 0, habitLen)
	b = append(b, 1, h.strikes)
	b = binary.BigEndian.AppendUint32(b, uint32(h.term/time.Second)) // at most probeMax
	b = binary.BigEndian.AppendUint64(b, uint64(h.probeAt.Unix()))
	b = binary.BigEndian.AppendUint64(b, uint64(h.latency))
	return binary.BigEndian.AppendUint64(b, uint64(h.seen.Unix()))
}

// parseHabit reads a note; damaged ones are as good as none.
func parseHabit(b []byte) (h habit, ok bool) {
	if len(b) != habitLen || b[0] != 1 || b[1] > unreliableFrom {
		return h, false
	}
	h.strikes = b[1]
	h.term = min(time.Duration(binary.BigEndian.Uint32(b[2:]))*time.Second, probeMax)
	h.probeAt = time.Unix(int64(binary.BigEndian.Uint64(b[6:])), 0)
	h.latency = time.Duration(binary.BigEndian.Uint64(b[14:]))
	h.seen = time.Unix(int64(binary.BigEndian.Uint64(b[22:])), 0)
	return h, h.latency >= 0 && h.latency < time.Minute
}
