package aggregator

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

const (
	// maxClients bounds the clients whose standing is remembered.
	maxClients = 1 << 14
	// A client's standing is the moving average of what became of the messages
	// that it had put to validators, 1 for signed: each counts for a fifth, and a
	// stranger begins in the middle. So one signed message makes a client good, and
	// three in vain make it bad.
	standingStart, standingShare = 0.5, 0.2
	standingGood, standingBad    = 0.6, 0.3
	// busyShare is the part of the room for collections beyond which strangers'
	// messages are tried on a few validators first.
	busyShare = 64

	// maxRefusals bounds the refused messages that are remembered, for refusedFor.
	maxRefusals = 4096
	refusedFor  = time.Second
)

// standings remembers which clients ask for messages that get signed.
type standings struct {
	mu       sync.Mutex
	byClient *simplelru.LRU[string, float64]
}

func newStandings() *standings {
	l, err := simplelru.NewLRU[string, float64](maxClients, nil)
	if err != nil {
		panic(err) // only for sizes below 1
	}
	return &standings{byClient: l}
}

// of returns the standing of a client. The server itself is always good.
func (s *standings) of(client string) float64 {
	if client == "" {
		return 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.byClient.Get(client); ok {
		return v
	}
	return standingStart
}

// note takes in what became of a message.
func (s *standings) note(client string, signed bool) {
	if client == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byClient.Get(client)
	if !ok {
		v = standingStart
	}
	v -= v * standingShare
	if signed {
		v += standingShare
	}
	s.byClient.Add(client, v)
}

// suspects reports whether a message is to be tried on a few validators before
// it is put to all that are needed: one from a client whose messages are not
// signed, and, while much is under way, one from a client of whom nothing good is
// known. A message of a block that a followed node has executed is above suspicion.
func (a *Aggregator) suspects(client string, msg *warp.Unsigned) bool {
	standing := a.standings.of(client)
	if standing >= standingGood || standing >= standingBad && !a.jobs.busy() {
		return false
	}
	if a.history == nil || msg.SourceChainID == chain.PlatformChainID {
		return true // of the P-Chain's messages any could be one
	}
	_, executed := a.history.Executed(msg)
	return !executed
}

// refusal is a message that validators refused just now.
type refusal struct {
	err    *Error
	quorum int
	until  time.Time
}

// refusals remembers them for a moment, so that asking again and again costs
// the validators nothing.
type refusals struct{ recent *lru.Cache[jobKey, refusal] }

func newRefusals() *refusals {
	l, err := lru.New[jobKey, refusal](maxRefusals)
	if err != nil {
		panic(err) // only for sizes below 1
	}
	return &refusals{l}
}

// get returns the refusal of the same message for this quorum or a lower one.
func (r *refusals) get(key jobKey, quorum int) *Error {
	have, ok := r.recent.Get(key)
	if !ok || quorum < have.quorum || !time.Now().Before(have.until) {
		return nil
	}
	return have.err
}

func (r *refusals) put(key jobKey, quorum int, err *Error) {
	r.recent.Add(key, refusal{err, quorum, time.Now().Add(refusedFor)})
}
