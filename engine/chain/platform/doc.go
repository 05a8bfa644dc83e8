// Package platform reads and writes the blocks and transactions of the P-Chain,
// from Apricot to Helicon.
//
// Bytes are what consensus accepted: a block's ID and a transaction's are the
// SHA-256 of their bytes, so a node that hands them out need not be believed.
// Whatever parses encodes to the same bytes again. What the chain's rules make of a
// transaction is not judged here; only forms that they always refuse are errors.
//
// Source: vms/platformvm/block, txs, signer, genesis and warp/message of avalanchego
// v1.15.0. The tests compare with what the packages of v1.14.2 make of each type, and of
// those that are new with what a node of v1.15.0 answers.
package platform
