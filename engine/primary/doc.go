// Package primary holds what is known of the primary network: the blocks of the P-,
// X- and C-Chain as consensus accepted them, and what lists and balances tell of them.
// The types here are plain values for those who read.
//
// The rows of one of its chains are a [Chain]: the end of an ingest. What they are is
// the work of a [Machine], which reads and writes them through an [Overlay] and is
// tested without a database's errors: those of blocks, transactions and outputs are the
// same on all chains (PutBlock, PutTx, PutOutput, PutAddressTx), the P-Chain's others
// are in engine/primary/pchain. Accepted blocks are final, so rows change in place.
// [Chain.View] reads, and [View.List] makes pages of one list or of several merged.
package primary
