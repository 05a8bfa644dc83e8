package aggregator

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

const (
	// maxSignedRows and maxFailedRows bound the messages that the journal remembers: what
	// fails, which may be invented, does not crowd out what was signed.
	maxSignedRows, maxFailedRows = 256, 128
	// maxRowSets bounds the validator sets that are remembered with what was signed: the
	// rows of older ones lose their votes. A set of a thousand takes about 100 kB.
	maxRowSets = 16
	// maxRowBytes is how long a message is remembered with its bytes.
	maxRowBytes = 32 << 10
	// relistEvery is how often a result that the journal has forgotten comes back when it
	// is given out again, and how often a refusal for want of room is noted: however
	// many there are, they cost next to nothing.
	relistEvery = 100 * time.Millisecond
)

// vote is a [Vote] as it is remembered.
type vote struct {
	code        int32
	took        uint32 // µs
	state       VoteState
	quarantined bool
}

// row is a report in the journal.
type row struct {
	joined, repeats atomic.Uint64
	last            atomic.Int64 // Unix ns of the last answer

	// Guarded by the journal's mu:
	report  Report
	counted bool        // a failure that at least one request was answered with
	set     *valset.Set // nil without votes
	votes   []vote
	owner   *kept // whose row it is; nil of a failure

	// Of a failure, which needs no set:
	details []Vote
	keyless uint64
	born    int64  // Unix ns
	changed bool   // since it was saved
	saved   uint64 // repeats that were saved
}

// journal remembers what became of the last messages, and counts. What was signed is
// forgotten with the process: the results themselves are on disk. For failures see failures.go.
type journal struct {
	rates    *rates
	relisted atomic.Int64 // Unix ns

	mu       sync.Mutex // guards what follows
	signed   rowRing
	failed   rowRing
	failures map[chain.ID]*row // the last failure of each message in failed
	sets     []*valset.Set     // of rows, the last used at the end
}

// rowRing is the last rows, of which the oldest makes room.
type rowRing struct {
	rows []*row
	next int
}

// put adds a row and returns the one that it replaces, or nil.
func (r *rowRing) put(w *row) (old *row) {
	old = r.rows[r.next]
	r.rows[r.next] = w
	r.next = (r.next + 1) % len(r.rows)
	return old
}

func newJournal(now time.Time) *journal {
	return &journal{
		rates:  newRates(now),
		signed: rowRing{rows: make([]*row, maxSignedRows)}, failed: rowRing{rows: make([]*row, maxFailedRows)},
		failures: make(map[chain.ID]*row),
	}
}

// seldom reports whether something may be noted that is noted at most every relistEvery.
func (j *journal) seldom(now time.Time) bool {
	last := j.relisted.Load()
	ago := now.UnixNano() - last // below zero after the clock was put back
	return (ago < 0 || ago >= int64(relistEvery)) && j.relisted.CompareAndSwap(last, now.UnixNano())
}

// answered notes that a result was given out.
func (j *journal) answered(now time.Time, at *attempt, k *kept, how How) {
	r := k.row.Load()
	if how == Collected {
		w := wayJoined
		switch {
		case at.ahead:
			w = wayAhead
		case at.first:
			w = wayCollected
		}
		j.rates.timed(now, w, now.Sub(at.waited))
		if r != nil && !at.first {
			r.joined.Add(1)
			r.last.Store(now.UnixNano())
		}
		return
	}
	if !at.ahead {
		j.rates.count(now, wayKept)
	}
	switch {
	case r == nil && (how != FromMemory || j.seldom(now)):
		j.sign(now, k, at.wish, how, at.msg, at.set, 0, nil)
	case r != nil && !at.ahead:
		r.repeats.Add(1)
		r.last.Store(now.UnixNano())
	}
}

