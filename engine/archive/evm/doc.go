// Package evm is the codec of EVM blocks in an archive: of [archive.Block.Data] and of
// the notes beside the blocks.
//
// What a block's hash covers is kept in its consensus encoding: the header, the
// signed transactions, the C-Chain's ExtData, and of the receipts what their root
// needs. What follows from it is not kept but computed again: hashes, prices, the
// addresses of new contracts, the members of header and transactions. What no hash covers
// lies beside it: senders, which follow from signatures but slowly, and calls, balances and
// why transactions failed, which are a node's word. A member that does not follow from the encoding as expected, or
// of a block without one, is written out: each block is read as it was written, but
// that empty slices are nil, except for [evm.Block.Balances].
//
// # Form of a block
//
// Numbers are uvarints, wide numbers a length and big-endian bytes, bytes have their
// length in front.
//
//	version 2, flags of the block
//	header                                    if flagHeader
//	base fee                                  if flagPaid: that of the header is an upper bound
//	hash 32, parent 32, miner 20, number,
//	  time, gas limit, gas used, base fee,
//	  reserved gas, base fee, settled height  if flagMembers: those that the header does not say
//	size
//	ExtData, Foreign, Unverified              each if flagged
//	atomic transfers: count; address, 1 for an export, wei
//	transactions, logs, topics, calls: counts
//	each transaction: see tx.go
//	balances: count; address, before, after   if flagBalances
//
// Version 1 is the same without flagPaid, flagReserved and the failures of transactions: it
// is read, and what it does not have is left out.
//
// Addresses and topics that a block has named before are numbers: see dict.go.
package evm
