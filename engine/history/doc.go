// Package history answers what is asked of the past of an EVM chain from its archive, as its
// nodes would: blocks, logs, receipts and transactions. A node that keeps no old states, or that was
// synchronized from one, does not have all of it.
//
// Logs are looked for in spans of blocks. Of each span that was read a Bloom filter is kept,
// made from its receipts: which contracts logged in it, and which topics. A header has one
// as well, but since blocks are executed after they were accepted it is that of others.
package history
