package aggregator

import (
	"sync"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain"
)

// fairShare bounds what one holder's messages may hold: so many times what is
// free, and an equal part of what all of its kind may hold together, which is
// 4/5 of the room. Alone it gets that; when one more comes it gets some at once,
// and its part as soon as what is under way has ended.
const fairShare = 4

// holder is whose messages hold a part of the room: a client, a source chain or
// a signing subnet.
type holder struct {
	kind   uint8
	client string
	id     chain.ID
}

// The kinds of holders.
const (
	aClient = iota
	aSource
	aSubnet
	holderKinds
)

func holdersOf(client string, source, subnet chain.ID) [holderKinds]holder {
	return [holderKinds]holder{{kind: aClient, client: client}, {kind: aSource, id: source}, {kind: aSubnet, id: subnet}}
}

var (
	errTooManyJobs = &Error{Kind: Overloaded, RetryAfter: time.Second,
		Msg: "too many messages are being signed at once"}
	errTooManyCallers = &Error{Kind: Overloaded, RetryAfter: time.Second,
		Msg: "too many requests wait for this message"}
)

// registry holds the running jobs by what they collect, and decides who is let
// in; see the package comment for the policy.
type registry struct {
	maxJobs    int
	room       int // for the costs of all jobs: the validators of their sets
	least      int // cost of the smallest job
	maxCallers int32

	mu    sync.Mutex // guards what follows
	byKey map[jobKey]*job
	used  int
	held  map[holder]int    // parts of used; each kind's sum up to it
	count [holderKinds]int  // of held, by kind
	sup   *actor.Supervisor // nil before Run and after its end
}

func newRegistry(maxJobs, maxSignatures, maxCallers int) *registry {
	return &registry{
		// With the least cost the one bound on the sum, and so the fair share, stands
		// for both.
		maxJobs: maxJobs, room: maxSignatures, least: max(1, maxSignatures/maxJobs),
		maxCallers: int32(min(maxCallers, 1<<30)), // bounded
		byKey:      make(map[jobKey]*job), held: make(map[holder]int),
	}
}

// join hands c to the job for key, made by create if none runs. Its errors are
// of kind Overloaded or Stopping.
func (r *registry) join(key jobKey, c *caller, create func() *job) (j *job, started bool, err error) {
	ev := event{kind: evJoin, caller: c}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sup == nil {
		return nil, false, errStopping
	}
	if j = r.byKey[key]; j != nil {
		if j.waiting.Load() >= r.maxCallers || j.calls.TrySend(ev) != nil {
			return nil, false, errTooManyCallers
		}
		j.waiting.Add(1)
		return j, false, nil
	}
	j = create()
	j.cost = max(len(j.set.Validators), r.least)
	if !r.admits(j) {
		return nil, false, errTooManyJobs
	}
	if j.calls.TrySend(ev) != nil || r.sup.Go("job", j.run) != nil {
		return nil, false, errStopping
	}
	j.waiting.Add(1)
	r.byKey[key] = j
	r.hold(j)
	return j, true, nil
}

func (r *registry) hold(j *job) {
	r.used += j.cost
	for _, h := range j.holders {
		if r.held[h] == 0 {
			r.count[h.kind]++
		}
		r.held[h] += j.cost
	}
}

// admits reports whether there is room for j, with a fair share left for others.
// A job that is larger than the whole may run alone.
//
// A client whose share is used up has to wait. One of whom little is under way
// gets in also where the source chain's or the subnet's share is used up, by
// others: whoever floods one cannot keep out those who ask for little.
func (r *registry) admits(j *job) bool {
	if r.used == 0 {
		return true
	}
	free := r.room - r.used
	if len(r.byKey) >= r.maxJobs || j.cost > free {
		return false
	}
	client := j.holders[aClient]
	if !r.within(j, client) {
		return false
	}
	return r.within(j, j.holders[aSource]) && r.within(j, j.holders[aSubnet]) ||
		r.held[client]+j.cost <= max(j.cost, free/max(r.count[aClient], 1))
}

// within reports whether a holder's share has room for j. What holds nothing yet
// may have one.
func (r *registry) within(j *job, h holder) bool {
	have := r.held[h]
	if have == 0 {
		return true
	}
	most := fairShare * (r.room - r.used)
	if n := r.count[h.kind]; n > 1 {
		most = min(most, fairShare*r.room/(fairShare+1)/n)
	}
	return have+j.cost <= most
}

// busy reports whether so much is under way that strangers' messages are tried on
// a few validators first.
func (r *registry) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return busyShare*r.used > r.room
}

// runs reports whether there is a job for key.
func (r *registry) runs(key jobKey) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[key] != nil
}

// end takes j off the register and closes its mailbox of callers, in one step,
// so that no caller joins a job that has ended. It returns those who came too late.
func (r *registry) end(j *job) []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[j.key] == j {
		delete(r.byKey, j.key)
		r.used -= j.cost
		for _, h := range j.holders {
			if r.held[h] -= j.cost; r.held[h] == 0 {
				delete(r.held, h)
				r.count[h.kind]--
			}
		}
	}
	return j.calls.Close()
}

func (r *registry) open(sup *actor.Supervisor) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sup = sup
}

func (r *registry) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.byKey)
}
