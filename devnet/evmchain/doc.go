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
// What is not as on a real chain: transactionsRoot, receiptsRoot and stateRoot
// are hashes over what they stand for but no tries, and signatures are bytes
// that no key has made. A block's hash is that of its header in RLP, and a
// transaction's that of its RLP form, as on the real one.
package evmchain
