package index

import "quorate/engine/chain"

// Sink is a chain's index as the end of an ingest.
type Sink struct{ *Chain }

// Cursor returns the last block that is committed; ok is false if there is none.
func (s Sink) Cursor() (head chain.Head, ok bool) {
	number, hash, ok := s.Chain.Cursor()
	return chain.Head{Height: number, ID: chain.ID(hash)}, ok
}

// UntracedFrom returns the height from which on native balances are not known, since a
// block was committed without its trace; ok is false if there is none.
func (c *Chain) UntracedFrom() (height uint64, ok bool) {
	cur := c.last.Load()
	if cur == nil || cur.bareFrom == noBare {
		return 0, false
	}
	return cur.bareFrom, true
}
