// Package pchain makes the rows of the P-Chain and reads them.
//
// Blocks are executed as the chain does it: stakers wait, become current and leave with
// their rewards, supply grows with what was promised and shrinks with what was refused,
// validators of L1s pay by the second and are deactivated when they cannot. What
// consensus would have refused is an error that names the block: an output that is not
// there, a reward before the end of a stake. Signatures and fees are not checked: blocks
// are known by their hashes, and the checks are there to find errors of this package and
// a genesis that is not the network's.
//
// No node returns the state that the chain started with. With its bytes, whose SHA-256
// the first block names as its parent, everything is known. Without them, or without
// the first blocks, what follows from what is missing stays open: supply, rewards that
// depend on it, outputs of before, whose owners are not known when they are spent, and
// the stakers of before. It is left out of rows, never made up; then nothing is refused
// for what cannot be known.
//
// A proposal changes nothing before the option that follows decides on it; its rows are
// written with those of the option.
//
// Source: vms/platformvm/{state,txs/executor,block/executor} of avalanchego v1.15.0.
package pchain
