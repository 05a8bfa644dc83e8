package devnet

import (
	"crypto/sha256"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/devnet/validator"
	"quorate/engine/chain"
	"quorate/engine/metric"
)

// CountedMessages is how many messages' requests are counted at a time.
const CountedMessages = 16384

// counts counts signature requests over all validators.
type counts struct {
	requests, answered, refused, dropped, written metric.Counter

	mu        sync.Mutex // guards byMessage
	byMessage *lru.LRU[chain.ID, uint64]
}

func newCounts(set *metric.Set) (*counts, error) {
	byMessage, err := lru.NewLRU[chain.ID, uint64](CountedMessages, nil)
	if err != nil {
		return nil, fmt.Errorf("counting requests: %w", err)
	}
	replies := func(outcome string) metric.Counter {
		return set.Counter("quorate_devnet_replies_total", "Requests for a signature by what became of them.", "outcome", outcome)
	}
	return &counts{
		byMessage: byMessage,
		requests:  set.Counter("quorate_devnet_requests_total", "Requests for a signature to simulated validators."),
		answered:  replies("answered"),
		refused:   replies("refused"),
		dropped:   replies("dropped"),
		written:   replies("written"),
	}, nil
}

// Requested counts a request for an unsigned message.
func (c *counts) Requested(message []byte) {
	c.requests.Inc()
	id := chain.ID(sha256.Sum256(message))
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := c.byMessage.Get(id)
	c.byMessage.Add(id, n+1)
}

// Replied counts what became of a request.
func (c *counts) Replied(outcome validator.Outcome) {
	switch outcome {
	case validator.Answered:
		c.answered.Inc()
	case validator.Refused:
		c.refused.Inc()
	case validator.Written:
		c.written.Inc()
	case validator.Dropped:
		c.dropped.Inc()
	}
}

func (c *counts) of(id chain.ID) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := c.byMessage.Peek(id)
	return n
}
