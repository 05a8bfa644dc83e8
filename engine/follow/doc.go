// Package follow follows one chain: it reads the chain's blocks from where they are to be
// had, archives them, has them indexed, and asks beside that what only nodes know. What
// that is whatever the kind of chain is in base.go; the kinds are rules upon it: [EVM] that
// of the C-Chain and of L1s, [Primary] that of the primary network's chains. What a chain
// needs of the network that it belongs to is a [Host].
package follow