// sign notes a signed message. votes may be nil: then only who signed is known.
func (j *journal) sign(now time.Time, k *kept, of wish, how How, msg *warp.Unsigned, set *valset.Set, took time.Duration, votes []vote) {
	r := &row{set: set, votes: votes, owner: k}
	r.last.Store(now.UnixNano())
	res := &k.result
	r.report = Report{
		Message: msg.ID(), SourceChain: msg.SourceChainID, Subnet: set.SubnetID, Height: res.Height,
		Quorum: of.quorum, Buffer: of.buffer, Ahead: of.ahead, Weight: res.Weight, Total: res.Total,
		Signers: k.signers.Count(), Validators: len(set.Validators), Took: took, How: how,
	}
	if len(res.Signed) <= maxRowBytes {
		r.report.Signed, r.report.Unsigned = res.Signed, res.Signed[:len(msg.Bytes())]
	}
	if votes == nil {
		r.votes = make([]vote, len(set.Validators))
		k.signers.Each(func(i int) { r.votes[i].state = VoteSigned })
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !k.row.CompareAndSwap(nil, r) {
		return // somebody was faster
	}
	j.use(r)
	j.forget(j.signed.put(r))
}

// forget takes what a row leaves behind. It needs mu.
func (j *journal) forget(r *row) {
	if r == nil {
		return
	}
	if r.owner != nil {
		r.owner.row.Store(nil)
		r.owner = nil
	}
	if id := r.report.Message; j.failures[id] == r {
		delete(j.failures, id)
	}
	r.set, r.votes, r.details = nil, nil, nil
}

// use has the row share a set with others, and bounds the sets. It needs mu.
func (j *journal) use(r *row) {
	if i := slices.IndexFunc(j.sets, func(s *valset.Set) bool { return s.Digest == r.set.Digest }); i >= 0 {
		r.set = j.sets[i]
		j.sets = append(slices.Delete(j.sets, i, i+1), r.set)
		return
	}
	if len(j.sets) == maxRowSets {
		old := j.sets[0]
		j.sets = slices.Delete(j.sets, 0, 1)
		for _, w := range j.signed.rows {
			if w != nil && w.set == old {
				w.set, w.votes = nil, nil
			}
		}
	}
	j.sets = append(j.sets, r.set)
}

// miss notes what became of the validators in a collection that failed, before the
// requests that waited for it are answered.
func (j *journal) miss(of wish, msg *warp.Unsigned, set *valset.Set, took time.Duration, e *Error, votes []vote) {
	r := newFailure(of, msg, set, e)
	r.report.Took = took
	r.details, r.keyless = votesIn(set, votes)
	r.details = heaviest(r.details)
	j.mu.Lock()
	defer j.mu.Unlock()
	if before := j.failures[r.report.Message]; before.is(e.Kind, of.quorum) {
		before.report, before.details, before.keyless, before.changed = r.report, r.details, r.keyless, true
		return
	}
	j.addFailure(r)
}

// is reports whether a message has failed before for the same reason.
func (r *row) is(kind Kind, quorum int) bool {
	return r != nil && r.report.Kind == kind && r.report.Quorum == quorum
}

// fail notes that a request failed. Requests without a message are only counted.
func (j *journal) fail(now time.Time, at *attempt, e *Error) {
	if !at.ahead {
		j.rates.count(now, wayFailed)
	}
	if at.msg == nil || e.Kind == Stopping || e.Kind == Overloaded && !j.seldom(now) {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	r := j.failures[at.msg.ID()]
	if !r.is(e.Kind, at.quorum) {
		r = newFailure(at.wish, at.msg, at.set, e)
		j.addFailure(r)
	}
	if r.counted && !at.ahead {
		r.repeats.Add(1)
	}
	r.changed = r.changed || !r.counted || r.report.Err != e.Msg
	r.counted, r.report.Err = true, e.Msg
	r.last.Store(now.UnixNano())
}

func newFailure(of wish, msg *warp.Unsigned, set *valset.Set, e *Error) *row {
	r := new(row)
	r.report = Report{
		Message: msg.ID(), SourceChain: msg.SourceChainID, Quorum: of.quorum, Buffer: of.buffer, Ahead: of.ahead, Kind: e.Kind, Err: e.Msg,
	}
	o := &r.report
	if set != nil {
		o.Subnet, o.Height, o.Total, o.Validators = set.SubnetID, set.Height, set.TotalWeight, len(set.Validators)
	}
	if e.Stake != nil {
		o.Weight = e.Stake.Signed
	}
	if raw := msg.Bytes(); len(raw) <= maxRowBytes {
		o.Unsigned = bytes.Clone(raw)
	}
	return r
}

// addFailure needs mu.
func (j *journal) addFailure(r *row) {
	r.born, r.changed = time.Now().UnixNano(), true
	r.last.Store(r.born)
	j.forget(j.failed.put(r))
	j.failures[r.report.Message] = r
}
