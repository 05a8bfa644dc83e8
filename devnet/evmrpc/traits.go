package evmrpc

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/goccy/go-json"

	"quorate/devnet/evmchain"
	"quorate/engine/chain/evm"
)

// Traits are what a node cannot do, and what it says that is not so. The zero
// value is a whole and honest archive node. They go together with each other and
// with a [Fault], and must not be changed once they are set.
type Traits struct {
	// NoDebug takes the debug API away: its methods are unknown.
	NoDebug bool
	// Keep is for how many blocks, the last ones, the node has the state that they
	// left: others cannot be asked for balances, code and calls, nor be traced if
	// the state before them is gone. 0 means all blocks, as an archive node has.
	Keep uint64
	// From is the first block besides the genesis block that the node has, as one
	// that began with the state of a later block; 0 means all.
	From uint64
	// Lag is how many blocks the node is behind the chain.
	Lag uint64
	// AtMost is the height at which the node stands still; 0 means that it does not.
	AtMost uint64
	// Repeats has subscriptions told the node's last head again each time that the chain
	// grows and the node does not.
	Repeats bool
	// Unaccepted is how many blocks the node shows above the last accepted one that
	// are never accepted, as one does that lets unfinalized blocks be asked for.
	// When the chain grows, others take their place. The tags finalized, safe and
	// accepted name the last accepted block.
	Unaccepted int
	// NoFinalized makes the tags finalized and safe unknown.
	NoFinalized bool
	// NoProofs makes eth_getProof unknown, as it is on chains without state proofs.
	NoProofs bool
	// Untraceable are transactions that cannot be traced, nor can their blocks.
	Untraceable map[evm.Hash]TraceFault
	// False is a result in which the node lies about all blocks that are executed after their
	// acceptance. Receipts, logs and traces fit the lie; only the header that settles a block
	// shows it. For lies that show at once there is Edit.
	False evmchain.Result
	// Edit changes the results of methods, in JSON, and the heads that subscriptions
	// get, whose method is eth_subscription. It is called from many goroutines. See
	// [Replace].
	Edit func(method string, params json.RawMessage, result []byte) []byte
}

// TraceFault is what becomes of the trace of a transaction.
type TraceFault uint8

// The ways in which a trace cannot be had.
const (
	// TraceTimeout: the tracer gives up, and with it the whole request.
	TraceTimeout TraceFault = iota
	// TraceTooBig: the answer has more bytes than any client takes.
	TraceTooBig
	// TraceErrorInside: the trace of a block has an error in the transaction's place.
	TraceErrorInside
)

// bigTrace is how many bytes of nothing make an answer too big.
const bigTrace = 40 << 20

// SetTraits changes what the node can do from now on.
func (h *Handler) SetTraits(t Traits) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.traits.Store(&t)
	close(h.changed)
	h.changed = make(chan struct{})
}

// Traits returns what was set last.
func (h *Handler) Traits() Traits { return *h.traits.Load() }

// news returns channels that are closed when the chain grows and the traits change.
func (h *Handler) news() (grown, changed <-chan struct{}) {
	_, grown = h.chain.Grown()
	h.mu.Lock()
	defer h.mu.Unlock()
	return grown, h.changed
}

// node is what a node is for the time of a request.
type node struct {
	host   *Handler
	traits *Traits
	chain  *evmchain.Chain // with blocks that are never accepted, if it shows some
	// tip is the last block that it shows, accepted the last one that was accepted.
	tip, accepted uint64
	// latest is the last block that is executed, settled the last one whose results a
	// header has: the last accepted one both on chains that execute a block before.
	latest, settled uint64
}

