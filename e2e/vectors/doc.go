// Package vectors makes the examples of encodings that quorate's own codecs are held
// to: headers, transactions and tries of the C-Chain and of L1s with the code of
// libevm, coreth and subnet-evm, blocks and transactions of the P- and the X-Chain
// with avalanchego's. The two sides share nothing: what one writes to a file the
// other reads.
package vectors
