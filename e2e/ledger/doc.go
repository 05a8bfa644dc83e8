// Package ledger reads the P-, X- and C-Chain of a local network by avalanchego's own
// clients, codecs and rules, and says what a server has to answer about them. It shares
// no code with the product.
//
// Containers come from the Index API. What their transactions do to outputs, stakes,
// subnets and validators of L1s is executed here; what no transaction says, rewards that
// were paid and balances that were returned, is asked of the node, and in the end the
// node's own lists have to be the same: see [Ledger.Settle].
package ledger
