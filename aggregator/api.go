// Package aggregator collects validators' BLS signatures over a warp message
// until a quorum of the stake has signed, and answers with one verified
// aggregate. The rules of a collection live in a pure state machine (core.go);
// an [Aggregator] runs one actor per message around it.
//
// # Words
//
// Each is used for one thing:
//
//   - request: what a client asks for; caller: a request that waits for a job.
//   - collection: gathering signatures over one message from one validator set.
//   - job: the actor that runs a collection; core: the pure rules it follows.
//   - wish: a quorum and a buffer in percent, as a request has them.
//   - demand: what one caller wants of a collection: its wish in weight.
//   - voter: an entry of the set in a core; one that shares its key has twins.
//   - question: what is sent to voters; answer: a signature, a refusal, or a loss.
//   - refusal: a voter's word that it does not sign; certain or not (voter.go).
//   - part: one voter's signature; sum: of parts, what is checked and answered with.
//   - result: a verified sum with its message, kept in memory and on disk.
//   - journal: what became of the last messages; report: what it says of one, with
//     votes, which are what became of each voter.
//   - reserve: voters asked only in need: unreliable or slow (habits.go), or
//     quarantined for an invalid signature.
//
// # Overload
//
// What is accepted is finished; what cannot be is refused at once, before any
// work was done, with [Overloaded] and a time to try again after:
//
//   - A message that is not under way yet is refused when there are
//     [Config.MaxJobs] collections, when its validators and those of all
//     collections under way would be more than [Config.MaxSignatures], or when
//     the share of its client, or that of its source chain or subnet, is used up.
//     A share is at most four times what is still free, and of 4/5 of the whole an
//     equal part. A client with little under way is let in though its chain's or
//     subnet's share is used up by others.
//   - A message of a client whose last ones were not signed is tried on four
//     validators first; so is one of a stranger while more than 1/64 of the room is
//     in use. If none of the four signs, the others are not asked. A message that a
//     followed node has accepted is never tried first.
//   - What was refused for good is refused again for a second without asking.
//   - A request that joins a collection is refused when [Config.MaxCallers] wait
//     for it. Requests for results that are kept are never refused here.
//   - A validator that has as many questions as it may have is asked a little
//     later, as long as the request has time.
//
// Checks that find no free core wait in a queue, and those that wait are checked
// several at once; the queue has room for each collection. Results, single
// signatures and quarantined keys are kept within their bounds, the oldest go first.
package aggregator

import (
	"fmt"
	"time"

	"quorate/engine/chain"
)

// DefaultQuorum is the share of stake, in percent, that must sign when a request names none.
const DefaultQuorum = 67

// Request asks for one message to be signed.
type Request struct {
	// Message is an unsigned warp message, or the ABI-encoded data of the log
	// that carries one. Empty when Justification alone says what to sign.
	Message []byte
	// Justification is passed on to the validators.
	Justification []byte
	// SigningSubnetID is the subnet whose validators sign; nil means the subnet
	// of the message's source chain.
	SigningSubnetID *chain.ID
	// Quorum and Buffer are percent of the signing subnet's weight, together at
	// most 100. Quorum must be reached; Buffer more is tried for within the
	// latency window.
	Quorum, Buffer int
	// PChainHeight selects the validator set. Without AtHeight 0 means the height of
	// Destination's epoch, or, where that is nil, of the epoch of an interchain message's
	// destination if that is followed; otherwise, and with AtHeight, the proposed height.
	PChainHeight uint64
	AtHeight     bool
	// Destination is the blockchain that is going to check the message, if the client
	// names it. One whose epochs are not followed is refused.
	Destination *chain.ID

	// Ahead says that no client has asked for the message yet.
	Ahead bool
	// Client says on whose behalf the request is made, for fair admission: the ID
	// of an API key, or an address. Empty for the server's own requests.
	Client string
	// Received is when the first byte of the request arrived; zero means now. The
	// request is answered within [Config.RequestTimeout] of it, whatever it waits for.
	Received time.Time

	// Asked is set by Aggregate: of how many validators the set was of which signatures were
	// collected for this request, 0 if it was answered without.
	Asked int
}

// Result is a message signed by a quorum.
type Result struct {
	// Signed is the signed message's bytes. It is shared: do not change it.
	Signed []byte
	// Weight is the stake that signed, of Total.
	Weight, Total uint64
	// Height is the P-Chain height of the validator set.
	Height uint64
}

// Kind says why a request failed, and so what the client can do about it.
type Kind uint8

const (
	// BadRequest: the request can never succeed as it is.
	BadRequest Kind = iota + 1
	// NotFound: the signing subnet or the height's validator set does not exist.
	NotFound
	// Refused: validators answered for good that they do not sign, with so much
	// stake that no quorum can be left.
	Refused
	// Unreachable: too little stake is connected or has answered. Trying again later may help.
	Unreachable
	// Invalid: validators sent invalid signatures, with so much stake that no quorum is left.
	Invalid
	// Overloaded: refused before any work was done. Try again after RetryAfter.
	Overloaded
	// NodeFailed: the node that knows the validator sets did not answer or answered wrongly.
	NodeFailed
	// Stopping: the server is shutting down.
	Stopping
	// NotYet: validators refused, but may sign once they have accepted the
	// message's block. Try again after RetryAfter.
	NotYet
	// Keyless: stake without a usable key leaves no quorum, whatever the others do.
	Keyless
	// Internal: a fault of this program, which the log describes.
	Internal
)

// Stake reports what became of each part of the signing set's weight when a
// request failed. Every validator counts in exactly one of Signed, Refused,
// Invalid, Silent, Unreachable, Pending, Underfunded and Keyless, which sum to
// Total. Connected is counted apart from them.
type Stake struct {
	Total       uint64
	Connected   uint64           // to whom there was a connection at the end
	Signed      uint64           // a signature was received that is not known to be bad
	Refused     uint64           // answered that it does not sign
	Codes       map[int32]uint64 // of Refused: weight by application error code; 0 for an empty answer
	RefusedYet  uint64           // of Refused: may sign once the message's block is accepted everywhere
	Invalid     uint64           // sent something that is no valid signature
	Silent      uint64           // asked, and no answer in time
	Unreachable uint64           // not connected when it was to be asked
	Pending     uint64           // not asked, or its answer was no longer waited for
	Underfunded uint64           // L1 validators that are out of balance, or may be before the message is used
	Keyless     uint64           // no BLS key: cannot sign
}

// Error is the only error type that [Aggregator.Aggregate] returns.
type Error struct {
	Kind Kind
	// Msg is a full sentence for the client. It holds no secrets or addresses.
	Msg string
	// RetryAfter, if not 0, is when trying again makes sense.
	RetryAfter time.Duration
	// Stake is set for Refused, Unreachable and Invalid.
	Stake *Stake
	// Err is the cause, for the log.
	Err error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Msg, e.Err)
	}
	return e.Msg
}

func (e *Error) Unwrap() error { return e.Err }
