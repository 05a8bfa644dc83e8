package aggregator

import (
	"context"
	"errors"
	"time"

	"quorate/aggregator/valset"
	"quorate/engine/chain"
	"quorate/engine/chain/warp"
)

// Sets is the source of validator sets; [valset.Keeper] is one.
type Sets interface {
	// Current returns the set at the proposed height if it is at hand. It does no I/O.
	Current(subnet chain.ID) (*valset.Set, bool)
	// Beside returns the sets of other heights that are at hand, if set is the one at the
	// proposed height: a chain that follows epochs may check against one of them. It
	// does no I/O.
	Beside(set *valset.Set) []*valset.Set
	// EpochHeight returns the P-Chain height at which a blockchain checks messages until
	// its next epoch begins, 0 where that is the proposed height, and reports whether the
	// chain is followed. It does no I/O.
	EpochHeight(blockchain chain.ID) (height uint64, followed bool)
	// At returns the set at a height, 0 meaning the proposed one.
	At(ctx context.Context, subnet chain.ID, height uint64) (*valset.Set, error)
	// SubnetOf returns the subnet that validates a chain.
	SubnetOf(ctx context.Context, chainID chain.ID) (chain.ID, error)
	// Recheck returns the set at the proposed height with what is known of balances
	// and heights at this moment.
	Recheck(ctx context.Context, subnet chain.ID) (*valset.Set, error)
	// ConversionOf returns the ID of the conversion that made a subnet an L1.
	ConversionOf(ctx context.Context, subnet chain.ID) (id chain.ID, isL1 bool, err error)
}

// Peers is the peer network as the aggregator needs it.
type Peers interface {
	Status(id chain.NodeID) PeerStatus
	// Open prepares a question. deliver is called from any goroutine, must not
	// block, and may still be running when Close returns.
	Open(msg *warp.Unsigned, justification []byte, ttl time.Duration, deliver func(Answer)) (Question, error)
}

// PeerStatus is what the choice of validators needs to know of a node.
type PeerStatus struct {
	Connected bool
	// AwayFor is how long the node has not been connected although it is wanted.
	AwayFor time.Duration
	// Latency is the usual time to an answer; 0 means that there was none yet.
	Latency time.Duration
	// Waiting is the number of questions that are not answered yet, Missed how
	// many in a row never were.
	Waiting, Missed int
}

// Question asks validators to sign one message.
type Question interface {
	// Ask sends the question to a node. An error means that it was not sent.
	Ask(id chain.NodeID) error
	// Close ends the interest in answers.
	Close()
}

// ErrBusy is wrapped by the errors of [Question.Ask] when the node is connected
// but has as many questions as it may have: waiting for it is worthwhile.
var ErrBusy = errors.New("node is busy")

// Answer is a validator's reply to a [Question].
type Answer struct {
	From chain.NodeID
	// Signature is what it sent as its signature; valid during the call only.
	Signature []byte
	// Refused reports that it does not sign, with Code (0: an empty answer).
	Refused bool
	Code    int32
	// Lost reports that the connection ended before the answer.
	Lost bool
}

// History is what the followed nodes have executed. It does no I/O.
type History interface {
	// Executed returns when a followed node executed the block that makes validators
	// sign msg, and false as long as none is known to have. For a message of the
	// P-Chain, whose validators look at their state instead of at a block, it is the
	// last block there.
	Executed(msg *warp.Unsigned) (time.Time, bool)
	// Later reports whether an EVM chain, as all its validators know by now, executes
	// blocks after it accepted them (ACP-194): they refuse with other codes then.
	Later(source chain.ID) bool
}

// Store keeps results over a restart. Put returns once the value survives a
// kill of the process.
type Store interface {
	Get(key, dst []byte) (value []byte, found bool, err error)
	Put(ctx context.Context, key, value []byte) error
}

// Notes keeps what was learned about validators over a restart. It may lose the
// newest, and drops what was not written again for long.
type Notes interface {
	// Each calls f with every note whose key begins with prefix; key and value
	// are valid during the call only.
	Each(prefix []byte, f func(key, value []byte)) error
	Put(ctx context.Context, key, value []byte) error
}
