package aggregator

import (
	"context"
	"sync"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// lingerFor is how long after a success those are listened to that had not
// answered yet: long enough to tell who is silent from who just was not needed.
const lingerFor = 500 * time.Millisecond

// maxLingering bounds the questions that stay open for that.
const maxLingering = 1024

// lessons is what a successful collection leaves to be learned: who still owes
// an answer.
type lessons struct {
	*environment
	subnet   chain.ID
	question Question
	ends     time.Time

	mu   sync.Mutex // guards what follows
	owed map[chain.NodeID]debt
}

// debt is an answer that has not come.
type debt struct {
	since  time.Time
	struck bool // overdue already, and counted
}

// answer takes an answer that came after the end of the collection.
func (l *lessons) answer(a *Answer) {
	l.mu.Lock()
	d, ok := l.owed[a.From]
	delete(l.owed, a.From)
	l.mu.Unlock()
	if ok && !a.Refused && !a.Lost {
		now := time.Now()
		l.habits.signed(now, habitKey{l.subnet, a.From}, now.Sub(d.since))
	}
}

// end closes the question; who has not answered by now is silent.
func (l *lessons) end() {
	l.question.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for id, d := range l.owed {
		if !d.struck {
			l.habits.strike(now, habitKey{l.subnet, id}, strikeSilent)
		}
	}
	clear(l.owed)
}

// learn remembers how the validators have behaved in this collection. Only one
// that succeeded says something about those who did not sign: a message that
// nobody signs is not their fault.
func (j *job) learn() *lessons {
	now, news, questions := time.Now(), false, 0
	l := &lessons{environment: j.environment, subnet: j.set.SubnetID, question: j.question, ends: now.Add(lingerFor), owed: make(map[chain.NodeID]debt)}
	refusal := uint8(strikeRefused)
	if j.core.settled != never && j.now() < j.core.settled {
		refusal = strikeEarly
	}
	for i := range j.core.voters {
		v := &j.core.voters[i]
		if questions += int(v.tries); v.tries == 0 {
			continue
		}
		key := habitKey{j.set.SubnetID, j.lastAsked(i)}
		switch {
		case j.took[i] > 0:
			news = j.habits.signed(now, key, j.took[i]) || news
		case len(j.proofs) == 0:
			continue
		case v.state == refused, v.state == declined, v.state == deferred && v.why == refusedYet:
			news = j.habits.strike(now, key, refusal) || news
		case v.state == late, v.state == silent:
			news = j.habits.strike(now, key, strikeSilent) || news
			l.owed[key.node] = debt{j.start.Add(v.since), true}
		case v.state == asked:
			l.owed[key.node] = debt{j.start.Add(v.since), false}
		}
		if k := j.shared[i]; k != nil && len(j.proofs) > 0 {
			for _, id := range k.tried { // in vain: another was asked after it
				if id != k.last {
					news = j.habits.strike(now, habitKey{key.subnet, id}, strikeSilent) || news
				}
			}
		}
	}
	j.habits.count(questions)
	if news {
		j.rankings.forget(j.set)
	}
	return l
}

// lastAsked returns the node of voter i that was asked last, or has answered.
func (j *job) lastAsked(i int) chain.NodeID {
	if k := j.shared[i]; k != nil {
		return k.last
	}
	return j.set.Validators[i].NodeIDs[0]
}

// conclude learns from the collection and closes its question, at once or, if
// there is more to be learned, a little later.
func (j *job) conclude(ctx context.Context) {
	l := j.learn()
	if len(j.proofs) > 0 && len(l.owed) > 0 && ctx.Err() == nil {
		j.lessons.Store(l)
		select {
		case j.lingering <- l:
			return
		default: // so many that these are not needed
		}
	}
	j.question.Close()
}

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

// blame quarantines the validator at index i of set and names it in the log once per term.
func (e *environment) blame(set *valset.Set, i int, lie string) {
	e.count.lie(lie)
	v := &set.Validators[i]
	term, started := e.bad.add(time.Now(), v.Key.Compressed(), lie)
	if !started {
		return
	}
	e.rankings.forget(set)
	e.log.Warn("validator sent an invalid signature and is quarantined",
		"nodes", v.NodeIDs, "subnet", set.SubnetID, "kind", lie, "term", term,
		"weight", v.Weight, "of", set.TotalWeight)
}
