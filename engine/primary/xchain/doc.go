// Package xchain makes the rows of the X-Chain, and reads them: transactions, outputs
// and assets, of the blocks and of the vertices from before there were blocks.
//
// The two are followed apart, and each has rows of its own. The vertices end with the
// stop vertex; what they left, unspent outputs and assets, is taken over by the rows of
// the blocks before the first of them. Lists of both are the one behind the other.
package xchain
