package validator

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"quorate/engine/chain"
	"quorate/p2p/wire"
)

// voteTimeout is how long a node waits for votes: the least that a real one does.
const voteTimeout = 2 * time.Second

// Poll is what a node without sybil protection does before it accepts the block of a chain at a
// height: to it every peer is a validator, which it asks for a vote. It reports whether the
// block can be accepted, which is not while a vote is due. One is due for [voteTimeout], also
// when the peer has left meanwhile; then the peers of that moment are asked. A vote cannot be
// given here.
func (v *Validator) Poll(chainID chain.ID, height uint64) bool {
	v.peersMu.Lock()
	defer v.peersMu.Unlock()
	now := time.Now()
	if now.Before(v.votesDue) {
		return false
	}
	alone := true
	for _, c := range v.peers {
		if !c.finished.Load() {
			continue
		}
		alone = false
		v.polls++
		query := wire.PullQuery{
			ChainID: chainID, RequestID: v.polls, Deadline: uint64(voteTimeout),
			BlockID: sha256.Sum256(binary.BigEndian.AppendUint64(chainID[:], height)), Height: height,
		}
		c.send(wire.AppendFrame(nil, query.Append(nil)))
		v.votesDue = now.Add(voteTimeout)
	}
	return alone
}
