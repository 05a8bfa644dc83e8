// Package evm answers about EVM chains: their blocks, transactions, addresses, contracts and
// tokens, of one chain and of all.
package evm