// now is what the node is at the moment.
func (h *Handler) now() *node {
	t := h.traits.Load()
	tip := h.chain.Tip()
	if h.faulty(FaultBackwards) {
		tip -= min(tip, backwardsBlocks)
	}
	tip -= min(tip, t.Lag)
	if t.AtMost > 0 {
		tip = min(tip, t.AtMost)
	}
	n := &node{host: h, traits: t, chain: h.chain, tip: tip, accepted: tip, latest: tip, settled: tip}
	if n.late() {
		n.latest, n.settled = min(tip, h.chain.Executed()), h.chain.Settled(tip)
	}
	if t.Unaccepted > 0 {
		n.chain = h.fork(tip, t.Unaccepted)
		n.tip += uint64(t.Unaccepted) // positive
		n.latest = n.tip
	}
	return n
}

// offers reports whether the node has a method that nodes may lack.
func (h *node) offers(method string) bool {
	switch {
	case strings.HasPrefix(method, "debug_"):
		return !h.host.faulty(FaultNoDebug) && !h.traits.NoDebug
	case method == "eth_accounts":
		return !h.late()
	case method == "eth_getProof":
		return h.proves()
	}
	return true
}

// fork is the chain with blocks that are never accepted.
func (h *Handler) fork(height uint64, n int) *evmchain.Chain {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forked == nil || h.forkedAt != height || h.forkedBy != n {
		h.forked, h.forkedAt, h.forkedBy = h.chain.Fork(height, n), height, n
	}
	return h.forked
}

// has reports whether the node has a block of the chain at all.
func (h *node) has(height uint64) bool {
	return height <= h.tip && (height == 0 || height >= h.traits.From)
}

// byHash finds a block that the node has.
func (h *node) byHash(hash evm.Hash) (uint64, bool) {
	height, ok := h.chain.Height(hash)
	return height, ok && h.has(height)
}

// knows reports whether the node has a transaction's block.
func (h *node) knows(tx evm.Hash) bool {
	height, ok := h.chain.Where(tx)
	return ok && h.has(height)
}

// state checks that the node has the state after a block.
func (h *node) state(height uint64) error {
	if !h.has(height) {
		return errNoHeaderAt
	}
	if keep := h.traits.Keep; keep > 0 && height+keep <= h.tip {
		root := h.chain.StateRoot(height)
		return fmt.Errorf("missing trie node %x (path ) state %#x is not available, not found", root[:], root[:])
	}
	return nil
}

// traceable checks that the node can run a block again.
func (h *node) traceable(height uint64) error {
	switch {
	case !h.has(height):
		return fmt.Errorf("block #%d not found", height)
	case height > 0 && h.state(height-1) != nil:
		return fmt.Errorf("required historical state unavailable (reexec=%d)", reexec)
	}
	return h.executed(height)
}

// reexec is how many blocks nodes run again at most to get at a state.
const reexec = 128

// spoil does to the traces of some transactions what becomes of them.
func (h *node) spoil(dst []byte, start int, hashes ...evm.Hash) ([]byte, error) {
	for _, hash := range hashes {
		fault, ok := h.traits.Untraceable[hash]
		switch {
		case !ok:
		case fault == TraceTimeout:
			return dst[:start], errTimeout
		case fault == TraceTooBig:
			end := len(dst) - 1
			last := dst[end]
			dst = append(append(dst[:end], bytes.Repeat([]byte{' '}, bigTrace)...), last)
		case len(hashes) == 1 && dst[start] == '{':
			return dst[:start], errTimeout
		default:
			dst = inside(dst, start, hash)
		}
	}
	return dst, nil
}

// inside puts an error in the place of a transaction's trace.
func inside(dst []byte, start int, hash evm.Hash) []byte {
	var traces []map[string]json.RawMessage
	if err := json.Unmarshal(dst[start:], &traces); err != nil { // it was made here
		panic(err)
	}
	name := `"` + hash.String() + `"`
	for _, t := range traces {
		if string(t["txHash"]) == name {
			delete(t, "result")
			t["error"] = json.RawMessage(`"` + errTimeout.Error() + `"`)
		}
	}
	out, err := json.Marshal(traces)
	if err != nil {
		panic(err)
	}
	return append(dst[:start], out...)
}
