package aggregator

import (
	"errors"
	"time"

	"quorate/aggregator/bls"
	"quorate/engine/actor"
	"quorate/engine/chain"
)

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
