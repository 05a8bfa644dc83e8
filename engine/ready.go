package engine

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/chain"
)

// Readiness says whether this process can answer what is read, for balancers that choose
// among several: other than health it does not depend on nodes that several servers share,
// or one of many chains would take all of them out of use.
type Readiness struct {
	engine   *Engine
	maxLag   time.Duration
	draining atomic.Bool

	mu  sync.Mutex // guards lag
	lag map[chain.ID]*lag
}

// NewReadiness returns the readiness of an engine. A chain of which this process is behind
// for longer than maxLag makes it not ready, while the chain's node answers.
func NewReadiness(e *Engine, maxLag time.Duration) *Readiness {
	return &Readiness{engine: e, maxLag: maxLag, lag: make(map[chain.ID]*lag)}
}

// Reasons why a process is not ready.
var (
	errDraining = errors.New("the server is about to stop")
	errNoSuch   = errors.New("no such network is followed")
)

// Drain makes the process not ready from now on.
func (r *Readiness) Drain() { r.draining.Store(true) }

// Check returns why nothing can be read, or nil. With a network, mainnet, fuji or testnet,
// it also returns why its messages cannot be signed.
func (r *Readiness) Check(sign string) error {
	select {
	case <-r.engine.ready:
	default:
		return errStarting
	}
	if r.draining.Load() {
		return errDraining
	}
	if found, ok := r.engine.checker.Health(nil).Checks["database"]; ok && found.Error != "" {
		return fmt.Errorf("database: %s", found.Error)
	}
	if sign != "" {
		n := r.engine.networks.best(rankOf(sign))
		if n == nil {
			return errNoSuch
		}
		if err := n.CheckStake(); err != nil {
			return err
		}
	}
	return r.behind(time.Now())
}

// reader is a followed chain of any kind.
type reader interface {
	ID() chain.ID
	Name() string
	// Reached returns the last indexed block and the last one that is known; ok is false while
	// no node answers, or nothing is indexed.
	Reached() (head chain.Head, target uint64, ok bool)
}

// behind returns which chain is too far behind.
func (r *Readiness) behind(now time.Time) error {
	var all []reader
	for _, c := range r.engine.evms.All() {
		all = append(all, c)
	}
	for _, c := range r.engine.primaries.list() {
		all = append(all, c)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range all {
		head, target, ok := c.Reached()
		if !ok {
			continue
		}
		l := r.lag[c.ID()]
		if l == nil {
			l = newLag(now, head)
			r.lag[c.ID()] = l
		}
		if late := l.take(now, head.Height, target); late > r.maxLag {
			return fmt.Errorf("chain %s is behind for %s, at block %d of %d", c.Name(), late.Round(time.Second), head.Height, target)
		}
	}
	return nil
}

const (
	// lagMarks bounds the heights that a chain's index is waited for at.
	lagMarks = 64
	// lagNear is how few blocks an index lacks that counts as being at the head.
	lagNear = 2
	// lagSince is how old the last indexed block may be at the start of a chain that was at
	// its head when the process before ended. One that is older is read for the first time,
	// which takes as long as it takes, and is nothing that other servers have.
	lagSince = 24 * time.Hour
)

// lag is for how long a chain's index has been behind.
type lag struct {
	reached bool // it has been at the head
	marks   []lagMark
}

// lagMark is a height that the index had not reached when it was heard of.
type lagMark struct {
	height uint64
	at     time.Time
}

func newLag(now time.Time, head chain.Head) *lag {
	return &lag{reached: now.Sub(time.UnixMilli(int64(head.TimeMilli))) < lagSince} //nolint:gosec // a time
}

// take notes how far the chain is, and returns for how long its index lacks a block that
// was heard of: 0 if it was never at the head.
func (l *lag) take(now time.Time, height, target uint64) time.Duration {
	l.marks = slices.DeleteFunc(l.marks, func(m lagMark) bool { return m.height <= height })
	if height+lagNear >= target {
		l.reached = true
	}
	n := len(l.marks)
	if target > height && n < lagMarks && (n == 0 || l.marks[n-1].height < target) {
		l.marks = append(l.marks, lagMark{target, now})
	}
	if !l.reached || len(l.marks) == 0 {
		return 0
	}
	return now.Sub(l.marks[0].at)
}
