package nftmeta

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
)

const (
	// maxSites bounds the sites that are remembered, maxWaiting the tasks.
	maxSites, maxWaiting = 8192, 16384
	// firstPause is how long a site rests after a failure; it doubles up to maxPause.
	firstPause, maxPause = 5 * time.Second, time.Hour
	// patience is how long tasks wait for a site that rests: with a longer rest they are
	// left to the next pass.
	patience = 10 * time.Second
	// gatewayFaster is how much more a gateway takes, which is the operator's own choice.
	gatewayFaster = 4
)

// task is a token whose document is to be fetched.
type task struct {
	key   key
	uri   uint64
	place place
	// refused says why the URI leads nowhere.
	refused Status
	multi   bool
	fresh   bool // there is no record of it
}

// siteState is what is known of who answers for some hosts; one without a name stands for what no
// server is asked for.
type siteState struct {
	most     int // under way at one time
	pause    time.Duration
	flying   int
	next     time.Time // when it may be asked again
	failures int       // in a row
}

// lane holds the tasks of a collection at a site.
type lane struct {
	laneKey
	at      *siteState
	waiting []*task
	flying  int
}

type laneKey struct {
	site  string
	chain chain.ID
	token evm.Address
}

func laneOf(t *task) laneKey { return laneKey{t.place.site, t.key.chain, t.key.Token} }

// queue holds tasks, whose lanes take turns.
type queue struct {
	cfg   *Config
	ready chan struct{} // has an element when there may be something to begin
	lost  *atomic.Bool  // set when tasks are left to the next pass

	mu     sync.Mutex
	sites  map[string]*siteState
	lanes  map[laneKey]*lane
	turn   []*lane
	known  map[key]bool // waiting or under way
	flying int
	fresh  int // tasks without a record
}

func newQueue(cfg *Config, lost *atomic.Bool) *queue {
	return &queue{
		cfg: cfg, ready: make(chan struct{}, 1), lost: lost,
		sites: map[string]*siteState{}, lanes: map[laneKey]*lane{}, known: map[key]bool{},
	}
}

// has reports whether a token waits or is being fetched.
func (q *queue) has(k *key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.known[*k]
}

// size returns how many tasks there are, how many of them have no record, and how many sites rest.
func (q *queue) size(now time.Time) (tasks, fresh, resting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, s := range q.sites {
		if s.failures > 0 && s.next.After(now) {
			resting++
		}
	}
	return len(q.known), q.fresh, resting
}

// push adds a task, an urgent one before the others of its lane. It reports whether there was room.
func (q *queue) push(t *task, urgent bool, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[t.key] {
		return true
	}
	at := q.site(&t.place, now)
	if at == nil || len(q.known) >= maxWaiting && !urgent {
		q.lost.Store(true)
		return false
	}
	if at.next.Sub(now) > patience {
		return false
	}
	k := laneOf(t)
	l := q.lanes[k]
	if l == nil {
		l = &lane{laneKey: k, at: at}
		q.lanes[k] = l
		q.turn = append(q.turn, l)
	}
	q.known[t.key] = true
	if t.fresh {
		q.fresh++
	}
	if urgent {
		l.waiting = slices.Insert(l.waiting, 0, t)
	} else {
		l.waiting = append(l.waiting, t)
	}
	q.wake()
	return true
}

func (q *queue) wake() {
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// site returns the site of a place, nil if there are too many.
func (q *queue) site(p *place, now time.Time) *siteState {
	if s := q.sites[p.site]; s != nil {
		return s
	}
	if len(q.sites) >= maxSites {
		used := map[*siteState]bool{}
		for _, l := range q.lanes {
			used[l.at] = true
		}
		maps.DeleteFunc(q.sites, func(_ string, s *siteState) bool { return !used[s] && now.After(s.next) })
	}
	if len(q.sites) >= maxSites {
		return nil
	}
	s := &siteState{most: q.cfg.PerSite, pause: q.cfg.SitePause}
	switch {
	case p.gateway: // leaves some to all others
		s.most, s.pause = q.cfg.gatewayShare(), q.cfg.SitePause/gatewayFaster
	case p.site == "":
		s.most, s.pause = q.cfg.Fetches, 0
	}
	q.sites[p.site] = s
	return s
}

// next takes the next task that may begin. Without one it returns how long to wait at most.
func (q *queue) next(now time.Time) (*task, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	wait := tick
	for range len(q.turn) {
		if q.flying >= q.cfg.Fetches {
			break
		}
		l := q.turn[0]
		q.turn = q.turn[1:]
		rest := l.at.next.Sub(now)
		if rest > patience {
			q.leave(l)
		}
		if len(l.waiting)+l.flying == 0 {
			delete(q.lanes, l.laneKey)
			continue
		}
		q.turn = append(q.turn, l)
		if rest > 0 {
			wait = min(wait, rest)
		}
		if rest > 0 || len(l.waiting) == 0 || l.at.flying >= l.at.most || l.flying >= q.cfg.PerCollection {
			continue
		}
		t := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.flying++
		l.at.flying++
		q.flying++
		l.at.next = now.Add(l.at.pause)
		return t, 0
	}
	return nil, wait
}

// leave leaves the tasks of a lane to the next pass.
func (q *queue) leave(l *lane) {
	for _, t := range l.waiting {
		q.forget(t)
		q.lost.Store(true)
	}
	l.waiting = nil
}

// end notes what came of a task.
func (q *queue) end(t *task, a *answer, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wake()
	q.forget(t)
	l := q.lanes[laneOf(t)]
	l.flying--
	l.at.flying--
	q.flying--
	if !a.faulty {
		l.at.failures = 0
		return
	}
	l.at.failures++
	rest := max(a.wait, min(firstPause<<min(l.at.failures-1, 16), maxPause))
	if at := now.Add(rest); at.After(l.at.next) {
		l.at.next = at
	}
}

func (q *queue) forget(t *task) {
	delete(q.known, t.key)
	if t.fresh {
		q.fresh--
	}
}
