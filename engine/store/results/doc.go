// Package results keeps signed messages that were collected once, and what was
// learned in passing, in a Badger database of its own.
package results
