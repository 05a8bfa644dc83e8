// Package evmrpc serves a simulated EVM chain as a node does: JSON-RPC over
// HTTP and WebSocket with the methods that readers of chains use, the members,
// error codes and error texts of coreth and subnet-evm. It can be told to
// misbehave, for tests of clients.
package evmrpc

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"quorate/devnet/evmchain"
)

// Limits of coreth's defaults, and how far a search for logs goes.
const (
	MaxBody         = 5 << 20
	maxBatch        = 1000
	maxBatchAnswer  = 25_000_000
	maxLogBlocks    = 10_000
	maxLogAnswer    = 25_000_000
	silence         = 30 * time.Second
	hugeAnswer      = 100 << 20
	backwardsBlocks = 10
)

// Fault is a way to misbehave.
type Fault int32

// The faults. All but the first are meant to be survived by clients.
const (
	FaultNone            Fault = iota
	FaultWrongParent           // blocks name another parent
	FaultTruncated             // answers end in the middle
	FaultHuge                  // an answer of 100 MB
	FaultMissingReceipts       // a block's last receipt is missing
	FaultOtherID               // answers carry another request's ID
	FaultSilence               // no answer for 30 s
	FaultBackwards             // the tip is 10 blocks lower than it was
	FaultNoDebug               // no debug API
	FaultBusy                  // 429 to everything
)

// Handler answers for one chain as one node. Make it with [New].
type Handler struct {
	chain   *evmchain.Chain
	version string
	fault   atomic.Int32
	traits  atomic.Pointer[Traits]

	mu      sync.Mutex    // guards what follows
	changed chan struct{} // closed when the traits change
	// forked is the chain with forkedBy blocks after forkedAt that are never accepted.
	forked   *evmchain.Chain
	forkedAt uint64
	forkedBy int
	sockets  int       // open WebSocket connections
	parked   time.Time // until when requests were parked at Helicon; zero before
}

// New makes a handler; version is what web3_clientVersion says.
func New(c *evmchain.Chain, version string) *Handler {
	h := &Handler{chain: c, version: version, changed: make(chan struct{})}
	h.traits.Store(new(Traits))
	return h
}

// SetFault makes the handler misbehave from now on, or behave again.
func (h *Handler) SetFault(f Fault) { h.fault.Store(int32(f)) }

func (h *Handler) faulty(f Fault) bool { return Fault(h.fault.Load()) == f }

// view is how the node has blocks.
func (h *node) view() evmchain.View {
	return evmchain.View{
		WrongParent: h.host.faulty(FaultWrongParent), MissingReceipts: h.host.faulty(FaultMissingReceipts), False: h.traits.False,
	}
}

// hold waits as long as the node says nothing; false when ctx ended.
func (h *Handler) hold(ctx context.Context) bool {
	if !h.faulty(FaultSilence) {
		return true
	}
	timer := time.NewTimer(silence)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
