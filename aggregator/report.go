package aggregator

import (
	"slices"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// How says where a signed message came from.
type How uint8

const (
	Collected  How = iota + 1 // validators were asked
	Reused                    // made of signatures that were collected for another set
	FromDisk                  // signed in an earlier run
	FromMemory                // signed so long ago that the journal has forgotten it
)

// Report is what became of a message.
type Report struct {
	Message, SourceChain chain.ID
	// Unsigned and Signed are the message's bytes; nil if it is very long, and Signed
	// also if it was not signed. They must not be changed.
	Unsigned, Signed []byte
	// Subnet and Height are those of the validators, zero if they could not be found.
	Subnet chain.ID
	Height uint64
	// Quorum and Buffer are what was asked for, in percent of Total; Weight has signed.
	Quorum, Buffer      int
	Weight, Total       uint64
	Signers, Validators int

	// At is the time of the last answer.
	At time.Time
	// Took is how long the collection took; 0 if nobody was asked.
	Took time.Duration
	How  How
	// Ahead reports that it was signed before anyone asked.
	Ahead bool
	// Joined and Repeats count further requests: those that waited for the same
	// collection, and those answered later, from memory. Of a failed message Repeats are
	// further requests that failed likewise.
	Joined, Repeats uint64
	// Kind and Err say why it was not signed; 0 of a message that was.
	Kind Kind
	Err  string
}

// VoteState is what became of a validator in a collection.
type VoteState uint8

const (
	VoteUnknown     VoteState = iota // not remembered: the signature was not collected now
	VoteSigned                       // its signature is in the result
	VoteSpare                        // signed, and was not needed
	VoteRefused                      // refused for good
	VoteNotYet                       // refused, but may sign once it has accepted the message's block
	VoteInvalid                      // sent something that is no valid signature
	VoteSilent                       // asked, and no answer in time
	VoteUnreachable                  // not connected
	VoteBusy                         // has as many questions as it may have
	VotePending                      // asked, and its answer was not waited for
	VoteNotAsked                     // not needed
	VoteUnderfunded                  // an L1 validator that is out of balance, or about to be: not asked

	// Numbers are on disk: further states come before this line.
	lastVote = VoteUnderfunded
)

// Vote is what became of one entry of the validator set.
type Vote struct {
	NodeIDs []chain.NodeID
	Weight  uint64
	State   VoteState
	// Code is the application error of VoteRefused and VoteNotYet; 0: an empty answer.
	Code int32
	// Took is the time from question to signature; 0 if it is not known.
	Took time.Duration
	// Quarantined reports that it was asked only in need, for an invalid signature.
	Quarantined bool
}

// Details is a report with what became of each validator.
type Details struct {
	Report
	// Votes are in the order of the signers' bits, and then those of L1 validators that are
	// out of balance, which are not in the set; nil if they are not remembered. Of a
	// failure with a very large set they are the heaviest. They must not be changed.
	Votes []Vote
	// Keyless is weight of Total without a BLS key.
	Keyless uint64
}

// copy returns the report with what is counted apart. It needs the journal's mu.
func (r *row) copy() Report {
	o := r.report
	o.At, o.Joined, o.Repeats = time.Unix(0, r.last.Load()), r.joined.Load(), r.repeats.Load()
	return o
}

// rows returns the rows that are shown. It needs mu.
func (j *journal) rows() []*row {
	oldest := time.Now().Add(-failureAge).UnixNano()
	return slices.DeleteFunc(slices.Concat(j.signed.rows, j.failed.rows), func(r *row) bool {
		return r == nil || r.report.Kind != 0 && r.last.Load() < oldest
	})
}

// Recent returns what became of the last messages, the last answered first.
func (a *Aggregator) Recent() []Report {
	j := a.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	out := make([]Report, 0, maxSignedRows+maxFailedRows)
	for _, r := range j.rows() {
		out = append(out, r.copy())
	}
	slices.SortStableFunc(out, func(a, b Report) int { return b.At.Compare(a.At) })
	return out
}

// Details returns what became of a message, and in it of each validator: the last first,
// as a message may have been signed by several sets.
func (a *Aggregator) Details(message chain.ID) []Details {
	j := a.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []Details
	for _, r := range j.rows() {
		if r.report.Message != message {
			continue
		}
		d := Details{Report: r.copy(), Votes: r.details, Keyless: r.keyless}
		if r.report.Kind == 0 {
			d.Votes, d.Keyless = votesIn(r.set, r.votes)
		}
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b Details) int { return b.At.Compare(a.At) })
	return out
}

// Rates returns how many requests were answered lately, and how fast.
func (a *Aggregator) Rates() Rates { return a.journal.rates.read(time.Now()) }

// votes returns what is known of each voter now; in are the signers of the answer, if there is one.
func (j *job) votes(in *warp.Bits) []vote {
	out := make([]vote, len(j.core.voters))
	for i := range out {
		v := &j.core.voters[i]
		out[i] = vote{code: v.code, state: v.vote(), quarantined: j.quarantined[i], took: uint32(min(j.took[i]/time.Microsecond, 1<<31))}
		if out[i].state == VoteSigned && in != nil && !in.Has(i) {
			out[i].state = VoteSpare
		}
	}
	return out
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
