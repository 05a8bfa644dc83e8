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
	// orderTTL is how long an order of preference is used again: connections and
	// latencies change slowly against the time of a collection.
	orderTTL = 100 * time.Millisecond
	// slowFactor and slowSlack say which validators count as slow.
	slowFactor = 4
	slowSlack  = 25 * time.Millisecond

	maxOrders = 64
)

// Classes of voters, best first.
const (
	classFast = iota
	classSlow
	classAway
	classSuspect
	classExcluded
)

// ranking is an order of preference over a validator set: fast and heavy first.
// It is immutable.
type ranking struct {
	made  time.Time
	order []int32
	class []uint8
}

// rankings keeps recent rankings by set.
type rankings struct {
	mu     sync.Mutex
	bySet  map[*valset.Set]*ranking
	status func(chain.NodeID) PeerStatus
	bad    *quarantine
}

func newRankings(status func(chain.NodeID) PeerStatus, bad *quarantine) *rankings {
	return &rankings{bySet: make(map[*valset.Set]*ranking), status: status, bad: bad}
}

// get gives the ranking of set, at most orderTTL old.
func (r *rankings) get(now time.Time, set *valset.Set) *ranking {
	r.mu.Lock()
	have := r.bySet[set]
	r.mu.Unlock()
	if have != nil && now.Sub(have.made) < orderTTL {
		return have
	}
	fresh := r.rank(now, set)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bySet) >= maxOrders {
		clear(r.bySet)
	}
	r.bySet[set] = fresh
	return fresh
}

// forget drops what is known of set, so that a new quarantine counts at once.
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
	anyBad := !r.bad.empty()
	for i := range set.Validators {
		v := &set.Validators[i]
		out.order[i] = int32(i) // set sizes are bounded
		st := bestStatus(r.status, v.NodeIDs)
		latency[i] = st.Latency
		switch {
		case v.Underfunded:
			out.class[i] = classExcluded
		case anyBad && r.bad.holds(now, v.Key.Compressed()):
			out.class[i] = classSuspect
		case !st.Connected || st.Missed > 0:
			out.class[i] = classAway
		case st.Latency > 0:
			known = append(known, st.Latency)
		}
	}
	if len(known) > 0 {
		slices.Sort(known)
		limit := slowFactor*known[len(known)/2] + slowSlack
		for i := range latency {
			if out.class[i] == classFast && latency[i] > limit {
				out.class[i] = classSlow
			}
		}
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

// bestStatus is the status of the best connected of a voter's nodes.
func bestStatus(status func(chain.NodeID) PeerStatus, ids []chain.NodeID) PeerStatus {
	if len(ids) == 0 {
		return PeerStatus{}
	}
	best := status(ids[0])
	for _, id := range ids[1:] {
		if st := status(id); better(st, best) < 0 {
			best = st
		}
	}
	return best
}

// bestFirst returns ids in order of preference.
func bestFirst(status func(chain.NodeID) PeerStatus, ids []chain.NodeID) []chain.NodeID {
	out := slices.Clone(ids)
	slices.SortStableFunc(out, func(a, b chain.NodeID) int { return better(status(a), status(b)) })
	return out
}

// better orders nodes with the same key: who answers before who does not, the
// faster first, and one whose latency is unknown last.
func better(a, b PeerStatus) int {
	rank := func(st PeerStatus) int {
		switch {
		case !st.Connected:
			return 2
		case st.Missed > 0 || st.Latency == 0 && st.Waiting > 0:
			return 1
		}
		return 0
	}
	latency := func(st PeerStatus) time.Duration { return cmp.Or(st.Latency, time.Hour) }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(latency(a), latency(b)))
}

// patience is how long to wait for an answer before others are asked in its
// place, from the validator's own history.
func patience(st PeerStatus) time.Duration {
	const (
		stranger = 250 * time.Millisecond // never asked before
		mute     = 50 * time.Millisecond  // asked, but has not answered anything so far
		slack    = 20 * time.Millisecond
		most     = 500 * time.Millisecond
		multiple = 4
	)
	switch {
	case st.Missed > 0:
		return 0 // its answer counts when it comes, but nobody waits for it
	case st.Latency > 0:
		return min(multiple*st.Latency+slack, most)
	case st.Waiting > 1:
		return mute
	}
	return stranger
}
