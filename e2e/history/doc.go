// Package history compares the P-Chain of the simulated network with avalanchego's
// own: its platformvm executes the blocks from the same genesis, and both have to say
// the same of the state that they lead to.
package history
