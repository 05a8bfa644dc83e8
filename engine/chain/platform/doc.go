// Package platform reads and writes the blocks and transactions of the P-Chain,
// from Apricot to the last upgrade that avalanchego v1.14.2 knows.
//
// Bytes are what consensus accepted: a block's ID and a transaction's are the
// SHA-256 of their bytes, so a node that hands them out need not be believed.
// Whatever parses encodes to the same bytes again. What the chain's rules make of a
// transaction is not judged here; only forms that they always refuse are errors.
//
// Source: vms/platformvm/block, txs, signer, genesis and warp/message of avalanchego
// v1.14.2. The tests compare with what its own packages make of each type.
package platform
