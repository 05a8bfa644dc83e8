// Package etherscan speaks the dialect that wallets, tax tools and the libraries of explorers
// speak: module and action in the query, and status, message and result in the answer. It
// reads the rows that the rest of the interface reads, at one height for each answer. What
// each action lacks is in the table of actions, which docs/etherscan.md shows.
package etherscan
