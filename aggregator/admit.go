package aggregator

import (
	"sync"
	"time"

	"quorate/engine/actor"
	"quorate/engine/chain"
)

// fairShare bounds what the messages of one subnet may hold: so many times what
// is free. Alone it gets 4/5 of the whole, two get 4/9 each, and some is left
// for the next.
const fairShare = 4

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

	mu       sync.Mutex // guards what follows
	byKey    map[jobKey]*job
	used     int
	bySubnet map[chain.ID]int  // parts of used
	sup      *actor.Supervisor // nil before Run and after its end
}

func newRegistry(maxJobs, maxSignatures, maxCallers int) *registry {
	return &registry{
		// With the least cost the one bound on the sum, and so the fair share, stands
		// for both.
		maxJobs: maxJobs, room: maxSignatures, least: max(1, maxSignatures/maxJobs),
		maxCallers: int32(min(maxCallers, 1<<30)), // bounded
		byKey:      make(map[jobKey]*job), bySubnet: make(map[chain.ID]int),
	}
}

// join hands c to the job for key, made by create if none runs. Its errors are
// of kind Overloaded or Stopping.
func (r *registry) join(key jobKey, c *caller, create func() *job) (j *job, started bool, err error) {
	ev := event{kind: evJoin, party: c}
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
	r.used += j.cost
	r.bySubnet[j.set.SubnetID] += j.cost
	return j, true, nil
}

// admits tells whether there is room for j, with a fair share left for others.
// A job that is larger than the whole may run alone.
func (r *registry) admits(j *job) bool {
	if r.used == 0 {
		return true
	}
	free, held := r.room-r.used, r.bySubnet[j.set.SubnetID]
	return len(r.byKey) < r.maxJobs && j.cost <= free && (held == 0 || held+j.cost <= fairShare*free)
}

// end takes j off the register and closes its mailbox of callers, in one step,
// so that nobody joins a job that has ended. It gives those who came too late.
func (r *registry) end(j *job) []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey[j.key] == j {
		delete(r.byKey, j.key)
		r.used -= j.cost
		if r.bySubnet[j.set.SubnetID] -= j.cost; r.bySubnet[j.set.SubnetID] == 0 {
			delete(r.bySubnet, j.set.SubnetID)
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
