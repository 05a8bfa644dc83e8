// Package evmchain is the deterministic model of an EVM chain of the simulated
// network: its accounts, contracts, blocks, transactions with receipts and call
// trees, and its state at every height. Nothing is executed: a plan made from
// the seed says what happens in each block, and everything else follows from
// the plan, so that balances, logs, blooms, gas and hashes agree.
//
// The same [Config] gives the same bytes. A chain is built when it is first
// asked for something. It keeps a short record of each transaction (about 20
// bytes) and the history of each balance; blocks are worked out from these when
// they are read. A million transactions take about 200 MB.
//
// Blocks, transactions and receipts hash as on the real chain: signatures are
// true ones of keys that the seed gives, transactionsRoot and receiptsRoot are
// those of Merkle-Patricia tries, and a block's hash is that of its header in RLP.
// With [Config.StateProofs] stateRoot is that of all accounts' trie too, in which
// one slot stands for all that a contract stores. What is not as there: without it
// stateRoot is a hash over the rest, and nobody has signed atomic transactions. Anybody can work out the keys: see package secp.
package evmchain
