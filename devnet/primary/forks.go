package primary

import (
	"math"
	"time"
)

// Forks are the times of the upgrades of the network, in Unix seconds.
type Forks struct {
	// Genesis is when the network began.
	Genesis uint64
	// Proposers: Apricot's fourth phase, since when blocks have a proposer's header.
	Proposers uint64
	// Apricot5: imports and exports stand in standard blocks.
	Apricot5 uint64
	// Banff: blocks have times.
	Banff uint64
	// Cortina: the X-Chain's vertices end, and validators get their share of
	// delegators' rewards at their end.
	Cortina uint64
	// Durango: stakers begin when their transaction is accepted.
	Durango uint64
	// Etna: L1s.
	Etna uint64
	// Granite: headers have an epoch.
	Granite uint64
	// Helicon: auto-renewed validators, lower rewards, shorter stakes, more uptime. It
	// may be after the history's end, or [Never].
	Helicon uint64
}

// Never is the time of an upgrade that is not scheduled.
const Never = math.MaxUint64

const day = 24 * 60 * 60 // seconds

// forksBefore returns the upgrades of a network whose history ends at tip. The zero time
// of Helicon is never.
func forksBefore(tip uint64, helicon time.Time) Forks {
	at := uint64(Never)
	if !helicon.IsZero() {
		at = uint64(helicon.Unix()) // after 1970
	}
	return Forks{
		Genesis: tip - 1826*day, Proposers: tip - 1500*day, Apricot5: tip - 1420*day, Banff: tip - 1000*day,
		Cortina: tip - 800*day, Durango: tip - 240*day, Etna: tip - 120*day, Granite: tip - 45*day, Helicon: at,
	}
}

// EpochDuration is the length of an epoch, as on a local network.
const EpochDuration = 30 * time.Second
