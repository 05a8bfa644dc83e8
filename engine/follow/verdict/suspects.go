package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"quorate/engine/actor"
)

// Suspect is a range of blocks of which it is not certain that the results, or the calls
// and balances, that are kept of them are true.
type Suspect struct {
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Reason string `json:"reason"`
	// Accused: a node answered falsely, about them or blocks around them. Otherwise nodes
	// contradict each other and none is more credible.
	Accused bool `json:"accused,omitempty"`
	// Refuted: a proof contradicts what is kept of a block of the range, so that nodes
	// say the same settles nothing.
	Refuted bool `json:"refuted,omitempty"`
	// By is the block whose header results of the range do not fit; 0: it is calls and
	// balances that are not certain.
	By    uint64    `json:"by,omitempty"`
	Tries int       `json:"tries"`
	Next  time.Time `json:"next"` // when nodes are asked again

	id int // of the entry, in this process
}

const (
	// maxSuspects bounds the list: with more, neighbours count as one range with all
	// that lies between them.
	maxSuspects = 256
	// suspectFirst is the wait before nodes are asked again that did not settle a
	// range; it doubles up to suspectMost.
	suspectFirst = 5 * time.Second
	suspectMost  = time.Hour
	// helpless is after how many tries in vain health says what would help.
	helpless = 4
)

// suspects is the list of all suspect blocks of a chain. It is safe for concurrent use.
type suspects struct {
	changed actor.Signal

	mu    sync.Mutex // guards what follows
	list  []Suspect
	last  int  // ID of an entry
	dirty bool // the list has changed since it was kept
}

func newSuspects(kept []Suspect) *suspects {
	s := new(suspects)
	for _, k := range kept {
		k.Next = time.Time{} // there may be other nodes now
		s.insert(k)
	}
	return s
}

// add adds a range, or lets one that has the same fault and touches it grow.
func (s *suspects) add(n Suspect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
	defer s.changed.Tell()
	if n.Accused { // what nodes contradict each other about is asked with it
		s.list = slices.DeleteFunc(s.list, func(e Suspect) bool { return !e.Accused && n.From <= e.From && e.To <= n.To })
	}
	for i := range s.list {
		old := &s.list[i]
		if old.Accused != n.Accused || old.Refuted != n.Refuted || (old.By > 0) != (n.By > 0) {
			continue
		}
		if n.Accused && !n.Refuted && n.From <= old.To+1 && old.From <= n.To+1 {
			old.From, old.To = min(old.From, n.From), max(old.To, n.To)
			return
		}
		if old.From == n.From && old.To == n.To {
			old.Reason = n.Reason
			return
		}
	}
	s.insert(n)
}

// insert needs mu.
func (s *suspects) insert(n Suspect) {
	s.last++
	n.id = s.last
	s.list = append(s.list, n)
	slices.SortStableFunc(s.list, func(a, b Suspect) int { return cmp.Compare(a.From, b.From) })
	for len(s.list) > maxSuspects {
		a, b := &s.list[0], &s.list[1]
		a.To = max(a.To, b.To)
		a.Accused, a.Refuted, a.By = a.Accused || b.Accused, a.Refuted || b.Refuted, max(a.By, b.By)
		s.list = slices.Delete(s.list, 1, 2)
	}
}

// due returns the range that is to be settled next, or how long that takes.
func (s *suspects) due(now time.Time) (next Suspect, wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait = suspectMost
	for _, e := range s.list {
		if until := e.Next.Sub(now); until > 0 {
			wait = min(wait, until)
			continue
		}
		if !ok || e.Next.Before(next.Next) {
			next, ok = e, true
		}
	}
	return next, wait, ok
}

// settled takes blocks out of a range. What lies below them is in it down to from.
func (s *suspects) settled(id int, low, high, from uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
	i := slices.IndexFunc(s.list, func(e Suspect) bool { return e.id == id })
	if i < 0 {
		return
	}
	e := s.list[i]
	s.list = slices.Delete(s.list, i, i+1)
	if e.To > high { // it has grown meanwhile
		above := e
		above.From = high + 1
		s.insert(above)
	}
	if e.From = min(e.From, from); e.From < low {
		e.To = low - 1
		s.insert(e)
	}
}

// postpone has nodes asked about a range again some time later.
func (s *suspects) postpone(id int, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
	for i := range s.list {
		if e := &s.list[i]; e.id == id {
			e.Next = time.Now().Add(min(suspectFirst<<min(e.Tries, 20), suspectMost))
			e.Tries++
			if !e.Accused {
				e.Reason = why
			}
		}
	}
}

// hasten has all ranges settled now: more is known of the nodes.
func (s *suspects) hasten() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		s.list[i].Next = time.Time{}
	}
	s.changed.Tell()
}

// all returns the list.
func (s *suspects) all() []Suspect {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// unsaved returns the list if it has changed since the last call.
func (s *suspects) unsaved() (list []Suspect, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok, s.dirty = s.dirty, false
	return slices.Clone(s.list), ok
}

// err says of which blocks something false may be served.
func (s *suspects) err() error {
	for _, e := range s.all() {
		if !e.Accused {
			continue
		}
		err := fmt.Errorf("what is served of blocks %d to %d may be false, and is asked of other nodes: %s", e.From, e.To, e.Reason)
		if e.Tries >= helpless {
			err = fmt.Errorf("%w; none has settled it in %d tries, the next is at %s: name a further node that has the debug API and these states",
				err, e.Tries, e.Next.UTC().Format(time.RFC3339))
		}
		return err
	}
	return nil
}

// blocks counts the suspect blocks, those in two ranges twice.
func (s *suspects) blocks() (n float64) {
	for _, e := range s.all() {
		n += float64(e.To - e.From + 1)
	}
	return n
}
