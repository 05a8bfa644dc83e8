package aggregator

import "time"

// voterState is what a collection knows of one entry of the validator set.
type voterState uint8

const (
	idle     voterState = iota // not asked yet
	asked                      // asked, answer expected
	late                       // asked, answer overdue: others are asked in its place
	deferred                   // to be asked again when due; voter.why says why
	answered                   // well-formed signature received

	// Final states: these will not sign.
	refused  // for good
	declined // refused as often as it is asked, but may sign another time
	invalid
	silent
	unreachable
	excluded // must not be asked
)

// reason says why a voter is deferred.
type reason uint8

const (
	notDeferred reason = iota
	refusedYet         // it refused, but may sign soon
	busy               // it has as many questions as it may have
	twin               // another node with its key is to be asked
	lost               // it is not connected, or the connection ended
	away               // the same, and nobody expects it back soon
)

// certainty says what a refusal is worth.
type certainty uint8

const (
	passing     certainty = iota // says nothing about the message, for example when throttled
	whenSettled                  // final once the block that the message needs is executed everywhere
	certain                      // final
)

type voter struct {
	weight  uint64
	state   voterState
	why     reason
	reserve bool // asked only when the quorum cannot be had without it
	tries   uint8
	waits   uint8         // times it was busy
	twins   uint8         // further nodes with its key that were not asked yet
	code    int32         // last refusal's code
	due     time.Duration // asked: becomes late; late: becomes silent; deferred: is asked again
	since   time.Duration // asked at
}

// soon reports whether an answer of the voter can be expected shortly.
func (v *voter) soon() bool {
	switch v.state {
	case idle, asked:
		return !v.reserve
	case deferred:
		return !v.reserve && (v.why == refusedYet || v.why == busy || v.why == twin)
	}
	return false
}
