// Package primary makes the P- and the X-Chain of the simulated network: years of
// blocks of all kinds, with transactions of all kinds, in the bytes in which nodes
// hand them out, and the state that they lead to.
//
// The same [Config] makes the same bytes. The chain's rules are followed as
// avalanchego v1.14.2 has them, and v1.15.0 from Helicon on: UTXOs are spent by who
// may, stakers begin and end when they must, rewards and fees of L1 validators are exact. The executor here is
// its own and plain on purpose. It shares no code with what the product makes of the
// blocks, so that tests can compare the two: what it says is what the chain holds.
//
// What a real chain would refuse: signatures of transactions have the form of
// signatures only, and messages of L1s' managers are signed by one validator. Fees
// are flat, and more than enough. Networks whose validators have more stake than
// AVAX can exist have an initial supply below what their UTXOs add up to.
package primary
