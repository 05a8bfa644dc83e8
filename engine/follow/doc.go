// Package follow follows one chain: it reads the chain's blocks from a source, has
// them indexed, and asks beside that what tokens are. Each kind of chain has a type
// of its own, with the kind's source, index and lanes: [EVM] is that of the C-Chain
// and of L1s. What a chain needs of the network that it belongs to is a [Host].
package follow
