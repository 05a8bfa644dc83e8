package network

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/engine/chain"
	"quorate/engine/chain/evm"
	"quorate/engine/chain/warp"
	"quorate/engine/index"
)

const (
	// maxExecuted bounds the messages that are remembered as executed, the least
	// used are forgotten first. Each takes about 150 bytes.
	maxExecuted = 1 << 14
	// executedLag is the most by which a block's own time may be before its
	// execution: what is older was executed long ago. Where blocks are executed after
	// they were accepted they may wait for it for laterLag besides.
	// Source: avalanchego v1.15.0, vms/saevm/params (MaxQueueWallTime).
	executedLag = 10 * time.Second
	laterLag    = 30 * time.Second
	// swapLag is how long after a chain has begun to execute blocks later some
	// validators may not have come so far.
	swapLag = time.Minute
	// platformStale is how long an observation of the P-Chain's height counts.
	platformStale = 5 * time.Second
)

// executed knows when the followed nodes executed what validators sign: the
// warp messages of the chains' blocks, and the last block of the P-Chain.
type executed struct {
	mu       sync.Mutex // guards what follows
	messages *simplelru.LRU[chain.ID, time.Time]
	// later has, of chains that execute blocks after they accepted them, the time of the
	// first such block that was seen.
	later    map[chain.ID]time.Time
	platform struct {
		height      uint64
		since, seen time.Time // of the height: seen first and last; zero before
	}
}

func newExecuted() *executed {
	lru, err := simplelru.NewLRU[chain.ID, time.Time](maxExecuted, nil)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &executed{messages: lru, later: make(map[chain.ID]time.Time)}
}

// Executed implements [aggregator.History].
func (a *executed) Executed(msg *warp.Unsigned) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if msg.SourceChainID == chain.PlatformChainID {
		p := &a.platform
		return p.since, !p.seen.IsZero() && time.Since(p.seen) < platformStale
	}
	return a.messages.Get(msg.ID())
}

// Later implements [aggregator.History].
func (a *executed) Later(id chain.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, ok := a.later[id]
	return ok && time.Since(since) >= swapLag
}

// block takes the messages of a block of a chain that is being indexed: a followed node
// has executed it.
func (a *executed) block(id chain.ID, b *evm.Block) {
	at, made, lag := time.Now(), time.UnixMilli(int64(b.TimeMilli)), executedLag // after 1970
	if b.Reserved != nil {
		lag += laterLag
		a.mu.Lock()
		if first, ok := a.later[id]; !ok || made.Before(first) {
			a.later[id] = made
		}
		a.mu.Unlock()
	}
	if at.Sub(made) > lag {
		at = made
	}
	for i := range b.Txs {
		for k := range b.Txs[i].Logs {
			if m, ok := index.WarpMessage(&b.Txs[i].Logs[k]); ok {
				a.message(sha256.Sum256(m), at)
			}
		}
	}
}

func (a *executed) message(id chain.ID, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.messages.Contains(id) {
		a.messages.Add(id, at)
	}
}

// observe takes the P-Chain's height as a followed node says it is.
func (a *executed) observe(height uint64) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	p := &a.platform
	if p.seen.IsZero() || height > p.height {
		p.height, p.since = height, now
	}
	p.seen = now
}

// watchPlatform asks for the P-Chain's height until ctx ends. The proposed
// height, which the validator sets follow, lags behind it.
func (n *Network) watchPlatform(ctx context.Context) error {
	tick := time.NewTicker(n.cfg.HeightPoll)
	defer tick.Stop()
	for {
		if height, err := n.node.Height(ctx); err == nil {
			n.executed.observe(height)
		} // else what was seen gets stale, and the validator sets' poll reports the node
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
