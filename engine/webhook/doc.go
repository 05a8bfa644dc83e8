// Package webhook calls clients' servers when something happens to the addresses that
// they named.
//
// A webhook is one record in the database: what it is for, its state, and the position
// behind the last event that its receiver took; see package [quorate/engine/events]. The
// position changes after the receiver has answered with a status of success, so each
// event is delivered at least once, in the order of the chain, whatever ends when. What
// is delivered twice has the same message ID.
//
// A delivery that fails is tried again, ever more seldom; events behind it wait. After
// [Config.Patience] the webhook is made inactive and keeps the reason. If the chain goes
// back the receiver is told with a message of the type retraction: what it was told of
// blocks above the one that is named is void.
//
// The types of the primary network are told what its rows say of each block: see
// derivation. Their position is a number of messages of a block, and with it is committed
// what those of later blocks follow from: balances that were below a threshold, and what
// validators of L1s have left, for time alone changes that.
//
// Receivers are clients' addresses: package [quorate/engine/outbound] connects to those of
// the internet only, and redirects are not followed.
//
// The actor is [Hooks.Run]. Each active webhook has a goroutine that it owns.
package webhook
