package aggregator

import (
	"errors"
	"slices"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/actor"
	"quorate/engine/chain"
)

// errNoNode ends the search for a node of a validator that has none.
var errNoNode = errors.New("validator has no nodes")

// sharedKey is how far the nodes of a voter that has several were asked.
type sharedKey struct {
	tried []chain.NodeID
	last  chain.NodeID
}

// ask sends the question to the best of the voter's nodes that can take it and
// was not asked yet; when all were, they are asked again.
func (j *job) ask(i int) error {
	ids := j.set.Validators[i].NodeIDs
	var k *sharedKey
	if len(ids) > 1 {
		if k = j.shared[i]; k == nil {
			k = new(sharedKey)
			j.shared[i] = k
		}
		ids = k.next(j.rankings.bestFirst(time.Now(), j.set.SubnetID, ids))
	}
	failed := errNoNode
	for _, id := range ids {
		err := j.question.Ask(id)
		if err == nil {
			if k != nil {
				k.tried, k.last = append(k.tried, id), id
			}
			j.core.expect(i, patience(j.rankings.standing(time.Now(), j.set.SubnetID, id), j.median))
			return nil
		}
		if failed == errNoNode || errors.Is(err, ErrBusy) {
			failed = err
		}
	}
	return failed
}

// next returns ids without those that were tried, or all when none is left.
func (k *sharedKey) next(ids []chain.NodeID) []chain.NodeID {
	left := slices.DeleteFunc(slices.Clone(ids), func(id chain.NodeID) bool { return slices.Contains(k.tried, id) })
	if len(left) == 0 {
		k.tried = k.tried[:0]
		return ids
	}
	return left
}

// current reports whether node id was the last of voter i's to be asked: of the
// others only signatures count.
func (j *job) current(i int, id chain.NodeID) bool {
	k := j.shared[i]
	return k == nil || k.last == id
}

// gone reports whether none of voter i's nodes is expected back soon: each has
// been away for as long as we hope for one.
func (j *job) gone(i int) bool {
	for _, id := range j.set.Validators[i].NodeIDs {
		if j.peers.Status(id).AwayFor < j.timing.ConnectWait {
			return false
		}
	}
	return true
}

type eventKind uint8

const (
	evAnswer  eventKind = iota + 1 // a decoded signature
	evRefused                      // an error code or an empty answer
	evLie                          // something that is no signature
	evLost                         // the connection ended before the answer
	evVerdict                      // a check of the sum is done
	evSingle                       // a check of one quarantined validator's signature is done
	evJoin
	evLeave
)

// event is what a job's mailbox carries.
type event struct {
	kind    eventKind
	voter   int32
	from    chain.NodeID // of an answer: which of the voter's nodes
	at      time.Time    // of an answer: when it came
	code    int32
	lie     string // kind of evLie, for the metrics
	part    *part
	verdict *verdict
	caller  *caller
}

// deliver takes an answer on a peer's reader; it decodes there, so that the
// work is spread over the cores, and hands the rest to the actor.
func (j *job) deliver(a Answer) {
	if j.over.Load() {
		if l := j.lessons.Load(); l != nil {
			l.answer(&a)
		}
		return
	}
	i, ok := j.set.Index(a.From)
	if !ok {
		return
	}
	ev := event{voter: int32(i), from: a.From, at: time.Now(), code: a.Code} // set sizes are bounded
	switch {
	case a.Lost:
		ev.kind = evLost
	case a.Refused:
		ev.kind = evRefused
	case len(a.Signature) != bls.SignatureLen:
		ev.kind, ev.lie = evLie, "length"
	default:
		p := &part{raw: [bls.SignatureLen]byte(a.Signature)}
		if err := bls.DecodeSignatureInto(&p.sig, a.Signature); err != nil {
			ev.kind, ev.lie = evLie, "encoding"
			if errors.Is(err, bls.ErrInfinity) {
				ev.lie = "infinity"
			}
			break
		}
		ev.kind, ev.part = evAnswer, p
	}
	if err := j.box.TrySend(ev); err != nil && !errors.Is(err, actor.ErrClosed) {
		j.count.shedAnswers.Inc()
	}
}
