package aggregator

import (
	"slices"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
)

// failureAge is how long a failure is shown after its last request.
const failureAge = 30 * 24 * time.Hour

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
	// Took is how long the collection took; 0 if no validator was asked.
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

// votesIn returns votes with the validators that they are of, and behind them those that are
// out of balance.
func votesIn(set *valset.Set, votes []vote) (out []Vote, keyless uint64) {
	if set == nil || len(votes) != len(set.Validators) {
		return nil, 0
	}
	out, keyless = make([]Vote, len(votes), len(votes)+len(set.OutOfBalance)+1), set.TotalWeight
	for i, v := range votes {
		of := &set.Validators[i]
		keyless -= of.Weight
		out[i] = Vote{
			NodeIDs: of.NodeIDs, Weight: of.Weight, State: v.state, Code: v.code,
			Took: time.Duration(v.took) * time.Microsecond, Quarantined: v.quarantined,
		}
	}
	// Who is out of balance may have changed since the height of the set, its weight has not.
	inactive := min(set.Inactive, keyless)
	keyless -= inactive
	for _, v := range set.OutOfBalance {
		if v.Weight <= inactive {
			inactive -= v.Weight
			out = append(out, Vote{NodeIDs: []chain.NodeID{v.NodeID}, Weight: v.Weight, State: VoteUnderfunded})
		}
	}
	if inactive > 0 {
		out = append(out, Vote{Weight: inactive, State: VoteUnderfunded})
	}
	return out, keyless
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
