// Package network follows one Avalanche network: its nodes, its validators and
// the heads of its chains. A [Network] owns the client of the followed nodes, the
// validator sets, the peer network and the aggregator, starts them in the order in
// which they depend on each other, and stops them in the reverse order. What is
// indexed of its chains is nothing to it: the follower of a chain attaches it as
// an [Indexed].
package network
