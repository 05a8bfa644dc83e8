// Package index is the Badger database of the index of chains: snapshots,
// transactions, upkeep, and the layout of all its tables. What the rows mean is the
// business of engine/index.
package index
