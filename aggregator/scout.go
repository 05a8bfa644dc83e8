package aggregator

import (
	"context"
	"slices"
	"sync"
	"time"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/chain/warp"
)

const (
	// scoutNodes is how many validators a message under suspicion is tried on.
	// They are the best ones, so that a few who refuse everything do not decide.
	scoutNodes = 4
	// maxScouts bounds the messages that are being tried. One that nobody signs
	// takes 1.5 s and 20 questions, so all together cost some 900 questions a second,
	// which is a fifth of what five validators take.
	maxScouts = 64
)

var errScouted = &Error{Kind: Overloaded, RetryAfter: 2 * time.Second,
	Msg: "the validators that were asked first do not sign this message, and as long as much is under way or this client's messages are not signed, the others are not asked"}

// scouts are the messages that are being tried on a few validators. What is made
// up costs scoutNodes questions then, and not the whole set's.
type scouts struct {
	mu       sync.Mutex // guards what follows
	byKey    map[jobKey]*scout
	byClient map[string]int
}

// scout is the trial of one message, which any number of callers wait for.
type scout struct {
	done chan struct{} // closed when err is set
	err  error
}

func newScouts() *scouts {
	return &scouts{byKey: make(map[jobKey]*scout), byClient: make(map[string]int)}
}

// begin returns the trial of key, and whether the caller is to carry it out. It
// returns nil when the client has too many under way.
func (s *scouts) begin(key jobKey, client string) (t *scout, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.byKey[key]; t != nil {
		return t, false
	}
	// Of 4/5 of the places each client may have an equal part.
	held, most := s.byClient[client], fairShare*maxScouts/(fairShare+1)/max(len(s.byClient), 1)
	if len(s.byKey) >= maxScouts || held > 0 && held >= most {
		return nil, false
	}
	t = &scout{done: make(chan struct{})}
	s.byKey[key] = t
	s.byClient[client]++
	return t, true
}

func (s *scouts) end(key jobKey, client string, t *scout, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, key)
	if s.byClient[client]--; s.byClient[client] == 0 {
		delete(s.byClient, client)
	}
	t.err = err
	close(t.done)
}

// scout tries a message on a few validators and returns nil once one has signed
// it, or when none can be asked: the collection says why, then.
func (a *Aggregator) scout(ctx context.Context, req *Request, key jobKey, msg *warp.Unsigned, set *valset.Set) error {
	for {
		t, first := a.scouts.begin(key, req.Client)
		switch {
		case t == nil:
			return errTooManyJobs
		case first:
			a.count.scouted.Inc()
			err := a.try(ctx, req, msg, set)
			a.scouts.end(key, req.Client, t, err)
			return err
		}
		select {
		case <-t.done:
			if e, told := t.err.(*Error); told {
				return e
			}
			if t.err == nil {
				return nil
			}
			// Whoever tried it had less time than this caller, who tries it now.
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *Aggregator) try(ctx context.Context, req *Request, msg *warp.Unsigned, set *valset.Set) error {
	timing := &a.cfg.Timing
	answers := make(chan keptPart, scoutNodes*(len(timing.Retries)+1)) // the zero part for one that does not sign
	q, err := a.peers.Open(msg, req.Justification, timing.AskTimeout, func(answer Answer) {
		select {
		case answers <- scouted(set, &answer):
		default: // more answers than questions
		}
	})
	if err != nil {
		return &Error{Kind: Overloaded, Msg: "too many questions to the validators at once", RetryAfter: time.Second, Err: err}
	}
	defer q.Close()
	patience := time.NewTimer(timing.AskTimeout)
	defer patience.Stop()
	for try := 0; ; try++ {
		asked := a.askScouts(q, set)
		if asked == 0 && try == 0 {
			return nil
		}
		for range asked {
			select {
			case p := <-answers:
				if p.part != nil {
					a.results.putParts(msg.ID(), append(slices.Clip(a.results.getParts(msg.ID())), p))
					return nil
				}
			case <-patience.C:
				return errScouted
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if try >= len(timing.Retries) {
			return errScouted
		}
		// They may just not have executed the message's block yet.
		select {
		case <-time.After(timing.Retries[try]):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// askScouts puts the question to the best validators that can take it.
func (a *Aggregator) askScouts(q Question, set *valset.Set) (asked int) {
	rank := a.rankings.get(time.Now(), set)
	for _, i := range rank.order {
		if class := rank.class[i]; class == classExcluded || class == classQuarantined {
			continue
		}
		for _, id := range set.Validators[i].NodeIDs {
			if q.Ask(id) == nil {
				asked++
				break
			}
		}
		if asked == scoutNodes {
			break
		}
	}
	return asked
}

// scouted returns the signature in an answer, which nobody has checked yet.
func scouted(set *valset.Set, answer *Answer) keptPart {
	i, ok := set.Index(answer.From)
	if !ok || answer.Refused || answer.Lost || len(answer.Signature) != bls.SignatureLen {
		return keptPart{}
	}
	p := &part{raw: [bls.SignatureLen]byte(answer.Signature)}
	if bls.DecodeSignatureInto(&p.sig, answer.Signature) != nil {
		return keptPart{}
	}
	return keptPart{key: set.Validators[i].Key.Compressed(), part: p, set: set.Digest}
}
