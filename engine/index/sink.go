package index

import "quorate/engine/chain"

// Sink is a chain's index as the end of an ingest.
type Sink struct{ *Chain }

// Cursor returns the last block that is committed; ok is false if there is none.
func (s Sink) Cursor() (head chain.Head, ok bool) {
	number, hash, ok := s.Chain.Cursor()
	return chain.Head{Height: number, ID: chain.ID(hash)}, ok
}
