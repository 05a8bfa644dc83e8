package validator

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2/simplelru"

	"quorate/engine/chain"
)

const (
	// RealReadRate is how many bytes a second a real validator reads from a peer
	// that is no validator, and ReadBurst how many it reads at once.
	RealReadRate = 512 << 10
	ReadBurst    = 2 << 20
)

// Request is one signature request as a validator received it.
type Request struct {
	// From is the client's node ID.
	From chain.NodeID
	// ChainID is the chain that was asked, ID the number that an answer must carry.
	ChainID chain.ID
	ID      uint32
	// Message is the unsigned warp message, Justification what came beside it;
	// both are as received and valid only during the call.
	Message, Justification []byte
	// Late says that the chain executes blocks after their acceptance.
	Late bool
}

// Outcome says what a validator does with a request.
type Outcome uint8

const (
	// Dropped sends nothing.
	Dropped Outcome = iota
	// Answered sends an AppResponse that carries Signature.
	Answered
	// Refused sends an AppError with Code and Text.
	Refused
	// Written puts Raw on the connection as it is, and then does what After says.
	Written
)

// After says what becomes of the connection once a [Written] reply is on it.
type After uint8

const (
	// GoOn leaves the connection as it was.
	GoOn After = iota
	// Stall writes nothing more, not even a Ping; the connection stays open.
	Stall
)

// Reply is what a validator does with a request, and when.
type Reply struct {
	Outcome Outcome
	// Signature is sent as it is, whatever its length.
	Signature []byte
	Code      int32
	Text      string
	// Raw is any number of frames, or parts of them.
	Raw   []byte
	After After
	// Delay is waited before the reply is sent, besides the validator's latency.
	Delay time.Duration
}

// Behaviour decides on the reply to one request. honest returns what a validator
// that keeps the rules would do; it need not be called. A Behaviour must not
// block, and is called by many goroutines at once.
type Behaviour func(req *Request, honest func() Reply) Reply

// Peer is a connection as seen by an [Unasked].
type Peer interface {
	// Send queues frames, or parts of them, and is false when there is no room.
	// The bytes must not be changed afterwards.
	Send(raw []byte) bool
	// Close cuts the connection without a word.
	Close()
}

// Unasked is what a validator does on its own on every connection, from the end
// of the handshake until ctx ends with the connection. It has a goroutine of
// its own, which the connection waits for.
type Unasked func(ctx context.Context, chainID chain.ID, peer Peer)

// Conduct is all that a validator may do otherwise than an honest one.
type Conduct struct {
	// Reply decides on requests; nil means [Honest].
	Reply Behaviour
	// Unasked runs on every connection; nil means nothing.
	Unasked Unasked
	// Tarpit takes connections and says nothing on them.
	Tarpit bool
	// ReadRate bounds what is read from each peer, in bytes per second, after a
	// burst of [ReadBurst]; above it the validator stops reading, as a real one
	// does at [RealReadRate]. 0 means no bound.
	ReadRate int
}

// Honest keeps the rules.
func Honest(_ *Request, honest func() Reply) Reply { return honest() }

// Silent never answers a signature request; the connection stays alive.
func Silent(*Request, func() Reply) Reply { return Reply{} }

// Slow keeps the rules, but takes d longer.
func Slow(d time.Duration) Behaviour {
	return func(_ *Request, honest func() Reply) Reply {
		r := honest()
		r.Delay += d
		return r
	}
}

// Emissions remembers when messages were emitted: when the first of a network's
// validators was asked for them.
type Emissions struct {
	mu    sync.Mutex // guards first
	first *lru.LRU[chain.ID, time.Time]
}

// emissionsKept is how many messages an [Emissions] remembers at a time.
const emissionsKept = 1 << 14

// NewEmissions returns one that remembers nothing yet.
func NewEmissions() *Emissions {
	first, err := lru.NewLRU[chain.ID, time.Time](emissionsKept, nil)
	if err != nil {
		panic(err) // the size is a constant above 0
	}
	return &Emissions{first: first}
}

// since returns the time since a message was emitted.
func (e *Emissions) since(message []byte) time.Duration {
	id := chain.ID(sha256.Sum256(message))
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	at, known := e.first.Get(id)
	if !known {
		e.first.Add(id, now)
		return 0
	}
	return now.Sub(at)
}

// Late keeps the rules of a validator that accepts each block d later than its
// chain emits it: until then it refuses the block's messages.
func Late(d time.Duration, emitted *Emissions) Behaviour {
	return func(req *Request, honest func() Reply) Reply {
		r := honest()
		since := emitted.since(req.Message)
		switch {
		case r.Outcome != Answered || since >= d:
		case req.Late:
			return refuse(codeLateUnknown, "unknown *payload.AddressedCall message")
		default:
			return refuse(codeCParse, "unknown payload type: *payload.AddressedCall")
		}
		return r
	}
}

// Flapping cuts every connection once it is up, a time above 0, old.
func Flapping(up time.Duration) Unasked {
	return func(ctx context.Context, _ chain.ID, peer Peer) {
		select {
		case <-time.After(up):
			peer.Close()
		case <-ctx.Done():
		}
	}
}

// Refusing answers every request with an application error.
func Refusing(code int32, text string) Behaviour {
	return func(*Request, func() Reply) Reply { return Reply{Outcome: Refused, Code: code, Text: text} }
}
