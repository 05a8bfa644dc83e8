package evm

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"quorate/engine/ingest"
	"quorate/engine/source"
)

const (
	// againAfter is when a node is asked again for what it did not have.
	againAfter = 5 * time.Second
	// lagFor is how long a node counts as one that lacks blocks after it said so.
	lagFor = time.Second
	// suspectFor is how long a node that gave a bad block is asked after all others.
	suspectFor = time.Minute
	// liarFor is how long a node that told a false trace is asked for traces after all
	// others.
	liarFor = time.Hour
	// foreignFor is how long a node is not asked that has another block where others
	// have ours.
	foreignFor = 30 * time.Second
	// maxOrigins is of how many blocks it is remembered which node gave them.
	maxOrigins = 1 << 12
)

// answer is what is known of something that a node may have.
type answer uint8

const (
	unknown answer = iota
	yes
	no
)

// ability is what is known of a node.
type ability struct {
	returns uint64 // [source.Node.Returns] when it was learned

	traces     answer // whether it has the debug API
	askTraces  time.Time
	stateless  uint64 // it has no state of blocks up to this height
	askState   time.Time
	finalized  answer // whether it knows that tag
	final      uint64 // the highest finalized block that it has told
	settles    bool   // it executes blocks after it accepted them: all that it answers are accepted
	noReceipts bool   // it does not know eth_getBlockReceipts
	lacks      uint64 // it lacks the blocks from this height on
	lagging    time.Time
	suspect    time.Time
	liar       time.Time
	foreign    time.Time
}

// origin says which node gave a block.
type origin struct {
	height uint64
	node   source.Node
}

// pool knows what each node of a chain can do. What a node refuses is asked of it
// again some time later, and at once when it comes back from a failure.
type pool struct {
	mu      sync.Mutex
	nodes   map[source.Node]*ability
	origins [maxOrigins]origin
	tracers [maxOrigins]origin // which node traced a block
	lied    atomic.Bool        // some node has told a false trace
	swapped atomic.Bool        // some node executes blocks after it accepted them
}

// of calls f with what is known of a node.
func (p *pool) of(n source.Node, f func(a *ability)) {
	returns := n.Returns()
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.nodes[n]
	if a == nil || a.returns != returns {
		if p.nodes == nil {
			p.nodes = make(map[source.Node]*ability)
		}
		a = &ability{returns: returns}
		p.nodes[n] = a
	}
	f(a)
}

// keep forgets all other nodes.
func (p *pool) keep(nodes []source.Node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.nodes) <= len(nodes) {
		return
	}
	kept := make(map[source.Node]*ability, len(nodes))
	for _, n := range nodes {
		if a := p.nodes[n]; a != nil {
			kept[n] = a
		}
	}
	p.nodes = kept
}

// forBlocks ranks the nodes for the blocks up to a height.
func (p *pool) forBlocks(to uint64) func(source.Node) int {
	now := time.Now()
	return func(n source.Node) (rank int) {
		p.of(n, func(a *ability) {
			switch {
			case now.Before(a.foreign):
				rank = -1
				return
			case now.Before(a.suspect):
				rank = 4
			}
			if now.Before(a.lagging) && a.lacks <= to {
				rank += 2
			}
			if a.noReceipts {
				rank++
			}
		})
		return rank
	}
}

// furthest ranks the nodes for the first of some blocks, of which none has all: the
// one that has most is the best.
func (p *pool) furthest(nodes []source.Node, to uint64) func(source.Node) int {
	rank := p.forBlocks(to)
	var best source.Node
	most := uint64(0)
	for _, n := range nodes {
		if rank(n) < 0 {
			continue
		}
		p.of(n, func(a *ability) {
			if a.lacks > most {
				best, most = n, a.lacks
			}
		})
	}
	return func(n source.Node) int {
		if n == best {
			return 0
		}
		return rank(n)
	}
}

// forTrace ranks the nodes for the trace of a block.
func (p *pool) forTrace(height uint64) func(source.Node) int {
	now := time.Now()
	return func(n source.Node) (rank int) {
		p.of(n, func(a *ability) {
			switch {
			case now.Before(a.foreign),
				a.traces == no && now.Before(a.askTraces),
				height <= a.stateless && now.Before(a.askState):
				rank = -1
			case now.Before(a.liar):
				rank = 4
			case a.traces != yes:
				rank = 2
			}
			if rank >= 0 && now.Before(a.lagging) && a.lacks <= height {
				rank++
			}
		})
		return rank
	}
}

