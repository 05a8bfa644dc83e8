package aggregator

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
)

const (
	// rankingTTL is how long an order of preference is used again: connections and
	// latencies change slowly against the time of a collection.
	rankingTTL = 100 * time.Millisecond

	maxRankings = 64
)

// Classes of voters, best first.
const (
	classFast = iota
	classSlow
	classAway
	classUnreliable // refused or kept silent lately, again and again
	classQuarantined
	classExcluded
)

// ranking is an order of preference over a validator set: fast and heavy first.
// It is immutable.
type ranking struct {
	made   time.Time
	order  []int32
	class  []uint8
	due    []int32       // unreliable or slow ones that may have recovered, to be probed
	median time.Duration // of the known latencies; 0 when there is none
}

// standing is what is known of a node: how it is connected, and how it has
// behaved in one subnet.
type standing struct {
	PeerStatus
	unreliable bool
	due        bool // may have recovered
}

// rankings keeps recent rankings by set.
type rankings struct {
	status func(chain.NodeID) PeerStatus
	bad    *quarantine
	habits *habits

	mu    sync.Mutex // guards what follows
	bySet map[*valset.Set]*ranking
}

func newRankings(status func(chain.NodeID) PeerStatus, bad *quarantine, h *habits) *rankings {
	return &rankings{bySet: make(map[*valset.Set]*ranking), status: status, bad: bad, habits: h}
}

// get returns the ranking of set, at most rankingTTL old.
func (r *rankings) get(now time.Time, set *valset.Set) *ranking {
	r.mu.Lock()
	have := r.bySet[set]
	r.mu.Unlock()
	if have != nil && now.Sub(have.made) < rankingTTL {
		return have
	}
	fresh := r.rank(now, set)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bySet) >= maxRankings {
		clear(r.bySet)
	}
	r.bySet[set] = fresh
	return fresh
}

// forget drops what is known of set, so that news count at once.
func (r *rankings) forget(set *valset.Set) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.bySet, set)
}

func (r *rankings) rank(now time.Time, set *valset.Set) *ranking {
	n := len(set.Validators)
	out := &ranking{made: now, order: make([]int32, n), class: make([]uint8, n)}
	latency := make([]time.Duration, n)
	known := make([]time.Duration, 0, n)
	due := make([]bool, n)
	anyBad := !r.bad.empty()
	for i := range set.Validators {
		v := &set.Validators[i]
		out.order[i] = int32(i) // set sizes are bounded
		st := r.best(now, set.SubnetID, v.NodeIDs)
		latency[i], due[i] = st.Latency, st.due
		switch {
		case v.Underfunded:
			out.class[i] = classExcluded
		case anyBad && r.bad.holds(now, v.Key.Compressed()):
			out.class[i] = classQuarantined
		case !st.Connected || st.Missed > 0:
			out.class[i] = classAway
		case st.unreliable:
			out.class[i] = classUnreliable
		case st.Latency > 0:
			known = append(known, st.Latency)
		}
	}
	if len(known) > 0 {
		slices.Sort(known)
		out.median = known[len(known)/2]
	}
	for i := range latency {
		if out.class[i] == classFast && latency[i] > slowFactor*out.median+slowSlack {
			out.class[i] = classSlow
		}
		if due[i] && (out.class[i] == classSlow || out.class[i] == classUnreliable) {
			out.due = append(out.due, int32(i)) // as above
		}
		latency[i] = cmp.Or(latency[i], out.median) // nothing speaks for or against a stranger
	}
	slices.SortFunc(out.order, func(a, b int32) int {
		return cmp.Or(
			cmp.Compare(out.class[a], out.class[b]),
			cmp.Compare(set.Validators[b].Weight, set.Validators[a].Weight),
			cmp.Compare(latency[a], latency[b]),
			cmp.Compare(a, b),
		)
	})
	return out
}

// standing returns what is known of a node. What it did in this subnet, and in
// earlier runs, counts before the average over all that it was asked.
func (r *rankings) standing(now time.Time, subnet chain.ID, id chain.NodeID) standing {
	s := standing{PeerStatus: r.status(id)}
	h, ok := r.habits.look(habitKey{subnet, id})
	if !ok {
		return s
	}
	s.Latency = cmp.Or(h.latency, s.Latency)
	s.unreliable = h.unreliable()
	s.due = !now.Before(h.probeAt)
	return s
}

// best returns the standing of the best of a voter's nodes.
func (r *rankings) best(now time.Time, subnet chain.ID, ids []chain.NodeID) standing {
	var best standing
	for k, id := range ids {
		if s := r.standing(now, subnet, id); k == 0 || better(s, best) < 0 {
			best = s
		}
	}
	return best
}

// bestFirst returns ids in order of preference.
func (r *rankings) bestFirst(now time.Time, subnet chain.ID, ids []chain.NodeID) []chain.NodeID {
	out := slices.Clone(ids)
	slices.SortStableFunc(out, func(a, b chain.NodeID) int {
		return better(r.standing(now, subnet, a), r.standing(now, subnet, b))
	})
	return out
}

// better orders nodes with the same key: who answers before who does not, the
// faster first, and one whose latency is unknown last.
func better(a, b standing) int {
	rank := func(s standing) int {
		switch {
		case !s.Connected:
			return 3
		case s.unreliable:
			return 2
		case s.Missed > 0 || s.Latency == 0 && s.Waiting > 0:
			return 1
		}
		return 0
	}
	latency := func(s standing) time.Duration { return cmp.Or(s.Latency, time.Hour) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(latency(a), latency(b)))
}

// patience is how long to wait for an answer before others are asked in its
// place, from the validator's own history; median is that of the whole set.
func patience(s standing, median time.Duration) time.Duration {
	const (
		stranger = 250 * time.Millisecond // never answered, in a set of strangers
		mute     = 50 * time.Millisecond  // asked, but has not answered anything so far
		slack    = 20 * time.Millisecond
		most     = 500 * time.Millisecond
		multiple = 4
	)
	switch {
	case s.Missed > 0 || s.unreliable:
		return 0 // its answer counts when it comes, but no request waits for it
	case s.Latency > 0:
		return min(multiple*s.Latency+slack, most)
	case s.Waiting > 1:
		return mute
	case median > 0:
		return min(multiple*median+slack+mute, stranger)
	}
	return stranger
}
