package evmrpc

import (
	"context"
	"time"
)

// How long a node parks requests at Helicon, when it lets the software of before drain:
// WebSockets never do.
const (
	swapTime = 14 * time.Millisecond
	// SocketTime is for nodes with open WebSockets.
	SocketTime = 15 * time.Second
)

// lateVersion is what the software says of itself from then on.
const lateVersion = `"avalanchego/1.15.0 [database=v1.4.5, rpcchainvm=46]"`

// late reports whether the node's last block or the next one is executed after its
// acceptance.
func (h *node) late() bool {
	transition, _, ok := h.host.chain.Transition()
	return ok && h.accepted >= transition
}

// executed waits until a block is executed.
func (h *node) executed(height uint64) error {
	if height <= h.latest || h.host.chain.Wait(height) {
		return nil
	}
	return errTimeout
}

// swap returns until when requests are parked while the node turns into one that
// executes blocks after their acceptance; false before.
func (h *Handler) swap() (until time.Time, ok bool) {
	_, at, _ := h.chain.Transition()
	if at.IsZero() {
		return at, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.parked.IsZero() {
		h.parked = at.Add(swapTime)
		if h.sockets > 0 {
			h.parked = at.Add(SocketTime)
		}
	}
	return h.parked, true
}

// park waits as long as requests are parked; false when ctx ended.
func (h *Handler) park(ctx context.Context) bool {
	until, ok := h.swap()
	if !ok {
		return true
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// connected counts the WebSocket connections of the software of before.
func (h *Handler) connected(by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sockets += by
}
