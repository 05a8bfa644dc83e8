// Package events tells what happens on EVM chains, in the order of the chains, without
// a gap or a repeat.
//
// An event is a block, a transaction, a transfer or a warp message. The events of a
// block are numbered: the block itself is 0, then come each transaction, its transfers
// and its messages. The numbers follow from the rows alone, whatever is asked for. A
// [Position] names the height and the number of the events that were delivered last, so who
// has one can go on from there: on another connection, after a restart of the server,
// with another [Filter].
//
// Events are read from committed rows. Nothing is kept for those who are away, and
// nothing that was delivered can be lost by a crash. A [Hub] keeps the newest blocks of a
// chain for all who follow it; who is further behind reads rows for himself.
//
// A position carries the hashes of its block and of some before it, see [Trail]. If the
// chain has other blocks there, because it went back, a [Follower] returns a retraction:
// the height of a block that stands, above which everything delivered is void. It may be
// lower than it had to be; the events above are delivered again.
//
// [State] is for what has no order: values by key of which only the present counts.
package events
