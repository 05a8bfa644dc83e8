package aggregator

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/aggregator/bls"
	"quorate/aggregator/valset"
	"quorate/engine/actor"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// collect has a message signed unless it was refused just now or, under suspicion, finds
// nobody among a few validators who signs it. It notes how the client's requests end.
func (a *Aggregator) collect(ctx context.Context, at *attempt) (k *kept, err error) {
	began, client := time.Now(), at.req.Client
	key := jobKey{collectionKey: collectionKey{at.msg.ID(), at.set.Digest}}
	if len(at.req.Justification) > 0 {
		key.justification = sha256.Sum256(at.req.Justification)
	}
	if e := a.refused.get(key, at.quorum); e != nil {
		return nil, e
	}
	at.req.Asked = len(at.set.Validators)
	if a.suspects(client, at.msg) && !a.jobs.runs(key) {
		err = a.scout(ctx, at, key)
	}
	if err != nil {
		a.standings.note(client, false)
	} else if k, err = a.wait(ctx, at, key); err == nil {
		a.standings.note(client, true)
		a.count.duration.Observe(time.Since(began).Seconds())
	}
	e, _ := err.(*Error)
	switch {
	case e == nil:
	case e.Kind == Overloaded:
		a.count.overloaded.Inc()
	case e.Stake != nil: // validators were asked for it
		// What some have signed is no invention, whatever held up the others.
		a.standings.note(client, e.Stake.Signed > 0)
		if e.Kind == Refused {
			a.refused.put(key, at.quorum, e)
		}
	}
	return k, err
}

// wait joins the running job for this message and set, or starts one. Its error is
// errEnded if that had just ended.
func (a *Aggregator) wait(ctx context.Context, at *attempt, key jobKey) (*kept, error) {
	at.waited = time.Now()
	c := &caller{wish: at.wish, deadline: at.deadline, reply: actor.NewReply[*kept]()}
	j, started, err := a.jobs.join(key, c, func() *job {
		// A validator has one question open at a time, and is asked again at most
		// once for each retry or reconnection.
		n := len(at.set.Validators)
		return &job{
			environment: a.environment, leave: a.jobs.end, key: key, holders: holdersOf(at.req.Client, at.msg.SourceChainID, at.set.SubnetID),
			set: at.set, beside: a.sets.Beside(at.set), msg: at.msg, justification: at.req.Justification,
			box:   actor.NewMailbox[event]((len(a.cfg.Timing.Retries)+10)*n+8, actor.Shed),
			calls: actor.NewMailbox[event](2*a.cfg.MaxCallers, actor.Shed),
		}
	})
	if err != nil {
		return nil, err
	}
	if at.first = started; started {
		a.count.fresh.Inc()
	} else {
		a.count.joined.Inc()
	}
	k, err := c.reply.Wait(ctx)
	if ctx.Err() != nil && err != nil {
		// The job may have ended meanwhile; then there are no callers to notify.
		_ = j.calls.TrySend(event{kind: evLeave, caller: c})
	}
	j.waiting.Add(-1)
	return k, err
}

const (
	// maxClients bounds the clients whose standing is remembered.
	maxClients = 1 << 14
	// A client's standing is the moving average of what became of the messages
	// that it had put to validators, 1 for signed: each counts for a fifth, and a
	// stranger begins in the middle. So one signed message makes a client good, and
	// three in vain make it bad.
	standingStart, standingShare = 0.5, 0.2
	standingGood, standingBad    = 0.6, 0.3
	// busyShare is the part of the room for collections beyond which strangers'
	// messages are tried on a few validators first.
	busyShare = 64

	// maxRefusals bounds the refused messages that are remembered, for refusedFor.
	maxRefusals = 4096
	refusedFor  = time.Second
)

// standings remembers which clients ask for messages that get signed.
type standings struct {
	mu       sync.Mutex
	byClient *simplelru.LRU[string, float64]
}

func newStandings() *standings { return &standings{byClient: newLRU[string, float64](maxClients, nil)} }

// of returns the standing of a client. The server itself is always good.
func (s *standings) of(client string) float64 {
	if client == "" {
		return 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.byClient.Get(client); ok {
		return v
	}
	return standingStart
}

// note takes in what became of a message.
func (s *standings) note(client string, signed bool) {
	if client == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byClient.Get(client)
	if !ok {
		v = standingStart
	}
	v -= v * standingShare
	if signed {
		v += standingShare
	}
	s.byClient.Add(client, v)
}

// suspects reports whether a message is to be tried on a few validators before
// it is put to all that are needed: one from a client whose messages are not
// signed, and, while much is under way, one from a client of whom nothing good is
// known. A message of a block that a followed node has executed is above suspicion.
func (a *Aggregator) suspects(client string, msg *warp.Unsigned) bool {
	standing := a.standings.of(client)
	if standing >= standingGood || standing >= standingBad && !a.jobs.busy() {
		return false
	}
	if a.history == nil || msg.SourceChainID == chain.PlatformChainID {
		return true // of the P-Chain's messages any could be one
	}
	_, executed := a.history.Executed(msg)
	return !executed
}

// refusal is a message that validators refused just now.
type refusal struct {
	err    *Error
	quorum int
	until  time.Time
}

// refusals remembers them for a moment, so that asking again and again costs
// the validators nothing.
type refusals struct{ recent *lru.Cache[jobKey, refusal] }

func newRefusals() *refusals {
	l, err := lru.New[jobKey, refusal](maxRefusals)
	if err != nil {
		panic(err) // only for sizes below 1
	}
	return &refusals{l}
}

// get returns the refusal of the same message for this quorum or a lower one.
func (r *refusals) get(key jobKey, quorum int) *Error {
	have, ok := r.recent.Get(key)
	if !ok || quorum < have.quorum || !time.Now().Before(have.until) {
		return nil
	}
	return have.err
}

func (r *refusals) put(key jobKey, quorum int, err *Error) {
	r.recent.Add(key, refusal{err, quorum, time.Now().Add(refusedFor)})
}

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
func (a *Aggregator) scout(ctx context.Context, at *attempt, key jobKey) error {
	for {
		t, first := a.scouts.begin(key, at.req.Client)
		switch {
		case t == nil:
			return errTooManyJobs
		case first:
			a.count.scouted.Inc()
			err := a.try(ctx, at)
			a.scouts.end(key, at.req.Client, t, err)
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

func (a *Aggregator) try(ctx context.Context, at *attempt) error {
	timing, set, id := &a.cfg.Timing, at.set, at.msg.ID()
	answers := make(chan keptPart, scoutNodes*(len(timing.Retries)+1)) // the zero part for one that does not sign
	q, err := a.peers.Open(at.msg, at.req.Justification, timing.AskTimeout, func(answer Answer) {
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
					a.results.putParts(id, append(slices.Clip(a.results.getParts(id)), p))
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

// scouted returns the signature in an answer, which was not checked yet.
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
