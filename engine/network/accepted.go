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
	// maxAccepted bounds the messages that are remembered as accepted, the least
	// used are forgotten first. Each takes about 150 bytes.
	maxAccepted = 1 << 14
	// acceptedLag is the most by which a block's own time may be before its
	// acceptance: what is older was accepted long ago.
	acceptedLag = 10 * time.Second
	// platformStale is how long an observation of the P-Chain's height counts.
	platformStale = 5 * time.Second
)

// accepted knows when the followed nodes accepted what validators sign: the
// warp messages of the chains' blocks, and the last block of the P-Chain.
type accepted struct {
	mu       sync.Mutex // guards what follows
	messages *simplelru.LRU[chain.ID, time.Time]
	platform struct {
		height      uint64
		since, seen time.Time // of the height: seen first and last; zero before
	}
}

func newAccepted() *accepted {
	lru, err := simplelru.NewLRU[chain.ID, time.Time](maxAccepted, nil)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &accepted{messages: lru}
}

// Accepted implements [aggregator.History].
func (a *accepted) Accepted(msg *warp.Unsigned) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if msg.SourceChainID == chain.PlatformChainID {
		p := &a.platform
		return p.since, !p.seen.IsZero() && time.Since(p.seen) < platformStale
	}
	return a.messages.Get(msg.ID())
}

// block takes the messages of a block that is being indexed.
func (a *accepted) block(b *evm.Block) {
	at := time.Now()
	if made := time.UnixMilli(int64(b.TimeMilli)); at.Sub(made) > acceptedLag { // after 1970
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

func (a *accepted) message(id chain.ID, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.messages.Contains(id) {
		a.messages.Add(id, at)
	}
}

// observe takes the P-Chain's height as a followed node says it is.
func (a *accepted) observe(height uint64) {
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
			n.accepted.observe(height)
		} // else what was seen gets stale, and the validator sets' poll reports the node
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
