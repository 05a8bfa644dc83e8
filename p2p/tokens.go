package p2p

import (
	"context"
	"sync"
	"time"
)

// tokenHold is how long a dial keeps its token at most. Setting up a link to a
// sound node takes two or three round trips. A node that only pretends may take
// longer, but not at the expense of others; the wait costs us no more than the
// link would.
const tokenHold = time.Second

// dialTokens bounds the connections that are set up at the same time, so that a
// thousand wanted nodes do not mean a thousand TLS handshakes at once. Nodes
// whose last attempt failed and that were never reached share half of the
// tokens: however many of them there are, the others do not wait for them.
type dialTokens struct {
	all      chan struct{} // one entry for each token taken
	doubtful chan struct{} // those of doubtful nodes among them
}

func newDialTokens(count int) dialTokens {
	return dialTokens{all: make(chan struct{}, count), doubtful: make(chan struct{}, max(1, count/2))}
}

// take waits for a token and returns what gives it back; false when ctx ends before.
func (t *dialTokens) take(ctx context.Context, sound bool) (release func(), _ bool) {
	queues := []chan struct{}{t.all}
	if !sound {
		queues = []chan struct{}{t.doubtful, t.all}
	}
	for i, q := range queues {
		select {
		case q <- struct{}{}:
		case <-ctx.Done():
			giveBack(queues[:i])
			return nil, false
		}
	}
	once := sync.OnceFunc(func() { giveBack(queues) })
	timer := time.AfterFunc(tokenHold, once)
	return func() { timer.Stop(); once() }, true
}

func giveBack(queues []chan struct{}) {
	for _, q := range queues {
		<-q
	}
}
