// Package p2p is a client of the Avalanche peer protocol that keeps one
// connection to each wanted validator and carries questions to many of them at
// once. A node that takes us for a validator has it only for the time of a
// question.
//
// A [Network] owns all goroutines. Each wanted node has one actor that dials,
// and while connected writes; a connected one has a reader beside it. One
// keeper sweeps unanswered questions and watches for silence, so that an idle
// link costs no timer; one finder learns addresses, from nodes' APIs and from
// the gossip of peers.
//
// A [Request] is encoded once, and the same bytes go to every peer it is asked
// of. Answers are matched in a table of the peer they were asked of, so that no
// peer can answer for another, nor twice. What goes to a peer is bounded in
// number and in bytes per second below what makes a validator stop reading.
//
// Peers are strangers. What they send unasked and each break of the protocol
// costs them units of a tolerance, and who has spent it is dropped for a while.
// Only what wanted nodes sign is verified and kept, and only messages that we
// can have asked for are taken into memory.
package p2p
