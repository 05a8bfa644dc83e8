// Package avm reads and writes the blocks and transactions of the X-Chain, and the
// vertices that it consisted of before its linearisation: a directed graph of
// groups of transactions, which a stop vertex ended. Whatever parses encodes to the
// same bytes again, and the SHA-256 of the bytes is the ID.
//
// Source: vms/avm/block, vms/avm/txs, vms/avm/genesis.go and
// snow/engine/avalanche/vertex of avalanchego v1.14.2. The tests compare with what
// its own packages make of each type.
package avm
