package aggregator

import (
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
)

// Conduct is how a validator has behaved in collections.
type Conduct struct {
	// Latency is the usual time to a signature, a moving average; 0 if there was none.
	Latency time.Duration
	// Unreliable reports that it refused or kept silent, again and again, what others
	// signed: it is asked only in need, and at ProbeAt to see how it is.
	Unreliable bool
	ProbeAt    time.Time
	// Seen is when it last answered or should have; zero if it was never asked.
	Seen time.Time
	// QuarantinedUntil is the end of its last term for an invalid signature, Fault what
	// was wrong; zero if there was none, and Fault also if an earlier run has seen it.
	QuarantinedUntil time.Time
	Fault            string
	// Invalid counts such signatures since the start.
	Invalid uint64
}

// Conduct returns how a node of v, an entry of a subnet's set, has behaved. What is said
// of invalid signatures is of its key.
func (a *Aggregator) Conduct(subnet chain.ID, v *valset.Validator, node chain.NodeID) Conduct {
	var c Conduct
	if h, ok := a.habits.look(habitKey{subnet, node}); ok {
		c.Latency, c.Seen = h.latency, h.seen
		if c.Unreliable = h.unreliable(); c.Unreliable {
			c.ProbeAt = h.probeAt
		}
	}
	if term, ok := a.bad.look(v.Key.Compressed()); ok {
		c.QuarantinedUntil, c.Fault, c.Invalid = term.until, term.lie, term.lies
	}
	return c
}