// tracedBlock notes which node traced a block.
func (p *pool) tracedBlock(n source.Node, height uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tracers[height%maxOrigins] = origin{height, n}
}

// tracer returns the node that traced a block, as far as that is remembered.
func (p *pool) tracer(height uint64) (n source.Node, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.tracers[height%maxOrigins]
	return o.node, o.height == height && o.node != (source.Node{})
}

// blameTracer has a node asked for traces after all others.
func (p *pool) blameTracer(n source.Node) {
	p.of(n, func(a *ability) { a.liar = time.Now().Add(liarFor) })
	p.lied.Store(true)
}

// lies reports whether a node has told a false trace of late.
func (p *pool) lies(n source.Node) (lies bool) {
	if !p.lied.Load() {
		return false
	}
	p.of(n, func(a *ability) { lies = time.Now().Before(a.liar) })
	return lies
}

// traced notes that a node has the debug API.
func (p *pool) traced(n source.Node) { p.of(n, func(a *ability) { a.traces = yes }) }

// untraced notes why a node did not trace a block, as far as that says what it can do.
func (p *pool) untraced(n source.Node, height uint64, why kind) {
	p.of(n, func(a *ability) {
		switch why {
		case noMethod:
			a.traces, a.askTraces = no, time.Now().Add(againAfter)
		case noState:
			a.stateless, a.askState = max(a.stateless, height), time.Now().Add(againAfter)
		case missing:
			a.lacks, a.lagging = height, time.Now().Add(lagFor)
		}
	})
}

// lags notes that a node does not have the block at a height.
func (p *pool) lags(n source.Node, height uint64) { p.untraced(n, height, missing) }

// gave notes which node gave blocks.
func (p *pool) gave(n source.Node, from uint64, blocks int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for h := from; h < from+uint64(blocks); h++ {
		p.origins[h%maxOrigins] = origin{h, n}
	}
}

// giver returns the node that gave a block, as far as that is remembered.
func (p *pool) giver(height uint64) (n source.Node, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.origins[height%maxOrigins]
	return o.node, o.height == height && o.node != (source.Node{})
}

// blame has the node that gave a block asked after all others.
func (p *pool) blame(height uint64) {
	if n, ok := p.giver(height); ok {
		p.of(n, func(a *ability) { a.suspect = time.Now().Add(suspectFor) })
	}
}

// disagrees has a node not asked for a while.
func (p *pool) disagrees(n source.Node) {
	p.of(n, func(a *ability) { a.foreign = time.Now().Add(foreignFor) })
}

// needsFinal reports whether some node may have blocks up to a height that are not
// accepted: it knows what is finalized and has not told that they are.
func (p *pool) needsFinal(nodes []source.Node, to uint64) (needs bool) {
	for _, n := range nodes {
		p.of(n, func(a *ability) { needs = needs || a.finalized == yes && !a.settles && a.final < to })
	}
	return needs
}

// settles notes that a node has a block that was accepted before it was executed. To
// such nodes finalized means settled, and they answer for no block that is not accepted.
func (p *pool) settles(n source.Node) {
	p.of(n, func(a *ability) { a.settles = true })
	p.swapped.Store(true)
}

// finalizes notes the last finalized block of a node, or that it does not know it,
// and returns the highest that it has told.
func (p *pool) finalizes(n source.Node, height uint64, knows bool) (final uint64) {
	p.of(n, func(a *ability) {
		if a.finalized = no; knows {
			a.finalized, a.final = yes, max(a.final, height)
		}
		final = a.final
	})
	return final
}

// withoutReceipts notes that a node does not know eth_getBlockReceipts.
func (p *pool) withoutReceipts(n source.Node) { p.of(n, func(a *ability) { a.noReceipts = true }) }

// noneHasReceipts reports whether no node knows eth_getBlockReceipts.
func (p *pool) noneHasReceipts(nodes []source.Node) bool {
	all := true
	for _, n := range nodes {
		p.of(n, func(a *ability) { all = all && a.noReceipts })
	}
	return all
}

// worst orders errors about one block by how much they say of it: that a node gives
// up on it says most, that another cannot trace anything says least.
func worst(have, next error) error {
	weight := func(err error) int {
		switch k := classify(err); {
		case err == nil:
			return -1
		case errors.Is(err, ingest.ErrIncomplete):
			return 4
		case k == noMethod:
			return 0
		case k == noState:
			return 1
		case k == later:
			return 2
		}
		return 3
	}
	if weight(next) > weight(have) {
		return next
	}
	return have
}
