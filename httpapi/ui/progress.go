package ui

import (
	"strconv"
	"sync"
	"time"
)

// progress is how far the index of a chain is that is still behind.
type progress struct {
	Indexed, Height uint64
	// Left is about how long the rest takes, 0 if that is not known yet.
	Left time.Duration
}

// Percent is the part of the chain that is indexed.
func (p *progress) Percent() string { return percent(p.Indexed, p.Height) }

const (
	// progressSpan is the time over which the pace of an index is measured.
	progressSpan = time.Minute
	// minProgressSpan is the least time after which the pace is known.
	minProgressSpan = 2 * time.Second
	// maxLeft is the longest time that is shown: what takes longer has hardly begun.
	maxLeft = 1000 * 24 * time.Hour
	// maxProgress bounds the chains whose pace is known.
	maxProgress = 256
)

// paces measures how fast chains are indexed, by what pages see of them.
type paces struct {
	mu    sync.Mutex
	chain map[string]*pace
}

// pace has two earlier sights of a chain: the older one is between one and two
// spans old once the chain was seen for that long.
type pace struct{ older, newer sight }

type sight struct {
	at      time.Time
	indexed uint64
}

// at returns how far a chain is, nil if it is not behind. indexed and height are as the
// API has them.
func (p *paces) at(chain, indexed, height string) *progress {
	return p.seen(chain, indexed, height, time.Now())
}

func (p *paces) seen(chain, indexed, height string, now time.Time) *progress {
	done, err := strconv.ParseUint(indexed, 10, 64)
	all, err2 := strconv.ParseUint(height, 10, 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || err2 != nil || all < done {
		delete(p.chain, chain)
		return nil
	}
	if p.chain == nil {
		p.chain = make(map[string]*pace)
	}
	it := p.chain[chain]
	if it == nil || done < it.older.indexed {
		if len(p.chain) >= maxProgress {
			clear(p.chain)
		}
		it = &pace{older: sight{now, done}, newer: sight{now, done}}
		p.chain[chain] = it
	}
	if now.Sub(it.newer.at) >= progressSpan {
		it.older, it.newer = it.newer, sight{now, done}
	}
	out := &progress{Indexed: done, Height: all}
	if took, blocks := now.Sub(it.older.at), done-it.older.indexed; took >= minProgressSpan && blocks > 0 {
		if left := float64(took) / float64(blocks) * float64(all-done); left < float64(maxLeft) {
			out.Left = time.Duration(left)
		}
	}
	return out
}
