package aggregator

import (
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

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
	away               // the same, and it is not expected back soon
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

// Error codes that every handler of signature requests has (ACP-118 and the
// application protocol below it).
const (
	codeNoHandler    = -2 // the chain's VM does not sign
	codeNotValidator = -3 // the validator answers only to validators
	codeThrottled    = -4
)

// platformSettle is how long the P-Chain's refusals count as too early at least. When
// its last block was accepted is known by asking a node now and then: the block that
// makes validators sign can be newer than the last look, and some of them be behind.
const platformSettle = 600 * time.Millisecond

// Error codes of an EVM chain that executes blocks after it accepted them. Its other
// codes are 3, not known: false, or its block is not executed yet; and 4, of a message
// that is a block's hash: false, or not accepted yet.
// Source: avalanchego v1.15.0, vms/saevm/cchain/warp/verifier.go.
const (
	codeLaterStorage     = 1
	codeLaterUnparseable = 2
)

// worth returns how certain a refusal of msg with code is. later reports whether the
// source chain executes blocks after it accepted them.
//
// Other EVM chains use one code for what they cannot parse, do not know and have not
// accepted yet, so nothing is certain before the block is executed. The P-Chain's codes
// tell what is wrong with the message itself, which is certain at once, from
// what contradicts the state, which may be a moment behind.
func worth(msg *warp.Unsigned, code int32, later bool) certainty {
	switch {
	case code == codeNoHandler, code == codeNotValidator:
		return certain
	case code == codeThrottled:
		return passing
	case msg.SourceChainID == chain.PlatformChainID:
		switch code {
		case 1, 2, 3, 4, // not an addressed call that the P-Chain signs
			5, 8, 9, 13, // justification: unparsable, of the wrong type, no subnet ID, no registration
			7, 10, // another conversion or validation than the one justified
			15: // a nonce that no validator can have
			return certain
		}
	case later && code == codeLaterStorage:
		return passing
	case later && code == codeLaterUnparseable:
		return certain
	}
	return whenSettled
}

// vote returns a voter's state as the journal shows it.
func (v *voter) vote() VoteState {
	switch v.state {
	case answered:
		return VoteSigned
	case refused:
		return VoteRefused
	case declined:
		return VoteNotYet
	case invalid:
		return VoteInvalid
	case late, silent:
		return VoteSilent
	case unreachable:
		return VoteUnreachable
	case excluded:
		return VoteUnderfunded
	case asked:
		return VotePending
	case deferred:
		switch v.why {
		case refusedYet:
			return VoteNotYet
		case lost, away:
			return VoteUnreachable
		}
		return VoteBusy
	}
	return VoteNotAsked
}
